"""Which way a question takes, when the service may retire one while we run."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from perplexity.errors import EndpointRetired
from perplexity.models import Target
from perplexity.retry import Deadline
from perplexity.types import Answer, Event, Question
from perplexity.ways import Way

log: logging.Logger = logging.getLogger(__name__)


class Succession:
    """Ways to an answer, each the successor of the one before it. The last one is where runs can be resumed."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self._ways = list(ways)

    async def answer(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer, of the successor where a way turns out to be closed. Raises any PerplexityError."""
        while True:
            way = self._current(question)
            try:
                return await way.answer(question, target, deadline=deadline)
            except EndpointRetired as error:
                self._leave(way, error)

    async def stream(self, question: Question, target: Target, *, deadline: Deadline) -> AsyncGenerator[Event, None]:
        """Yield the events, of the successor where a way turns out to be closed before it gave any."""
        handed_on = False
        while True:
            way = self._current(question)
            try:
                async with aclosing(way.stream(question, target, deadline=deadline)) as events:
                    async for event in events:
                        handed_on = True
                        yield event
                return
            except EndpointRetired as error:
                if handed_on:
                    raise
                self._leave(way, error)

    async def finish(self) -> None:
        """Wait for what abandoned questions left to do."""
        for way in self._ways:
            await way.answers.finish()

    def _current(self, question: Question) -> Way:
        return self._ways[-1 if question.run_id is not None else 0]

    def _leave(self, way: Way, error: EndpointRetired) -> None:
        """Go on to the successor, for good. Raises the error where there is none.

        Of many questions that hear of it at once the first one says so in the log; the others find it done.
        """
        if way is self._ways[-1]:
            raise error
        if way is self._ways[0]:
            del self._ways[0]
            log.warning("answers.endpoint_retired", extra={"path": way.path})
