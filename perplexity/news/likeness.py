"""Whether two headlines tell the same: by their words, their numbers, their names and their days. Pure, no model.

The thresholds were found with tests/data/stories/tuning.jsonl; tests/perplexity/news/test_stories.py measures them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import takewhile

from perplexity.addresses import site
from perplexity.news.fronts import is_front
from perplexity.news.pages import page_of
from perplexity.news.turns import states
from perplexity.news.words import LONGEST, Words, fold, matched, without_site, words_of

_LIKELY, _SURELY, _NEARLY_ALL = 0.55, 0.7, 0.88
"""How much of the headlines must be shared, by how likely it is beforehand that they tell the same."""
_NEAR_DAYS = 2
_NAME, _NUMBER = 2.0, 1.5
_PAST = re.compile(r"\b(?:after|following|despite|nach|apres|après|tras|dopo|após)\b", re.IGNORECASE)


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
        return words_of(self.title)

    @cached_property
    def context(self) -> Words:
        """The words of the headline and the sentence together."""
        return words_of(f"{self.title} . {self.sentence}"[:LONGEST])

    @cached_property
    def title(self) -> str:
        """The headline without the site's name."""
        return without_site(self.headline, self.url)

    @cached_property
    def states(self) -> dict[int, int]:
        """How far the story has come; what the headline calls the past is not looked at."""
        return states(fold(word) for word in re.findall(r"[^\W\d_]+", _PAST.split(self.title, maxsplit=1)[0]))

    @cached_property
    def address(self) -> str:
        """The page, without what a link adds to it."""
        return page_of(self.url)

    @property
    def front(self) -> tuple[str, str, str]:
        """What tells one day of a section's front from another, as far as `kept` keeps it."""
        headline, sentence, _, url = self.kept()
        return headline, sentence, url

    def kept(self) -> list[str]:
        """Return it as JSON takes it."""
        day = self.date.isoformat() if self.date else ""
        return [self.headline[:LONGEST], self.sentence[:LONGEST], day, self.url[:LONGEST]]

    @classmethod
    def of_kept(cls, kept: Sequence[str]) -> Telling:
        """Return what `kept` gave."""
        headline, sentence, day, url = kept
        return cls(headline=headline, sentence=sentence, date=date.fromisoformat(day) if day else None, url=url)


def same(one: Telling, other: Telling) -> bool:
    """Tell whether both tell the same story, and neither more than the other.

    What stands on a section's front is another story every day under one title: only the very same text is the same.
    """
    if is_front(one.title, one.address) or is_front(other.title, other.address):
        return one.front == other.front
    if fold(one.title) == fold(other.title):
        return True
    if (
        _swapped(one.title, other.title)
        or _other_numbers(one, other)
        or _other_names(one, other)
        or _moved_on(one, other)
    ):
        return False
    return _shared(one.words, other.words) >= _wanted(one, other)


def _wanted(one: Telling, other: Telling) -> float:
    """Return how much must be shared.

    Sites tell of one event on one day or the next, and each site once, at one address; what comes later, or at another
    address of the same site, is about something that has happened since. Names alone are a subject and no event.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else 0
    if one.address == other.address:
        return _LIKELY
    if days > _NEAR_DAYS or site(one.url) == site(other.url):
        return _NEARLY_ALL
    only_names = not matched(one.words.stems, other.words.stems) - one.words.names
    return _SURELY if only_names or days == _NEAR_DAYS else _LIKELY


def _other_numbers(one: Telling, other: Telling) -> bool:
    mine, theirs = one.words.numbers, other.words.numbers
    apart = bool(mine and theirs) and not mine & theirs
    return apart or bool(mine - other.context.numbers and theirs - one.context.numbers)


def _other_names(one: Telling, other: Telling) -> bool:
    """Tell whether each headline names somebody or some place that the other story does not know."""
    return bool(_own_names(one, other) and _own_names(other, one))


def _own_names(one: Telling, other: Telling) -> frozenset[str]:
    names = one.words.names - one.context.plain - other.context.plain
    return names - matched(names, other.context.stems)


def _swapped(one: str, other: str) -> bool:
    """Tell whether the headlines differ in one word only, of a script without capitals, as by another place's name."""
    start = _alike_for(one, other)
    end = _alike_for(one[start:][::-1], other[start:][::-1])
    mine, theirs = one[start : len(one) - end].strip(), other[start : len(other) - end].strip()
    words = mine.isalpha() and theirs.isalpha() and mine.upper() == mine.lower() and theirs.upper() == theirs.lower()
    return words and not set(mine) & set(theirs) and start + end >= max(len(mine), len(theirs))


def _alike_for(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved_on(one: Telling, other: Telling) -> bool:
    mine, theirs = one.states, other.states
    apart = any(theirs.get(course, state) != state for course, state in mine.items())
    return apart or _looks_back(one, other) or _looks_back(other, one)


def _looks_back(one: Telling, other: Telling) -> bool:
    """Tell whether one calls the past what the other tells as news, and has news of its own."""
    if len(parts := _PAST.split(one.title, maxsplit=1)) < 2 or _PAST.search(other.title):
        return False
    news, past = (words_of(part).stems for part in parts)
    told = other.words.stems
    return len(matched(told, past)) > len(matched(told, news)) and len(news - matched(news, told)) > 1


def _shared(one: Words, other: Words) -> float:
    """Return how much is shared, from 0 to 1: the mean of the share of the shorter and the share of both."""
    names = one.names | other.names
    common = _weight(matched(one.stems, other.stems), names) + _NUMBER * len(one.numbers & other.numbers)
    mine, theirs = (_weight(w.stems, names) + _NUMBER * len(w.numbers) for w in (one, other))
    least = min(mine, theirs)
    return (min(common / least, 1.0) + 2 * common / (mine + theirs)) / 2 if least else 0.0


def _weight(stems: frozenset[str], names: frozenset[str]) -> float:
    return sum(_NAME if stem in names else 1.0 for stem in stems)
