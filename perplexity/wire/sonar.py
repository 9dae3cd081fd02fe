"""Sonar chat completions: `POST /chat/completions`. Pure. OpenRouter speaks them too, under names of its own.

Perplexity has retired them for new keys: https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from perplexity.errors import InvalidRequest
from perplexity.models import SONAR, WITHOUT_SCHEMA, Effort, Target
from perplexity.types import JSON, Answer, Question
from perplexity.wire.base import StreamReader
from perplexity.wire.errors import PERPLEXITY, Dialect
from perplexity.wire.search import common
from perplexity.wire.sonar_output import read
from perplexity.wire.sonar_stream import SonarStream

_CUT_SECONDS = 60.0
"""After so many seconds of silence a proxy in front of the service cuts a connection."""

_REASONING = "sonar-reasoning-pro"
_WITHDRAWN: Mapping[str, str] = {"sonar-reasoning": _REASONING}
_BY_EFFORT: Mapping[Effort, str] = {
    "fast": "sonar-pro",
    "low": "sonar-pro",
    "medium": _REASONING,
    "high": "sonar-deep-research",
    "xhigh": "sonar-deep-research",
}
_CONTEXT: Mapping[str, str] = {_REASONING: "medium", "sonar-deep-research": "high"}


def sonar_model(question: Question, target: Target) -> str:
    """Return the Sonar model that answers: the named one, the reasoning one, or what stands for the effort.

    Raises InvalidRequest for another vendor's model.
    """
    name = (target.model or target.name).removeprefix("perplexity/")
    if name in SONAR:
        return _WITHDRAWN.get(name, name)
    if target.model is not None:
        raise InvalidRequest.of("model", target.model, "the Sonar API has no models of other vendors; leave it out")
    return _REASONING if question.reasoning and not target.name else _BY_EFFORT[target.effort]


@dataclass(frozen=True, kw_only=True)
class Sonar:
    """The wire of Sonar, or of a service that speaks it: its path, its name, and how it names models and errors.

    `model` may raise InvalidRequest. A name may have a vendor before it: what counts here is what stands behind.
    """

    path: str = "/chat/completions"
    provider: str = "Perplexity"
    model: Callable[[Question, Target], str] = sonar_model
    dialect: Dialect = PERPLEXITY
    background: ClassVar[bool] = False
    efforts: ClassVar[bool] = False
    tools: ClassVar[bool] = False

    def check(self, question: Question) -> None:
        """Raise nothing: it carries every filter."""

    def streamed(self, target: Target, *, seconds: float) -> bool:
        """Tell whether the answer may come after the cut."""
        return seconds > _CUT_SECONDS

    def thinks(self, question: Question, target: Target) -> bool:
        """Tell whether the model is the one that thinks aloud."""
        return _plain(self.model(question, target)) == _REASONING

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body. Raises InvalidRequest for a model that it has not, or that takes no schema."""
        model = self.model(question, target)
        filters = question.filters
        wanted: dict[str, JSON] = {
            **common(filters),
            "search_language_filter": list(filters.languages),
            "search_mode": filters.mode,
            "response_format": None if question.schema is None else _format(question.schema, model),
            "max_tokens": question.max_tokens,
            "stream": stream,
            # Another vendor's model would take options of the search as a wish for one.
            "web_search_options": None if question.offline else _options(question, model),
            "disable_search": question.offline and _plain(model) in SONAR,
        }
        return {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in question.messages],
            **{name: value for name, value in wanted.items() if value},
        }

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return what became of a withdrawn model and of tools."""
        told = []
        name = _plain((question.model or "").strip().lower())
        if instead := _WITHDRAWN.get(name):
            told.append(f"Perplexity has withdrawn {name}: {instead} answered.")
        if question.tools:
            told.append("Sonar models take no tools: they were left out.")
        return tuple(told)

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a whole response. Raises what its `error` says, RunFailed or MalformedResponse."""
        return read(body, provider=self.provider, dialect=self.dialect)

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        return SonarStream(provider=self.provider, dialect=self.dialect)


def _options(question: Question, model: str) -> dict[str, JSON]:
    options: dict[str, JSON] = {"search_context_size": question.context or _CONTEXT.get(_plain(model), "low")}
    if question.filters.country:
        options["user_location"] = {"country": question.filters.country}
    return options


def _format(schema: Mapping[str, JSON], model: str) -> JSON:
    if _plain(model) in WITHOUT_SCHEMA:
        allowed = f"a JSON schema takes sonar-pro or {_REASONING}"
        raise InvalidRequest.of("model", _plain(model), allowed)
    # OpenRouter wants a name, Perplexity takes one: https://openrouter.ai/docs/features/structured-outputs
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _plain(model: str) -> str:
    """Return the model's name without a vendor."""
    return model.rpartition("/")[2]
