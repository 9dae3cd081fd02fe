"""Runs steps around the calls of services; the same step works for searches, answers, streams and posts."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar, cast

from perplexity.errors import RequestKind
from perplexity.providers.base import OnAttempt, Provider, report_attempts
from perplexity.types import Answer, Done, Event, Message, Query, Question, SearchResults
from perplexity.x_posts.types import PostSource, PostSummary

Reply = SearchResults | Answer | PostSummary
Request = TypeVar("Request", Query, Question)
Whole = TypeVar("Whole", SearchResults, Answer, PostSummary)

Replies = AsyncGenerator[Event | Reply, None]
"""The events of a call as they arrive, and finally its reply."""

Call = Callable[[Request], Replies]


class Step(Protocol):
    """An action around each call, such as changing the request or reporting the outcome."""

    def around(self, request: Request, call: Call[Request]) -> Replies:
        """Make the call, and yield its events and reply.

        A step may change the request, call again, or reply without a call.
        """
        ...


def within(steps: Sequence[Step], call: Call[Request]) -> Call[Request]:
    """Return the call with steps around it, the first one outermost."""
    if not steps:
        return call
    inner = within(steps[1:], call)
    return lambda request: steps[0].around(request, inner)


async def ask(steps: Sequence[Step], request: Request, ask_once: Callable[[Request], Awaitable[Whole]]) -> Whole:
    """Return the reply of a call with steps around it. Raises the errors of the call and of the steps."""

    async def call(asked: Request) -> Replies:
        yield await ask_once(asked)

    async with aclosing(within(steps, call)(request)) as replies:
        *_, reply = [one async for one in replies]
    return cast("Whole", reply)


class SteppedProvider:
    """A provider with steps around each of its calls, the first one outermost."""

    def __init__(self, provider: Provider, steps: Sequence[Step]) -> None:
        self.provider, self.steps = provider, steps
        self.name, self.capabilities = provider.name, provider.capabilities
        self.search_only, self.resumes = provider.search_only, provider.resumes
        self.announces_requests = provider.announces_requests

    async def search(self, query: Query) -> SearchResults:
        """Search, with the steps around the provider's call. Raises the errors of the provider and of the steps."""
        return await ask(self.steps, query, self.provider.search)

    async def answer(self, question: Question) -> Answer:
        """Answer, with the steps around the provider's call. Raises the errors of the provider and of the steps."""
        return await ask(self.steps, question, self.provider.answer)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the provider's events, with the steps around its call. Raises the errors of both."""
        async with aclosing(within(self.steps, self._stream)(question)) as replies:
            async for reply in replies:
                yield Done(answer=reply) if isinstance(reply, Answer) else cast("Event", reply)

    async def _stream(self, question: Question) -> Replies:
        events = self.provider.stream(question)
        try:
            async for event in events:
                yield event.answer if isinstance(event, Done) else event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()


class SteppedPosts:
    """A source of posts with steps around each call; the steps get the topic as a question."""

    def __init__(self, source: PostSource, steps: Sequence[Step]) -> None:
        self.source, self.steps, self.name = source, steps, source.name

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        """Summarize, with the steps around the source's call. Raises the errors of the source and of the steps."""

        async def ask_once(question: Question) -> PostSummary:
            return await self.source.summarize(question.text, since=since, until=until, seconds=seconds)

        return await ask(self.steps, Question(messages=(Message(role="user", content=topic),)), ask_once)


@dataclass(frozen=True, kw_only=True)
class Reporting:
    """Reports every attempt of the service `name` to `on_attempt`. `clock` is monotonic."""

    name: str
    on_attempt: OnAttempt
    clock: Callable[[], float] = time.monotonic

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Make the call, and report how it ended."""
        kind: RequestKind = "search" if isinstance(request, Query) else "answer"
        with report_attempts(self.name, kind, on_attempt=self.on_attempt, clock=self.clock) as attempt:
            async with aclosing(call(request)) as replies:
                async for reply in replies:
                    if isinstance(reply, PostSummary):
                        attempt.cost_usd = reply.cost_usd
                    elif isinstance(reply, SearchResults | Answer):
                        attempt.record(reply)
                    yield reply
