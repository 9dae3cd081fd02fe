"""Saves questions before they are acknowledged, within the three seconds that Slack allows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic
from typing import Any, TypeVar

from bot.budgets.sentences import too_fast_sentence
from bot.commands.help import MAX_LISTED
from bot.delivery.queue_place import PlaceMessage, place_sentence
from bot.model.membership import current_scope
from bot.model.question import Insertion, NewQuestion, OpenQuestion, Received, Waits
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.questions import QuestionStore
from bot.translation import N_
from bot.translation import gettext as _
from bot.web.metrics import Metrics

THREAD_FULL = N_("I’ve reached the limit of answers per minute in this thread. Please ask again in a minute.")

log = logging.getLogger(__name__)


T = TypeVar("T")

ACK_SECONDS = 2.2
"""How long the work for a request may take before its acknowledgement.

Slack allows three seconds after sending the request; the rest is for the network and the reply.
"""

MIN_SECONDS = 0.3
"""The least time for a request, even if it has already waited long."""


class Submitted(Enum):
    """The result of submitting a question."""

    NEW = "new"
    DUPLICATE = "known"
    """The question was delivered before, so it has its answer or will get it."""
    TOO_MANY_OPEN = "too_many_open"
    """The asker has as many open questions as allowed."""
    TOO_FAST = "too_fast"
    """The asker or the channel has asked as often as allowed, or the asker's same question is already waiting."""
    THREAD_FULL = "thread_full"
    """The thread has had as many answers as a minute allows, and people in it were told so within the last minute."""
    THREAD_FULL_EXPLAIN = "thread_full_explain"
    """The thread has had as many answers as a minute allows, and the asker must be told so."""
    FAILED = "not"
    """The database cannot be reached, and the asker must be told. The question may have been saved nevertheless."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Saves questions for the listeners.

    `seconds` is the time for everything since the arrival of the request, including retries; `clock` is monotonic.
    `metrics` counts each earlier question that is closed because it is asked again.
    """

    questions: QuestionStore
    metrics: Metrics
    follow_ups: bool = False
    """Whether replies in a thread are answered without a mention."""

    record_sender: Callable[[dict[str, Any], str], Coroutine[Any, Any, None]]
    """Records a sender's workspace, if the event names another workspace than the app's. Raises database errors."""

    show_place: Callable[[NewQuestion, Waits, PlaceMessage | None], None] = lambda question, place, message: None
    """Shows the asker of a question how many questions are ahead of it, for as long as it waits."""

    seconds: float = ACK_SECONDS
    clock: Callable[[], float] = monotonic
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def submit(self, question: NewQuestion) -> Submitted:
        """Save the question and its job; return the result in time for the acknowledgement."""
        return (await self.submit_in_turn(question))[0]

    async def submit_in_turn(self, question: NewQuestion) -> tuple[Submitted, Insertion | None]:
        """Save the question as `submit` does; also return its place in the queue, None unless it was saved."""
        try:
            return await self.within_ack_deadline(self._submit(question))
        except TimeoutError:
            log.error("journal.slow", extra={"question": str(question.id), "command": question.command})
            return Submitted.FAILED, None

    async def too_fast_text(self, question: NewQuestion) -> str:
        """Return the sentence for the asker of a question that came too fast.

        It says how long to wait, if the database answers in time.
        """
        log.info("question.too_fast", extra={"command": question.command})
        try:
            twin = await self.within_ack_deadline(self.questions.twin_place(question))
            if twin is not None:
                return _("You’ve asked this already. {place}").format(place=place_sentence(twin))
            wait = await self.within_ack_deadline(self.questions.rate_wait(question))
        except (*DATABASE_UNAVAILABLE, TimeoutError):
            wait = None
        return too_fast_sentence(wait)

    async def open_questions(self, question: NewQuestion) -> list[OpenQuestion]:
        """Return the open questions of a question's asker; an empty list if they cannot be read in time."""
        listed = self.questions.open_questions(team_id=question.team_id, user_id=question.user_id, most=MAX_LISTED)
        try:
            return await self.within_ack_deadline(listed)
        except (*DATABASE_UNAVAILABLE, TimeoutError):
            return []

    async def within_ack_deadline(self, work: Coroutine[Any, Any, T], *, seconds: float | None = None) -> T:
        """Return the result of work on the database. Raises `TimeoutError` if the work takes too long for Slack.

        A caller with more to do before the acknowledgement passes fewer `seconds`.

        If the database hangs, the work is not cancelled, since the driver's own cancellation can hang with it. If the
        work succeeds later, the question is still answered instead of lost.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        limit = self.seconds_left() if seconds is None else min(seconds, self.seconds_left())
        done, _ = await asyncio.wait({task}, timeout=limit)
        if task not in done:
            raise TimeoutError
        return task.result()

    def seconds_left(self) -> float:
        """Return the seconds that are left for the current request."""
        arrived = current_scope().arrived
        waited = self.clock() - arrived if arrived is not None else 0.0
        return max(MIN_SECONDS, self.seconds - waited)

    async def _submit(self, question: NewQuestion) -> tuple[Submitted, Insertion | None]:
        retry = DatabaseRetry(seconds=self.seconds_left(), first_pause=0.05)
        try:
            inserted = await retry(lambda: self.questions.insert(question))
            if inserted.withdrawn is not None:
                self.metrics.settled(command=inserted.withdrawn, state="withdrawn")
            match inserted.received:
                case Received.NEW:
                    return Submitted.NEW, inserted
                case Received.DUPLICATE:
                    return Submitted.DUPLICATE, None
                case Received.TOO_MANY_OPEN:
                    return Submitted.TOO_MANY_OPEN, None
                case Received.TOO_FAST | Received.TWIN:
                    return Submitted.TOO_FAST, None
                case Received.THREAD_FULL:
                    return await retry(lambda: self._thread_full(question)), None
        except DATABASE_UNAVAILABLE as error:
            extra = {"question": str(question.id), "command": question.command, "error": type(error).__name__}
            log.error("journal.away", extra=extra)
            return Submitted.FAILED, None

    async def _thread_full(self, question: NewQuestion) -> Submitted:
        log.warning("thread.full", extra={"command": question.command})
        explain = await self.questions.record_full_thread(
            team_id=question.team_id, channel_id=question.channel_id, thread_ts=question.thread_ts or ""
        )
        return Submitted.THREAD_FULL_EXPLAIN if explain else Submitted.THREAD_FULL
