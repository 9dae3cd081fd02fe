"""A provider whose every move is written down beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from perplexity.providers.base import SEARCH_AND_ANSWER
from perplexity.types import Answer, Done, Event, Query, Question, SearchResults, Source, TextDelta

Step = Event | BaseException | None
"""An event to yield, an exception to raise, or None to hang for ever."""

SOURCE = Source(number=1, title="A page", url="https://example.com/1", snippet="What it says.")


def answer_by(name: str, text: str = "It is so [1].") -> Answer:
    """Return a small answer of this provider."""
    return Answer(text=text, sources=(SOURCE,), provider=name)


def results_by(name: str) -> SearchResults:
    """Return one page found by this provider."""
    return SearchResults(results=(SOURCE,), provider=name)


class FakeProvider:
    """Fails with `error`, hangs, or answers in its own name; keeps its questions, and sets `called`.

    `steps` are what its stream does; by default it tells its answer.
    """

    search_only = resumes = announces_requests = False

    def __init__(
        self, name: str, *, error: Exception | None = None, hangs: bool = False, steps: Sequence[Step] | None = None
    ) -> None:
        self.name = name
        self.capabilities = SEARCH_AND_ANSWER
        self.queries: list[Query] = []
        self.questions: list[Question] = []
        self.streams_closed = 0
        self.called = asyncio.Event()
        self._error = error
        self._hangs = hangs
        self._steps = steps

    async def search(self, query: Query) -> SearchResults:
        """Search as it was told to."""
        self.queries.append(query)
        await self._act()
        return results_by(self.name)

    async def answer(self, question: Question) -> Answer:
        """Answer as it was told to."""
        self.questions.append(question)
        self.called.set()
        await self._act()
        return answer_by(self.name)

    async def stream(self, question: Question) -> AsyncIterator[Event]:
        """Stream as it was told to."""
        self.questions.append(question)
        try:
            for step in self._steps if self._steps is not None else self._told():
                if step is None:
                    await asyncio.Event().wait()
                elif isinstance(step, BaseException):
                    raise step
                else:
                    yield step
        finally:
            self.streams_closed += 1

    def _told(self) -> list[Step]:
        if self._error or self._hangs:
            return [self._error]
        answer = answer_by(self.name)
        return [TextDelta(text=answer.text), Done(answer=answer)]

    async def _act(self) -> None:
        if self._hangs:
            await asyncio.Event().wait()
        if self._error:
            raise self._error
