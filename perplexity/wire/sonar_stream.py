"""The chunks of a chat completion → our events. No I/O; objects of other kinds are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.types import JSON, Done, Event, Source, Sources, TextDelta
from perplexity.wire.errors import PERPLEXITY, Dialect
from perplexity.wire.reading import cost_of, mapping, mappings, text
from perplexity.wire.sonar_output import answer_of, choice_of, cited_address, failure, sources_of
from perplexity.wire.sources import Growth

_WHOLE = frozenset({"chat.completion", "chat.completion.done"})
_LISTS = ("search_results", "citations")
_REPEATED = ("id", "model", "usage", *_LISTS)


@dataclass
class SonarStream:
    """Reads one stream. Every chunk repeats the sources and the usage: the last ones count.

    Some repeat the annotations too, of which each address is kept once.
    """

    provider: str
    dialect: Dialect = PERPLEXITY
    run_id: str | None = None
    ended: bool = False
    _pieces: list[str] = field(default_factory=list)
    _finish: str = ""
    _seen: dict[str, JSON] = field(default_factory=dict)
    _annotations: dict[str, Mapping[str, JSON]] = field(default_factory=dict)
    _growth: Growth = field(default_factory=Growth)
    _unmerged: bool = False
    _sources: tuple[Source, ...] = ()

    @property
    def cost_usd(self) -> float | None:
        """What the last chunk that told of it says."""
        return cost_of(self._seen.get("usage"))

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return our events for one chunk, or for a whole response in place of a stream.

        Raises what its `error` says, RunFailed, or MalformedResponse for an end without text.
        """
        whole = mapping(event.get("response"))
        chunk = whole or event
        if chunk.get("usage"):
            self._seen["usage"] = chunk["usage"]
        if chunk.get("error"):
            self.ended = True
            usage = self._seen.get("usage")
            raise failure(chunk["error"], provider=self.provider, dialect=self.dialect, usage=usage)
        kind = text(chunk.get("object"))
        # Newer kinds, such as `chat.reasoning`, tell what the answer does not need.
        if kind and not kind.startswith("chat.completion"):
            return []
        choice = choice_of(chunk)
        told = self._told(chunk, choice)
        return [*told, *self._end(_content(choice, "message"))] if whole or kind in _WHOLE else told

    def finish(self) -> list[Event]:
        """Return the end of a stream that told why the model stopped, but has no object for it."""
        return self._end("") if self._finish and not self.ended else []

    def _told(self, chunk: Mapping[str, JSON], choice: Mapping[str, JSON]) -> list[Event]:
        told = {name: chunk[name] for name in _REPEATED if chunk.get(name)}
        self._unmerged = self._unmerged or any(told[name] != self._seen.get(name) for name in _LISTS if name in told)
        self._seen.update(told)
        self._finish = text(choice.get("finish_reason")) or self._finish
        for part in ("message", "delta"):
            for annotation in mappings(mapping(choice.get(part)).get("annotations")):
                self._annotate(annotation)
        return [*self._found(), *self._delta(_content(choice, "delta"))]

    def _annotate(self, annotation: Mapping[str, JSON]) -> None:
        address = cited_address(annotation)
        if self._annotations.get(address) != annotation:
            self._annotations[address] = annotation
            self._unmerged = True

    def _found(self, *, at_end: bool = False) -> list[Event]:
        length = len(self._annotations) + sum(_length(self._seen.get(name)) for name in _LISTS)
        if not self._unmerged or not (at_end or self._growth.enough(length)):
            return []
        self._unmerged = False
        before, self._sources = self._sources, sources_of(self._seen, tuple(self._annotations.values()))
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, piece: str) -> list[Event]:
        self._pieces.append(piece)
        return [TextDelta(text=piece)] if piece else []

    def _end(self, full: str) -> list[Event]:
        """Tell what the deltas left out. Where the service corrects itself at the end, the end is right."""
        self.ended = True
        known = "".join(self._pieces)
        told = [*self._found(at_end=True), *(self._delta(full[len(known) :]) if full.startswith(known) else [])]
        answer = answer_of(
            self._seen,
            text=known if known.startswith(full) else full,
            sources=self._sources,
            finish=self._finish,
            provider=self.provider,
        )
        return [*told, Done(answer=answer)]


def _length(listed: JSON) -> int:
    return len(listed) if isinstance(listed, list) else 0


def _content(choice: Mapping[str, JSON], part: str) -> str:
    return text(mapping(choice.get(part)).get("content"))
