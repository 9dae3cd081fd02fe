"""One way to an answer: a wire, what it cannot carry, what its models think aloud, and what the asker should know.

Sources outside the domains that were asked for are left out here, in whole answers and in streams.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from perplexity.answers import Answers
from perplexity.computing import computed
from perplexity.domains import KeptText, keep_answer
from perplexity.errors import RunFailed
from perplexity.models import Target
from perplexity.retry import Deadline
from perplexity.thinking import Thinking, without_thinking
from perplexity.types import Answer, Done, Event, Question, Sources, TextDelta

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
        told = self._told(answer, question, target, expected=self.answers.wire.thinks(question, target))
        return await _within_domains(told, question)

    async def stream(self, question: Question, target: Target, *, deadline: Deadline) -> AsyncGenerator[Event, None]:
        """Yield the events, `Done` last; what a model thinks aloud is held back. Raises as `answer` does."""
        self.answers.wire.check(question)
        thinking = Thinking(expected=self.answers.wire.thinks(question, target))
        shown = _Shown(question)
        async with aclosing(self.answers.stream(question, target, deadline=deadline)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    for piece in _deltas(await shown.text(thinking.feed(event.text))):
                        yield piece
                elif isinstance(event, Sources):
                    yield shown.sources(event)
                elif isinstance(event, Done):
                    for piece in _deltas(await shown.rest(thinking.rest(), event.answer)):
                        yield piece
                    told = self._told(event.answer, question, target, expected=thinking.expected)
                    yield Done(answer=await _within_domains(told, question))
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


class _Shown:
    """What of a stream may be shown: all of it, or what belongs to the domains that the question names."""

    def __init__(self, question: Question) -> None:
        domains = question.filters.domains
        self._kept = KeptText(domains, as_json=question.schema is not None) if domains else None

    def sources(self, event: Sources) -> Sources:
        """Return the sources that may be shown."""
        return event if self._kept is None else Sources(sources=self._kept.keep(event.sources))

    async def text(self, piece: str) -> str:
        """Return the text that can be shown now."""
        if self._kept is None:
            return piece
        return await computed(self._kept.cut) if self._kept.feed(piece) else ""

    async def rest(self, piece: str, answer: Answer) -> str:
        """Return the rest of the text, by the sources of the whole answer."""
        if self._kept is None:
            return piece
        self._kept.feed(piece)
        self._kept.keep(answer.sources)
        return await computed(self._kept.rest)


async def _within_domains(answer: Answer, question: Question) -> Answer:
    """Return the answer without what is outside the domains that the question names."""
    if not question.filters.domains:
        return answer
    return await computed(keep_answer, answer, question.filters.domains, as_json=question.schema is not None)


def _deltas(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text=text)
