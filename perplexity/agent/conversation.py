"""Our conversation as pydantic-ai's. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from perplexity.types import Message


def history(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return the turns, of which the last is the user's."""
    return [_turn(message) for message in messages]


def _turn(message: Message) -> ModelMessage:
    match message.role:
        case "assistant":
            return ModelResponse(parts=[TextPart(content=message.content)])
        case "system":
            return ModelRequest(parts=[SystemPromptPart(content=message.content)])
        case _:
            return ModelRequest(parts=[UserPromptPart(content=message.content)])
