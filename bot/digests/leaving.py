"""Ends a digest whose owner has left, or whose channel the app cannot post to any more, and has that said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from bot.digests.base import Digest, Owner
from bot.digests.notices import OWNER_LEFT, Notice, question_of
from bot.digests.runs import COMMAND, read
from bot.people import SHUT_OUT
from bot.storage.digests import Digests
from bot.storage.patience import Patience
from bot.storage.questions import QuestionRow

log = logging.getLogger(__name__)


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
        if row.command != COMMAND or error in SHUT_OUT:
            return
        notice = Notice(digest_id=read(row.text).digest_id, word=error)
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
        question = question_of(notice, id=self.new_id(), by=by, owner=digest.owner, channel_id=digest.channel_id)
        if await self.patience(lambda: self.digests.end(digest.id, question)):
            log.warning("digest.deleted", extra={"digest": str(digest.id), "error": notice.word})

    async def _stop(self, notice: Notice, *, by: UUID, owner: Owner, channel_id: str) -> None:
        question = question_of(notice, id=self.new_id(), by=by, owner=owner, channel_id=channel_id)
        if await self.patience(lambda: self.digests.stop(notice.digest_id, question)):
            log.warning("digest.stopped", extra={"digest": str(notice.digest_id), "error": notice.word})
