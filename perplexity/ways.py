"""One way to an answer: a wire, what it cannot carry, what its models think aloud, and what the asker should know."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from perplexity.answers import Answers
from perplexity.errors import RunFailed
from perplexity.models import Target
from perplexity.retry import Deadline
from perplexity.thinking import Thinking, without_thinking
from perplexity.types import Answer, Done, Event, Question, TextDelta

log: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Way:
    """Answers over one wire, ready for whoever asked."""

    answers: Answers

    @property
    def path(self) -> str:
        """Where questions are sent."""
        return self.answers.wire.path

    async def answer(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer. Raises any PerplexityError; InvalidRequest before anything is sent.

        RunFailed for an `offline` one that rests on pages all the same: it may say what the messages do not.
        """
        self.answers.wire.check(question)
        answer = await self.answers.answer(question, target, deadline=deadline)
        return self._told(answer, question, target, expected=self.answers.wire.thinks(question, target))

    async def stream(self, question: Question, target: Target, *, deadline: Deadline) -> AsyncGenerator[Event, None]:
        """Yield the events, `Done` last; what a model thinks aloud is held back. Raises as `answer` does."""
        self.answers.wire.check(question)
        thinking = Thinking(expected=self.answers.wire.thinks(question, target))
        async with aclosing(self.answers.stream(question, target, deadline=deadline)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    for piece in _deltas(thinking.feed(event.text)):
                        yield piece
                elif isinstance(event, Done):
                    for piece in _deltas(thinking.rest()):
                        yield piece
                    yield Done(answer=self._told(event.answer, question, target, expected=thinking.expected))
                else:
                    yield event

    def _told(self, answer: Answer, question: Question, target: Target, *, expected: bool) -> Answer:
        wire = self.answers.wire
        if question.offline and answer.sources:
            log.warning("answer.searched_all_the_same", extra={"model": answer.model})
            raise RunFailed(
                "the model was not to search, and did", provider=answer.provider, cost_usd=answer.usage.cost_usd
            )
        answer = without_thinking(answer, expected=expected)
        if expected and answer.reasoning is None:
            log.warning("answer.no_think_marker", extra={"model": answer.model})
        if question.tools and not wire.tools:
            log.warning("answer.tools_left_out", extra={"model": answer.model})
        effort = target.effort if wire.efforts and target.model is None else None
        return replace(answer, effort=effort, notes=(*answer.notes, *wire.notes(question)))


def _deltas(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text=text)
