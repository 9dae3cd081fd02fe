"""Whether two headlines tell the same: by their words, their numbers and their days. Pure, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from perplexity.news.words import Words, without_site, words_of

_LONGEST = 300


@dataclass(frozen=True, kw_only=True)
class Telling:
    """A story in one site's words."""

    headline: str
    sentence: str
    date: date | None
    url: str

    @cached_property
    def words(self) -> Words:
        """The words of the headline."""
        return words_of(without_site(self.headline, self.url))

    def kept(self) -> list[str]:
        """Return it as JSON takes it."""
        day = self.date.isoformat() if self.date else ""
        return [self.headline[:_LONGEST], self.sentence[:_LONGEST], day, self.url[:_LONGEST]]

    @classmethod
    def of_kept(cls, kept: Sequence[str]) -> Telling:
        """Return what `kept` gave."""
        headline, sentence, day, url = kept
        return cls(headline=headline, sentence=sentence, date=date.fromisoformat(day) if day else None, url=url)


def same(one: Telling, other: Telling) -> bool:
    """Tell whether both tell the same story."""
    a, b = one.words, other.words
    if a.numbers and b.numbers and not a.numbers & b.numbers:
        return False
    shared, least = len(a.all & b.all), min(len(a.all), len(b.all))
    return least > 0 and shared / least >= 0.6
