"""What a worker does with one run of a digest: find the news, keep what is new, say it. A command that nobody types."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from bot.blocks.base import Audience, OutgoingMessage
from bot.blocks.digests import digest_messages, failed_message
from bot.commands.base import Command, Work
from bot.digests.base import Digest, State, Why
from bot.digests.choosing import Choosing
from bot.digests.leaving import Leaving
from bot.digests.notices import OWNER_LEFT, OWNER_LEFT_CHANNEL
from bot.digests.report import Report, looks_since
from bot.digests.runs import COMMAND, Run, read
from bot.people import Presence
from bot.storage.digests import Digests
from bot.storage.patience import Patience
from perplexity.errors import PerplexityError
from perplexity.news.summary import news_summary
from perplexity.nothing_found import found_nothing

log = logging.getLogger(__name__)

STOPPING = {Presence.LEFT: OWNER_LEFT, Presence.LEFT_CHANNEL: OWNER_LEFT_CHANNEL}
"""What a digest stops at, and the notices' word for it."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """Makes digests. `presence` tells whether somebody, by id, is still there and in a channel."""

    digests: Digests
    presence: Callable[[str, str], Awaitable[Presence]]
    leaving: Leaving
    choosing: Choosing
    patience: Patience

    def command(self) -> Command[Run, Report | None]:
        """Return it in the form in which a worker works on questions."""
        return Command(
            name=COMMAND,
            summary="Make a digest",
            usage="",
            options=(),
            examples=(),
            own_name=False,
            parse=read,
            audience=lambda _: Audience.CHANNEL,
            answer=self.report,
            render=lambda report, _, __: digest_messages(report) if report is not None else (),
            failed=_failed,
        )

    async def report(self, run: Run, work: Work) -> Report | None:
        """Find what is new; None for a digest that is no more. Raises PerplexityError.

        Nobody is asked, or paid, while the app may not post at all: what was missed is told once it may again.
        """
        now = datetime.fromtimestamp(work.now(), UTC)
        digest = await self.patience(lambda: self.digests.get(run.digest_id, now=now))
        if digest is None:
            return None
        report = Report(digest=digest, why=run.why_at(now), first=run.first, slot=run.slot, now=now)
        wanted = digest.state is State.ACTIVE or run.why is Why.ASKED
        if not (wanted and await self._reaches_owner(digest, by=work.question)):
            return replace(report, held=True, cost_usd=0.0)
        return await self.choosing.with_new(await self._with_summary(report, work), question_id=work.question)

    async def _reaches_owner(self, digest: Digest, *, by: UUID) -> bool:
        presence = await self.presence(digest.owner.user_id, digest.channel_id)
        if word := STOPPING.get(presence):
            await self.leaving.owner_left(digest, word, by=by)
        if presence is Presence.UNREACHABLE:
            log.warning("digest.not_made", extra={"digest": str(digest.id), "error": "app not let in"})
        return presence is Presence.HERE

    async def _with_summary(self, report: Report, work: Work) -> Report:
        """Ask for everything since the run before this one; there may be no news at all, which costs as well."""
        digest, now = report.digest, report.now
        last_look = await self.patience(
            lambda: self.digests.seen.last_look(digest.id, question_id=work.question, now=now)
        )
        since = looks_since(last_look, now=now)
        wish = digest.wish
        try:
            summary = await news_summary(
                work.provider, category=wish.category, topic=wish.topic, since=since, now=now, most=None
            )
        except PerplexityError as error:
            if not found_nothing(error):
                raise
            return replace(report, cost_usd=error.cost_usd)
        return replace(report, summary=summary, cost_usd=summary.cost_usd)


def _failed(run: Run, sentence: str, reference: str) -> OutgoingMessage:
    return failed_message(subject=run.title, digest_id=run.digest_id, sentence=sentence, reference=reference)
