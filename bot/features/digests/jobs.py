"""The two jobs of digests, a run and a stop notice, as questions that a worker answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from bot.clock import utc_now
from bot.commands.base import Command, Reply
from bot.commands.context import CommandContext
from bot.delivery.routes import DIGEST_SURFACE
from bot.features.digests.model import Digest, DigestRun, Owner, State, Trigger, parse_run
from bot.features.digests.rendering import (
    digest_stopped_message,
    owner_gone_message,
    redirected_message,
    skipped_message,
    undeliverable_message,
)
from bot.features.digests.store import DigestStore, PlannedRun
from bot.model.audit import Change
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import NewQuestion, QuestionRow
from bot.model.schedule import latest_slot, next_slot
from bot.slack.users import AUTH_ERRORS
from bot.storage.database import DatabaseRetry

NOT_A_MEMBER = "I’m not in its channel, so I can’t post there. Add me with `/invite` first."
FOREIGN_DIRECT_MESSAGE = (
    "I can’t post in a direct message that I’m not part of. Set it up in the one with me, or in a channel."
)
NOT_ALLOWED = "The settings of this workspace don’t let me post in its channel. An admin can change that."

log = logging.getLogger(__name__)


COMMAND = "digest"
"""The command of a run's question; it cannot be typed."""


def plan_run(digest: Digest, *, now: datetime, new_id: Callable[[], UUID]) -> PlannedRun:
    """Return the run of a digest that is due: one run for the latest slot, even if earlier ones were missed."""
    schedule = digest.spec.schedule
    first = digest.next_at or now
    slot = latest_slot(schedule, first=first, now=now)
    run = DigestRun(digest_id=digest.id, trigger=Trigger.SCHEDULED, earliest_slot=first, slot=slot, title=digest.title)
    question = run_question(run, digest, id=new_id(), key=slot.isoformat())
    return PlannedRun(slot=slot, question=question, next_at=next_slot(schedule, now))


def run_question(run: DigestRun, digest: Digest, *, id: UUID, key: str) -> NewQuestion:
    """Return the question of a run; runs with the same `key` are one run."""
    return NewQuestion(
        id=id,
        delivery_key=f"{DIGEST_SURFACE}:{digest.id}:{key}",
        surface=DIGEST_SURFACE,
        command=COMMAND,
        text=run.text,
        team_id=digest.owner.team_id,
        channel_id=digest.channel_id,
        user_id=digest.owner.user_id,
    )


NOTICE_COMMAND = "digest_notice"
"""The command of a stop notice's question; it cannot be typed."""

OWNER_LEFT = "owner_left"
OWNER_LEFT_CHANNEL = "owner_left_channel"
OWNER_NOT_FOUND = "owner_not_found"
OWNER_MAY_NOT_ASK = "owner_may_not_ask"
STOPPED_BY_ADMIN = "stopped_by_admin"
REASONS = {
    OWNER_LEFT_CHANNEL: "You’re no longer in its channel. Join it again first.",
    OWNER_NOT_FOUND: "Slack didn’t find your account in this workspace.",
    OWNER_MAY_NOT_ASK: (
        "In its channel only some people may ask me, and you’re not one of them. "
        "Ask the channel’s creator to change that."
    ),
    STOPPED_BY_ADMIN: "An admin of this workspace stopped it.",
    "not_in_channel": NOT_A_MEMBER,
    "channel_not_found": NOT_A_MEMBER,
    "is_archived": "Its channel is archived.",
    "no_permission": NOT_ALLOWED,
    "ekm_access_denied": NOT_ALLOWED,
    "restricted_action": NOT_ALLOWED,
    "restricted_action_read_only_channel": NOT_ALLOWED,
    "restricted_action_thread_only_channel": NOT_ALLOWED,
    "restricted_action_non_threadable_channel": NOT_ALLOWED,
}
"""Reasons why a digest cannot be posted, for the owner, by the app's or Slack's reason code.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""


@dataclass(frozen=True, kw_only=True)
class StopNotice:
    """Says why a digest cannot be posted.

    `reason_code` is Slack's error, or a key of `REASONS`, such as for an owner who has left. `title` is the digest's
    topic; it is only set if the digest is deleted.
    """

    digest_id: UUID
    reason_code: str
    title: str = ""

    @property
    def text(self) -> str:
        """Return the notice as a question's text, which `parse_notice` reads."""
        return " ".join(filter(None, (str(self.digest_id), self.reason_code, self.title)))

    def reason(self, channel_id: str = "") -> str:
        """Return the reason as a sentence for the owner."""
        if self.reason_code == "channel_not_found" and channel_id.startswith("D"):
            return FOREIGN_DIRECT_MESSAGE
        return (
            REASONS.get(self.reason_code)
            or f"Slack doesn’t let me post there, and calls the reason “{self.reason_code}”."
        )


def parse_notice(text: str) -> StopNotice:
    """Parse the text of a notice. Raises ValueError."""
    digest_id, word, *title = text.split(" ", maxsplit=2)
    return StopNotice(digest_id=UUID(digest_id), reason_code=word, title="".join(title))


def notice_question(notice: StopNotice, *, id: UUID, by: UUID, owner: Owner, channel_id: str) -> NewQuestion:
    """Return the question of a notice. Each run `by` which the digest was stopped gets one, even if repeated."""
    return NewQuestion(
        id=id,
        delivery_key=f"{DIGEST_SURFACE}:{notice.digest_id}:notice:{by}",
        surface=DIGEST_SURFACE,
        command=NOTICE_COMMAND,
        text=notice.text,
        team_id=owner.team_id,
        channel_id=channel_id,
        user_id=owner.user_id,
    )


@dataclass(frozen=True, kw_only=True)
class StopNoticeCommand:
    """Posts stop notices to the owner, or in the channel if the owner has left.

    `command_label` is the command to type.
    """

    digests: DigestStore
    database_retry: DatabaseRetry
    command_label: str

    def command(self) -> Command[StopNotice, Digest | None]:
        """Return the command that a worker runs."""
        return Command(
            name=NOTICE_COMMAND,
            summary="Say that a digest cannot be posted",
            usage="",
            has_slash_command=False,
            parse=parse_notice,
            audience=lambda notice: Audience.CHANNEL if notice.reason_code == OWNER_LEFT else Audience.ASKER,
            answer=self.load_digest,
            render=lambda digest, notice, _: Reply(messages=self._render(digest, notice)),
            render_failure=lambda notice, _, reference: undeliverable_message(
                reason=notice.reason(), reference=reference
            ),
        )

    async def load_digest(self, notice: StopNotice, _: CommandContext) -> Digest | None:
        """Return the digest in its current state, None if it was deleted. Raises database errors."""
        return await self.database_retry(lambda: self.digests.get(notice.digest_id, now=utc_now()))

    def _render(self, digest: Digest | None, notice: StopNotice) -> tuple[OutgoingMessage, ...]:
        if notice.reason_code == OWNER_LEFT:
            return (owner_gone_message(notice.title, command=self.command_label),)
        if digest is None:
            return ()
        reason = notice.reason(digest.channel_id)
        if digest.state is State.STOPPED:
            return (digest_stopped_message(digest, reason=reason, command=self.command_label),)
        if notice.reason_code in {OWNER_LEFT_CHANNEL, OWNER_MAY_NOT_ASK, OWNER_NOT_FOUND}:
            return (skipped_message(digest, reason=reason),)
        return (redirected_message(digest, reason=reason),)


@dataclass(frozen=True, kw_only=True)
class DigestStopper:
    """Stops digests that cannot be posted. `new_id` makes the ids of questions."""

    digests: DigestStore
    database_retry: DatabaseRetry
    new_id: Callable[[], UUID] = uuid4

    async def on_channel_closed(self, row: QuestionRow, error: str) -> None:
        """Stop a digest that Slack does not let into its channel.

        If Slack refuses the app itself, nothing is stopped: no provider is asked until the app is admitted again.
        """
        if error in AUTH_ERRORS:
            return
        notice = StopNotice(digest_id=parse_run(row.text).digest_id, reason_code=error)
        owner = Owner(team_id=row.team_id, user_id=row.user_id)
        await self._stop(notice, by=row.id, owner=owner, channel_id=row.channel_id)

    async def on_owner_barred(self, digest: Digest, reason_code: str, *, by: UUID) -> None:
        """Stop a digest whose owner has left or may not ask in its channel; delete it if the owner's account is closed.

        `reason_code` says which; `by` is the question that found out. Nobody could delete a digest without an owner,
        and it would count towards the limit of its channel.
        """
        if reason_code == OWNER_LEFT:
            await self._delete(
                StopNotice(digest_id=digest.id, reason_code=reason_code, title=digest.title), digest, by=by
            )
        else:
            notice = StopNotice(digest_id=digest.id, reason_code=reason_code)
            await self._stop(notice, by=by, owner=digest.owner, channel_id=digest.channel_id)

    async def stop_for_admin(self, digest_id: UUID, user_id: str, teams: Collection[str]) -> Digest | None:
        """Stop a digest of one of these workspaces for an admin, tell its owner, and record it in the audit log.

        Return the digest as it was, None if there is none. Raises database errors.
        """
        digest = await self.digests.get(digest_id, now=utc_now())
        if digest is None or digest.owner.team_id not in teams:
            return None
        notice = StopNotice(digest_id=digest.id, reason_code=STOPPED_BY_ADMIN)
        by = self.new_id()
        question = notice_question(notice, id=self.new_id(), by=by, owner=digest.owner, channel_id=digest.channel_id)
        change = Change(
            team_id=digest.owner.team_id,
            user_id=user_id,
            what="digest.stop",
            channel_id=digest.channel_id,
            subject=str(digest.id),
            before=str(digest.state),
            after=str(State.STOPPED),
        )
        await self.digests.stop_for_admin(digest.id, question, change)
        return digest

    async def _delete(self, notice: StopNotice, digest: Digest, *, by: UUID) -> None:
        question = notice_question(notice, id=self.new_id(), by=by, owner=digest.owner, channel_id=digest.channel_id)
        if await self.database_retry(lambda: self.digests.delete_with_notice(digest.id, question)):
            log.warning("digest.deleted", extra={"digest": str(digest.id), "error": notice.reason_code})

    async def _stop(self, notice: StopNotice, *, by: UUID, owner: Owner, channel_id: str) -> None:
        question = notice_question(notice, id=self.new_id(), by=by, owner=owner, channel_id=channel_id)
        if await self.database_retry(lambda: self.digests.stop_with_notice(notice.digest_id, question)):
            log.warning("digest.stopped", extra={"digest": str(notice.digest_id), "error": notice.reason_code})
