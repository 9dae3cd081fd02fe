"""Writes a question down before it is acknowledged, within the three seconds that Slack gives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid4

from bot.clock import ARRIVED
from bot.commands.base import Command
from bot.commands.help import MAX_LISTED
from bot.model.digest import DigestService
from bot.model.message import OutgoingMessage
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.questions import NewQuestion, OpenQuestion, Questions, Received
from bot.web.metrics import Metrics
from perplexity.deepdive.types import DeepDive

log = logging.getLogger(__name__)


T = TypeVar("T")

ACK_SECONDS = 2.2
"""Slack gives three from when it sends the request; the rest is for the network and for the reply."""

SHORTEST_SECONDS = 0.3
"""Even a request that has already waited long is tried for this long."""


class Written(Enum):
    """What became of a question that was to be written down."""

    NEW = "new"
    KNOWN = "known"
    """It was delivered before, so it has its answer or will get it."""
    TOO_MANY_OPEN = "too many open"
    """Its asker has as many open questions as allowed."""
    THREAD_FULL = "thread full"
    """Its thread has had its answers for this minute, and that was explained there in the last minute."""
    THREAD_FULL_EXPLAIN = "thread full, to be explained"
    """As `THREAD_FULL`, and it is time to say so."""
    NOT = "not"
    """The database cannot be reached, and the asker must be told. The question may have been written anyway."""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The door to the questions table for listeners.

    `seconds` is the time for everything from the arrival of the request, retries included; `clock` is monotonic.
    """

    questions: Questions
    seconds: float = ACK_SECONDS
    clock: Callable[[], float] = monotonic
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def write(self, question: NewQuestion) -> Written:
        """Write the question and its job, or say in time that it was not possible."""
        try:
            return await self.in_time(self._write(question))
        except TimeoutError:
            log.error("journal.slow", extra={"question": str(question.id), "command": question.command})
            return Written.NOT

    async def open_questions(self, question: NewQuestion) -> list[OpenQuestion]:
        """Return the open questions of a question's asker; an empty list if they cannot be read in time."""
        listed = self.questions.open_of(team_id=question.team_id, user_id=question.user_id, most=MAX_LISTED)
        try:
            return await self.in_time(listed)
        except (*DATABASE_UNAVAILABLE, TimeoutError):
            return []

    async def in_time(self, work: Coroutine[Any, Any, T], *, seconds: float | None = None) -> T:
        """Return what work on the database returns. Raises `TimeoutError` when that takes too long for Slack.

        A caller with more to do before the acknowledgement passes fewer `seconds`.

        If the database hangs, the work is not cancelled, since the driver's own cancellation can hang with it. If it
        succeeds later, the question is answered: better than lost.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        limit = self.left() if seconds is None else min(seconds, self.left())
        done, _ = await asyncio.wait({task}, timeout=limit)
        if task not in done:
            raise TimeoutError
        return task.result()

    def left(self) -> float:
        """Return the seconds that are left for the current request."""
        arrived = ARRIVED.get()
        waited = self.clock() - arrived if arrived is not None else 0.0
        return max(SHORTEST_SECONDS, self.seconds - waited)

    async def _write(self, question: NewQuestion) -> Written:
        patience = DatabaseRetry(seconds=self.left(), first_pause=0.05)
        try:
            match await patience(lambda: self.questions.receive(question)):
                case Received.NEW:
                    return Written.NEW
                case Received.KNOWN:
                    return Written.KNOWN
                case Received.TOO_MANY_OPEN:
                    return Written.TOO_MANY_OPEN
                case Received.THREAD_FULL:
                    return await patience(lambda: self._thread_full(question))
        except DATABASE_UNAVAILABLE as error:
            extra = {"question": str(question.id), "command": question.command, "error": type(error).__name__}
            log.error("journal.away", extra=extra)
            return Written.NOT

    async def _thread_full(self, question: NewQuestion) -> Written:
        log.warning("thread.full", extra={"command": question.command})
        explain = await self.questions.note_full_thread(
            team_id=question.team_id, channel_id=question.channel_id, thread_ts=question.thread_ts or ""
        )
        return Written.THREAD_FULL_EXPLAIN if explain else Written.THREAD_FULL


class SendFile(Protocol):
    """Sends files in the background."""

    def __call__(
        self,
        report: DeepDive,
        user_id: str,
        *,
        sorry: Callable[[], Awaitable[None]],
        refused: Callable[[], Awaitable[None]],
    ) -> None:
        """Begin to send a report to a person.

        `sorry` is called if the report cannot be sent, `refused` if the person is not a member.
        """
        ...


def not_refused(body: Mapping[str, Any]) -> str | None:
    """Return None: no request is refused."""
    return None


def not_known(body: dict[str, Any], user_id: str) -> bool:
    """Return False: no person is known to be an outsider."""
    return False


async def not_noted(body: dict[str, Any], user_id: str) -> None:
    """Save nothing about a sender."""


async def not_ended(state: str, body: Mapping[str, Any]) -> None:
    """Ignore the end of an installation."""


async def always_wanted(question_id: UUID, user_id: str) -> bool:
    """Return True: every click counts as the first."""
    return True


async def not_forgotten(question_id: UUID, user_id: str) -> None:
    """Do nothing: no click is remembered."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The listeners' world. `tell` says something privately to who clicked, by the click's response_url.

    `replace` puts something in the place of the clicked message; `end_runs` has what is under way for a question at
    the services ended; `report_of` returns the report that a question came to, None where there is none; `send_file`
    has it sent to a person. `say` posts a message in a thread: channel, thread, message; `whisper` shows it there only
    to one person: channel, person, thread, message. `watching` keeps the digests,
    `new_id` makes a question's id.

    `refusal` returns why a request is refused, `on_end` records that the app is no longer installed. `knows_outsider`
    returns whether a person is known to be an outsider, `note_sender` records that an event says so. `want_file` is
    False for a second click on the same file, unless `forget_file` was called after the first.
    """

    journal: Journal
    questions: Questions
    commands: Sequence[Command[Any, Any]]
    metrics: Metrics
    tell: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    say: Callable[[str, str, OutgoingMessage], Awaitable[None]]
    whisper: Callable[[str, str, str | None, OutgoingMessage], Awaitable[None]]
    replace: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    end_runs: Callable[[UUID], None]
    watching: DigestService
    report_of: Callable[[UUID], Coroutine[Any, Any, DeepDive | None]]
    send_file: SendFile
    new_id: Callable[[], UUID] = uuid4
    refusal: Callable[[Mapping[str, Any]], str | None] = not_refused
    on_end: Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, None]] = not_ended
    knows_outsider: Callable[[dict[str, Any], str], bool] = not_known
    note_sender: Callable[[dict[str, Any], str], Coroutine[Any, Any, None]] = not_noted
    want_file: Callable[[UUID, str], Awaitable[bool]] = always_wanted
    forget_file: Callable[[UUID, str], Awaitable[None]] = not_forgotten
