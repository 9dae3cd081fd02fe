"""Whether two headlines tell the same: by their words, their numbers, their names and their days. Pure, no model.

The thresholds were found with tests/data/stories/tuning.jsonl and are measured by
tests/perplexity/news/test_story_corpus.py.
"""

from __future__ import annotations

from itertools import takewhile

from perplexity.addresses import site
from perplexity.news.wording import PAST, Telling
from perplexity.news.words import NAME, NUMBER, Words, matched, weight, words_of

_LIKELY, _SURELY, _NEARLY_ALL = 0.55, 0.7, 0.88
"""How much of the headlines must be shared, by how likely it is beforehand that they tell the same."""
_NEAR_DAYS, _FAR_DAYS = 2, 14


def same(one: Telling, other: Telling) -> bool:
    """Tell whether both tell the same story, and neither more than the other.

    What stands on a section's front is another story every day under one title: only the very same text is the same.
    """
    alike = one.folded == other.folded
    if not alike and _unlike(one, other):
        return False
    if one.is_front or other.is_front:
        return one.front == other.front
    return alike or (_shared(one.words, other.words) >= _wanted(one, other) and not _differ(one, other))


def other_events(one: Telling, other: Telling, *, at_once: bool) -> bool:
    """Tell whether two stories at two addresses are of two events, however alike their headlines are.

    Headlines such as "Jackpot grows again" come back: with other figures on another day, or weeks later. A site tells
    of one event once, and other sites on that day or the next. Stories that were found `at_once` are of one time, so
    that two sites tell of one event there though nobody says on which days.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else None
    if days is not None and days > _FAR_DAYS:
        return True
    if not (one.figures and other.figures) or one.figures & other.figures:
        return False
    alone = site(one.url) == site(other.url)
    return (alone or not at_once) if days is None else days > (0 if alone else 1)


def _unlike(one: Telling, other: Telling) -> bool:
    """Tell, quickly, whether so few words have a beginning in common that whatever else they are is not enough."""
    if one.beginnings.isdisjoint(other.beginnings):
        return True
    common = len(one.beginnings & other.beginnings)
    return _share(NAME * common * one.crowded, one.weight, other.weight) < _LIKELY


def _differ(one: Telling, other: Telling) -> bool:
    return (
        _swapped(one.title, other.title)
        or _other_numbers(one, other)
        or _other_names(one, other)
        or _moved_on(one, other)
    )


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
    if len(parts := PAST.split(one.title, maxsplit=1)) < 2 or PAST.search(other.title):
        return False
    news, past = (words_of(part).stems for part in parts)
    told = other.words.stems
    return len(matched(told, past)) > len(matched(told, news)) and len(news - matched(news, told)) > 1


def _shared(one: Words, other: Words) -> float:
    """Return how much is shared, from 0 to 1."""
    names = one.names | other.names
    common = sum(NAME if stem in names else 1.0 for stem in matched(one.stems, other.stems))
    common += NUMBER * len(one.numbers & other.numbers)
    return _share(common, weight(one, names), weight(other, names))


def _share(common: float, mine: float, theirs: float) -> float:
    """Return the mean of the share of the shorter and the share of both."""
    least = min(mine, theirs)
    return (min(common / least, 1.0) + 2 * common / (mine + theirs)) / 2 if least else 0.0
