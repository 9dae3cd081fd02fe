"""Chooses which stories of a run are posted: compared with all that were, in no transaction, one run at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from bot.blocks.digests import digest_failed_message, digest_messages
from bot.commands.base import Command, CommandContext
from bot.digests.jobs import COMMAND, OWNER_LEFT, OWNER_LEFT_CHANNEL, Leaving, Run, parse_run
from bot.model.digest import Digest, Report, State, Why, looks_since
from bot.model.message import Audience, OutgoingMessage
from bot.slack.users import Membership
from bot.storage.database import Patience
from bot.storage.digests import Digests, Noted, Seen, SeenStories
from perplexity.errors import PerplexityError
from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.news.summary import MAX_STORIES, news_summary
from perplexity.notes import found_nothing

log = logging.getLogger(__name__)


_AT_ONCE = 8
"""Fingerprints that are compared in one step, of some milliseconds."""
_PAUSE = 0.01
"""Seconds after a step in which nothing is computed, so that the listeners get on."""


class Compare(Protocol):
    """Finds what is new."""

    def __call__(self, stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story]) -> Sequence[Story]:
        """Return the stories, of all `among` which they are, that are none of those whose fingerprints are `seen`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """Has `compare` find what is new, and notes it.

    A comparison is much to compute, so a thread does it, one for all runs, in small steps with pauses: a thread that
    computes keeps the interpreter from the listeners, who have three seconds, again and again until it ends.
    """

    seen: SeenStories
    patience: Patience
    compare: Compare = unseen
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def with_new(self, report: Report, *, question_id: UUID) -> Report:
        """Return the report with at most eight new stories; those behind them stay new for the next run.

        It is held where the digest was deleted, paused or stopped meanwhile, unless somebody waits for this run.
        """
        stories = report.summary.stories if report.summary else ()
        new, since, place = stories, None, 0
        while True:
            seen = await self._seen(report, question_id=question_id, place=place)
            new, since, place = await self._unlike(new, seen, among=stories), _later(since, seen.at), seen.place
            chosen = new[:MAX_STORIES]
            noted = await self._note(report, chosen, question_id=question_id, place=place)
            if noted is not Noted.OUTDATED:
                return report.with_new(chosen, since=since) if noted is Noted.DONE else replace(report, held=True)

    async def _unlike(self, stories: tuple[Story, ...], seen: Seen, *, among: tuple[Story, ...]) -> tuple[Story, ...]:
        """Return those of the stories that were not seen; what an answer's stories share, all of them tell."""
        for start in range(0, len(seen.fingerprints), _AT_ONCE):
            if not stories:
                break
            part = seen.fingerprints[start : start + _AT_ONCE]
            async with self._turn:
                stories = tuple(await asyncio.to_thread(self.compare, stories, part, among=among))
                await asyncio.sleep(_PAUSE)
        return stories

    async def _seen(self, report: Report, *, question_id: UUID, place: int) -> Seen:
        read = partial(self.seen.by_others, report.digest.id, question_id=question_id, now=report.now, place=place)
        return await self.patience(read)

    async def _note(self, report: Report, chosen: tuple[Story, ...], *, question_id: UUID, place: int) -> Noted:
        stories = report.summary.stories if report.summary else ()
        note = partial(
            self.seen.note,
            report.digest.id,
            [fingerprint(story, among=stories) for story in chosen],
            question_id=question_id,
            now=report.now,
            place=place,
            asked=report.why is Why.ASKED,
        )
        return await self.patience(note)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(filter(None, (one, other)), default=None)


STOPPING = {Membership.DEACTIVATED: OWNER_LEFT, Membership.NOT_IN_CHANNEL: OWNER_LEFT_CHANNEL}
"""What a digest stops at, and the notices' word for it."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """Makes digests. `presence` tells whether somebody, by id, is still there and in a channel."""

    digests: Digests
    presence: Callable[[str, str], Awaitable[Membership]]
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
            has_slash_command=False,
            parse=parse_run,
            audience=lambda _: Audience.CHANNEL,
            answer=self.report,
            render=lambda report, _, __: digest_messages(report) if report is not None else (),
            render_failure=_failed,
        )

    async def report(self, run: Run, work: CommandContext) -> Report | None:
        """Find what is new; None for a digest that is no more. Raises PerplexityError.

        Nobody is asked, or paid, while the app may not post at all: what was missed is told once it may again.
        """
        now = datetime.fromtimestamp(work.now(), UTC)
        digest = await self.patience(lambda: self.digests.get(run.digest_id, now=now))
        if digest is None:
            return None
        report = Report(digest=digest, why=run.why_at(now), first=run.first, slot=run.slot, now=now)
        wanted = digest.state is State.ACTIVE or run.why is Why.ASKED
        if not (wanted and await self._reaches_owner(digest, by=work.question_id)):
            return replace(report, held=True, cost_usd=0.0)
        return await self.choosing.with_new(await self._with_summary(report, work), question_id=work.question_id)

    async def _reaches_owner(self, digest: Digest, *, by: UUID) -> bool:
        presence = await self.presence(digest.owner.user_id, digest.channel_id)
        if word := STOPPING.get(presence):
            await self.leaving.owner_left(digest, word, by=by)
        if presence is Membership.APP_REMOVED:
            log.warning("digest.not_made", extra={"digest": str(digest.id), "error": "app not let in"})
        return presence is Membership.MEMBER

    async def _with_summary(self, report: Report, work: CommandContext) -> Report:
        """Ask for everything since the run before this one; there may be no news at all, which costs as well."""
        digest, now = report.digest, report.now
        last_look = await self.patience(
            lambda: self.digests.seen.last_look(digest.id, question_id=work.question_id, now=now)
        )
        since = looks_since(last_look, now=now)
        wish = digest.wish
        try:
            summary = await news_summary(
                work.provider, category=wish.category, topic=wish.topic, since=since, now=now, max_stories=None
            )
        except PerplexityError as error:
            if not found_nothing(error):
                raise
            return replace(report, cost_usd=error.cost_usd)
        return replace(report, summary=summary, cost_usd=summary.cost_usd)


def _failed(run: Run, sentence: str, reference: str) -> OutgoingMessage:
    return digest_failed_message(subject=run.title, digest_id=run.digest_id, sentence=sentence, reference=reference)
