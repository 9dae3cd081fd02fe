"""Saving a question before it is acknowledged, within the three seconds that Slack allows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid4

from bot.budgets.sentences import too_fast_sentence
from bot.clock import ARRIVED
from bot.commands.base import Command, manages_nothing
from bot.commands.help import MAX_LISTED
from bot.delivery.shares import Sharing
from bot.model.admin import AdminData
from bot.model.digest import Digest, DigestService
from bot.model.membership import team_of
from bot.model.message import MarkdownFile, OutgoingMessage, SuggestedPrompt
from bot.model.question import Choice, Insertion, NewQuestion, OpenQuestion, QuestionRow, Received
from bot.model.workspace import ActiveWorkspace
from bot.slack.messages import Chat, PostResult, Sent
from bot.slack.users import Management
from bot.slack.views import Views
from bot.storage.budgets import BudgetStore
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.feedback import FeedbackStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics
from perplexity.claims.types import ProposedClaims

log = logging.getLogger(__name__)


T = TypeVar("T")

ACK_SECONDS = 2.2
"""Slack allows three seconds from sending the request; the rest is for the network and the reply."""

MIN_SECONDS = 0.3
"""Even a request that has already waited long is tried for this long."""


class Submitted(Enum):
    """The result of submitting a question."""

    NEW = "new"
    DUPLICATE = "known"
    """It was delivered before, so it has its answer or will get it."""
    TOO_MANY_OPEN = "too_many_open"
    """Its asker has as many open questions as allowed."""
    TOO_FAST = "too_fast"
    """Its asker, or its channel, has asked as often as allowed."""
    THREAD_FULL = "thread_full"
    """Its thread has had its answers for this minute, and the asker was told so in the last minute."""
    THREAD_FULL_EXPLAIN = "thread_full_explain"
    """As `THREAD_FULL`, and the asker must be told."""
    FAILED = "not"
    """The database cannot be reached, and the asker must be told. The question may have been saved anyway."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Saves questions for the listeners.

    `seconds` is the time for everything from the arrival of the request, retries included; `clock` is monotonic.
    Questions that are closed because they are asked again are counted in `metrics`. `added` is called when a question
    and its job were saved.
    """

    questions: QuestionStore
    metrics: Metrics
    added: Callable[[], None] = lambda: None
    seconds: float = ACK_SECONDS
    clock: Callable[[], float] = monotonic
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def submit(self, question: NewQuestion) -> Submitted:
        """Save the question and its job; return the result in time for the acknowledgement."""
        return (await self.submit_in_turn(question))[0]

    async def submit_in_turn(self, question: NewQuestion) -> tuple[Submitted, Insertion | None]:
        """Save the question as `submit` does; return its place, too, None if it has none."""
        try:
            return await self.within_ack_deadline(self._submit(question))
        except TimeoutError:
            log.error("journal.slow", extra={"question": str(question.id), "command": question.command})
            return Submitted.FAILED, None

    async def too_fast_text(self, question: NewQuestion) -> str:
        """Return what to say of a question that came too fast, with the time to wait if it can be read in time."""
        log.info("question.too_fast", extra={"command": question.command})
        try:
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
        """Return what work on the database returns. Raises `TimeoutError` when that takes too long for Slack.

        A caller with more to do before the acknowledgement passes fewer `seconds`.

        If the database hangs, the work is not cancelled, since the driver's own cancellation can hang with it. If it
        succeeds later, the question is answered: better than lost.
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
        arrived = ARRIVED.get()
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
                    self.added()
                    return Submitted.NEW, inserted
                case Received.DUPLICATE:
                    return Submitted.DUPLICATE, None
                case Received.TOO_MANY_OPEN:
                    return Submitted.TOO_MANY_OPEN, None
                case Received.TOO_FAST:
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


class ProposeClaims(Protocol):
    """Finds the claims of a message."""

    async def __call__(self, message: str, *, seconds: float | None = None) -> ProposedClaims:
        """Return them within so many seconds; none if the message has none."""
        ...


class UploadFile(Protocol):
    """Sends files in the background."""

    def __call__(
        self,
        file: MarkdownFile,
        user_id: str,
        *,
        on_failure: Callable[[], Awaitable[None]],
        on_refusal: Callable[[], Awaitable[None]],
    ) -> None:
        """Start sending a file to a user.

        `on_failure` is called if the file cannot be sent, `on_refusal` if the person is not a member.
        """
        ...


async def propose_nothing(message: str, *, seconds: float | None = None) -> ProposedClaims:
    """Return no claims."""
    return ProposedClaims(claims=())


async def verify_no_admin(user_id: str) -> bool | None:
    """Return False: no one is an admin."""
    return False


async def stop_no_digest(digest_id: UUID, user_id: str, teams: Collection[str]) -> Digest | None:
    """Return None: there is no digest."""
    return None


def no_place(question: NewQuestion) -> None:
    """Do nothing: no one waits long enough."""


async def no_admin_data(team_id: str) -> AdminData:
    """Return nothing: no one is an admin."""
    return AdminData()


async def always_admitted(user_id: str) -> str | None:
    """Return None: everyone is answered."""
    return None


async def keep_no_proposal(id: UUID, team_id: str, user_id: str, sent: str) -> None:
    """Keep nothing."""


async def move_no_proposal(id: UUID, team_id: str, user_id: str, question_id: UUID) -> None:
    """Move nothing."""


async def never_named(user_id: str) -> str:
    """Return an empty name."""
    return ""


def never_refused(body: Mapping[str, Any]) -> str | None:
    """Return None: no request is refused."""
    return None


async def delete_nothing(row: QuestionRow) -> None:
    """Do nothing: no message is posted."""


async def suggest_nothing(channel: str, prompts: Sequence[SuggestedPrompt]) -> PostResult:
    """Do nothing: no questions are suggested."""
    return Sent()


def withdraw_nothing(row: QuestionRow) -> None:
    """Do nothing: answers stay."""


def no_home(team_id: str, user_id: str, notice: str = "") -> None:
    """Do nothing: no one has the home tab open."""


async def never_admin(user_id: str) -> bool:
    """Return False: no one is an admin."""
    return False


def never_known(body: dict[str, Any], user_id: str) -> bool:
    """Return False: no user is known to be an outsider."""
    return False


async def record_nothing(body: dict[str, Any], user_id: str) -> None:
    """Save nothing about a sender."""


async def ignore_end(state: str, body: Mapping[str, Any]) -> None:
    """Ignore the end of an installation."""


async def ignore_access(body: Mapping[str, Any]) -> None:
    """Ignore which workspaces of an organization have the app."""


async def no_zone(user_id: str) -> str | None:
    """Return None: no one's time zone is known."""
    return None


class OwnData(Protocol):
    """What is kept of a person in a workspace."""

    async def export(self, team_id: str, user_id: str) -> None:
        """Send it to the person; raise nothing."""
        ...

    async def erase(self, team_id: str, user_id: str) -> None:
        """Erase it; raise nothing."""
        ...


class NoOwnData:
    """Nothing is kept of anyone."""

    async def export(self, team_id: str, user_id: str) -> None:
        """Do nothing."""

    async def erase(self, team_id: str, user_id: str) -> None:
        """Do nothing."""


async def no_choice(team_id: str, user_id: str) -> Choice | None:
    """Return None: no one has asked with the modal."""
    return None


async def keep_no_choice(team_id: str, user_id: str, choice: Choice) -> None:
    """Do nothing: no choice is kept."""


async def always_first(question_id: UUID, user_id: str) -> bool:
    """Return True: every click counts as the first."""
    return True


async def forget_nothing(question_id: UUID, user_id: str) -> None:
    """Do nothing: no click is remembered."""


OUTSIDER_SECONDS = 0.5
"""How long an acknowledgement waits for whether a channel is open to an outsider."""

ADMIN_SECONDS = 0.8
"""How long an acknowledgement waits for Slack to say whether someone is an admin."""


@dataclass(frozen=True, kw_only=True)
class ListenerContext:
    """What the listeners may use.

    `reply_privately` sends a message that only the user who clicked sees, to the click's response_url, and
    `replace_original` replaces the clicked message. `post_in_thread` posts to a channel's thread, `post_ephemeral` only
    for one user. `cancel_runs` cancels a question's background runs. `load_report` returns the report of a question
    as a file, `upload_file` sends a file to a user. `new_id` makes a question's id, `now` returns the
    seconds since 1970.

    `chat` posts messages, `views` opens and changes modals and the App Home; `start` runs work in the background, after
    the acknowledgement. `feedback` holds what people think of answers, `sharing` posts those that are shared,
    `preferences` holds the settings, `budgets` what may be spent; `management` returns whether a person may change the
    settings of a channel.
    `propose_claims` finds what can be checked in a message; `keep_proposal` keeps what is sent for that, by an id, the
    workspace and the person, and `move_proposal` counts it for the question that is made of it. `name_of` returns a
    person's name, empty if it is unknown.
    `suggest_prompts` shows questions to choose from in a direct message. `withdraw_answer` starts withdrawing the
    answer to a question whose message was deleted, `delete_question` deleting both. `home_opened` shows a person the
    home tab, `home_changed` shows it anew to one who has it open, with a notice.

    `show_place` shows the asker of a message how many questions are before it, as long as it waits.

    `admin_data` returns what admins see of a workspace; it raises database errors.

    `find_workspace` returns which of many installations a request is for; it raises database errors. `refusal` returns
    why a request is refused, `record_end` records that the app is no longer installed, `change_access` which workspaces
    of an organization have it. `is_admin` returns whether a user is an admin, `verify_admin` too, or None if Slack does
    not say; `stop_digest` stops a digest of one of some workspaces for an admin, and returns None if there is none.
    `is_known_outsider` returns whether a user is known to be an outsider, `record_sender` records that an event says
    so. `follow_ups` is whether replies without a mention are answered. `request_file` is False for a second click on
    the same file, unless `forget_file` was called after the first.

    `timezone` returns the time zone of a person's profile; it raises one of `bot.slack.messages.FAILURES`.
    `last_choice` returns what a person chose last in the modal for questions, `keep_choice` keeps it; both raise
    database errors. `own_data` sends a person what is kept of them, or erases it.
    """

    intake: Intake
    questions: QuestionStore
    commands: Sequence[Command[Any, Any]]
    metrics: Metrics
    reply_privately: Callable[[str | None, OutgoingMessage], Coroutine[Any, Any, None]]
    post_in_thread: Callable[[str, str, OutgoingMessage], Awaitable[None]]
    post_ephemeral: Callable[[str, str, str | None, OutgoingMessage], Awaitable[None]]
    replace_original: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    cancel_runs: Callable[[UUID], None]
    digests: DigestService
    load_report: Callable[[UUID], Coroutine[Any, Any, MarkdownFile | None]]
    upload_file: UploadFile
    chat: Chat
    views: Views
    feedback: FeedbackStore
    sharing: Sharing
    preferences: PreferenceStore
    budgets: BudgetStore
    start: Callable[[Coroutine[Any, Any, None]], None]
    new_id: Callable[[], UUID] = uuid4
    now: Callable[[], float] = time.time
    propose_claims: ProposeClaims = propose_nothing
    name_of: Callable[[str], Coroutine[Any, Any, str]] = never_named
    asker_refusal: Callable[[str], Awaitable[str | None]] = always_admitted
    keep_proposal: Callable[[UUID, str, str, str], Awaitable[None]] = keep_no_proposal
    move_proposal: Callable[[UUID, str, str, UUID], Awaitable[None]] = move_no_proposal
    follow_ups: bool = False
    find_workspace: Callable[[Mapping[str, Any]], Coroutine[Any, Any, ActiveWorkspace | None]] | None = None
    refusal: Callable[[Mapping[str, Any]], str | None] = never_refused
    record_end: Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, None]] = ignore_end
    change_access: Callable[[Mapping[str, Any]], Coroutine[Any, Any, None]] = ignore_access
    delete_pending: Callable[[QuestionRow], Awaitable[None]] = delete_nothing
    withdraw_answer: Callable[[QuestionRow], None] = withdraw_nothing
    delete_question: Callable[[QuestionRow], None] = withdraw_nothing
    show_place: Callable[[NewQuestion], None] = no_place
    home_opened: Callable[[str, str], None] = no_home
    home_changed: Callable[[str, str, str], None] = no_home
    suggest_prompts: Callable[[str, Sequence[SuggestedPrompt]], Awaitable[PostResult]] = suggest_nothing
    is_admin: Callable[[str], Awaitable[bool]] = never_admin
    verify_admin: Callable[[str], Awaitable[bool | None]] = verify_no_admin
    stop_digest: Callable[[UUID, str, Collection[str]], Awaitable[Digest | None]] = stop_no_digest
    admin_data: Callable[[str], Awaitable[AdminData]] = no_admin_data
    management: Callable[[str, str], Awaitable[Management]] = manages_nothing
    is_known_outsider: Callable[[dict[str, Any], str], bool] = never_known
    record_sender: Callable[[dict[str, Any], str], Coroutine[Any, Any, None]] = record_nothing
    request_file: Callable[[UUID, str], Awaitable[bool]] = always_first
    forget_file: Callable[[UUID, str], Awaitable[None]] = forget_nothing
    timezone: Callable[[str], Awaitable[str | None]] = no_zone
    last_choice: Callable[[str, str], Coroutine[Any, Any, Choice | None]] = no_choice
    keep_choice: Callable[[str, str, Choice], Coroutine[Any, Any, None]] = keep_no_choice
    own_data: OwnData = field(default_factory=NoOwnData)

    async def refuses(self, body: dict[str, Any], user_id: str, channel_id: str) -> bool:
        """Return whether a person is known to be an outsider, and the channel is not open to such.

        The channel's settings are read for outsiders only; if that takes too long, they are refused.
        """
        if not self.is_known_outsider(body, user_id):
            return False
        read = self.preferences.get(team_id=team_of(body), user_id=user_id, channel_id=channel_id)
        try:
            preferences = await self.intake.within_ack_deadline(read, seconds=OUTSIDER_SECONDS)
        except DATABASE_UNAVAILABLE:
            return True
        return preferences.channel.external is not True

    async def is_admin_in_time(self, user_id: str) -> bool:
        """Return whether a user is an admin. Raises TimeoutError if Slack does not say so soon enough for an ack."""
        async with asyncio.timeout(ADMIN_SECONDS):
            return await self.is_admin(user_id)
