"""What the listeners may use: the parts of the app that a request needs, connected in `bot/app.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID, uuid4

from bot.commands.base import Command
from bot.delivery.shares import Sharing
from bot.listeners.intake import Intake
from bot.model.admin import AdminData
from bot.model.audit import Change
from bot.model.digest import Digest, DigestService
from bot.model.membership import team_of
from bot.model.message import MarkdownFile, OutgoingMessage, SuggestedPrompt
from bot.model.question import Choice, NewQuestion, QuestionRow
from bot.model.workspace import ActiveWorkspace
from bot.slack.messages import Chat, PostResult
from bot.slack.users import Management
from bot.slack.views import Views
from bot.storage.budgets import BudgetStore
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.feedback import FeedbackStore
from bot.storage.limits import LimitStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics
from perplexity.claims.types import ProposedClaims

OUTSIDER_SECONDS = 0.5
"""How long an acknowledgement waits to learn whether a channel is open to an outsider."""

ADMIN_SECONDS = 0.8
"""How long an acknowledgement waits for Slack to say whether someone is an admin."""


class ProposeClaims(Protocol):
    """Finds the claims of a message."""

    async def __call__(self, message: str, *, seconds: float | None = None) -> ProposedClaims:
        """Return them within so many seconds; none if the message has none."""
        ...


class UploadFile(Protocol):
    """Sends files."""

    async def __call__(
        self,
        file: MarkdownFile,
        user_id: str,
        *,
        on_failure: Callable[[], Awaitable[None]],
        on_refusal: Callable[[], Awaitable[None]],
    ) -> None:
        """Send a file to a user. Raises nothing.

        `on_failure` is called if the file cannot be sent, `on_refusal` if the person is not a member.
        """
        ...


class OwnData(Protocol):
    """What the app keeps about a person in a workspace."""

    async def export(self, team_id: str, user_id: str) -> None:
        """Send it to the person. Raises nothing."""
        ...

    async def erase(self, team_id: str, user_id: str) -> None:
        """Erase it. Raises nothing."""
        ...


@dataclass(frozen=True, kw_only=True)
class ListenerContext:
    """What the listeners may use. Ids of people, channels and workspaces are Slack's."""

    commands: Sequence[Command[Any, Any]]
    metrics: Metrics

    # Saving questions.

    intake: Intake
    questions: QuestionStore

    follow_ups: bool
    """Whether replies in a thread are answered without a mention."""

    show_place: Callable[[NewQuestion], None]
    """Show the asker of a message how many questions are ahead of it, for as long as it waits."""

    new_id: Callable[[], UUID] = uuid4
    now: Callable[[], float] = time.time
    """Seconds since 1970."""

    # Stored settings, budgets, limits and opinions. These raise database errors.

    preferences: PreferenceStore
    budgets: BudgetStore
    limits: LimitStore
    feedback: FeedbackStore
    digests: DigestService

    last_choice: Callable[[str, str], Coroutine[Any, Any, Choice | None]]
    """What a person of a workspace chose last in the modal for questions; None if nothing."""

    keep_choice: Callable[[str, str, Choice], Coroutine[Any, Any, None]]

    # Messages and views.

    chat: Chat
    views: Views

    reply_privately: Callable[[str | None, OutgoingMessage], Coroutine[Any, Any, None]]
    """Send a message to the response_url of a click; only the user who clicked sees it."""

    replace_original: Callable[[str | None, OutgoingMessage], Awaitable[object]]
    """Replace the message that was clicked, by the click's response_url."""

    post_in_thread: Callable[[str, str, OutgoingMessage], Awaitable[None]]
    """Post to the thread of a channel."""

    post_ephemeral: Callable[[str, str, str | None, OutgoingMessage], Awaitable[None]]
    """Post to a channel for one user, in a thread if there is one."""

    suggest_prompts: Callable[[str, Sequence[SuggestedPrompt]], Awaitable[PostResult]]
    """Show questions to choose from in a direct message."""

    home_opened: Callable[[str, str, str], None]
    """Show a person of a workspace the home tab, with a notice, and keep it up to date from now on."""

    home_changed: Callable[[str, str, str], None]
    """Show the home tab again, with a notice, to a person who has it open."""

    # Answers.

    start: Callable[[Coroutine[Any, Any, None]], None]
    """Run work in the background, after the acknowledgement."""

    sharing: Sharing
    load_report: Callable[[UUID], Coroutine[Any, Any, MarkdownFile | None]]
    """Return the report of a question as a file; None if there is none."""

    upload_file: UploadFile

    request_file: Callable[[UUID, str], Awaitable[bool]]
    """Return False for a second click of a user on the same file, unless `forget_file` was called after the first."""

    forget_file: Callable[[UUID, str], Awaitable[None]]

    delete_question: Callable[[QuestionRow], None]
    """Start deleting a question and its answer."""

    propose_claims: ProposeClaims

    keep_proposal: Callable[[UUID, str, str, str], Awaitable[None]]
    """Keep what is sent to find the claims of a message, by an id, the workspace and the person."""

    move_proposal: Callable[[UUID, str, str, UUID], Awaitable[None]]
    """Count what was kept for the question that is made of it."""

    # People.

    name_of: Callable[[str], Coroutine[Any, Any, str]]
    """Return a person's name, empty if it is unknown."""

    timezone: Callable[[str], Awaitable[str | None]]
    """Return the time zone of a person's profile. Raises one of `bot.slack.messages.FAILURES`."""

    asker_refusal: Callable[[str], Awaitable[str | None]]
    """Return why a person is not answered; None if they are."""

    is_known_outsider: Callable[[dict[str, Any], str], bool]
    """Return whether a request's user is known to be an outsider."""

    record_sender: Callable[[dict[str, Any], str], Coroutine[Any, Any, None]]
    """Record that an event names another workspace as its sender's. Raises database errors."""

    own_data: OwnData

    # Admins.

    is_admin: Callable[[str], Awaitable[bool]]

    verify_admin: Callable[[str], Awaitable[bool | None]]
    """Return whether a user is an admin; None if Slack does not say."""

    management: Callable[[str, str], Awaitable[Management]]
    """Return whether a person may change the settings of a channel."""

    admin_data: Callable[[str], Awaitable[AdminData]]
    """Return what admins see of a workspace. Raises database errors."""

    record_change: Callable[[Change], Awaitable[None]]
    """Record in the audit log what changes nothing else, such as a refusal. Raises database errors."""

    stop_digest: Callable[[UUID, str, Collection[str]], Awaitable[Digest | None]]
    """Stop a digest of one of these workspaces for an admin; return None if there is none."""

    # Installations.

    find_workspace: Callable[[Mapping[str, Any]], Coroutine[Any, Any, ActiveWorkspace | None]] | None
    """Return which of many installations a request is for; None if there is only one. Raises database errors."""

    refusal: Callable[[Mapping[str, Any]], str | None]
    """Return why a verified request is refused; None if it is not."""

    record_end: Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, None]]
    """Record that the app is no longer installed."""

    change_access: Callable[[Mapping[str, Any]], Coroutine[Any, Any, None]]
    """Record which workspaces of an organization have the app."""

    async def refuses(self, body: dict[str, Any], user_id: str, channel_id: str) -> bool:
        """Return whether a person is known to be an outsider, and the channel is not open to outsiders.

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
