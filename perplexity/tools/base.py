"""A tool: its definition for a model, its handler, and the report of a failure."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from perplexity.errors import AllProvidersFailed, InvalidRequest, PerplexityError, TimedOut, attempt_reasons
from perplexity.notes import is_empty_result, with_reasons
from perplexity.tools.schemas import Function, add_metadata, validation_errors, with_defaults
from perplexity.types import JSON
from perplexity.wire.json import encodable_text


class Failure(str):
    """The text that a failed call returns in place of a result; protocols can mark it as an error.

    `cost_usd` is the cost of the failed call, None if unknown.
    """

    __slots__ = ("cost_usd",)
    cost_usd: float | None

    def __new__(cls, message: str, *, cost_usd: float | None = None) -> Failure:
        """Return the text, with `cost_usd` as an attribute."""
        failure = super().__new__(cls, message)
        failure.cost_usd = cost_usd
        return failure


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function for a model.

    `parameters` is a JSON Schema of type object; its properties are the arguments of `handler`, by name. The handler
    returns a text for the model, or a `Failure` if the service fails; it raises only when it is cancelled. `output` is
    the JSON Schema of the object if the text is JSON; None for plain text. `on_argument_error` takes a description of
    the mistake and the arguments, and returns the text for a model that called with wrong arguments; by default, that
    text is one line in square brackets.

    A tool is itself an asynchronous function with a name, a signature, annotations and a docstring, made from
    `parameters`, for libraries that read these. A call with wrong arguments returns a text that explains them, and
    never raises TypeError.
    """

    name: str
    description: str
    parameters: Mapping[str, JSON]
    handler: Callable[..., Awaitable[str]]
    output: Mapping[str, JSON] | None = None
    on_argument_error: Callable[[str, Mapping[str, JSON]], Failure] | None = None

    def __post_init__(self) -> None:
        handle = self.handler

        async def handler(*values: JSON, **arguments: JSON) -> str:
            names = inspect.signature(self).parameters
            return await handle(**dict(zip(names, values, strict=False)), **arguments)

        async def call(*values: JSON, **arguments: JSON) -> str:
            return await Tool.__call__(self, *values, **arguments)

        function = self._with_metadata(call)
        # Like `functools.update_wrapper`, which cannot be used because it cannot set attributes of a frozen dataclass.
        seen = {name: getattr(function, name) for name in ("__name__", "__qualname__", "__doc__", "__annotations__")}
        vars(self).update({**vars(function), **seen, "__call__": function, "handler": self._with_metadata(handler)})

    def spec(self) -> dict[str, JSON]:
        """Return the definition for a model: `name`, `description` and `parameters`."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    async def run(self, arguments: Mapping[str, JSON]) -> str:
        """Call the handler and return its text; for wrong arguments, return a text that explains them."""
        if nameless := [name for name in arguments if not isinstance(name, str)]:
            return self.argument_error(f"the name of an argument must be a string, not {nameless[0]!r:.80}", {})
        given = with_defaults(self.parameters, arguments)
        if wrong := validation_errors(self.parameters, given):
            return self.argument_error(wrong, given)
        return await self.handler(**given)

    async def __call__(self, *values: JSON, **arguments: JSON) -> str:
        """Call the handler as `run` does, with positional or keyword arguments."""
        names = list(inspect.signature(self).parameters)
        if len(values) > len(names):
            return self.argument_error(f"it takes {len(names)} at most, not {len(values)}", arguments)
        placed = dict(zip(names, values, strict=False))
        if twice := [name for name in placed if name in arguments]:
            return self.argument_error(f"{twice[0]} is given twice", arguments)
        return await self.run({**placed, **arguments})

    def argument_error(self, wrong: str, arguments: Mapping[str, JSON]) -> Failure:
        """Return the text for a model that called with wrong arguments; `wrong` describes the mistake."""
        message = encodable_text(wrong)
        if self.on_argument_error is not None:
            return self.on_argument_error(message, arguments)
        return Failure(f"[{self.name} was called with wrong arguments: {message}]")

    def _with_metadata(self, function: Function) -> Function:
        # Python 3.11 has no `markcoroutinefunction`, and recognizes a coroutine function by its code.
        marked: Callable[[Function], Function] = getattr(inspect, "markcoroutinefunction", lambda function: function)
        return add_metadata(marked(function), name=self.name, description=self.description, parameters=self.parameters)


def with_argument_name(error: PerplexityError, arguments: Mapping[str, str]) -> PerplexityError:
    """Return the error with the name of the tool's argument in place of the name of the field.

    `arguments` maps fields to arguments. Other errors are returned unchanged.
    """
    if isinstance(error, InvalidRequest) and error.field and error.field in arguments and error.allowed is not None:
        return InvalidRequest.for_field(arguments[error.field], error.value, error.allowed)
    return error


def failure_text(name: str, error: PerplexityError, *, seconds: float) -> Failure:
    """Return the failure of the named tool in square brackets; `seconds` is its time limit."""
    if error.status is not None:
        message = f"returned status code {error.status}"
    elif isinstance(error, TimedOut):
        message = f"timed out after {seconds:g} seconds"
    else:
        message = f"{error.summary}: {error.message}"
    return Failure(f"[{name} API {message}]", cost_usd=error.cost_usd)


def chain_failure_text(
    name: str, error: PerplexityError, *, seconds: float, nothing: str, notes: Sequence[str] = ()
) -> Failure:
    """Return the failure of a tool that uses the fallback chain.

    `nothing` is the sentence for the case that the services found nothing. `notes` are sentences that follow the
    services' reasons.
    """
    if is_empty_result(error):
        return Failure(f"[{' '.join([f'{name}: {with_reasons(nothing, error)}', *notes])}]", cost_usd=error.cost_usd)
    if isinstance(error, AllProvidersFailed):
        why = "; ".join(attempt_reasons(error.attempts)) or "no service is configured"
        message = " ".join([f"{name} failed: {why}{'.' if notes else ''}", *notes])
        return Failure(f"[{message}]", cost_usd=error.cost_usd)
    return failure_text(name, error, seconds=seconds)
