"""The Agent API: `POST /v1/agent`. The service refuses a body with unknown fields. No function here does I/O.

https://docs.perplexity.ai/docs/agent-api/streaming

https://docs.perplexity.ai/docs/agent-api
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perplexity.errors import InvalidRequest, MalformedResponse, PerplexityError, RunFailed
from perplexity.models import Target
from perplexity.scope import say
from perplexity.types import (
    JSON,
    Answer,
    Attachment,
    Done,
    Event,
    Question,
    RunStarted,
    SearchQueries,
    Source,
    Sources,
    TextDelta,
    Usage,
)
from perplexity.wire.base import StreamReader, Wire, common_filters
from perplexity.wire.errors import error_from_object, sanitize_message, service_name
from perplexity.wire.json import as_count, as_object, as_objects, as_text, as_texts, cost_of, shape_of
from perplexity.wire.sources import MergeSchedule, merge

PROVIDER = "Perplexity"
MESSAGE_SEPARATOR = "\n\n"

Items = Sequence[Mapping[str, JSON]]

_SEARCHED = {"search_results": "results", "fetch_url_results": "contents"}
"""The kinds of items that list pages, each with the field that has the list."""


def build_answer(body: Mapping[str, JSON], *, text: str, sources: tuple[Source, ...], queries: Sequence[str]) -> Answer:
    """Return the answer with these parts and the rest from the response.

    Raises the error of a failed run, RunFailed for a run that stopped before its text, or MalformedResponse.
    """
    incomplete, usage = _incomplete(body), _usage(as_object(body.get("usage")))
    if not text.strip():
        if incomplete:
            why = f"the run stopped before its text ({incomplete})"
            raise RunFailed(why, provider=PROVIDER, cost_usd=usage.cost_usd)
        raise MalformedResponse("the answer has no text", provider=PROVIDER, cost_usd=usage.cost_usd)
    return Answer(
        text=text,
        sources=sources,
        provider=PROVIDER,
        model=service_name(body.get("model")),
        queries=tuple(dict.fromkeys(queries)),
        incomplete=incomplete,
        usage=usage,
        id=sanitize_message(body.get("id")) or None,
        shape=shape_of(body),
    )


def output_text(output: Items) -> str:
    """Return the text of all messages."""
    messages = ["".join(message_parts(item)) for item in output if item.get("type") == "message"]
    return MESSAGE_SEPARATOR.join(message for message in messages if message)


def message_parts(message: Mapping[str, JSON]) -> list[str]:
    """Return the text of each part of one message; empty for a part without text."""
    parts = as_objects(message.get("content"))
    return [as_text(part.get("text")) if part.get("type") == "output_text" else "" for part in parts]


def search_results(output: Items) -> Items:
    """Return the pages of every `search_results` item, then the fetched pages."""
    return [
        page
        for kind, pages in _SEARCHED.items()
        for item in output
        if item.get("type") == kind
        for page in as_objects(item.get(pages))
    ]


def search_queries(output: Items) -> list[str]:
    """Return the searches that the model ran."""
    return [q for item in output if item.get("type") == "search_results" for q in as_texts(item.get("queries"))]


def error_from_run(error: JSON, *, status: str = "", usage: JSON = None) -> PerplexityError:
    """Return the exception for the `error` object of a run or of a stream, as `error_from_object` chooses it.

    `usage` is the `usage` object of the response, since a failed run may be charged, too.
    """
    otherwise = sanitize_message(error) or f"the run ended as {status or 'failed'}"
    failed = error_from_object(as_object(error), provider=PROVIDER, default=otherwise)
    failed.cost_usd = cost_of(usage)
    return failed


def _incomplete(body: Mapping[str, JSON]) -> str | None:
    """Return why the run stopped early, None if it finished. Raises the error of a failed run, or MalformedResponse."""
    status = sanitize_message(body.get("status")).lower()
    if status == "completed":
        return None
    if status == "incomplete":
        return sanitize_message(as_object(body.get("incomplete_details")).get("reason")) or "unknown"
    if status in {"failed", "cancelled", "canceled"}:
        raise error_from_run(body.get("error"), status=status, usage=body.get("usage"))
    raise MalformedResponse(f"the run is not finished (status {status[:40]!r})", provider=PROVIDER)


def _usage(usage: Mapping[str, JSON]) -> Usage:
    searches = as_object(as_object(usage.get("tool_calls_details")).get("search_web"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
        searches=as_count(searches.get("invocation")),
        cost_usd=cost_of(usage),
    )


_TERMINAL = ("completed", "incomplete", "failed", "cancelled", "canceled")


@dataclass
class AgentStream:
    """Reads one stream. The text comes as deltas and again in the done events, but is returned only once."""

    run_id: str | None = None
    ended: bool = False
    cost_usd: float | None = None
    _pieces: list[str] = field(default_factory=list)
    _parts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _owners: dict[str, str] = field(default_factory=dict)
    _results: list[Mapping[str, JSON]] = field(default_factory=list)
    _latest: dict[str, Mapping[str, JSON]] = field(default_factory=dict)
    _growth: MergeSchedule = field(default_factory=MergeSchedule)
    _sources: tuple[Source, ...] = ()
    _queries: dict[str, None] = field(default_factory=dict)

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return this library's events for an event of the service.

        Raises the exception for a failure, or MalformedResponse for an unreadable terminal event.
        """
        kind = as_text(event.get("type")).lower()
        usage = as_object(event.get("response")).get("usage") or event.get("usage")
        self.cost_usd = cost_of(usage) if usage else self.cost_usd
        if kind == "error" or (not kind and "error" in event):
            self.ended = True
            raise error_from_run(event.get("error") or event, usage=usage)
        return [*self._started(event), *self._events(kind.removeprefix("response."), event)]

    def finish(self) -> list[Event]:
        """Return no events, since a stream without its terminal event is only a part of an answer."""
        return []

    def _events(self, kind: str, event: Mapping[str, JSON]) -> list[Event]:
        if kind == "output_text.delta":
            return self._delta(self._part(event), as_text(event.get("delta")))
        if kind == "output_text.done":
            return self._rest(self._part(event), as_text(event.get("text")))
        if kind == "output_item.done":
            return self._item(event)
        if kind.startswith("reasoning."):
            return [
                *self._new_queries(as_texts(event.get("queries"))),
                *self._new_sources([*as_objects(event.get("results")), *as_objects(event.get("contents"))]),
            ]
        return self._end(_response(event), kind) if kind in _TERMINAL else []

    def _started(self, event: Mapping[str, JSON]) -> list[Event]:
        run_id = as_text(as_object(event.get("response")).get("id"))
        if self.run_id or not run_id:
            return []
        self.run_id = run_id
        return [RunStarted(id=run_id)]

    def _item(self, event: Mapping[str, JSON]) -> list[Event]:
        item = as_object(event.get("item"))
        if as_text(item.get("type")) in _SEARCHED:
            return [*self._new_queries(search_queries([item])), *self._new_sources(search_results([item]))]
        if item.get("type") != "message":
            return []
        place = {"output_index": event.get("output_index"), "item_id": item.get("id")}
        return [
            missed
            for index, full in enumerate(message_parts(item))
            for missed in self._rest(self._part({**place, "content_index": index}), full)
        ]

    def _new_queries(self, queries: list[str] | tuple[str, ...]) -> list[Event]:
        new = [query for query in dict.fromkeys(queries) if query not in self._queries]
        self._queries.update(dict.fromkeys(new))
        return [SearchQueries(queries=tuple(new))] if new else []

    def _new_sources(self, results: Items) -> list[Event]:
        # The service lists pages when they are found, and again when the search is over.
        new = [page for page in results if self._latest.get(as_text(page.get("url"))) != page]
        self._latest.update((as_text(page.get("url")), page) for page in new)
        self._results += new
        return self._merge() if new and self._growth.is_due(len(self._results)) else []

    def _merge(self) -> list[Event]:
        before, self._sources = self._sources, merge(self._results)
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, part: tuple[str, int], piece: str) -> list[Event]:
        if not piece:
            return []
        pieces = self._parts.setdefault(part, [])
        pieces.append(piece)
        if len(pieces) == 1:
            new_message = self._pieces and part[0] not in self._begun
            self._begun.add(part[0])
            piece = MESSAGE_SEPARATOR + piece if new_message else piece
        self._pieces.append(piece)
        return [TextDelta(text=piece)]

    def _rest(self, part: tuple[str, int], full: str) -> list[Event]:
        """Return an event with the text that `full` adds to the deltas; no event if it repeats or contradicts them."""
        pieces = self._parts.get(part, [])
        if not pieces and "".join(self._pieces).endswith(full):
            return []
        if sum(map(len, pieces)) > len(full):
            return []
        sent = "".join(pieces)
        self._parts[part] = [sent] if sent else []
        return self._delta(part, full[len(sent) :]) if full.startswith(sent) else []

    def _part(self, event: Mapping[str, JSON]) -> tuple[str, int]:
        """Return the key of a part of a message.

        An event may name the message by its index, by its id or by both; all three give the same key.
        """
        named = {name: event.get(name) for name in ("output_index", "item_id")}
        keys = [f"{name} {key}" for name, key in named.items() if isinstance(key, (int, str))]
        owner = next((self._owners[key] for key in keys if key in self._owners), keys[0] if keys else "")
        self._owners.update(dict.fromkeys(keys, owner))
        index = event.get("content_index")
        return owner, index if isinstance(index, int) else 0

    def _end(self, response: Mapping[str, JSON], kind: str) -> list[Event]:
        """Return the last events. If the final response contradicts the earlier events, the response counts."""
        self.ended = True
        output = as_objects(response.get("output"))
        full = output_text(output)
        events, found = self._new_queries(search_queries(output)), list(search_results(output))
        if found != self._results or self._growth.merged < len(found):
            self._results = [*found, *self._results]
            events += self._merge()
        known = "".join(self._pieces)
        if full != known and full.startswith(known):
            self._pieces.append(full[len(known) :])
            events.append(TextDelta(text=self._pieces[-1]))
        # The status in the response counts only in a `completed` event. An event that reports a failure stays a
        # failure.
        status = (response.get("status") or kind) if kind == "completed" else kind
        answer = build_answer(
            {"id": self.run_id, **response, "status": status},
            text=full if full.strip() else "".join(self._pieces),
            sources=self._sources,
            queries=list(self._queries),
        )
        return [*events, Done(answer=answer)]


def _response(event: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the response of a terminal event. An event of a failure may have an `error` instead of a response.

    https://github.com/perplexityai/perplexity-py (the type of `response.failed`)
    """
    response = as_object(event.get("response"))
    added = {name: event[name] for name in ("error", "usage") if event.get(name) and not response.get(name)}
    return {**response, **added}


INSTRUCTIONS = (
    "Answer from the web search results. Cite each claim right behind it with the id of its search result in square "
    "brackets, such as [1] or [2][3]. Use no other form of citation and do not list the sources at the end."
)
"""Instructions for a pinned model, which cites nothing without them.

They are not sent with an effort, because they would replace the effort's own, better instructions.
"""

_SEARCH: dict[str, JSON] = {"type": "web_search"}
_MOST_STEPS = 5
_MOST_OUTPUT_TOKENS = 8192


class Agent(Wire):
    """The wire of the Agent API."""

    path = "/v1/agent"
    provider = PROVIDER
    supports_runs = True
    takes_effort = True
    takes_tools = True
    takes_files = True

    def check(self, question: Question) -> None:
        """Raise InvalidRequest for any mode except "web", and for tools that Perplexity does not run itself."""
        if question.filters.mode not in {None, "web"}:
            allowed = say("answers are drawn from the whole web only; academic and sec are for a search")
            raise InvalidRequest.for_field("mode", question.filters.mode, allowed)
        for kind in (as_text(tool.get("type")) for tool in question.tools):
            if kind in {"", "function"}:
                allowed = "it takes tools that Perplexity runs itself, such as fetch_url"
                raise InvalidRequest.for_field("tools", kind, allowed)

    def should_stream(self, target: Target, *, seconds: float) -> bool:
        """Return whether the target's answers take long."""
        return target.slow

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body: the model or effort, the input, and only those options that were asked for."""
        wanted: dict[str, JSON] = {
            "background": target.background,
            "stream": stream,
            "language_preference": next(iter(question.filters.languages), None),
            "response_format": None if question.schema is None else _format(question),
            "max_output_tokens": question.max_tokens,
            "tools": [] if question.offline else _tools(question, forced=target.model is not None),
        }
        return {
            **_model_fields(target, searches=not question.offline),
            "input": _input(question),
            "store": target.background,
            **{name: value for name, value in wanted.items() if value},
        }

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return a note on the language of the answer and of its sources, if the question names one."""
        languages = question.filters.languages
        note = say("Answered in the language {code} if possible; sources may be in any language.")
        return (note.format(code=languages[0]),) if languages else ()

    def progress(self, body: Mapping[str, JSON]) -> list[Event]:
        """Return the searches of a run so far, and the pages found."""
        output = as_objects(body.get("output"))
        queries, sources = tuple(dict.fromkeys(search_queries(output))), merge(search_results(output))
        events: list[Event] = [SearchQueries(queries=queries)] if queries else []
        return [*events, Sources(sources=sources)] if sources else events

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a finished run.

        Raises the error of a failed run, RunFailed for a run that stopped before its text, or MalformedResponse for a
        response that is not final or has no text.
        """
        output = as_objects(body.get("output"))
        sources = merge(search_results(output))
        return build_answer(body, text=output_text(output), sources=sources, queries=search_queries(output))

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        return AgentStream()


def _model_fields(target: Target, *, searches: bool) -> dict[str, JSON]:
    """Return the effort, or the pinned model with the fields that make it search, cite and come to an end.

    The search is forced, because a model that is only offered a search may answer without it. Several steps are
    allowed, because a single step would be spent on the search. A model that must not search may use no tool at all.
    """
    choice: dict[str, JSON] = {} if searches else {"tool_choice": "none"}
    if target.model is None:
        return {"effort": target.effort, **choice}
    pinned: dict[str, JSON] = {"model": target.model, **choice}
    if searches:
        pinned |= {"instructions": INSTRUCTIONS, "tool_choice": _SEARCH, "max_steps": _MOST_STEPS}
    if target.model.startswith("anthropic/"):
        pinned["max_output_tokens"] = _MOST_OUTPUT_TOKENS
    if target.reasons:
        pinned["reasoning"] = {"effort": target.effort}
    return pinned


def _input(question: Question) -> JSON:
    messages, files = question.messages, question.attachments
    if len(messages) == 1 and messages[0].role == "user" and not files:
        return messages[0].content
    items: list[dict[str, JSON]] = [
        {"type": "message", "role": message.role, "content": message.content} for message in messages
    ]
    if files:
        items[-1]["content"] = [{"type": "input_text", "text": messages[-1].content}, *map(_file, files)]
    return items


def _file(file: Attachment) -> JSON:
    """Return the part of a message for a file; the transport later replaces the `Attachment` with the file's data."""
    if file.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": file}
    return {"type": "input_file", "filename": file.name, "file_data": file}


def _tools(question: Question, *, forced: bool) -> list[JSON]:
    """Return the web search with its options, and the question's other tools.

    An effort brings its own search, so the list is empty for an effort without such options and other tools.
    """
    filters = question.filters
    narrowed = common_filters(filters)
    tool = dict(_SEARCH)
    if narrowed:
        tool["filters"] = narrowed
    if question.context:
        tool["search_context_size"] = question.context
    if filters.country:
        tool["user_location"] = {"country": filters.country}
    return [tool, *map(dict, question.tools)] if forced or question.tools or tool != _SEARCH else []


def _format(question: Question) -> JSON:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(question.schema or {})}}
