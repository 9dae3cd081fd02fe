"""What may be asked, said in the shortest way that fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from perplexity.filters import Filters
from perplexity.types import JSON, Message, Question

Prompt = str | Sequence[Message] | Question
"""What is asked: a text, a conversation that ends with the user's turn, or a whole question."""


class Options(TypedDict, total=False):
    """What may be said beside the prompt; each is a field of `Question` and described there."""

    reasoning: bool
    model: str | None
    filters: Filters | None
    schema: Mapping[str, JSON] | None
    tools: tuple[Mapping[str, JSON], ...]
    seconds: float | None
    run_id: str | None
    on_run: Callable[[str], Awaitable[None]] | None


def question_of(prompt: Prompt, options: Options) -> Question:
    """Return the whole question. Options take the place of its own; None changes nothing."""
    if isinstance(prompt, Question):
        question = prompt
    else:
        messages = (Message(role="user", content=prompt),) if isinstance(prompt, str) else tuple(prompt)
        question = Question(messages=messages)
    said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return replace(question, **said)
