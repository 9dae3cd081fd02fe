"""Which of OpenRouter's models answers; pure.

https://openrouter.ai/perplexity
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from perplexity.models import SONAR, Effort, Target
from perplexity.types import JSON, Question
from perplexity.wire.reading import mappings, text

DEFAULT = "perplexity/sonar"
FOR_NEWS = "perplexity/sonar-pro"
FOR_REASONING = "perplexity/sonar-reasoning-pro"
FOR_RESEARCH = "perplexity/sonar-deep-research"
FOR_WRITING = "x-ai/grok-4.3"
"""It searches only where a tool for that is handed to it; every model of Perplexity's here searches."""

_BY_EFFORT: Mapping[Effort, str] = {
    "fast": DEFAULT,
    "low": DEFAULT,
    "medium": FOR_REASONING,
    "high": FOR_RESEARCH,
    "xhigh": FOR_RESEARCH,
}


def wanted(question: Question, target: Target) -> str:
    """Return the model for a question: the Sonar model that is named, or what suits it best of those that there are.

    A pinned model of another vendor, and one that is long gone, such as `perplexity/llama-3.1-sonar-small-128k-online`,
    is answered for by Sonar: it searches, which they do not. An answer from the messages alone is no model's of these.
    """
    if question.offline:
        return FOR_WRITING
    name = target.name.removeprefix("perplexity/")
    if name == "sonar-reasoning":
        return FOR_REASONING
    if name in SONAR:
        return f"perplexity/{name}"
    if question.news or question.schema is not None:
        return FOR_NEWS
    return DEFAULT if target.model else _BY_EFFORT[target.effort]


def notes(question: Question, target: Target, *, used: str) -> tuple[str, ...]:
    """Return a sentence for the asker where another model answers than the one that was named, or suits best."""
    named = target.model or wanted(question, target)
    return () if used == named else (f"OpenRouter answered with {used} in place of {named}.",)


def retired(body: Mapping[str, JSON], *, today: date) -> tuple[str, ...]:
    """Return those of our models that the list of models does not hold, or whose last day is over.

    None of them where the list is empty: it says nothing then.
    https://openrouter.ai/docs/api-reference/list-available-models
    """
    served = {text(model.get("id")) for model in mappings(body.get("data")) if not _expired(model, today)} - {""}
    ours = {*_BY_EFFORT.values(), FOR_NEWS, FOR_WRITING}
    return tuple(sorted(ours - served)) if served else ()


def _expired(model: Mapping[str, JSON], today: date) -> bool:
    """Tell whether a model's last day, or moment, is over."""
    last = text(model.get("expiration_date"))[:10]
    return bool(last) and last < today.isoformat()
