"""Answers with the seconds at which a service wrote their pieces."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache

from bot.playground.examples import RECORDINGS
from perplexity.types import Answer, Done
from perplexity.wire.agent import AgentStream

DELTA = 4
"""Characters of a delta, about a token."""

BEGINS = 2.1
"""Seconds from the question to the first delta."""

_CLAUSE = re.compile(r"[.,;:](\*\*)?(\[\d+\])*\s")


@dataclass(frozen=True, kw_only=True)
class Recording:
    """An answer and its text in pieces, each with the seconds since the question."""

    name: str
    answer: Answer
    deltas: tuple[tuple[float, str], ...]

    @property
    def begins(self) -> float:
        """When the first delta came."""
        return self.deltas[0][0]

    @property
    def first_clause(self) -> float:
        """When the first clause of the text was complete."""
        found, length = _CLAUSE.search(self.answer.text), 0
        assert found is not None
        for at, text in self.deltas:
            length += len(text)
            if length >= found.end():
                return at
        raise AssertionError("the text is not in the deltas")

    def pause(self, seconds: float, *, after: float = 0.5) -> Recording:
        """Return the recording with a gap after a part of its deltas."""
        place = round(len(self.deltas) * after)
        later = [(at + seconds, text) for at, text in self.deltas[place:]]
        name = f"{self.name}, {seconds:g} s gap"
        return replace(self, name=name, deltas=(*self.deltas[:place], *later))


def steady(text: str, *, per_second: float, begins: float = BEGINS) -> Recording:
    """Return a recorded text, written at so many characters a second."""
    return written(recorded(text), name=f"{text}, {per_second:g} a second", per_second=per_second, begins=begins)


def written(answer: Answer, *, name: str = "", per_second: float, begins: float = BEGINS) -> Recording:
    """Return an answer, written at so many characters a second."""
    pieces = _pieces(answer.text, DELTA)
    deltas = [(begins + number * DELTA / per_second, piece) for number, piece in enumerate(pieces)]
    return Recording(name=name, answer=answer, deltas=tuple(deltas))


def bursts(text: str, *, size: int = 400, every: float = 2.0, begins: float = BEGINS) -> Recording:
    """Return a recorded text, written in bursts of so many characters every few seconds."""
    answer = recorded(text)
    deltas = [(begins + number * every, piece) for number, piece in enumerate(_pieces(answer.text, size))]
    return Recording(name=f"{text}, {size} every {every:g} s", answer=answer, deltas=tuple(deltas))


@cache
def recorded(text: str) -> Answer:
    """Return the answer of one of the playground's recordings."""
    reader = AgentStream()
    lines = (RECORDINGS / f"{text}.jsonl").read_text(encoding="utf-8").splitlines()
    events = [event for line in lines for event in reader.feed(json.loads(line)["event"])]
    (answer,) = [event.answer for event in events if isinstance(event, Done)]
    return answer


def _pieces(text: str, size: int) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]
