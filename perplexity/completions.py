"""Answers questions over one wire, as a whole, as a stream, or by a background run that outlives this process.

A wire is the format of an API's requests and replies. Sources outside the requested domains are left out, in whole
answers and in streams.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from perplexity.api import ApiClient, Runs
from perplexity.domains import TextFilter, filter_answer
from perplexity.errors import (
    MalformedResponse,
    PerplexityError,
    RequestCancelled,
    RunFailed,
    StreamTruncated,
    total_cost,
)
from perplexity.models import Target, Timeouts
from perplexity.retry import Clock, Deadline, Retries, is_retryable, is_safe_to_repeat
from perplexity.threads import run_in_thread
from perplexity.types import (
    JSON,
    Answer,
    Done,
    Event,
    Question,
    Restarted,
    RunStarted,
    Sources,
    TextDelta,
    as_events,
)
from perplexity.wire.base import StreamReader, Wire

log = logging.getLogger(__name__)


_CANCEL_SECONDS = 3.0


def answer_deadline(question: Question, target: Target, limits: Timeouts, clock: Clock) -> Deadline:
    """Return the deadline for an answer by `target`, from the question's own limits and the client's `limits`."""
    limit = limits.for_effort(target.effort)
    if question.seconds is None:
        return Deadline.after(limit, clock, total=limits.total)
    return Deadline.after(min(question.seconds, limit), clock, total=question.total_seconds)


@dataclass(frozen=True, kw_only=True)
class Completions:
    """Answers validated questions over one wire. `cancelling` holds the tasks that `finish` waits for."""

    api: ApiClient
    runs: Runs
    wire: Wire
    clock: Clock
    cancelling: set[asyncio.Task[None]] = field(default_factory=set)

    async def answer(self, question: Question, target: Target, *, started: float, deadline: Deadline) -> Answer:
        """Return the answer, whose `seconds` are counted from `started`.

        Raises any PerplexityError. If the wire cannot carry the question, InvalidRequest is raised before anything is
        sent. If the answer to an `offline` question cites pages, RunFailed is raised, because the answer may say more
        than the question's messages do.
        """
        self.wire.check(question)
        if question.on_event is not None:
            events = self.stream(question, target, started=started, deadline=deadline, repeat=True)
            return await _last(events, question.on_event)
        answer = await self._answer(question, target, deadline=deadline)
        expected = self.wire.emits_thinking(question, target)
        return await self._finalize(answer, question, target, expected=expected, started=started)

    async def stream(
        self, question: Question, target: Target, *, started: float, deadline: Deadline, repeat: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Yield the events, `Done` last. Raises the same errors as `answer`.

        The think block is left out, as are sources, links and markers outside the question's domains. After the first
        event, a request is repeated only with `repeat`, which is as for `_stream_attempts`.
        """
        self.wire.check(question)
        thinking = ThinkStripper(expected=self.wire.emits_thinking(question, target))
        kept = _kept_text(question)
        async with aclosing(self._all_events(question, target, deadline=deadline, repeat=repeat)) as events:
            async for event in events:
                if isinstance(event, Restarted):
                    thinking, kept = ThinkStripper(expected=thinking.expected), _kept_text(question)
                    yield event
                elif isinstance(event, TextDelta):
                    piece = thinking.feed(event.text)
                    if kept is not None:
                        piece = await run_in_thread(kept.take) if kept.feed(piece) else ""
                    if piece:
                        deadline.text_arrived()
                        yield TextDelta(text=piece)
                elif isinstance(event, Sources):
                    yield event if kept is None else Sources(sources=kept.filter_sources(event.sources))
                elif isinstance(event, Done):
                    if piece := await _rest(thinking, kept, event.answer):
                        yield TextDelta(text=piece)
                    expected = thinking.expected
                    answer = await self._finalize(event.answer, question, target, expected=expected, started=started)
                    yield Done(answer=answer)
                else:
                    yield event

    async def finish(self) -> None:
        """Wait a few seconds for the requests that start or cancel abandoned runs.

        Requests that take longer are cancelled. The requests that then cancel their runs get the same time again.
        """
        await self._wait_for_cancelling()
        for task in list(self.cancelling):
            task.cancel()
        await self._wait_for_cancelling()

    async def _wait_for_cancelling(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _CANCEL_SECONDS
        while self.cancelling and loop.time() < end:
            await asyncio.wait(self.cancelling, timeout=end - loop.time())

    async def _finalize(
        self, answer: Answer, question: Question, target: Target, *, expected: bool, started: float
    ) -> Answer:
        """Return the answer without its think block and foreign sources, with effort, notes, attachments and seconds.

        Raises RunFailed if the question is `offline` and the answer has sources.
        """
        if question.offline and answer.sources:
            log.warning("answer.searched_all_the_same", extra={"model": answer.model})
            raise RunFailed(
                "the model was not to search, and did", provider=answer.provider, cost_usd=answer.usage.cost_usd
            )
        answer = strip_thinking(answer, expected=expected)
        if expected and answer.reasoning is None:
            log.warning("answer.no_think_marker", extra={"model": answer.model})
        if question.tools and not self.wire.takes_tools:
            log.warning("answer.tools_left_out", extra={"model": answer.model})
        if domains := question.filters.enforced:
            answer = await run_in_thread(filter_answer, answer, domains, as_json=question.schema is not None)
        return replace(
            answer,
            effort=target.effort if self.wire.takes_effort and target.model is None else None,
            notes=(*answer.notes, *self.wire.notes(question)),
            attachments=len(question.attachments) if self.wire.takes_files else 0,
            seconds=self.clock() - started,
        )

    async def _answer(self, question: Question, target: Target, *, deadline: Deadline) -> Answer:
        # A question that is not resumable is sent as a stream, since only a stream sends the run's id before the run
        # ends. If the caller leaves, the run is cancelled by this id.
        at_once = question.resumable and not self.wire.should_stream(target, seconds=deadline.remaining())
        if at_once and not self._runs_in_background(question, target):
            body, retryable = self.wire.build(question, target, stream=False), _retry_rule(target)
            state = await self.api.request(
                "POST", self.wire.path, body, deadline=deadline, retryable=retryable, asked=question
            )
            return self.wire.read(state)
        return await _last(self._all_events(question, target, deadline=deadline, repeat=True))

    def _all_events(
        self, question: Question, target: Target, *, deadline: Deadline, repeat: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Return the events of a run in the background, or of a stream; `repeat` is as for `_stream_attempts`."""
        if self._runs_in_background(question, target):
            return self._background_events(question, target, deadline=deadline)
        return self._stream_attempts(question, target, deadline=deadline, repeat=repeat)

    def _runs_in_background(self, question: Question, target: Target) -> bool:
        return self.wire.supports_runs and (target.background or question.run_id is not None)

    async def _stream_attempts(
        self, question: Question, target: Target, *, deadline: Deadline, repeat: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of streams until a stream is complete.

        After the first event, another stream is opened only with `repeat`. A caller sets `repeat` if it collects the
        events into one answer, so that it can begin again at `Restarted`. Once text was shown to someone, no further
        stream is opened.
        """
        readers: list[StreamReader] = []
        body, retries = self.wire.build(question, target, stream=True), question.retries or Retries()
        while True:
            reader, yielded, began = self.wire.reader(), False, False
            readers.append(reader)
            try:
                async with aclosing(self._stream_once(reader, body, question, deadline=deadline)) as events:
                    async for event in events:
                        yielded, began = True, began or not isinstance(event, RunStarted)
                        yield _priced(event, readers) if isinstance(event, Done) else event
                return
            except PerplexityError as error:
                error.cost_usd, error.began = total_cost(one.cost_usd for one in readers), began
                if (yielded and not repeat) or question.text_shown() or not _retry_rule(target)(error):
                    raise
                failure = error
            finally:
                if reader.run_id and not reader.ended:
                    # The stream was left before its end.
                    self._cancel(reader.run_id)
            if yielded:
                yield Restarted()
            await self.api.retries.wait_or_raise(
                failure, retries=retries, deadline=deadline, before_retry=question.before_retry
            )

    async def _stream_once(
        self, reader: StreamReader, body: JSON, question: Question, *, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of one stream. Raises StreamTruncated if the stream ends without its terminal event."""
        opened = self.api.stream(self.wire.path, body, deadline=deadline, before_sending=question.before_sending)
        async with aclosing(opened) as received:
            async for each in received:
                for event in reader.feed(each):
                    yield event
                if reader.ended:
                    return
        for event in reader.finish():
            yield event
        if not reader.ended:
            raise StreamTruncated("the stream ended without its last event")

    def _cancel(self, run_id: str) -> None:
        """Stop an abandoned run. The request is not awaited here, because the caller is often being cancelled."""
        self._keep(self._cancel_quietly(run_id))

    def _keep(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(ending)
        self.cancelling.add(task)
        task.add_done_callback(self.cancelling.discard)

    async def _cancel_quietly(self, run_id: str) -> None:
        with suppress(PerplexityError):
            await self.runs.cancel(run_id, deadline=Deadline.after(_CANCEL_SECONDS, self.clock))

    async def _background_events(
        self, question: Question, target: Target, *, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        run_id, state, known = question.run_id or "", None, list[Event]()
        if not run_id:
            beginning = asyncio.create_task(self._begin(question, target, deadline=deadline))
            try:
                run_id, state = await asyncio.shield(beginning)
            except asyncio.CancelledError:
                self._keep(self._end_alone(beginning, question))
                raise
        try:
            yield RunStarted(id=run_id)
            async with aclosing(self.runs.states(run_id, state=state, deadline=deadline)) as states:
                async for state in states:
                    found = self.wire.progress(state)
                    if found != known:
                        known = found
                        for event in found:
                            yield event
        except RunFailed:
            raise
        except BaseException as error:
            if isinstance(error, Exception) or not question.resumable:
                self._cancel(run_id)
            raise
        for event in [each for each in as_events(self._read(run_id, state or {})) if each not in known]:
            yield event

    async def _begin(self, question: Question, target: Target, *, deadline: Deadline) -> tuple[str, dict[str, JSON]]:
        """Start a run, pass its id to `question.on_run`, and return its id and its state.

        If `on_run` raises an exception, the run is cancelled. If this task is cancelled meanwhile, the run is cancelled
        unless the question is resumable.
        """
        body = self.wire.build(question, target, stream=False)
        state = await self.runs.create(body, deadline=deadline, asked=question)
        run_id = str(state["id"])
        if question.on_run is not None:
            try:
                await question.on_run(run_id)
            except BaseException as error:
                if isinstance(error, Exception) or not question.resumable:
                    self._cancel(run_id)
                raise
        return run_id, state

    async def _end_alone(self, beginning: asyncio.Task[tuple[str, dict[str, JSON]]], question: Question) -> None:
        """Let a run start although its caller was cancelled, so that its id reaches `question.on_run`.

        Otherwise the answer would be paid for twice, because nobody could resume the run. A run that is not resumable
        is cancelled.
        """
        try:
            run_id, _ = await beginning
        except RequestCancelled:
            return
        except Exception as error:  # noqa: BLE001 - no caller is left to raise it to
            log.warning("run.not_begun", extra={"error": type(error).__name__})
            return
        if not question.resumable:
            await self._cancel_quietly(run_id)

    def _read(self, run_id: str, state: dict[str, JSON]) -> Answer:
        """Return a run's answer. A run in an unknown state may still be going on, so it is cancelled."""
        try:
            return self.wire.read(state)
        except MalformedResponse:
            self._cancel(run_id)
            raise


def _priced(done: Done, readers: Sequence[StreamReader]) -> Done:
    """Return the event with the total cost in its answer.

    The total is the sum of the costs that the service reported for all streams of the question, also for broken ones.
    """
    usage = replace(done.answer.usage, cost_usd=total_cost(reader.cost_usd for reader in readers))
    return Done(answer=replace(done.answer, usage=usage))


async def _last(events: AsyncGenerator[Event, None], on_event: Callable[[Event], None] | None = None) -> Answer:
    """Return the answer in the last event, and pass the other events to `on_event`.

    Raises StreamTruncated if the events end without an answer.
    """
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                return event.answer
            if on_event is not None:
                on_event(event)
    raise StreamTruncated("the stream ended without its last event")


def _retry_rule(target: Target) -> Callable[[PerplexityError], bool]:
    """Return a test for errors worth a retry; deep research is too expensive to start twice."""
    return is_safe_to_repeat if target.background else is_retryable


_OPEN = "<think>"
_CLOSE = "</think>"


@dataclass
class ThinkStripper:
    """Takes the pieces of a text and returns the text after its think block, however the pieces are cut.

    If the model is known to write its thinking into the text (`expected`), the block is everything up to the first
    `</think>`, with or without `<think>`. Otherwise, only a text that begins with `<think>` has a block.
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
        """Take the next piece, and return the text that is now known to belong to the answer.

        The space between the block and the answer is left out.
        """
        if self._over:
            return piece if self._begun else self._after_block(piece)
        self._held.append(piece)
        if not self._may_think(piece):
            return self.flush()
        # The end marker may begin in an earlier piece, so the end of the held text is searched. The whole text is
        # joined only once, when the marker is complete.
        self._tail += piece
        if _CLOSE not in self._tail:
            self._tail = self._tail[-len(_CLOSE) :]
            return ""
        block, _, behind = "".join(self._held).partition(_CLOSE)
        self._held, self._over = [], True
        self.reasoning = block.strip().removeprefix(_OPEN).strip()
        return self._after_block(behind)

    def flush(self) -> str:
        """Return the text that was held back; without an end marker, this text is the answer."""
        text, self._held = "".join(self._held), []
        self._begun = self._begun or bool(text)
        self._over = self._over or bool(text)
        return text

    def _may_think(self, piece: str) -> bool:
        if not (self.expected or self._opened):
            self._start = (self._start + piece).lstrip()
            self._opened = self._start.startswith(_OPEN)
            return self._opened or _OPEN.startswith(self._start)
        return True

    def _after_block(self, piece: str) -> str:
        piece = piece.lstrip()
        self._begun = bool(piece)
        return piece


def strip_thinking(answer: Answer, *, expected: bool) -> Answer:
    """Return the answer with its think block as `reasoning`. Raises MalformedResponse if nothing follows the block."""
    thinking = ThinkStripper(expected=expected)
    text = thinking.feed(answer.text) + thinking.flush()
    if thinking.reasoning is None:
        return answer
    if not text:
        raise MalformedResponse("the answer has no text", provider=answer.provider, cost_usd=answer.usage.cost_usd)
    return replace(answer, text=text, reasoning=thinking.reasoning)


def _kept_text(question: Question) -> TextFilter | None:
    """Return a filter that drops links and markers outside the question's domains; None if no domains are set."""
    domains = question.filters.enforced
    return TextFilter(domains, as_json=question.schema is not None) if domains else None


async def _rest(thinking: ThinkStripper, kept: TextFilter | None, answer: Answer) -> str:
    """Return the text that was held back, filtered by the sources of the whole answer."""
    piece = thinking.flush()
    if kept is None:
        return piece
    kept.feed(piece)
    kept.filter_sources(answer.sources)
    return await run_in_thread(kept.flush)
