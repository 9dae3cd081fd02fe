"""Decides who is answered, and saves questions before they are acknowledged, within Slack's three seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from bot.blocks import escaping
from bot.budgets import too_fast_sentence
from bot.commands.help import MAX_LISTED, text_message, too_many_open_message
from bot.delivery.queue_place import PlaceMessage, place_sentence
from bot.model.audit import Change
from bot.model.membership import (
    Affiliation,
    Identity,
    RequestOrigin,
    affiliation_of,
    current_scope,
    is_other_workspace,
    team_of,
    user_team_of,
    workspace_key,
)
from bot.model.message import OutgoingMessage
from bot.model.question import (
    CHANNEL_THREADS,
    Insertion,
    NewQuestion,
    Outcome,
    QuestionRow,
    Received,
    Waits,
)
from bot.slack.messages import FAILURES, Chat, RouteClosed, classify_error
from bot.slack.users import USER_GONE_ERRORS, Profiles
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.installation import WorkspaceStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import USER_TEAM_SECONDS, DatabaseRetry, QuestionStore
from bot.translation import N_, speak
from bot.translation import gettext as _
from bot.web.metrics import Metrics

MEMBERS_ONLY = N_(
    "I only answer full members of this workspace, and Slack lists you as a guest or as someone from outside. "
    "Please ask a member to send me your question."
)
MEMBER_UNKNOWN = N_("I couldn’t check with Slack whether you’re a member of this workspace. Please ask again later.")
MEMBER_FORBIDDEN = N_(
    "I can’t check whether you’re a member of this workspace, because Slack doesn’t let me read profiles. "
    "Please ask an admin to reinstall me with the permission `users:read`."
)
THREAD_FULL = N_("I’ve reached the limit of answers per minute in this thread. Please ask again in a minute.")

log = logging.getLogger(__name__)


T = TypeVar("T")

ACK_SECONDS = 2.2
"""How long the work for a request may take before its acknowledgement.

Slack allows three seconds after sending the request; the rest is for the network and the reply.
"""

MIN_SECONDS = 0.3
"""The least time for a request, even if it has already waited long."""


NOT_REACHED = Insertion(received=Received.FAILED)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Saves questions for the listeners.

    `seconds` is the time for everything since the arrival of the request, including retries; `clock` is monotonic.
    `metrics` counts each saved question, and each earlier question that is closed because the new one replaces it.
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
    clock: Callable[[], float] = time.monotonic
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def submit(self, question: NewQuestion, *, surface: str = "") -> Insertion:
        """Save the question and its job; return the result in time for the acknowledgement.

        The metrics count the question for `surface`, or for the question's own surface if `surface` is empty.
        """
        try:
            return await self.within_ack_deadline(self._submit(question, surface or question.surface))
        except TimeoutError:
            log.error("journal.slow", extra={"question": str(question.id), "command": question.command})
            return NOT_REACHED

    async def refusal(self, received: Received, question: NewQuestion, *, not_saved: str) -> OutgoingMessage | None:
        """Render the message that says why a question was not saved; None if it was saved, now or earlier.

        `not_saved` is the text for a database that cannot be reached.
        """
        match received:
            case Received.TOO_MANY_OPEN:
                return await self._too_many_open(question)
            case Received.TOO_FAST | Received.TWIN:
                return text_message(await self.too_fast_text(question))
            case Received.THREAD_FULL | Received.THREAD_FULL_EXPLAIN:
                return text_message(_(THREAD_FULL))
            case Received.FAILED:
                return text_message(_(not_saved))
            case Received.NEW | Received.DUPLICATE:
                return None

    async def too_fast_text(self, question: NewQuestion) -> str:
        """Return the sentence for the asker of a question that came too fast, or is waiting already.

        If the database answers in time, the sentence says how long to wait, or at which place the question waits.
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

    async def _too_many_open(self, question: NewQuestion) -> OutgoingMessage:
        """Render the message for an asker with too many open questions; it lists them if they can be read in time."""
        log.info("question.too_many_open", extra={"command": question.command})
        listed = self.questions.open_questions(team_id=question.team_id, user_id=question.user_id, most=MAX_LISTED)
        try:
            questions = await self.within_ack_deadline(listed)
        except (*DATABASE_UNAVAILABLE, TimeoutError):
            questions = []
        return too_many_open_message([(one.command, one.text, one.age) for one in questions])

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

    async def _submit(self, question: NewQuestion, surface: str) -> Insertion:
        retry = DatabaseRetry(seconds=self.seconds_left(), first_pause=0.05)
        named = {"question": str(question.id), "command": question.command}
        try:
            inserted = await retry(lambda: self.questions.insert(question))
            if inserted.withdrawn is not None:
                self.metrics.settled(command=inserted.withdrawn, state="withdrawn")
            if inserted.received is Received.THREAD_FULL:
                return await retry(lambda: self._thread_full(question))
        except DATABASE_UNAVAILABLE as error:
            log.error("journal.away", extra=named | {"error": type(error).__name__})
            return NOT_REACHED
        if inserted.received is Received.NEW:
            self.metrics.received(command=question.command, surface=surface)
            acted = {"action": question.action} if question.action else {}
            log.info("question.received", extra=named | acted | {"chars": len(question.text), "surface": surface})
        return inserted

    async def _thread_full(self, question: NewQuestion) -> Insertion:
        log.warning("thread.full", extra={"command": question.command})
        explain = await self.questions.record_full_thread(
            team_id=question.team_id, channel_id=question.channel_id, thread_ts=question.thread_ts or ""
        )
        return Insertion(received=Received.THREAD_FULL_EXPLAIN if explain else Received.THREAD_FULL)


async def record_stop(
    row: QuestionRow,
    *,
    questions: QuestionStore,
    metrics: Metrics,
    change: Change | None = None,
    response_url: str | None = None,
) -> bool:
    """Close a question as stopped, and count it; return False if it is already closed.

    A worker then ends the work on the question and clears up. `response_url` is the address for replies to the click;
    None if nobody clicked.
    """
    if not await questions.stop(row.id, user_id=row.user_id, change=change, response_url=response_url):
        return False
    metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra=row.ids)
    return True


OUTSIDER_SECONDS = 0.5
"""How long an acknowledgement waits to learn whether a channel is open to an outsider."""

MAX_WAIT_SECONDS = 600.0
"""How long a worker waits for the asker's profile; then the question fails."""

FILE_WAIT_SECONDS = 5.0
"""How long to wait for the profile of a file's recipient, or of the author of an earlier message in a thread.

This is short, since a process that is stopping waits for its files to be sent.
"""

MAX_PAUSE_SECONDS = 15.0

PROFILE_FORBIDDEN_ERRORS = frozenset(
    {"missing_scope", "no_permission", "not_allowed_token_type", "method_not_supported"}
)
"""Slack's errors for a token that may not read profiles; waiting does not help."""

MEMBERS_COMMANDS = frozenset({"watch", "settings", "status"})
"""Commands for full members only, even in a channel that is open to others."""

UNCHECKED_SURFACES = frozenset({"digest"})
"""Surfaces whose askers are not checked: the owner of a digest was checked when setting it up."""


class CurrentInstallation(Protocol):
    """Says for which installation the current task acts."""

    @property
    def identity(self) -> Identity | None:
        """The installation; None while it is unknown."""


@dataclass(kw_only=True)
class Admission:
    """Decides whose questions are answered: everyone's if `external` is true, otherwise only those of members.

    A channel's own setting overrides `external`. The asker of a refused question gets a private message, unless the
    question is a reply without a mention; the question reaches no provider. `clock` and `sleep` time the retries.
    """

    chat: Chat
    installation: CurrentInstallation
    workspaces: WorkspaceStore
    preferences: PreferenceStore
    profiles: Profiles
    database_retry: DatabaseRetry
    external: bool = False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _forbidden: set[str] = field(default_factory=set)

    def is_known_outsider(self, body: dict[str, Any], user_id: str) -> bool:
        """Return whether a user is known to be an outsider, from the request or a profile of the last ten minutes.

        Always False if `external` is true, or while the installation is unknown.
        """
        ours = self.installation.identity
        if self.external or ours is None:
            return False
        profile = self.profiles.cached(user_id)
        user_team = user_team_of(body)
        if profile is None and ours.enterprise_id is not None:
            return False  # Not all workspaces of the organization are known; a profile would name the organization.
        return affiliation_of(profile, user_team=user_team, ours=ours) is Affiliation.EXTERNAL

    async def refuses(self, body: dict[str, Any], user_id: str, channel_id: str, intake: Intake) -> bool:
        """Return whether a person is known to be an outsider, and the channel is not open to outsiders.

        The channel's settings are read for outsiders only; if reading takes too long, the outsider is refused.
        """
        if not self.is_known_outsider(body, user_id):
            return False
        read = self.preferences.get(team_id=team_of(body), user_id=user_id, channel_id=channel_id)
        try:
            preferences = await intake.within_ack_deadline(read, seconds=OUTSIDER_SECONDS)
        except DATABASE_UNAVAILABLE:
            return True
        return preferences.channel.external is not True

    async def record_sender(self, body: dict[str, Any], user_id: str) -> None:
        """Save a sender's workspace for the workers, if the event names another workspace than the app's.

        Raises database errors.
        """
        ours = self.installation.identity or Identity(team_id=str(body.get("team_id") or ""))
        user_team = user_team_of(body)
        if ours.ids and is_other_workspace(user_team, ours=ours):
            team = RequestOrigin.from_body(body).team_id
            await self.workspaces.save_user_team(user_id, user_team, team_id=team)

    @property
    def installed(self) -> str | None:
        """Return the id of the installation; None while it is unknown."""
        ours = self.installation.identity
        return None if ours is None else ours.id

    async def refused(self, row: QuestionRow, *, user_team: str) -> Outcome | None:
        """Return the outcome of a question whose asker is refused; None if the asker is answered.

        `user_team` is the asker's workspace according to an event of the last ten minutes, empty if no event named one.
        While Slack cannot be reached, the method waits and tries again, for at most `MAX_WAIT_SECONDS`.
        """
        if row.surface in UNCHECKED_SURFACES or self._is_open(row):
            return None
        verdict = await self.affiliation_of(row.user_id, team_id=row.team_id, user_team=user_team)
        if verdict is Affiliation.INTERNAL:
            return None
        # Only the asker sees the messages below, even in a channel, so they are in the asker's language.
        speak(await self.profiles.language(row.user_id))
        if verdict is None:
            log.warning("asker.unknown", extra=row.ids)
            unsure = replace(text_message(self._unknown), private=True)
            messages = () if row.surface == "follow_up" else (unsure,)
            return Outcome(messages=messages, state="failed", error="AskerUnknown")
        log.info("asker.refused", extra=row.ids | {"surface": row.surface})
        if row.surface in CHANNEL_THREADS:
            # A person who replied in a thread without mentioning the app gets no notice.
            if row.surface == "mention":
                await self._reply_in_thread(row)
            return Outcome(messages=(), state="failed", error="OutsideAsker")
        return Outcome(messages=(text_message(_(MEMBERS_ONLY)),), state="failed", error="OutsideAsker")

    def _is_open(self, row: QuestionRow) -> bool:
        """Return whether everyone may ask this question in its channel.

        The channel's setting overrides the app's, but never opens `MEMBERS_COMMANDS` to outsiders.
        """
        of_channel = row.preferences.channel.external
        return self.external if of_channel is None else of_channel and row.command not in MEMBERS_COMMANDS

    async def admits(self, user_id: str) -> bool | None:
        """Return whether a user is answered and may get files; None if unknown, as when Slack answers too late."""
        if self.external:
            return True
        try:
            ours = self.installation.identity
            team = "" if ours is None else ours.team_id
            user_team = await self.database_retry(
                lambda: self.workspaces.user_team(user_id, seconds=USER_TEAM_SECONDS, team_id=team)
            )
            verdict = await self.affiliation_of(user_id, team_id="", user_team=user_team, seconds=FILE_WAIT_SECONDS)
        except DATABASE_UNAVAILABLE:
            return None
        return None if verdict is None else verdict is Affiliation.INTERNAL

    async def asker_refusal(self, user_id: str) -> str | None:
        """Return the text that says why a user is not answered; None if the user is answered."""
        admitted = await self.admits(user_id)
        if admitted:
            return None
        return self._unknown if admitted is None else _(MEMBERS_ONLY)

    @property
    def _unknown(self) -> str:
        """Return the text for a person whose membership could not be checked."""
        return _(MEMBER_FORBIDDEN if workspace_key() in self._forbidden else MEMBER_UNKNOWN)

    async def is_member(self, row: QuestionRow, user_id: str, user_team: str) -> bool:
        """Return whether a person is a full member, whose messages may be sent along with another person's question.

        Return False if this is unknown, as when Slack does not answer in time. `user_team` is as in `affiliation_of`.
        """
        verdict = await self.affiliation_of(
            user_id, team_id=row.team_id, user_team=user_team, seconds=FILE_WAIT_SECONDS
        )
        return verdict is Affiliation.INTERNAL

    async def affiliation_of(
        self, user_id: str, *, team_id: str, user_team: str, seconds: float = MAX_WAIT_SECONDS
    ) -> Affiliation | None:
        """Return whether a user is a full member.

        Return None if this is unknown, because Slack did not answer within `seconds` or the app may not read profiles.
        `team_id` is the workspace of the question; it counts as the app's own until auth.test has answered.
        `user_team` is the user's workspace according to an event of the last ten minutes, empty if no event named one.
        """
        end, pause = self.clock() + seconds, 0.5
        while True:
            ours = self.installation.identity or Identity(team_id=team_id)
            try:
                profile = await self.profiles.get(user_id)
            except FAILURES as error:
                failed = classify_error(error)
            else:
                self._forbidden.discard(workspace_key())
                return affiliation_of(profile, user_team=user_team, ours=ours)
            if isinstance(failed, RouteClosed) and failed.error in USER_GONE_ERRORS:
                return Affiliation.EXTERNAL
            if isinstance(failed, RouteClosed) and failed.error in PROFILE_FORBIDDEN_ERRORS:
                self._log_forbidden(failed.error)
                return affiliation_of(None, user_team=user_team, ours=ours)
            wait = min(getattr(failed, "seconds", None) or pause, MAX_PAUSE_SECONDS)
            if self.clock() + wait > end:
                return None
            await self.sleep(wait)
            pause = min(MAX_PAUSE_SECONDS, pause * 2)

    async def _reply_in_thread(self, row: QuestionRow) -> None:
        """Tell the asker about the refusal in a message that only the asker sees; ignore errors of Slack.

        In a thread without replies, chat.postEphemeral shows nothing, so the message goes to the channel instead:
        https://docs.slack.dev/reference/methods/chat.postEphemeral
        """
        fresh = await self.database_retry(lambda: self.workspaces.begins_thread(row.id))
        message = escaping.sanitize_message(text_message(_(MEMBERS_ONLY)))
        thread_ts = None if fresh else row.thread_ts
        await self.chat.post_ephemeral(row.channel_id, row.user_id, message, thread_ts=thread_ts)

    def _log_forbidden(self, error: str) -> None:
        if workspace_key() not in self._forbidden:
            self._forbidden.add(workspace_key())
            log.warning("asker.unchecked", extra={"error": error})
