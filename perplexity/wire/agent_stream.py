"""The events of the Agent API → our events. No I/O; what is not known is skipped.

https://docs.perplexity.ai/docs/agent-api/streaming
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.types import JSON, Done, Event, RunStarted, SearchQueries, Source, Sources, TextDelta
from perplexity.wire.agent_output import (
    BETWEEN_MESSAGES,
    Items,
    answer_of,
    failure,
    parts_of,
    queries_of,
    results_of,
    text_of,
)
from perplexity.wire.reading import mapping, mappings, text, texts
from perplexity.wire.sources import merge

_TERMINAL = ("completed", "incomplete", "failed", "cancelled")
_SEARCHED = frozenset({"search_results", "fetch_url_results"})


@dataclass
class AgentStream:
    """Reads one stream. The text comes as deltas and again in the done events: what was told is not told twice."""

    run_id: str | None = None
    ended: bool = False
    _text: str = ""
    _parts: dict[tuple[str, int], str] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _results: list[Mapping[str, JSON]] = field(default_factory=list)
    _sources: tuple[Source, ...] = ()
    _queries: dict[str, None] = field(default_factory=dict)

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return our events for one of the service's. Raises RunFailed, or MalformedResponse for an unreadable end."""
        kind = text(event.get("type"))
        if kind == "error" or (not kind and "error" in event):
            self.ended = True
            raise failure(event.get("error") or event)
        return [*self._started(event), *self._told(kind.removeprefix("response."), event)]

    def finish(self) -> list[Event]:
        """Return nothing: a stream without its terminal event is a part of an answer."""
        return []

    def _told(self, kind: str, event: Mapping[str, JSON]) -> list[Event]:
        if kind == "output_text.delta":
            return self._delta(self._part(event), text(event.get("delta")))
        if kind == "output_text.done":
            return self._rest(self._part(event), text(event.get("text")))
        if kind == "output_item.done":
            return self._item(event)
        if kind.startswith("reasoning."):
            return [
                *self._asked(texts(event.get("queries"))),
                *self._found([*mappings(event.get("results")), *mappings(event.get("contents"))]),
            ]
        return self._end(mapping(event.get("response")), kind) if kind in _TERMINAL else []

    def _started(self, event: Mapping[str, JSON]) -> list[Event]:
        run_id = text(mapping(event.get("response")).get("id"))
        if self.run_id or not run_id:
            return []
        self.run_id = run_id
        return [RunStarted(id=run_id)]

    def _item(self, event: Mapping[str, JSON]) -> list[Event]:
        item = mapping(event.get("item"))
        if text(item.get("type")) in _SEARCHED:
            return [*self._asked(queries_of([item])), *self._found(results_of([item]))]
        if item.get("type") != "message":
            return []
        place = {"output_index": event.get("output_index"), "item_id": item.get("id")}
        return [
            told
            for index, full in enumerate(parts_of(item))
            for told in self._rest(self._part({**place, "content_index": index}), full)
        ]

    def _asked(self, queries: list[str] | tuple[str, ...]) -> list[Event]:
        new = [query for query in dict.fromkeys(queries) if query not in self._queries]
        self._queries.update(dict.fromkeys(new))
        return [SearchQueries(queries=tuple(new))] if new else []

    def _found(self, results: Items) -> list[Event]:
        self._results += results
        before, self._sources = self._sources, merge(self._results)
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, part: tuple[str, int], piece: str) -> list[Event]:
        if not piece:
            return []
        new_message = self._text and part[0] not in {owner for owner, _ in self._parts}
        self._parts[part] = self._parts.get(part, "") + piece
        return self._tell(BETWEEN_MESSAGES + piece if new_message else piece)

    def _rest(self, part: tuple[str, int], full: str) -> list[Event]:
        """Tell what the deltas left out; a text that contradicts them, or stands there already, is not taken."""
        told = self._parts.get(part, "")
        if not told and self._text.endswith(full):
            return []
        return self._delta(part, full[len(told) :]) if full.startswith(told) else []

    def _tell(self, piece: str) -> list[Event]:
        self._text += piece
        return [TextDelta(text=piece)]

    def _part(self, event: Mapping[str, JSON]) -> tuple[str, int]:
        """Return what tells one part of one message from another; some events name the message by one key only."""
        named = {name: event.get(name) for name in ("output_index", "item_id")}
        keys = [f"{name} {key}" for name, key in named.items() if isinstance(key, (int, str))]
        owner = next((self._owners[key] for key in keys if key in self._owners), keys[0] if keys else "")
        self._owners.update(dict.fromkeys(keys, owner))
        index = event.get("content_index")
        return owner, index if isinstance(index, int) else 0

    def _end(self, response: Mapping[str, JSON], kind: str) -> list[Event]:
        """Return the last events. The service's last word is right where it contradicts what it said before."""
        self.ended = True
        output = mappings(response.get("output"))
        full = text_of(output)
        before, self._results = self._results, list(results_of(output))
        told = [*self._asked(queries_of(output)), *self._found(before)]
        if full != self._text and full.startswith(self._text):
            told += self._tell(full[len(self._text) :])
        # A failure stays one, whatever the response inside says.
        status = (response.get("status") or kind) if kind == "completed" else kind
        answer = answer_of(
            {"id": self.run_id, **response, "status": status},
            text=full if full.strip() else self._text,
            results=self._results,
            queries=list(self._queries),
        )
        return [*told, Done(answer=answer)]
