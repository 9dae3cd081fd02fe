"""One run of a digest as a question's text, which is all that a job leads to; and when it is due again. Pure."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from bot.blocks.digests import (
    digest_stopped_message,
    owner_gone_message,
    redirected_message,
    skipped_message,
    undeliverable_message,
)
from bot.clock import utc_now
from bot.commands.base import Command, CommandContext
from bot.model.digest import Digest, Owner, State, Why, latest_slot, next_slot
from bot.model.message import Audience, OutgoingMessage
from bot.slack.users import AUTH_ERRORS
from bot.storage.database import Patience
from bot.storage.digests import Digests, Planned
from bot.storage.questions import NewQuestion, QuestionRow

log = logging.getLogger(__name__)


COMMAND = "digest"
"""What a question of a digest asks; nobody can type it."""

SURFACE = "digest"

LATE_AFTER = timedelta(minutes=15)
"""A run that begins so long after its slot says that it is late."""

_TEXT = re.compile(r"(?P<id>\S+) (?P<why>\S+) (?P<first>\S+) (?P<slot>\S+) (?P<title>.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: which digest's, why, for which moment. `title` is what the digest is about.

    `first` is the earliest slot that it stands for: before `slot` where that and others were missed.
    """

    digest_id: UUID
    why: Why
    first: datetime
    slot: datetime
    title: str

    def why_at(self, now: datetime) -> Why:
        """Return why it runs, when it does so only now: what was due may be late by then."""
        return Why.LATE if self.why is Why.DUE and now - self.slot > LATE_AFTER else self.why

    @property
    def text(self) -> str:
        """Return it as a question's text, which `read` reads."""
        return f"{self.digest_id} {self.why} {self.first.isoformat()} {self.slot.isoformat()} {self.title}"


def parse_run(text: str) -> Run:
    """Read what `Run.text` gave. Raises ValueError for anything else."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError("this is no run of a digest")
    return Run(
        digest_id=UUID(match["id"]),
        why=Why(match["why"]),
        first=datetime.fromisoformat(match["first"]),
        slot=datetime.fromisoformat(match["slot"]),
        title=match["title"],
    )


def plan(digest: Digest, *, now: datetime, new_id: Callable[[], UUID]) -> Planned:
    """Return the run of a digest that is due: the last slot that has come, whatever was missed before it."""
    schedule = digest.wish.schedule
    first = digest.next_at or now
    slot = latest_slot(schedule, first=first, now=now)
    run = Run(digest_id=digest.id, why=Why.DUE, first=first, slot=slot, title=digest.title)
    question = run_question(run, digest, id=new_id(), key=slot.isoformat())
    return Planned(slot=slot, question=question, next_at=next_slot(schedule, now))


def run_question(run: Run, digest: Digest, *, id: UUID, key: str) -> NewQuestion:
    """Return the question that makes a run; `key` tells apart what may run twice."""
    return NewQuestion(
        id=id,
        delivery_key=f"{SURFACE}:{digest.id}:{key}",
        surface=SURFACE,
        command=COMMAND,
        text=run.text,
        team_id=digest.owner.team_id,
        channel_id=digest.channel_id,
        user_id=digest.owner.user_id,
    )


NOTICE_COMMAND = "digest_notice"
"""What such a question asks; nobody can type it."""

OWNER_LEFT = "owner_left"
OWNER_LEFT_CHANNEL = "owner_left_channel"
NOT_A_MEMBER = "I am not a member of its channel, so I cannot post there. Invite me there with /invite first."
BETWEEN_OTHERS = "I cannot post in a direct message between others. Set it up in the one with me, or in a channel."
NOT_ALLOWED = "The settings of this workspace do not let me post in its channel. An admin can change that."
REASONS = {
    OWNER_LEFT_CHANNEL: "You are not in its channel any more. Join it again first.",
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
"""Why a digest can be posted no more, for the owner: the app's own word, and Slack's.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Which digest it is about, and Slack's word for why it cannot be posted, or what its owner has left.

    `title` is what the digest is about, where it may be deleted by then.
    """

    digest_id: UUID
    word: str
    title: str = ""

    @property
    def text(self) -> str:
        """Return it as a question's text, which `read` reads."""
        return " ".join(filter(None, (str(self.digest_id), self.word, self.title)))

    def because(self, channel_id: str = "") -> str:
        """Return why it cannot be posted in its channel, as a sentence."""
        if self.word == "channel_not_found" and channel_id.startswith("D"):
            return BETWEEN_OTHERS
        return REASONS.get(self.word) or f"Slack does not let me post there, and calls the reason “{self.word}”."


def parse_notice(text: str) -> Notice:
    """Read what `Notice.text` gave. Raises ValueError for anything else."""
    digest_id, word, *title = text.split(" ", maxsplit=2)
    return Notice(digest_id=UUID(digest_id), word=word, title="".join(title))


def notice_question(notice: Notice, *, id: UUID, by: UUID, owner: Owner, channel_id: str) -> NewQuestion:
    """Return the question that says it; the run `by` which it came to this has one, however many parts it posts."""
    return NewQuestion(
        id=id,
        delivery_key=f"{SURFACE}:{notice.digest_id}:notice:{by}",
        surface=SURFACE,
        command=NOTICE_COMMAND,
        text=notice.text,
        team_id=owner.team_id,
        channel_id=channel_id,
        user_id=owner.user_id,
    )


@dataclass(frozen=True, kw_only=True)
class Noticing:
    """Says it: to the owner, or in the channel where the owner is who left. `call` is how the command is called."""

    digests: Digests
    patience: Patience
    call: str

    def command(self) -> Command[Notice, Digest | None]:
        """Return it in the form in which a worker works on questions."""
        return Command(
            name=NOTICE_COMMAND,
            summary="Say that a digest cannot be posted",
            usage="",
            options=(),
            examples=(),
            has_slash_command=False,
            parse=parse_notice,
            audience=lambda notice: Audience.CHANNEL if notice.word == OWNER_LEFT else Audience.ASKER,
            answer=self.about,
            render=self._rendered,
            render_failure=lambda notice, _, reference: undeliverable_message(
                reason=notice.because(), reference=reference
            ),
        )

    async def about(self, notice: Notice, _: CommandContext) -> Digest | None:
        """Return the digest as it is now; None where it is deleted. Raises like the database."""
        return await self.patience(lambda: self.digests.get(notice.digest_id, now=utc_now()))

    def _rendered(self, digest: Digest | None, notice: Notice, _: Audience) -> tuple[OutgoingMessage, ...]:
        if notice.word == OWNER_LEFT:
            return (owner_gone_message(notice.title, command=self.call),)
        if digest is None:
            return ()
        because = notice.because(digest.channel_id)
        if digest.state is State.STOPPED:
            return (digest_stopped_message(digest, reason=because, command=self.call),)
        if notice.word == OWNER_LEFT_CHANNEL:
            return (skipped_message(digest, reason=because),)
        return (redirected_message(digest, reason=because),)


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """Ends what nobody can read. `new_id` makes the ids of questions."""

    digests: Digests
    patience: Patience
    new_id: Callable[[], UUID] = uuid4

    async def closed(self, row: QuestionRow, error: str) -> None:
        """Take note that Slack did not let a digest into its channel, and why.

        An app that Slack does not let in at all stops nothing: its next run asks nobody until it is let in again.
        """
        if row.command != COMMAND or error in AUTH_ERRORS:
            return
        notice = Notice(digest_id=parse_run(row.text).digest_id, word=error)
        owner = Owner(team_id=row.team_id, user_id=row.user_id)
        await self._stop(notice, by=row.id, owner=owner, channel_id=row.channel_id)

    async def owner_left(self, digest: Digest, word: str, *, by: UUID) -> None:
        """Stop a digest whose owner has left; `word` is the notices' for what, `by` the question that found it out.

        One whose owner's account is closed is deleted: nobody else could do so, and it would count for its channel.
        """
        if word == OWNER_LEFT:
            await self._end(Notice(digest_id=digest.id, word=word, title=digest.title), digest, by=by)
        else:
            notice = Notice(digest_id=digest.id, word=word)
            await self._stop(notice, by=by, owner=digest.owner, channel_id=digest.channel_id)

    async def _end(self, notice: Notice, digest: Digest, *, by: UUID) -> None:
        question = notice_question(notice, id=self.new_id(), by=by, owner=digest.owner, channel_id=digest.channel_id)
        if await self.patience(lambda: self.digests.end(digest.id, question)):
            log.warning("digest.deleted", extra={"digest": str(digest.id), "error": notice.word})

    async def _stop(self, notice: Notice, *, by: UUID, owner: Owner, channel_id: str) -> None:
        question = notice_question(notice, id=self.new_id(), by=by, owner=owner, channel_id=channel_id)
        if await self.patience(lambda: self.digests.stop(notice.digest_id, question)):
            log.warning("digest.stopped", extra={"digest": str(notice.digest_id), "error": notice.word})
