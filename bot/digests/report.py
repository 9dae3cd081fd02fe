"""What one run of a digest found, and whether there is anything to say about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.digests.base import Digest, Why
from bot.digests.schedule import DAYS, clock
from bot.digests.slots import next_slot, scheduled_days
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary

_DAY = timedelta(days=1)
_MONTH = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of a run: `stories` are those of the `summary` that are new, and `since` is the last post's moment.

    `summary` is None where no story at all was found; `cost_usd` is what the search cost in either case, None where
    nobody says. `slot` is when it was due, `first` when the earliest of the slots was that it stands for.
    One that is `held` is not posted, whatever it found: its digest is deleted or paused, or cannot be posted at all.
    """

    digest: Digest
    why: Why
    first: datetime
    slot: datetime
    now: datetime
    summary: NewsSummary | None = None
    cost_usd: float | None = None
    stories: tuple[Story, ...] = ()
    since: datetime | None = None
    held: bool = False

    @property
    def speaks(self) -> bool:
        """Whether it is posted: with news always, without when somebody waits for it or a day is set to say so."""
        return not self.held and (bool(self.stories) or self.why is Why.ASKED or self._stands_for_a_set_day)

    @property
    def _stands_for_a_set_day(self) -> bool:
        """Whether a slot it stands for, up to those that came due while it waited, is of a day set to tell silence."""
        schedule, slot = self.digest.wish.schedule, self.first
        days = set(scheduled_days(schedule, slot))
        while (slot := next_slot(schedule, slot)) <= self.now:
            days |= scheduled_days(schedule, slot)
        return bool(days & self.digest.wish.silence)

    def with_new(self, stories: Sequence[Story], *, since: datetime | None) -> Report:
        """Return it with the stories that are new since a moment."""
        return replace(self, stories=tuple(stories), since=since)


def since_in_words(moment: datetime, *, now: datetime, tz: ZoneInfo) -> str:
    """Return "since Tuesday": the time and zone of a moment today, the weekday of one this week, or else the day."""
    then = moment.astimezone(tz)
    days = (now.astimezone(tz).date() - then.date()).days
    if days < 1:
        return f"since {clock(then.time())} today ({tz.key})"
    if days == 1:
        return "since yesterday"
    return f"since {DAYS[then.weekday()]}" if days < len(DAYS) else f"since {then.day} {then:%B}"


def looks_since(last_look: datetime | None, *, now: datetime) -> datetime:
    """Return since when to look, so that nothing between two runs is missed: for a day at least, and at most a month.

    A day also where the run before was an hour ago: of what that one found, only so much was posted as fits.
    """
    return min(max(last_look or now, now - _MONTH), now - _DAY)
