"""What is said when a digest can be posted no more, as a question of its own: so it is carried like any answer."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from bot.blocks.base import Audience, OutgoingMessage
from bot.blocks.digest_notices import diverted_message, orphaned_message, unmade_message, unnamed_message
from bot.blocks.digests import stopped_message
from bot.clock import utc_now
from bot.commands.base import Command, Work
from bot.digests.base import Digest, Owner, State
from bot.digests.runs import SURFACE
from bot.storage.digests import Digests
from bot.storage.patience import Patience
from bot.storage.questions import NewQuestion

COMMAND = "digest_notice"
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


def read(text: str) -> Notice:
    """Read what `Notice.text` gave. Raises ValueError for anything else."""
    digest_id, word, *title = text.split(" ", maxsplit=2)
    return Notice(digest_id=UUID(digest_id), word=word, title="".join(title))


def question_of(notice: Notice, *, id: UUID, by: UUID, owner: Owner, channel_id: str) -> NewQuestion:
    """Return the question that says it; the run `by` which it came to this has one, however many parts it posts."""
    return NewQuestion(
        id=id,
        delivery_key=f"{SURFACE}:{notice.digest_id}:notice:{by}",
        surface=SURFACE,
        command=COMMAND,
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
            name=COMMAND,
            summary="Say that a digest cannot be posted",
            usage="",
            options=(),
            examples=(),
            own_name=False,
            parse=read,
            audience=lambda notice: Audience.CHANNEL if notice.word == OWNER_LEFT else Audience.ASKER,
            answer=self.about,
            render=self._rendered,
            failed=lambda notice, _, reference: unnamed_message(because=notice.because(), reference=reference),
        )

    async def about(self, notice: Notice, _: Work) -> Digest | None:
        """Return the digest as it is now; None where it is deleted. Raises like the database."""
        return await self.patience(lambda: self.digests.get(notice.digest_id, now=utc_now()))

    def _rendered(self, digest: Digest | None, notice: Notice, _: Audience) -> tuple[OutgoingMessage, ...]:
        if notice.word == OWNER_LEFT:
            return (orphaned_message(notice.title, call=self.call),)
        if digest is None:
            return ()
        because = notice.because(digest.channel_id)
        if digest.state is State.STOPPED:
            return (stopped_message(digest, because=because, call=self.call),)
        if notice.word == OWNER_LEFT_CHANNEL:
            return (unmade_message(digest, because=because),)
        return (diverted_message(digest, because=because),)
