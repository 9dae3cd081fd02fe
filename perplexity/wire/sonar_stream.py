"""The chunks of a chat completion → our events. No I/O; objects of other kinds are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.types import JSON, Done, Event, Source, Sources, TextDelta
from perplexity.wire.errors import PERPLEXITY, Dialect
from perplexity.wire.reading import mapping, mappings, text
from perplexity.wire.sonar_output import answer_of, choice_of, failure, sources_of

_WHOLE = frozenset({"chat.completion", "chat.completion.done"})
_REPEATED = ("id", "model", "usage", "search_results", "citations")


@dataclass
class SonarStream:
    """Reads one stream. Every chunk repeats the sources and the usage: the last ones count."""

    provider: str
    dialect: Dialect = PERPLEXITY
    run_id: str | None = None
    ended: bool = False
    _text: str = ""
    _finish: str = ""
    _seen: dict[str, JSON] = field(default_factory=dict)
    _annotations: list[Mapping[str, JSON]] = field(default_factory=list)
    _sources: tuple[Source, ...] = ()

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return our events for one chunk, or for a whole response in place of a stream.

        Raises what its `error` says, RunFailed, or MalformedResponse for an end without text.
        """
        whole = mapping(event.get("response"))
        chunk = whole or event
        if chunk.get("error"):
            self.ended = True
            raise failure(chunk["error"], provider=self.provider, dialect=self.dialect)
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
        self._seen.update({name: chunk[name] for name in _REPEATED if chunk.get(name)})
        self._finish = text(choice.get("finish_reason")) or self._finish
        for part in ("message", "delta"):
            self._annotations += mappings(mapping(choice.get(part)).get("annotations"))
        return [*self._found(), *self._delta(_content(choice, "delta"))]

    def _found(self) -> list[Event]:
        before, self._sources = self._sources, sources_of(self._seen, self._annotations)
        return [Sources(sources=self._sources)] if self._sources != before else []

    def _delta(self, piece: str) -> list[Event]:
        self._text += piece
        return [TextDelta(text=piece)] if piece else []

    def _end(self, full: str) -> list[Event]:
        """Tell what the deltas left out. Where the service corrects itself at the end, the end is right."""
        self.ended = True
        told = self._delta(full[len(self._text) :]) if full.startswith(self._text) else []
        answer = answer_of(
            self._seen,
            text=self._text if self._text.startswith(full) else full,
            sources=self._sources,
            finish=self._finish,
            provider=self.provider,
        )
        return [*told, Done(answer=answer)]


def _content(choice: Mapping[str, JSON], part: str) -> str:
    return text(mapping(choice.get(part)).get("content"))
