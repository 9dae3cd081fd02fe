"""The signature and the docstring of a tool's function, made from its JSON Schema: agent libraries read both. Pure.

https://docs.python.org/3/library/inspect.html#inspect.Signature
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import reduce
from keyword import iskeyword
from operator import or_
from types import NoneType
from typing import Any, Literal

from perplexity.types import JSON

Function = Callable[..., Awaitable[str]]

_TYPES: Mapping[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": float, "null": NoneType}


def described(function: Function, *, name: str, description: str, parameters: Mapping[str, JSON]) -> Function:
    """Return the function with the name, the signature, the annotations and the docstring that the schema gives it.

    `parameters` is a JSON Schema of type object. A required argument has no default; an optional one without a default
    in the schema may be None.
    """
    signature = signature_of(parameters)
    hints = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    named: Any = function
    named.__name__ = named.__qualname__ = name
    named.__doc__ = docstring_of(description, parameters)
    named.__annotations__ = {**hints, "return": str}
    named.__signature__ = signature
    return function


def signature_of(parameters: Mapping[str, JSON]) -> inspect.Signature:
    """Return the signature for a JSON Schema of type object: the required arguments first, each group in its order."""
    listed = [_parameter(name, schema, required=required) for name, schema, required in _arguments(parameters)]
    return inspect.Signature(sorted(listed, key=lambda one: one.default is not one.empty), return_annotation=str)


def docstring_of(description: str, parameters: Mapping[str, JSON]) -> str:
    """Return the description and what is known of each argument, in the style that agent libraries parse.

    https://google.github.io/styleguide/pyguide.html#383-functions-and-methods
    """
    listed = [
        f"    {name} ({_word(_type(schema))}{'' if required else ', optional'}): {_line(schema)}"
        for name, schema, required in _arguments(parameters)
    ]
    arguments = ["Args:", *listed, ""] if listed else []
    return "\n".join([description.strip(), "", *arguments, "Returns:", "    str: The result, as text for a model."])


def _arguments(parameters: Mapping[str, JSON]) -> Iterator[tuple[str, Mapping[str, JSON], bool]]:
    """Yield each argument's name, its schema and whether it is required; one that Python cannot name is left out."""
    required = parameters.get("required", ())
    for name, schema in parameters.get("properties", {}).items():
        if name.isidentifier() and not iskeyword(name):
            yield name, schema if isinstance(schema, Mapping) else {}, name in required


def _parameter(name: str, schema: Mapping[str, JSON], *, required: bool) -> inspect.Parameter:
    kind, annotation = inspect.Parameter.POSITIONAL_OR_KEYWORD, _type(schema)
    if required:
        return inspect.Parameter(name, kind, annotation=annotation)
    if "default" in schema:
        return inspect.Parameter(name, kind, annotation=annotation, default=schema["default"])
    return inspect.Parameter(name, kind, annotation=annotation | None, default=None)


def _type(schema: Mapping[str, JSON]) -> Any:
    """Return the Python type of a value that fits the schema; Any if the schema does not say."""
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(value, (str, int, NoneType)) for value in enum):
        return Literal[tuple(enum)]
    kind = schema.get("type")
    if isinstance(kind, list):
        return reduce(or_, (_type({**schema, "type": one}) for one in kind))
    if kind == "array":
        return list[_type(schema.get("items", {}))]  # type: ignore[misc]
    if kind == "object":
        return dict[str, Any]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _word(annotation: Any) -> str:
    return inspect.formatannotation(annotation).replace("typing.", "")


def _line(schema: Mapping[str, JSON]) -> str:
    return " ".join(str(schema.get("description", "")).split())
