"""Questions to answers over one wire: at once, as a stream, or by a run in the background that outlives us.

Sources outside the domains that were asked for are left out here, in whole answers and in streams.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from perplexity.api import Calls
from perplexity.attempts import total_cost
from perplexity.domains import TextFilter, filter_answer
from perplexity.errors import MalformedResponse, PerplexityError, RunFailed, StreamTruncated
from perplexity.models import Target
from perplexity.retry import Clock, Deadline, is_retryable, is_safe_to_repeat
from perplexity.runs import Runs
from perplexity.threads import run_in_thread
from perplexity.types import (
    JSON,
    Answer,
    Done,
    Event,
    Question,
    RunStarted,
    SearchQueries,
    Sources,
    TextDelta,
)
from perplexity.wire.base import StreamReader, Wire

log = logging.getLogger(__name__)


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
        if question.resumable and not self.wire.should_stream(target, seconds=deadline.remaining()):
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
                await self.calls.retries.wait_or_raise(
                    error, attempts=made, deadline=deadline, persist=question.persist
                )

    async def finish(self) -> None:
        """Wait for the requests that cancel abandoned runs; each has a few seconds."""
        await asyncio.gather(*self.cancelling)

    def _outlives_us(self, question: Question, target: Target) -> bool:
        return self.wire.supports_runs and (target.background or question.run_id is not None)

    async def _collected(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        """Return the answer, read from a stream: a silent connection would be cut after a minute."""
        readers = _Readers(wire=self.wire)

        async def attempt() -> Answer:
            async with aclosing(self._once(question, target, deadline=deadline, readers=readers)) as events:
                return await _heard(events, question)

        try:
            answer = await self.calls.retries.run(
                attempt, deadline=deadline, retryable=_again(target), persist=question.persist
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
            state = await self.runs.wait(run_id, state=state, deadline=deadline)
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
        return total_cost(reader.cost_usd for reader in self.made)

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
    return is_safe_to_repeat if target.background else is_retryable


_OPEN = "<think>"
_CLOSE = "</think>"


@dataclass
class Thinking:
    """Takes the pieces of a text and gives what stands behind its think block, wherever the pieces are cut.

    Of a model that thinks aloud (`expected`) the block is everything up to the first `</think>`, opened or not; of any
    other it is a block that the text opens with.
    """

    expected: bool
    reasoning: str | None = None
    _held: list[str] = field(default_factory=list)
    _tail: str = ""
    _start: str = ""
    _opened: bool = False
    _over: bool = False
    _begun: bool = False

    def feed(self, piece: str) -> str:
        """Return what of the piece belongs to the answer; the space between block and answer does not."""
        if self._over:
            return self._behind(piece)
        self._held.append(piece)
        if not self._may_think(piece):
            return self.rest()
        # A marker may begin in what is held already; all of that is put together once, when the marker is there.
        self._tail += piece
        if _CLOSE not in self._tail:
            self._tail = self._tail[-len(_CLOSE) :]
            return ""
        block, _, behind = "".join(self._held).partition(_CLOSE)
        self._held, self._over = [], True
        self.reasoning = block.strip().removeprefix(_OPEN).strip()
        return self._behind(behind)

    def rest(self) -> str:
        """Return what was held back and turned out to be the answer, as it is: no marker came."""
        held, self._held = "".join(self._held), []
        self._begun = self._begun or bool(held)
        self._over = self._over or bool(held)
        return held

    def _may_think(self, piece: str) -> bool:
        if not (self.expected or self._opened):
            self._start = (self._start + piece).lstrip()
            self._opened = self._start.startswith(_OPEN)
            return self._opened or _OPEN.startswith(self._start)
        return True

    def _behind(self, piece: str) -> str:
        piece = piece if self._begun else piece.lstrip()
        self._begun = self._begun or bool(piece)
        return piece


def without_thinking(answer: Answer, *, expected: bool) -> Answer:
    """Return the answer with its think block as `reasoning`. Raises MalformedResponse when nothing stands behind it."""
    thinking = Thinking(expected=expected)
    text = thinking.feed(answer.text) + thinking.rest()
    if thinking.reasoning is None:
        return answer
    if not text:
        raise MalformedResponse("the answer has no text", provider=answer.provider, cost_usd=answer.usage.cost_usd)
    return replace(answer, text=text, reasoning=thinking.reasoning)


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
        told = self._told(answer, question, target, expected=self.answers.wire.emits_thinking(question, target))
        return await _within_domains(told, question)

    async def stream(self, question: Question, target: Target, *, deadline: Deadline) -> AsyncGenerator[Event, None]:
        """Yield the events, `Done` last; what a model thinks aloud is held back. Raises as `answer` does."""
        self.answers.wire.check(question)
        thinking = Thinking(expected=self.answers.wire.emits_thinking(question, target))
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
        if question.tools and not wire.takes_tools:
            log.warning("answer.tools_left_out", extra={"model": answer.model})
        effort = target.effort if wire.takes_effort and target.model is None else None
        return replace(answer, effort=effort, notes=(*answer.notes, *wire.notes(question)))


class _Shown:
    """What of a stream may be shown: all of it, or what belongs to the domains that the question names."""

    def __init__(self, question: Question) -> None:
        domains = question.filters.domains
        self._kept = TextFilter(domains, as_json=question.schema is not None) if domains else None

    def sources(self, event: Sources) -> Sources:
        """Return the sources that may be shown."""
        return event if self._kept is None else Sources(sources=self._kept.filter_sources(event.sources))

    async def text(self, piece: str) -> str:
        """Return the text that can be shown now."""
        if self._kept is None:
            return piece
        return await run_in_thread(self._kept.take) if self._kept.feed(piece) else ""

    async def rest(self, piece: str, answer: Answer) -> str:
        """Return the rest of the text, by the sources of the whole answer."""
        if self._kept is None:
            return piece
        self._kept.feed(piece)
        self._kept.filter_sources(answer.sources)
        return await run_in_thread(self._kept.flush)


async def _within_domains(answer: Answer, question: Question) -> Answer:
    """Return the answer without what is outside the domains that the question names."""
    if not question.filters.domains:
        return answer
    return await run_in_thread(filter_answer, answer, question.filters.domains, as_json=question.schema is not None)


def _deltas(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text=text)
