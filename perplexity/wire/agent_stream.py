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
from perplexity.wire.reading import cost_of, mapping, mappings, text, texts
from perplexity.wire.sources import Growth, merge

_TERMINAL = ("completed", "incomplete", "failed", "cancelled", "canceled")
_SEARCHED = frozenset({"search_results", "fetch_url_results"})


@dataclass
class AgentStream:
    """Reads one stream. The text comes as deltas and again in the done events: what was told is not told twice."""

    run_id: str | None = None
    ended: bool = False
    cost_usd: float | None = None
    _pieces: list[str] = field(default_factory=list)
    _parts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _owners: dict[str, str] = field(default_factory=dict)
    _results: list[Mapping[str, JSON]] = field(default_factory=list)
    _growth: Growth = field(default_factory=Growth)
    _sources: tuple[Source, ...] = ()
    _queries: dict[str, None] = field(default_factory=dict)

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return our events for one of the service's. Raises RunFailed, or MalformedResponse for an unreadable end."""
        kind = text(event.get("type")).lower()
        usage = mapping(event.get("response")).get("usage") or event.get("usage")
        self.cost_usd = cost_of(usage) if usage else self.cost_usd
        if kind == "error" or (not kind and "error" in event):
            self.ended = True
            raise failure(event.get("error") or event, usage=usage)
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
        return self._end(_response(event), kind) if kind in _TERMINAL else []

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

    def _found(self, results: Items, *, at_end: bool = False) -> list[Event]:
        self._results += results
        if not (at_end or (results and self._growth.enough(len(self._results)))):
            return []
        before, self._sources = self._sources, merge(self._results)
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, part: tuple[str, int], piece: str) -> list[Event]:
        if not piece:
            return []
        new_message = self._pieces and part[0] not in self._begun
        self._begun.add(part[0])
        self._parts.setdefault(part, []).append(piece)
        return self._tell(BETWEEN_MESSAGES + piece if new_message else piece)

    def _rest(self, part: tuple[str, int], full: str) -> list[Event]:
        """Tell what the deltas left out; a text that contradicts them, or stands there already, is not taken."""
        pieces = self._parts.get(part, [])
        if not pieces and self._ends_with(full):
            return []
        if sum(map(len, pieces)) > len(full):
            return []
        told = "".join(pieces)
        self._parts[part] = [told] if told else []
        return self._delta(part, full[len(told) :]) if full.startswith(told) else []

    def _tell(self, piece: str) -> list[Event]:
        self._pieces.append(piece)
        return [TextDelta(text=piece)]

    def _ends_with(self, full: str) -> bool:
        """Return whether what was told ends with this text; no more of it is looked at than the text is long."""
        end: list[str] = []
        missing = len(full)
        for piece in reversed(self._pieces):
            if missing <= 0:
                break
            end.append(piece)
            missing -= len(piece)
        return "".join(reversed(end)).endswith(full)

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
        told = [*self._asked(queries_of(output)), *self._found(before, at_end=True)]
        known = "".join(self._pieces)
        if full != known and full.startswith(known):
            told += self._tell(full[len(known) :])
        # A failure stays one, whatever the response inside says.
        status = (response.get("status") or kind) if kind == "completed" else kind
        answer = answer_of(
            {"id": self.run_id, **response, "status": status},
            text=full if full.strip() else "".join(self._pieces),
            results=self._results,
            queries=list(self._queries),
        )
        return [*told, Done(answer=answer)]


def _response(event: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the response of a terminal event. A failure may have none and tell its `error` itself.

    https://github.com/perplexityai/perplexity-py (the type of `response.failed`)
    """
    response = mapping(event.get("response"))
    beside = {name: event[name] for name in ("error", "usage") if event.get(name) and not response.get(name)}
    return {**response, **beside}
