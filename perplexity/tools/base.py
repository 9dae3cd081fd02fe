"""What a tool is: what a model is told of it, and what is done when the model calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from perplexity.types import JSON

_TYPES: Mapping[str, type] = {"string": str, "boolean": bool}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function for a model.

    `parameters` is a JSON Schema of type object; its properties are the arguments of `handler`, by name. The handler
    returns a text for the model, also when the service fails; it raises only what cancels it.
    """

    name: str
    description: str
    parameters: Mapping[str, JSON]
    handler: Callable[..., Awaitable[str]]

    def spec(self) -> dict[str, JSON]:
        """Return what a model is told: `name`, `description` and `parameters`."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    async def run(self, arguments: Mapping[str, JSON]) -> str:
        """Return the text for the model that called with these arguments; wrong ones are explained to it."""
        if wrong := self._wrong(arguments):
            return f"[{self.name} was called with wrong arguments: {wrong}]"
        return await self.handler(**arguments)

    async def __call__(self, **arguments: JSON) -> str:
        """Do as `run` does, with keywords."""
        return await self.run(arguments)

    def _wrong(self, arguments: Mapping[str, JSON]) -> str:
        properties = self.parameters["properties"]
        return "; ".join(
            [f"{name} is missing" for name in self.parameters["required"] if name not in arguments]
            + [f"{name} is unknown" for name in arguments if name not in properties]
            + [
                f"{name} must be a {told['type']}"
                for name, told in properties.items()
                if name in arguments and not isinstance(arguments[name], _TYPES[told["type"]])
            ]
        )
