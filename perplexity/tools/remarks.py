"""What the reader of an answer should know of how it came about, as sentences. Pure."""

from __future__ import annotations

from perplexity.types import Answer, Question

DEFAULT = "sonar"
"""What the tools ask for if their caller names no model."""

_LENGTHS = frozenset({"length", "max_tokens", "max_output_tokens"})
"""What services call the reason, if a model wrote as much as it may."""


def remarks(answer: Answer, asked: Question | None = None) -> tuple[str, ...]:
    """Return whether the answer was cut, whether another model than the one `asked` names answered, and its notes."""
    told = [_cut(answer, asked), _other_model(answer, asked), *answer.notes]
    return tuple(filter(None, told))


def _cut(answer: Answer, asked: Question | None) -> str:
    if answer.incomplete is None:
        return ""
    if answer.incomplete in _LENGTHS:
        limit = f" of {asked.max_tokens:,}" if asked and asked.max_tokens else ""
        return f"The answer is incomplete: it was cut off at max_tokens{limit}."
    return f"The answer is incomplete: the model stopped early ({answer.incomplete})."


def _other_model(answer: Answer, asked: Question | None) -> str:
    """Return a sentence if a model was swapped; of a swap that the notes tell, and of the default, nothing is said."""
    named, model = asked.model if asked else None, answer.model
    if not named or not model or named == DEFAULT or _plain(named) == _plain(model):
        return ""
    return "" if any(_plain(model) in note for note in answer.notes) else f"{named} was asked for; {model} answered."


def _plain(model: str) -> str:
    return model.strip().lower().removeprefix("perplexity/")
