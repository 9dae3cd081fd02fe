"""Shows one answer while it is made: its searches and pages in a status message, then its text as it is written.

In direct messages, and in the threads of channels if the settings say so, the text is streamed. In other threads, or
if Slack refuses to stream, the status message is edited. Outside threads, the response_url shows the progress and
the first sentences at most once each.

The display is only a preview: the complete answer is saved, and delivered again if the displayed text may be wrong.
Once text was sent to Slack, no other service is asked. If the answer then breaks off, its text stays.
https://docs.slack.dev/ai/developing-ai-apps
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Self

from bot.blocks import escaping
from bot.blocks.answer import (
    answer_progress_message,
    growing_message,
    progress_line_message,
    stopped_blocks,
    stopped_message,
    stopped_note,
    writing_message,
    written_message,
)
from bot.blocks.elements import question_line
from bot.blocks.growing import StreamedText
from bot.commands.base import PACE_SECONDS, Progress
from bot.delivery.delivery import ClaimLost
from bot.delivery.status_message import delete
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import QuestionRow, StreamEnding, dump_result
from bot.slack.messages import Chat, PostResult, Retryable, Sent, has_arrived
from bot.slack.streams import StreamEnded, StreamResult, Streams, Unsupported
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.storage.streams import CallPermit, StreamLog
from perplexity.errors import RequestCancelled
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Answer, Event, Restarted, SearchQueries, Source, Sources, TextDelta

log = logging.getLogger(__name__)

HOLD_SECONDS = 0.1
"""How long the first text is held back: an answer that is complete by then is posted in one piece."""

FLUSH_SECONDS = 1.0
"""The pause between two appends to a stream."""

BUSY_SECONDS = 1.5
"""The pause before the next attempt if the workspace has no call left in this minute."""

ROLL_OVER_SECONDS = 240.0
"""A stream is ended after this time and continued in a new message, since Slack ends it after some 306 seconds."""

MAX_SIZE = 9_000
MAX_BLOCKS = 40
"""A message that reaches `MAX_SIZE` or this number of blocks, as Slack counts them, is continued in a new message."""

MAX_LAST_SIZE = 11_000
"""The largest size of the message in which a text ends; it leaves room for the blocks below the text."""

MAX_TRIES = 3

FIRST_STATUS_SECONDS = 1.0
"""The first searches are shown after this many seconds.

In `Mode.EDIT`, they are shown after `PACE_SECONDS`, because the same message also shows the text.
"""

ONCE_SECONDS = 2.0
"""Progress that can be shown only once is shown after this many seconds, or after twice as many if no page is known."""

USES_BEFORE_END = 2
"""How often the response_url may be used before the answer is complete: for its progress and its first sentences."""

LOOK_SECONDS = 0.25
"""The pause between two checks of a text for its first sentences, which can be shown only once."""

GROW_SECONDS = 0.5
"""How long the first sentence waits after its end, so that sentences that end meanwhile are shown with it."""

LONG_SECONDS = 30.0
LONG_PACE_SECONDS = 10.0
"""The pause between two changes of the status, once the answer has taken `LONG_SECONDS`."""

MAX_LOOKUP_SECONDS = 60.0
"""How long an answer waits for Slack to say whether one of its messages was posted."""

CLOSING_SECONDS = 5.0
"""How long a running call may take after the answer is complete or given up."""


GIVEN_UP = frozenset({"stopped", "withdrawn"})
"""The states of a question whose answer is no longer wanted."""


class Mode(Enum):
    """How an answer's text is shown while it is written."""

    STREAM = "stream"
    EDIT = "edit"
    """The status message, or a stream that has ended, is edited."""
    NONE = "none"
    """Progress and first sentences are each shown once, because the message can be changed only a few times."""


@dataclass(kw_only=True)
class LiveAnswer:
    """The display of one question's answer while it is made; within `async with` it shows the events of `on_event`.

    `mode` says how the text is shown. `shared` has what the displays of all answers use. `messages` are the `ts` of the
    streamed messages; if `uncertain` is true, there may be one more. In `Mode.NONE`, text is shown only if there is a
    `question`, which is quoted above the text.
    """

    row: QuestionRow
    progress: Progress
    mode: Mode
    shared: LiveAnswers
    question: str | None = None
    text: StreamedText = field(default_factory=StreamedText)
    messages: list[str] = field(default_factory=list)
    uncertain: bool = False
    has_shown_text: bool = False
    """Whether text of the answer was sent to Slack, even if its arrival is unknown.

    From then on, no service is asked again, so that no other answer replaces the visible text.
    """
    _queries: tuple[str, ...] = ()
    _sources: tuple[Source, ...] = ()
    _pending: str = ""
    _written: str = ""
    _shown: Answer = field(default_factory=partial(Answer, text="", sources=(), provider=""))
    _confirmed: int = 0
    _open: str | None = None
    _opened: float = 0.0
    _reserved: datetime | None = None
    _broken: bool = False
    _start_tries: int = 0
    _started: float = 0.0
    _next_text: float = 0.0
    _next_edit: float = 0.0
    _found: float | None = None
    _next_status: float = 0.0
    _progress_shown: bool = False
    _sentence: float | None = None
    _earlier: tuple[StreamedText, tuple[Source, ...]] | None = None
    _status_ended: bool = False
    _status_gone: bool = False
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    @property
    def shows_text(self) -> bool:
        """Whether the text is shown while it is written."""
        return self.mode is not Mode.NONE

    @property
    def has_confirmed_text(self) -> bool:
        """Whether Slack has confirmed some text of the answer."""
        return bool(self._open or self._written or self.messages)

    async def __aenter__(self) -> Self:
        self._started = self.shared.clock()
        self._task = asyncio.create_task(self._show())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end_showing()

    async def _end_showing(self) -> None:
        """Stop the display; wait for a running call."""
        self._closing.set()
        self._changed.set()
        if self._task is not None:
            # A running call is not cancelled, since Slack might still carry it out without the app's knowledge.
            await asyncio.wait({self._task}, timeout=CLOSING_SECONDS)
            if not self._task.done():
                # The result of the call is unknown, so the whole answer is delivered again.
                self._broken, self.uncertain = True, self.mode is Mode.STREAM
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def on_event(self, event: Event) -> None:
        """Handle an event of the answer."""
        match event:
            case SearchQueries(queries=queries):
                self._queries = tuple(dict.fromkeys((*self._queries, *queries)))
            case Sources(sources=sources):
                self._sources = sources
                self.text.add_sources(sources)
            case TextDelta(text=text):
                self.text.feed(text)
                self._next_text = self._next_text or self.shared.clock() + HOLD_SECONDS
            case Restarted():
                # No text was sent to Slack yet: once text is sent, no service is asked again.
                if self.text.length:
                    self._earlier = self.text, self._sources
                self._queries, self._sources = (), ()
                self.text, self._pending, self._next_text = StreamedText(), "", 0.0
            case _:
                return
        self._changed.set()

    async def broken_off(self, *, at_limit: bool) -> Answer | None:
        """Stop the display, and return the written part of an answer that broke off; None if nothing was sent to Slack.

        If a limit ended the answer (`at_limit`), return the written text even if none of it was sent. If the last
        service has written nothing, return the text of the service before it, or None if there is no such text.
        """
        await self._end_showing()
        if not (self.has_shown_text or at_limit):
            return None
        for written, sources in filter(None, ((self.text, self._sources), self._earlier)):
            text = await run_in_thread_if_long(written.length, written.whole_clauses)
            if text or self.has_shown_text:
                return Answer(text=text, sources=sources, provider="", queries=self._queries)
        return None

    @property
    def shown_part(self) -> Answer:
        """The part of the answer that Slack has confirmed, with the pages that were known at the confirmation."""
        return replace(self._shown, seconds=self.shared.clock() - self._started)

    async def finish(self, ending: StreamEnding | None) -> bool:
        """End the streamed message with the rest of the answer; return whether this has delivered the answer.

        `ending` is None for a failure without any text. Raises ClaimLost if another worker took over.
        """
        try:
            if self.messages and await self._finish(ending):
                return True
            await self.shared.calls.final_edit(self.row)
        except DATABASE_UNAVAILABLE as error:
            log.warning("stream.left", extra=self.row.ids | {"error": type(error).__name__})
            with suppress(*DATABASE_UNAVAILABLE):
                await self.close()
        return False

    async def _finish(self, ending: StreamEnding | None) -> bool:
        if ending is None or self.mode is not Mode.STREAM or self._broken:
            await self.close()
            return False
        end = await run_in_thread_if_long(len(ending.answer.text), self.text.finish, ending.answer)
        if end.is_correct:
            await self._write_rest()
        else:
            log.info("stream.corrected", extra=self.row.ids)
        if not end.is_correct or self._broken:
            await self.close()
            return False
        if self._open is None and not (self._pending and await self._start()):
            return False
        if not await self.shared.calls.started(self.row, self.messages):
            raise ClaimLost
        if not await self._stop(blocks=ending.blocks(end.cited)):
            return False
        if self.row.message_ts is not None and not self._status_gone:
            await delete(self.shared.chat, self.row.channel_id, self.row.message_ts)
        return True

    async def mark_stopped(self) -> bool:
        """Keep a stopped answer's visible text, and note below that it was stopped; return whether the note arrived."""
        question, answer, self._pending = str(self.row.id), self.shown_part, ""
        if self._open is not None and await self._stop(blocks=stopped_blocks(answer, question_id=question)):
            return True
        if self._written:
            ts = self.messages[-1] if self.messages else self.row.message_ts
            above = question_line(self.question or "", Audience.ASKER) if self.mode is Mode.NONE else []
            message = stopped_message(self._written, answer, question_id=question, above=above)
            if self.mode is Mode.NONE:
                return isinstance(await self.shared.replace_original(self.row.response_url, message), Sent)
            result = await self.shared.chat.update(self.row.channel_id, ts or "", escaping.sanitize_message(message))
        else:
            note = stopped_note(answer, question_id=question)
            result = await self.shared.chat.post(
                self.row.channel_id, note, question=question, part=len(self.messages), thread_ts=self.row.thread_ts
            )
        return isinstance(result, Sent)

    async def close(self, *, given_up: bool = False) -> None:
        """End the message that is being streamed, if there is one, without adding text to it.

        If Slack is unavailable and the answer is `given_up`, the message stays recorded as open, so that a later
        clear-up of the question ends it.
        """
        if self._open is not None:
            ts, self._open = self._open, None
            ended = await end_stream(self.shared.streams, self.row, ts, part=len(self.messages) - 1)
            if not (given_up and isinstance(ended, Retryable)):
                await self._record_end()

    async def remove(self) -> None:
        """Delete the visible text of an answer whose question was erased, and its status message."""
        await self.close()
        for ts in (*self.messages, self.row.message_ts):
            if ts is not None:
                await delete(self.shared.chat, self.row.channel_id, ts)

    async def _show(self) -> None:
        """Show the answer's progress until it is complete.

        An error ends only the display: the answer is delivered anyway.
        """
        try:
            while not self._closing.is_set():
                self._changed.clear()
                try:
                    pause, event = await self._step()
                except DATABASE_UNAVAILABLE as error:
                    log.warning("stream.paused", extra=self.row.ids | {"error": type(error).__name__})
                    pause, event = BUSY_SECONDS, self._closing
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await event.wait()
        except (ClaimLost, RequestCancelled):
            log.info("stream.left", extra=self.row.ids)
        except Exception as error:  # noqa: BLE001 - the answer is delivered anyway
            self._broken = True
            log.error("stream.broke", extra=self.row.ids | {"error": type(error).__name__})

    async def _step(self) -> tuple[float | None, asyncio.Event]:
        """Show the next change; return the seconds until the next check, if any, and an event that ends the wait."""
        if self.mode is Mode.NONE:
            return await self._show_once()
        if self._broken and self.mode is Mode.STREAM:  # Nothing more is shown until the answer is complete.
            return None, self._closing
        await self._pull()
        if self._closing.is_set():
            return None, self._closing
        if self._pending:
            if self._next_text <= self.shared.clock():
                is_late = bool(self.messages) or self.row.surface == "im"
                await self._flush()
                if is_late:
                    await self._end_status()
            return max(0.0, self._next_text - self.shared.clock()), self._closing
        if self._is_old():
            await self._stop(last=await self._read(self.text.close_message))
        if self._confirmed:
            await self._end_status()
            left = ROLL_OVER_SECONDS - (self.shared.clock() - self._opened)
            return None if self._open is None else max(0.0, left), self._changed
        return await self._show_status(), self._changed

    async def _pull(self) -> None:
        """Append the text that may now be shown to the pending text, until the current message is full."""
        while not self._is_full() and (piece := await self._read(self.text.take)):
            self._pending += piece

    async def _read(self, call: Callable[[], str]) -> str:
        """Call a method of the text, in a thread if the text is long.

        If the caller is cancelled, the cancellation waits for the end of the method, so that two methods never run at
        once. If another service has restarted the text meanwhile, return "".
        """
        text = self.text
        reading = asyncio.ensure_future(run_in_thread_if_long(text.length, call))
        try:
            found = await asyncio.shield(reading)
        except asyncio.CancelledError:
            await asyncio.wait({reading})
            raise
        return found if text is self.text else ""

    def _is_full(self) -> bool:
        return self.text.size >= MAX_SIZE or self.text.blocks >= MAX_BLOCKS

    def _is_old(self) -> bool:
        return self._open is not None and self.shared.clock() - self._opened >= ROLL_OVER_SECONDS

    async def _flush(self) -> None:
        """Show the pending text in the current mode; end a full or old message first."""
        if self.mode is Mode.EDIT:
            await self._edit()
        elif self._open is None:
            await self._start()
        elif self._is_full() or self._is_old():
            await self._stop(last=await self._read(self.text.close_message))
        else:
            await self._append()

    async def _start(self) -> bool:
        permit, self._reserved = await self.shared.calls.start(self.row, shown=self._confirmed)
        self._check(permit)
        if permit is CallPermit.USED_UP:
            self._wait_or_edit(BUSY_SECONDS)
            return False
        if not self._pending:  # Another service has restarted the text in the meantime.
            await self._record_end()
            return False
        had_sent, self.has_shown_text = self.has_shown_text, True
        recipient = None if self.row.surface == "im" else (self.row.user_id, self.row.team_id)
        result = await self.shared.streams.start(
            self.row.channel_id, self.row.thread_ts or "", self._pending, recipient=recipient
        )
        if isinstance(result, Sent) and result.ts:
            self.messages.append(result.ts)
            self._open, self._opened = result.ts, self.shared.clock()
            self._sent()
            if not await self.shared.calls.started(self.row, self.messages):
                raise ClaimLost
            return True
        if isinstance(result, Unsupported):
            await self.shared.calls.unsupported(self.row.team_id)
        self._log_refused("stream.not_started", result)
        if isinstance(result, Retryable) and result.maybe_posted:
            self._broken = self.uncertain = True  # The stream stays recorded as open, because it may have begun.
        else:
            self.has_shown_text = had_sent
            await self._record_end()
        self._start_tries += 1
        if isinstance(result, Retryable) and not result.maybe_posted and self._start_tries < MAX_TRIES:
            self._next_text = self.shared.clock() + (result.seconds or FLUSH_SECONDS)
        else:
            self._wait_or_edit(FLUSH_SECONDS, give_up=True)
        return False

    def _wait_or_edit(self, seconds: float, *, give_up: bool = False) -> None:
        """Switch to edits if no text is shown yet; otherwise wait, or with `give_up` show no more text."""
        if not self.messages:
            self.mode = Mode.EDIT
        elif give_up:
            self._broken = True
        else:
            self._next_text = self.shared.clock() + seconds

    async def _append(self) -> None:
        permit, pause = await self.shared.calls.append(self.row, shown=self._confirmed)
        self._check(permit)
        if permit is CallPermit.USED_UP:
            self._next_text = self.shared.clock() + BUSY_SECONDS
            return
        result = await self.shared.streams.append(self.row.channel_id, self._open or "", self._pending)
        match result:
            case Sent():
                self._sent(pause)
            case Retryable(maybe_posted=False, seconds=seconds):
                self._next_text = self.shared.clock() + (seconds or FLUSH_SECONDS)
            case StreamEnded(stopped_by_person=True) if self.row.surface == "im":
                await self.shared.stop(self.row)
                raise ClaimLost
            case _:
                # The message is edited from now on: its stream cannot grow, or its length at Slack is unknown.
                self._log_refused("stream.not_appended", result)
                self._broken = True
                await self.close()
                self.mode = Mode.EDIT

    async def _stop(self, *, last: str = "", blocks: tuple[Block, ...] = ()) -> bool:
        """End the current message with the pending text and `last`; return whether Slack accepted this."""
        if self._open is None:
            return False
        part, text = len(self.messages) - 1, self._pending + last
        result = await end_stream(self.shared.streams, self.row, self._open, part=part, text=text, blocks=blocks)
        if not isinstance(result, Sent):
            self._log_refused("stream.not_stopped", result)
            self._broken = True
            await self.close()
            return False
        self._open = None
        self._pending += last
        self._sent()
        self._written = ""
        await self._record_end()
        return True

    async def _write_rest(self) -> None:
        """Write the rest of the text, but leave its end pending, for the call that ends the last message.

        If Slack does not accept text now, write no more.
        """
        while not self._broken:
            await self._pull()
            is_last = self.text.is_complete and self.text.size <= MAX_LAST_SIZE
            if self._open is not None and (is_last or not (self._is_full() or self._is_old())):
                return
            if self._open is not None:
                await self._stop(last=await self._read(self.text.close_message))
            elif not self._pending or not await self._start():
                return

    async def _edit(self) -> None:
        """Show the text so far by an edit of the status message, or of the last stream."""
        if self._next_edit > self.shared.clock():
            self._next_text = self._next_edit
            return
        if self.text.size >= MAX_SIZE:  # The rest comes with the whole answer.
            self._pending = ""
            return
        permit, pause = await self.shared.calls.edit(self.row, shown=self._confirmed + len(self._pending))
        self._check(permit)
        shown = self._written + self._pending
        if permit is CallPermit.GRANTED and self._pending and await self._update(shown):
            self._written, self._pending = shown, ""
            self._confirmed = len(shown)
            self._keep()
        self._next_text = self._next_edit = self.shared.clock() + max(PACE_SECONDS, pause)

    async def _update(self, shown: str) -> bool:
        """Edit the message; return whether the edit arrived."""
        once, question_id = self.mode is Mode.NONE, str(self.row.id)
        message = (
            growing_message(shown, question=self.question or "", question_id=question_id)
            if once
            else written_message(shown, question_id=question_id)
        )
        had_sent, self.has_shown_text = self.has_shown_text, True
        if self.messages:
            edited = escaping.sanitize_message(message)
            arrived = has_arrived(await self.shared.chat.update(self.row.channel_id, self.messages[-1], edited))
        else:
            arrived = True
            # If the question is stopped meanwhile, its reader may have seen the text, which is then kept.
            with suppress(RequestCancelled):
                arrived = await self.progress.update(message, milestone=once)
        if arrived is False:
            self.has_shown_text = had_sent
        return bool(arrived)

    async def _show_status(self) -> float | None:
        """Show the searches, the pages and the seconds; return the seconds until the next update."""
        seconds = self.shared.clock() - self._started
        first = FIRST_STATUS_SECONDS if self.mode is Mode.STREAM and self._queries else PACE_SECONDS
        if (wait := max(first - seconds, self._next_status - self.shared.clock())) > 0:
            return wait
        message = answer_progress_message(self._queries, self._sources, seconds=seconds, question_id=str(self.row.id))
        permit, pause = await self.shared.calls.edit_status(self.row, shown=0)
        self._check(permit)
        if permit is CallPermit.GRANTED:
            await self.progress.update(message, milestone=False)
        # Text may be shown before the status is updated again.
        self._next_edit = self.shared.clock() + PACE_SECONDS
        pace = max(pause, PACE_SECONDS if seconds < LONG_SECONDS else LONG_PACE_SECONDS)
        self._next_status = self.shared.clock() + pace
        return pace

    async def _end_status(self) -> None:
        """Show once, above a stream, that the searches are over; skip this for an answer that ends within a second.

        In a direct message, Slack shows its own stop button below the stream, so the status is deleted instead.
        """
        if self._status_ended or self._open is None:
            return
        self._status_ended = True
        if self.row.surface == "im":
            self._status_gone = isinstance(
                await self.shared.chat.delete(self.row.channel_id, self.row.message_ts or ""), Sent
            )
            return
        message = writing_message(self._queries, self._sources, question_id=str(self.row.id))
        permit, _ = await self.shared.calls.edit_status(self.row, shown=self._confirmed)
        self._check(permit)
        if permit is CallPermit.GRANTED:
            await self.progress.update(message, milestone=False)

    async def _show_once(self) -> tuple[float | None, asyncio.Event]:
        """Show the searches and pages, then the first sentences, by the response_url; return the same as `_step`."""
        if not self.text.length:
            return await self._show_progress_once(), self._changed
        used = self.row.response_uses + self.progress.response_url_uses
        if self.question is None or self.has_shown_text or self._start_tries == MAX_TRIES or used >= USES_BEFORE_END:
            return None, self._closing
        shown = await self._read(self.text.first_sentences)
        if shown and self._sentence is None:
            self._sentence = self.shared.clock()
        if not shown or self._sentence is None or self.shared.clock() < self._sentence + GROW_SECONDS:
            return LOOK_SECONDS, self._closing
        self._start_tries += 1
        if await self._update(shown):
            self._written = shown
            self._keep()
        return BUSY_SECONDS, self._closing

    async def _show_progress_once(self) -> float | None:
        """Show the searches and pages once, unless the answer is ready before; return the seconds to wait, or None.

        If a `question` is set and the response_url was already used, nothing is shown, and the next use is left to the
        text.
        """
        if (
            self._progress_shown
            or not (self._queries or self._sources)
            or (self.question is not None and self.row.response_uses)
        ):
            return None
        self._found = self.shared.clock() if self._found is None else self._found
        seconds = self.shared.clock() - self._started
        # The searches and pages may arrive together with the answer, so they are held back for a moment.
        first = ONCE_SECONDS if self._sources else 2 * ONCE_SECONDS
        if (wait := max(first - seconds, self._found + HOLD_SECONDS - self.shared.clock())) > 0:
            return wait
        self._progress_shown = True
        message = progress_line_message(self._queries, self._sources, question_id=str(self.row.id))
        await self.progress.update(message, milestone=True)
        return None

    def _sent(self, pause: float = 0.0) -> None:
        """Record that Slack has the pending text; more may follow after `FLUSH_SECONDS`, or after a longer `pause`."""
        self._written += self._pending
        self._confirmed += len(self._pending)
        self._pending = ""
        self._keep()
        self._next_text = self.shared.clock() + max(FLUSH_SECONDS, pause)

    def _keep(self) -> None:
        """Record the text that is now visible, for `shown_part`."""
        self._shown = Answer(text=self.text.taken, sources=self._sources, provider="", queries=self._queries)

    async def _record_end(self) -> None:
        reserved, self._reserved = self._reserved, None
        await self.shared.calls.ended(self.row, self.messages, shown=self._confirmed, reserved=reserved)

    def _check(self, permit: CallPermit) -> None:
        if permit is CallPermit.LOST:
            raise ClaimLost

    def _log_refused(self, event: str, result: StreamResult) -> None:
        error = None if isinstance(result, Sent) else result.error
        log.warning(event, extra=self.row.ids | {"error": error})


async def end_stream(
    streams: Streams, row: QuestionRow, ts: str, *, part: int, text: str = "", blocks: tuple[Block, ...] = ()
) -> StreamResult:
    """Call `chat.stopStream`, and return the result.

    If Slack is unavailable, the call is repeated, up to `MAX_TRIES` calls in all, unless its text or blocks may have
    arrived.
    """
    tries = 0
    while True:
        tries += 1
        result = await streams.stop(
            row.channel_id, ts, question=str(row.id), part=part, thread_ts=row.thread_ts, text=text, blocks=blocks
        )
        if not isinstance(result, Retryable) or (result.maybe_posted and (text or blocks)) or tries == MAX_TRIES:
            return result
        await asyncio.sleep(min(result.seconds or FLUSH_SECONDS, CLOSING_SECONDS))


@dataclass(frozen=True, kw_only=True)
class LiveAnswers:
    """Shows answers while they are made, and ends the messages that dead workers have left open.

    `stop` closes a question whose reader pressed Slack's own stop. `replace_original` replaces the message that a
    response_url belongs to. `clock` is monotonic. With `in_channels`, the text is also streamed in the threads of
    channels, where only the asker sees the text grow.
    """

    questions: QuestionStore
    streams: Streams
    chat: Chat
    calls: StreamLog
    stop: Callable[[QuestionRow], Awaitable[object]]
    replace_original: Callable[[str | None, OutgoingMessage], Awaitable[PostResult]]
    in_channels: bool = False
    clock: Callable[[], float] = monotonic

    def answer(self, row: QuestionRow, progress: Progress) -> LiveAnswer:
        """Return the display of a question's answer."""
        return LiveAnswer(row=row, progress=progress, mode=self._mode(row), shared=self)

    def _mode(self, row: QuestionRow) -> Mode:
        if row.thread_ts is None or row.message_ts is None or row.streams:
            # No text is shown next to the streams of a dead worker, which the whole answer will replace.
            return Mode.NONE
        direct = row.surface == "im"
        return Mode.STREAM if (direct or self.in_channels) and self.streams.work(direct=direct) else Mode.EDIT

    async def leave(self, live: LiveAnswer) -> bool:
        """End the display of an answer that this worker must not deliver, so that it can be cleared up.

        Return whether a note below the visible text now says that the answer was stopped. If another worker has claimed
        the question, this worker changes no message.
        """
        try:
            current = await self.questions.get(live.row.id)
        except DATABASE_UNAVAILABLE:
            current = live.row
        with suppress(*DATABASE_UNAVAILABLE):
            if current is None:
                await live.remove()
            elif current.state == "stopped" and live.has_confirmed_text and not live.uncertain:
                await self.questions.keep_stopped(live.row, dump_result(live.shown_part, limits=()))
                return await live.mark_stopped()
            elif current.state in GIVEN_UP:
                await live.close(given_up=True)
        return False

    async def end(self, row: QuestionRow) -> QuestionRow:
        """End the streams that a dead worker may have left open; delete a message that the worker could not record.

        Return the row, whose messages the answer can now replace. If Slack is unavailable, the row is still
        `streaming`.
        """
        results: list[object] = [
            await end_stream(self.streams, row, ts, part=part) for part, ts in enumerate(row.streams)
        ]
        found = await self._find_unrecorded(row)
        # The known messages are read last, since another question's stream may have begun in the meantime.
        known = {row.message_ts or "", *row.streams, *(await self.calls.known(row) if found else ())}
        for ts in () if isinstance(found, Retryable) else found:
            if ts not in known:
                results.append(await end_stream(self.streams, row, ts, part=len(row.streams)))
                results.append(await delete(self.chat, row.channel_id, ts))
        if any(isinstance(one, Retryable) for one in (*results, found)):
            return row
        await self.calls.ended(row, list(row.streams), shown=row.shown, reserved=None)
        return replace(row, streaming=False)

    async def _find_unrecorded(self, row: QuestionRow) -> list[str] | Retryable:
        """Return the messages of an answer that the database may lack; a `Retryable` if Slack stays unavailable."""
        waited, pause = 0.0, FLUSH_SECONDS
        while True:
            found = await self.chat.find_unrecorded(
                row.channel_id,
                question=str(row.id),
                thread_ts=row.thread_ts or "",
                since=row.received_at,
                after=row.asked_after,
            )
            if not isinstance(found, Retryable):
                return found
            if waited >= MAX_LOOKUP_SECONDS:
                log.warning("stream.not_looked_up", extra=row.ids | {"error": found.error})
                return found
            seconds = min(found.seconds or pause, MAX_LOOKUP_SECONDS - waited)
            await asyncio.sleep(seconds)
            waited, pause = waited + seconds, 2 * pause

    async def delete_leftovers(self, row: QuestionRow) -> None:
        """Delete streamed messages that the delivered answer does not use, and a streamed answer's status message."""
        delivered = [message for message in row.messages or () if not message.private]
        for ts in row.streams[len(delivered) :]:
            await delete(self.chat, row.channel_id, ts)
        if row.streams and row.message_ts is not None:
            await delete(self.chat, row.channel_id, row.message_ts)
