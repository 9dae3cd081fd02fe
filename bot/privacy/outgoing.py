"""What leaves for one question: its requests as they were sent, and what was left out of them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol
from uuid import UUID

from bot.privacy.redaction import LeftOut, Redactor, count_left_out
from perplexity.providers.base import ForwardingProvider
from perplexity.request_log import RequestLog, SentRequest, logged_requests
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Answer, Event, Query, Question, SearchResults
from perplexity.x_posts.types import PostSource, PostSummary

MAX_SAVED = 400_000
"""About how many characters of a question's requests are saved: those of an agent repeat all that was said before."""


@dataclass(kw_only=True)
class Outgoing:
    """What leaves for one question. What was taken to be saved is no longer in the log.

    `kept` are the requests that were saved before they left, each with its id in the table `sent_requests`.
    """

    log: RequestLog = field(default_factory=RequestLog)
    left_out: list[LeftOut] = field(default_factory=list)
    kept: list[tuple[SentRequest, UUID]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many different things of each kind were left out."""
        return count_left_out(self.left_out)

    def is_kept(self, request: SentRequest) -> bool:
        """Return whether a request was saved before it left."""
        return any(one is request for one, _ in self.kept)

    def line(self, request: SentRequest) -> str:
        """Return what is to be saved of one request before it leaves: a line of what `take` returns."""
        return _line(vars(request) | {"left_out": self.counts})

    def take(self) -> str | None:
        """Return what is to be saved, as JSON, a line a request; None if there is nothing new.

        If it is very long, requests in the middle are only counted, in the line before them.
        """
        new = [request for request in self.log.requests if not self.is_kept(request)]
        self.log.requests = [request for request in self.log.requests if self.is_kept(request)]
        if not new:
            return None
        first, last = _kept(new)
        lines = [vars(request) for request in new[:first] + new[last:]]
        if first < last:
            lines[first - 1] = lines[first - 1] | {"not_kept": last - first}
        lines[-1] = lines[-1] | {"left_out": self.counts}
        return "".join(map(_line, lines))

    def take_all(self) -> tuple[str | None, list[UUID]]:
        """Return what is to be saved at the end, and the ids of what was saved before and is to be deleted with that.

        That are requests that did not leave after all; and all of them if they are very long, so that some are counted.
        """
        if sum(len(request.body) for request, _ in self.kept) > MAX_SAVED:
            replaced, self.kept = [saved_as for _, saved_as in self.kept], []
        else:
            left = self.log.requests
            replaced = [saved_as for request, saved_as in self.kept if not any(one is request for one in left)]
        return self.take(), replaced


def _line(fields: Mapping[str, Any]) -> str:
    return f"{json.dumps(fields, ensure_ascii=False)}\n"


def _kept(requests: Sequence[SentRequest]) -> tuple[int, int]:
    """Return where the requests that are not saved begin and end.

    The first and the last one are saved, and as many more from both sides as are short enough.
    """
    first, last, left = 1, len(requests), MAX_SAVED - len(requests[0].body)
    from_end = True
    while first < last:
        one = requests[last - 1] if from_end else requests[first]
        left -= len(one.body)
        if left < 0 and last < len(requests):
            break
        first, last = (first, last - 1) if from_end else (first + 1, last)
        from_end = not from_end
    return first, last


_current: ContextVar[Outgoing | None] = ContextVar("outgoing", default=None)


def current_outgoing() -> Outgoing | None:
    """Return what leaves for the question that the current task works on; None if that is not recorded."""
    return _current.get()


@contextmanager
def recorded(outgoing: Outgoing) -> Iterator[Outgoing]:
    """Record what leaves within, also from the tasks that are started there."""
    token = _current.set(outgoing)
    try:
        with logged_requests(outgoing.log):
            yield outgoing
    finally:
        _current.reset(token)


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What was sent for a question: the requests in order, and how many things of each kind were left out of them.

    `not_kept` is how many more were sent after a request, by its number from 1, whose texts were too long to keep.
    """

    requests: tuple[SentRequest, ...] = ()
    not_kept: Mapping[int, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def load_sent(saved: str) -> Sent:
    """Read what `Outgoing.take` and `Outgoing.line` returned, each time that it was saved, in any order.

    A request is there twice if the database had saved it when its connection broke.
    """
    lines: list[dict[str, Any]] = [json.loads(line) for line in dict.fromkeys(saved.split("\n")) if line]
    lines.sort(key=lambda line: line["at"])
    left_out: dict[str, int] = {}
    not_kept: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        # Each part counts its own things, some of them again: together there are at least so many.
        left_out |= {kind: max(count, left_out.get(kind, 0)) for kind, count in line.pop("left_out", {}).items()}
        if count := line.pop("not_kept", 0):
            not_kept[number] = count
    return Sent(requests=tuple(SentRequest(**line) for line in lines), not_kept=not_kept, left_out=left_out)


def note_left_out(left_out: Sequence[LeftOut]) -> None:
    """Note what was left out for the question that the current task works on."""
    if left_out and (outgoing := _current.get()) is not None:
        outgoing.left_out.extend(left_out)


class Answers(Protocol):
    """Answers questions."""

    async def answer(self, question: Question) -> Answer:
        """Return one answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class RedactedAgent:
    """An agent that gets questions without what must not leave."""

    agent: Answers
    redactor: Redactor

    async def answer(self, question: Question) -> Answer:
        """Return the agent's answer. Raises PerplexityError."""
        return await self.agent.answer(await redact_question(question, self.redactor))


@dataclass(frozen=True, kw_only=True)
class RedactedProvider(ForwardingProvider):
    """A provider that gets queries and questions without what must not leave."""

    redactor: Redactor

    async def search(self, query: Query) -> SearchResults:
        """Return the provider's pages. Raises PerplexityError."""
        redacted, left_out = await run_in_thread_if_long(len(query.text), self.redactor.query, query)
        note_left_out(left_out)
        return await self.provider.search(redacted)

    async def answer(self, question: Question) -> Answer:
        """Return the provider's answer. Raises PerplexityError."""
        return await self.provider.answer(await redact_question(question, self.redactor))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of the provider's answer. Raises PerplexityError."""
        async for event in self.provider.stream(await redact_question(question, self.redactor)):
            yield event


@dataclass(frozen=True, kw_only=True)
class RedactedPosts:
    """A service for posts that gets topics without what must not leave."""

    source: PostSource
    redactor: Redactor

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        """Summarize as the source does. Raises what it raises."""
        topic, left_out = await run_in_thread_if_long(len(topic), self.redactor.redact, topic)
        note_left_out(left_out)
        return await self.source.summarize(topic, since=since, until=until, seconds=seconds)


async def redact_question(question: Question, redactor: Redactor) -> Question:
    """Return a question without what must not leave, and note what that was."""
    length = sum(len(message.content) for message in question.messages) + len(question.standalone)
    redacted, left_out = await run_in_thread_if_long(length, redactor.question, question)
    note_left_out(left_out)
    return redacted
