"""Sonar chat completions: `POST /chat/completions`. OpenRouter offers them too, under its own names.

No function here does I/O. Perplexity has retired them for new keys: https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from perplexity.errors import InvalidRequest, MalformedResponse, PerplexityError, RunFailed
from perplexity.models import SONAR, WITHOUT_SCHEMA, Effort, Target
from perplexity.scope import say
from perplexity.types import JSON, Answer, Done, Event, Question, Source, Sources, TextDelta, Usage
from perplexity.wire.base import StreamReader, Wire, common_filters
from perplexity.wire.errors import (
    PERPLEXITY_ERRORS,
    ErrorMap,
    error_from_object,
    error_from_status,
    sanitize_message,
    service_name,
    status_of,
)
from perplexity.wire.json import as_count, as_object, as_objects, as_text, cost_of, encode, shape_of
from perplexity.wire.sources import MergeSchedule, merge


def build_answer(
    body: Mapping[str, JSON], *, text: str, sources: tuple[Source, ...], finish: str, provider: str
) -> Answer:
    """Return the answer with this text and these sources, and with the rest from the response.

    Raises RunFailed if the service reports an error, or broke the answer off before its text; MalformedResponse for an
    answer without text.
    """
    incomplete = None if finish in {"", "stop"} else sanitize_message(finish)
    usage = _usage(as_object(body.get("usage")))
    if finish == "error" or (incomplete and not text.strip()):
        why = f"the answer was broken off ({incomplete})"
        raise RunFailed(why, provider=provider, cost_usd=usage.cost_usd)
    if not text.strip():
        raise MalformedResponse("the answer has no text", provider=provider, cost_usd=usage.cost_usd)
    return Answer(
        text=text,
        sources=sources,
        provider=provider,
        model=service_name(body.get("model")),
        incomplete=incomplete,
        usage=usage,
        id=sanitize_message(body.get("id")) or None,
        # The shape is made only of the fields that the reader of a stream keeps, so that a stream and a whole response
        # have the same shape.
        shape=shape_of({name: body[name] for name in _REPEATED if body.get(name)}),
    )


def first_choice(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the first choice; empty if there is none. More than one is never requested."""
    return next(iter(as_objects(body.get("choices"))), {})


def parse_sources(body: Mapping[str, JSON], annotations: Sequence[Mapping[str, JSON]]) -> tuple[Source, ...]:
    """Return the sources: the `search_results`, else the bare `citations`, else the annotations.

    A marker in the text is a position in the list, from 1. The details in an annotation are added to the citation
    with the same address.
    """
    if found := _numbered(body.get("search_results")):
        return merge(found)
    cited = {as_text(page.get("url")): page for page in map(_cited, annotations)}
    citations = body.get("citations")
    listed = citations if isinstance(citations, list) and citations else list(cited)
    return merge(_numbered([{**cited.get(url, {}), "url": url} for url in map(as_text, listed)]))


def error_from_run(
    error: JSON, *, provider: str, error_map: ErrorMap = PERPLEXITY_ERRORS, usage: JSON = None
) -> PerplexityError:
    """Return the exception for the `error` object in a response with HTTP 200.

    If the object contains an HTTP status, such as in its `code`, the exception is the one for this status. `usage` is
    the `usage` object of the response, since a failed answer may be charged, too.
    https://openrouter.ai/docs/api-reference/errors
    """
    details = as_object(error)
    code = status_of(details)
    if code is not None:
        body = encode({"error": error}).encode(errors="replace")
        failed = error_from_status(code, {}, body, provider=provider, error_map=error_map, now=0.0)
    else:
        otherwise = sanitize_message(error) or "the answer failed"
        failed = error_from_object(details, provider=provider, default=otherwise)
    failed.cost_usd = cost_of(usage)
    return failed


def _numbered(pages: JSON) -> list[Mapping[str, JSON]]:
    """Return the pages of a list with their positions as ids, so that leaving one out does not renumber the others."""
    listed = pages if isinstance(pages, list) else []
    return [{**page, "id": place} for place, page in enumerate(listed, start=1) if isinstance(page, dict)]


def _cited(annotation: Mapping[str, JSON]) -> Mapping[str, JSON]:
    cited = as_object(annotation.get("url_citation"))
    return {"url": cited.get("url"), "title": cited.get("title"), "snippet": cited.get("content")}


def _usage(usage: Mapping[str, JSON]) -> Usage:
    """Return tokens and dollars; OpenRouter's `cost` is a number, not an object."""
    details = as_object(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        reasoning_tokens=as_count(usage.get("reasoning_tokens", details.get("reasoning_tokens"))),
        searches=as_count(usage.get("num_search_queries")),
        cost_usd=cost_of(usage),
    )


_WHOLE = frozenset({"chat.completion", "chat.completion.done"})
_LISTS = ("search_results", "citations")
_REPEATED = ("id", "model", "usage", *_LISTS)


@dataclass
class SonarStream:
    """Reads one stream. Every chunk repeats the sources and the usage; those of the last chunk count.

    Annotations may be repeated, too; each address is kept once.
    """

    provider: str
    error_map: ErrorMap = PERPLEXITY_ERRORS
    run_id: str | None = None
    ended: bool = False
    cost_usd: float | None = None
    _pieces: list[str] = field(default_factory=list)
    _finish: str = ""
    _seen: dict[str, JSON] = field(default_factory=dict)
    _annotations: dict[str, Mapping[str, JSON]] = field(default_factory=dict)
    _growth: MergeSchedule = field(default_factory=MergeSchedule)
    _unmerged: bool = False
    _sources: tuple[Source, ...] = ()

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return this library's events for one chunk, or for a whole response instead of a stream.

        Raises the exception for the chunk's `error`, RunFailed, or MalformedResponse for an end without text.
        """
        whole = as_object(event.get("response"))
        chunk = whole or event
        if usage := chunk.get("usage"):
            self._seen["usage"], self.cost_usd = usage, cost_of(usage)
        if chunk.get("error"):
            self.ended = True
            usage = self._seen.get("usage")
            raise error_from_run(chunk["error"], provider=self.provider, error_map=self.error_map, usage=usage)
        kind = as_text(chunk.get("object"))
        # Newer kinds, such as `chat.reasoning`, contain nothing that the answer needs.
        if kind and not kind.startswith("chat.completion"):
            return []
        choice = first_choice(chunk)
        events = self._events(chunk, choice)
        return [*events, *self._end(_content(choice, "message"))] if whole or kind in _WHOLE else events

    def finish(self) -> list[Event]:
        """Return the last events of a stream that ended with a finish reason but without its last object."""
        return self._end("") if self._finish and not self.ended else []

    def _events(self, chunk: Mapping[str, JSON], choice: Mapping[str, JSON]) -> list[Event]:
        repeated = {name: chunk[name] for name in _REPEATED if chunk.get(name)}
        self._unmerged = self._unmerged or any(
            repeated[name] != self._seen.get(name) for name in _LISTS if name in repeated
        )
        self._seen.update(repeated)
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        for part in ("message", "delta"):
            for annotation in as_objects(as_object(choice.get(part)).get("annotations")):
                self._annotate(annotation)
        return [*self._new_sources(), *self._delta(_content(choice, "delta"))]

    def _annotate(self, annotation: Mapping[str, JSON]) -> None:
        address = as_text(_cited(annotation).get("url"))
        if self._annotations.get(address) != annotation:
            self._annotations[address] = annotation
            self._unmerged = True

    def _new_sources(self, *, at_end: bool = False) -> list[Event]:
        length = len(self._annotations) + sum(_length(self._seen.get(name)) for name in _LISTS)
        if not self._unmerged or not (at_end or self._growth.is_due(length)):
            return []
        self._unmerged = False
        before, self._sources = self._sources, parse_sources(self._seen, tuple(self._annotations.values()))
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, piece: str) -> list[Event]:
        self._pieces.append(piece)
        return [TextDelta(text=piece)] if piece else []

    def _end(self, full: str) -> list[Event]:
        """Return the last events. If the whole text, `full`, contradicts the deltas, it is the text of the answer."""
        self.ended = True
        known = "".join(self._pieces)
        events = [*self._new_sources(at_end=True), *(self._delta(full[len(known) :]) if full.startswith(known) else [])]
        answer = build_answer(
            self._seen,
            text=known if known.startswith(full) else full,
            sources=self._sources,
            finish=self._finish,
            provider=self.provider,
        )
        return [*events, Done(answer=answer)]


def _length(listed: JSON) -> int:
    return len(listed) if isinstance(listed, list) else 0


def _content(choice: Mapping[str, JSON], part: str) -> str:
    return as_text(as_object(choice.get(part)).get("content"))


_IDLE_CUT_SECONDS = 60.0
"""The seconds without data after which a proxy in front of the service cuts a connection."""

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
    """Return the Sonar model that answers: the named one, the reasoning one, or the one for the effort.

    Raises InvalidRequest for another vendor's model.
    """
    name = (target.model or target.name).removeprefix("perplexity/")
    if name in SONAR:
        return _WITHDRAWN.get(name, name)
    if target.model is not None:
        raise InvalidRequest.for_field(
            "model", target.model, "the Sonar API has no models of other vendors; leave it out"
        )
    return _REASONING if question.reasoning and not target.name else _BY_EFFORT[target.effort]


@dataclass(kw_only=True)
class Sonar(Wire):
    """Sonar's format of requests and responses at one service, with its path, its name, its models and its errors.

    `model` returns the name of the model that answers a question, or raises InvalidRequest. A vendor's prefix, such as
    "perplexity/", is ignored in the names of models.
    """

    path: str = "/chat/completions"
    provider: str = "Perplexity"
    model: Callable[[Question, Target], str] = sonar_model
    error_map: ErrorMap = PERPLEXITY_ERRORS

    def check(self, question: Question) -> None:
        """Raise nothing, since this wire can carry every filter."""

    def should_stream(self, target: Target, *, seconds: float) -> bool:
        """Return whether the answer may take longer than a proxy keeps a connection without data."""
        return seconds > _IDLE_CUT_SECONDS

    def emits_thinking(self, question: Question, target: Target) -> bool:
        """Return whether the model writes its thinking into the text."""
        return _without_vendor(self.model(question, target)) == _REASONING

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body. Raises InvalidRequest for an unknown model, or one that takes no schema."""
        model = self.model(question, target)
        filters = question.filters
        wanted: dict[str, JSON] = {
            **common_filters(filters),
            "search_language_filter": list(filters.languages),
            "search_mode": filters.mode,
            "response_format": None if question.schema is None else _format(question.schema, model),
            "max_tokens": question.max_tokens,
            "stream": stream,
            # An `offline` question has no search options, because they would make another vendor's model search.
            "web_search_options": None if question.offline else _options(question, model),
            "disable_search": question.offline and _without_vendor(model) in SONAR,
        }
        return {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in question.messages],
            **{name: value for name, value in wanted.items() if value},
        }

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return notes about a withdrawn model and about tools."""
        notes = []
        name = _without_vendor((question.model or "").strip().lower())
        if instead := _WITHDRAWN.get(name):
            said = say("Perplexity has withdrawn {name}: {instead} answered.")
            notes.append(said.format(name=name, instead=instead))
        if question.tools:
            notes.append(say("Sonar models take no tools: they were left out."))
        return tuple(notes)

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a whole response. Raises the exception for its `error`, or as `build_answer` does."""
        if error := body.get("error"):
            raise error_from_run(error, provider=self.provider, error_map=self.error_map, usage=body.get("usage"))
        choice = first_choice(body)
        message = as_object(choice.get("message"))
        return build_answer(
            body,
            text=as_text(message.get("content")),
            sources=parse_sources(body, as_objects(message.get("annotations"))),
            finish=as_text(choice.get("finish_reason")),
            provider=self.provider,
        )

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        return SonarStream(provider=self.provider, error_map=self.error_map)


def _options(question: Question, model: str) -> dict[str, JSON]:
    options: dict[str, JSON] = {"search_context_size": question.context or _CONTEXT.get(_without_vendor(model), "low")}
    if question.filters.country:
        options["user_location"] = {"country": question.filters.country}
    return options


def _format(schema: Mapping[str, JSON], model: str) -> JSON:
    if _without_vendor(model) in WITHOUT_SCHEMA:
        allowed = f"a JSON schema takes sonar-pro or {_REASONING}"
        raise InvalidRequest.for_field("model", _without_vendor(model), allowed)
    # OpenRouter requires a name, Perplexity accepts one: https://openrouter.ai/docs/features/structured-outputs
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _without_vendor(model: str) -> str:
    """Return the model's name without a vendor."""
    return model.rpartition("/")[2]
