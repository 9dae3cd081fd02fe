"""Chooses which stories of a run are posted: compared with all that were, in no transaction, one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from bot.digests.base import Why
from bot.digests.report import Report
from bot.storage.patience import Patience
from bot.storage.seen_stories import Noted, Seen, SeenStories
from perplexity.news.stories import Story, fingerprint, new_since
from perplexity.news.summary import MOST

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
    compare: Compare = new_since
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
            chosen = new[:MOST]
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
