"""Questions to answers over one wire: at once, as a stream, or by a run in the background that outlives us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from perplexity.calls import Calls
from perplexity.costs import total
from perplexity.errors import MalformedResponse, PerplexityError, RunFailed, StreamTruncated
from perplexity.models import Target
from perplexity.retry import Clock, Deadline, surely_not_begun, worth_retrying
from perplexity.runs import Runs
from perplexity.types import JSON, Answer, Done, Event, Question, RunStarted, SearchQueries, Sources, TextDelta
from perplexity.wire.base import StreamReader, Wire

_CANCEL_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The three ways to an answer, for questions that were checked. `cancelling` is what `finish` waits for."""

    calls: Calls
    runs: Runs
    wire: Wire
    clock: Clock
    cancelling: set[asyncio.Task[None]] = field(default_factory=set)

    async def answer(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer. Raises any PerplexityError."""
        if self._outlives_us(question, target):
            return await self._background(question, target, deadline=deadline)
        # Only a stream tells the run's id before its end, by which a run is cancelled that nobody comes back for.
        if question.resumable and not self.wire.streamed(target, seconds=deadline.left()):
            body = self.wire.build(question, target, stream=False)
            state = await self.calls.json(
                "POST", self.wire.path, body, deadline=deadline, again=_again(target), persist=question.persist
            )
            return self.wire.read(state)
        return await self._collected(question, target, deadline=deadline)

    async def stream(self, question: Question, target: Target, *, deadline: Deadline) -> AsyncGenerator[Event, None]:
        """Yield the events, `Done` last. Once one was handed on, nothing is tried again."""
        if self._outlives_us(question, target):
            async for event in self._background_events(question, target, deadline=deadline):
                yield event
            return
        made, handed_on, readers = 0, False, _Readers(wire=self.wire)
        while True:
            made += 1
            try:
                async with aclosing(self._once(question, target, deadline=deadline, readers=readers)) as events:
                    async for event in events:
                        handed_on = True
                        yield Done(answer=readers.priced(event.answer)) if isinstance(event, Done) else event
                return
            except PerplexityError as error:
                error.cost_usd = readers.cost_usd
                if handed_on or not _again(target)(error):
                    raise
                await self.calls.retries.pause(error, made=made, deadline=deadline, persist=question.persist)

    async def finish(self) -> None:
        """Wait for the requests that cancel abandoned runs; each has a few seconds."""
        await asyncio.gather(*self.cancelling)

    def _outlives_us(self, question: Question, target: Target) -> bool:
        return self.wire.background and (target.background or question.run_id is not None)

    async def _collected(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer, read from a stream: a silent connection would be cut after a minute."""
        readers = _Readers(wire=self.wire)

        async def attempt() -> Answer:
            async with aclosing(self._once(question, target, deadline=deadline, readers=readers)) as events:
                return await _heard(events, question)

        try:
            answer = await self.calls.retries.run(
                attempt, deadline=deadline, again=_again(target), persist=question.persist
            )
            return readers.priced(answer)
        except PerplexityError as error:
            error.cost_usd = readers.cost_usd
            raise

    async def _once(
        self, question: Question, target: Target, *, deadline: Deadline, readers: _Readers
    ) -> AsyncGenerator[Event, None]:
        reader = readers.next()
        body = self.wire.build(question, target, stream=True)
        try:
            async with aclosing(self.calls.events(self.wire.path, body, deadline=deadline)) as events:
                async for event in events:
                    for told in reader.feed(event):
                        yield told
                    if reader.ended:
                        return
            for told in reader.finish():
                yield told
            if not reader.ended:
                raise StreamTruncated("the stream ended without its last event")
        finally:
            self._abandon(reader)

    def _abandon(self, reader: StreamReader) -> None:
        """Cancel a run whose stream was left before its end."""
        if reader.run_id and not reader.ended:
            self._cancel(reader.run_id)

    def _cancel(self, run_id: str) -> None:
        """Stop a run that nobody wants any more. Not awaited here: who leaves is often being cancelled."""
        task = asyncio.create_task(self._cancel_quietly(run_id))
        self.cancelling.add(task)
        task.add_done_callback(self.cancelling.discard)

    async def _cancel_quietly(self, run_id: str) -> None:
        with suppress(PerplexityError):
            await self.runs.cancel(run_id, deadline=Deadline.after(_CANCEL_SECONDS, self.clock))

    async def _background(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer of a run in the background. When we are cancelled a resumable one goes on."""
        async with aclosing(self._background_events(question, target, deadline=deadline)) as events:
            return await _heard(events, question)

    async def _background_events(
        self, question: Question, target: Target, *, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        run_id, state = question.run_id, None
        if run_id is None:
            body = self.wire.build(question, target, stream=False)
            state = await self.runs.create(body, deadline=deadline, persist=question.persist)
            run_id = str(state["id"])
        try:
            if state is not None and question.on_run is not None:
                await question.on_run(run_id)
            yield RunStarted(id=run_id)
            state = await self.runs.finished(run_id, state=state, deadline=deadline)
        except RunFailed:
            raise
        except BaseException as error:
            if isinstance(error, Exception) or not question.resumable:
                self._cancel(run_id)
            raise
        for event in _told_at_once(self._read(run_id, state)):
            yield event

    def _read(self, run_id: str, state: dict[str, JSON]) -> Answer:
        """Return a run's answer. One in a state that is not known here may be going on still, so it is cancelled."""
        try:
            return self.wire.read(state)
        except MalformedResponse:
            self._cancel(run_id)
            raise


@dataclass(frozen=True, kw_only=True)
class _Readers:
    """The readers of one question's streams, one for each time that it was sent: each may have been charged for."""

    wire: Wire
    made: list[StreamReader] = field(default_factory=list)

    def next(self) -> StreamReader:
        """Return a reader for one more stream."""
        self.made.append(self.wire.reader())
        return self.made[-1]

    @property
    def cost_usd(self) -> float | None:
        """What the service charges for all of them together, as far as it said so."""
        return total(reader.cost_usd for reader in self.made)

    def priced(self, answer: Answer) -> Answer:
        """Return the answer of the last one at the price of all."""
        return replace(answer, usage=replace(answer.usage, cost_usd=self.cost_usd))


async def _heard(events: AsyncIterator[Event], question: Question) -> Answer:
    """Return the answer at the end of the events; the question's `on_event` hears the others."""
    async for event in events:
        if isinstance(event, Done):
            return event.answer
        if question.on_event is not None:
            question.on_event(event)
    raise StreamTruncated("the stream ended without its last event")


def _told_at_once(answer: Answer) -> list[Event]:
    """Return the events of an answer that came in one piece."""
    told: list[Event] = []
    if answer.queries:
        told.append(SearchQueries(queries=answer.queries))
    if answer.sources:
        told.append(Sources(sources=answer.sources))
    return [*told, TextDelta(text=answer.text), Done(answer=answer)]


def _again(target: Target) -> Callable[[PerplexityError], bool]:
    """Return which errors are worth a retry: deep research costs too much to be begun twice."""
    return surely_not_begun if target.background else worth_retrying
