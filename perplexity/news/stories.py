"""Recognizes the same story at several sites, and the stories that were seen before.

The thresholds were found with tests/data/stories/tuning.jsonl and are measured by
tests/perplexity/news/test_story_corpus.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, takewhile

from perplexity.news.headlines import (
    BACKGROUND,
    NAME_WEIGHT,
    NUMBER_WEIGHT,
    Headline,
    Keywords,
    keywords_of,
    matching_stems,
    weight,
)
from perplexity.types import Source
from perplexity.urls import hostname
from perplexity.wire.json import encode

_MAX_HEADLINES = 4


@dataclass(frozen=True, kw_only=True)
class Story:
    """A story in the words of one site; `others` are pages of other sites with the same story.

    `date` is the day of the page, None if unknown; `sentence` says what happened.
    """

    headline: str
    source: Source
    date: date | None = None
    sentence: str = ""
    others: tuple[Source, ...] = ()


def deduplicate(stories: Iterable[Story]) -> tuple[Story, ...]:
    """Return each story once, at its first position; the other sites that report it become its `others`.

    `stories` are all stories of one answer. A page that several of them cite, such as a round-up, does not make them
    the same story.
    """
    stories = tuple(stories)
    shared = _shared_urls(stories)
    kept: list[Story] = []
    for story in stories:
        headlines = _headlines(story, shared)
        known = (_headlines(earlier, shared) for earlier in kept)
        place = next((place for place, before in enumerate(known) if _is_same(headlines, before, at_once=True)), None)
        if place is None:
            kept.append(story)
        else:
            kept[place] = _merge(kept[place], story)
    return tuple(kept)


def fingerprint(story: Story, *, among: Iterable[Story] = ()) -> str:
    """Return the text by which `unseen` recognizes the story, of about 4,000 characters at most.

    `among` are all stories of the same answer. A page that several of them cite identifies none of them, so it
    is left out, unless it is the story's own page (`source`).
    """
    headlines = _headlines(story, _shared_urls(among))
    return encode([headline.to_json() for headline in headlines], separators=(",", ":"))


def unseen(stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story] = ()) -> tuple[Story, ...]:
    """Return the stories whose fingerprints are not `seen`, in order.

    `among` are all stories of the answer, if `stories` are only some of them. A page that several of them cite is not
    compared, unless it is a story's own page (`source`). Comparing 8 stories with 500 seen ones takes 0.1 s.
    """
    stories = tuple(stories)
    shared = _shared_urls(tuple(among) or stories)
    known = [[Headline.from_json(fields) for fields in json.loads(text)] for text in seen]
    pairs = ((story, _headlines(story, shared)) for story in stories)
    return tuple(story for story, headlines in pairs if not any(_is_same(headlines, before) for before in known))


def _is_same(one: Sequence[Headline], other: Sequence[Headline], *, at_once: bool = False) -> bool:
    """Return whether two stories, each given by its headlines, are the same.

    The first headline of one must match any headline of the other. If the matching headlines are of two pages, the
    stories must not report different events. A match without either first headline does not count, because both
    stories may cite a page that reports many stories.
    """
    pairs = chain(((one[0], headline) for headline in other), ((headline, other[0]) for headline in one[1:]))
    found = [(mine, theirs) for mine, theirs in pairs if same_story(mine, theirs)]
    return bool(found) and (
        any(mine.page == theirs.page for mine, theirs in found)
        or not distinct_events(one[0], other[0], at_once=at_once)
    )


def _shared_urls(stories: Iterable[Story]) -> frozenset[str]:
    """Return the addresses that more than one of the stories cites."""
    cited = Counter(url for story in stories for url in {story.source.url, *(other.url for other in story.others)})
    return frozenset(url for url, times in cited.items() if times > 1)


def _headlines(story: Story, shared: Collection[str] = ()) -> list[Headline]:
    """Return at most four headlines of a story, its own first, without those of pages `shared` with other stories."""
    own = Headline(text=story.headline, sentence=story.sentence, date=story.date, url=story.source.url)
    others = (s for s in story.others if s.url not in shared)
    further = (Headline(text=s.title, sentence="", date=parse_date(s.date), url=s.url) for s in others)
    return [own, *further][:_MAX_HEADLINES]


def _merge(story: Story, other: Story) -> Story:
    """Return the story with the pages of the other added, each address once."""
    sources = {source.url: source for source in (*story.others, other.source, *other.others)}
    sources.pop(story.source.url, None)
    return replace(story, others=tuple(sources.values()))


def parse_date(value: str | None) -> date | None:
    """Return the day at the start of an ISO date or timestamp, or None."""
    try:
        return date.fromisoformat((value or "")[:10])
    except ValueError:
        return None


_LIKELY_SHARE, _SURE_SHARE, _SURER_SHARE, _NEARLY_ALL = 0.55, 0.7, 0.78, 0.88
"""Shares of keywords that two headlines must have in common; `_required_share` chooses one of them."""
_NEAR_DAYS, _FAR_DAYS = 2, 14


def same_story(one: Headline, other: Headline) -> bool:
    """Return whether both headlines report the same state of the same story.

    A section page has another story every day under the same title, so it matches only a headline with the same text,
    sentence and URL.
    """
    alike = one.folded == other.folded
    if not alike and _cannot_match(one, other):
        return False
    if one.is_section_page or other.is_section_page:
        return replace(one, date=None).to_json() == replace(other, date=None).to_json()
    return alike or (
        _similarity(one.keywords, other.keywords) >= _required_share(one, other) and not _contradict(one, other)
    )


def distinct_events(one: Headline, other: Headline, *, at_once: bool) -> bool:
    """Return whether two stories at two addresses report two events, however similar their headlines are.

    They do if their dates are over two weeks apart. They also do if both sentences have numbers, but none in common,
    and the dates differ: at all on one site, by over a day on two sites. If a date is unknown, such numbers are enough,
    unless both stories are from one answer (`at_once`) and from two sites.

    For example, "Jackpot grows again" recurs with other numbers on another day, or weeks later.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else None
    if days is not None and days > _FAR_DAYS:
        return True
    if not (one.sentence_numbers and other.sentence_numbers) or one.sentence_numbers & other.sentence_numbers:
        return False
    alone = hostname(one.url) == hostname(other.url)
    return (alone or not at_once) if days is None else days > (0 if alone else 1)


def _cannot_match(one: Headline, other: Headline) -> bool:
    """Return whether the headlines share too few prefixes to match. This test is much faster than a full comparison."""
    if one.prefixes.isdisjoint(other.prefixes):
        return True
    common = len(one.prefixes & other.prefixes)
    most = max(one.max_per_prefix, other.max_per_prefix)
    return _overlap(NAME_WEIGHT * common * most, one.weight, other.weight) < _LIKELY_SHARE


def _contradict(one: Headline, other: Headline) -> bool:
    return (
        _one_word_differs(one.title, other.title)
        or _numbers_differ(one, other)
        # Each headline has a name that the other story lacks.
        or bool(_unknown_names(one, other) and _unknown_names(other, one))
        or _states_differ(one, other)
    )


def _required_share(one: Headline, other: Headline) -> float:
    """Return the share of their keywords that the headlines must have in common.

    The same page needs the lowest share. Two pages of one site, and dates over two days apart, need the highest: a site
    reports an event once, and other sites on that day or the next, so the later report is probably of a later event.

    Other pages need the lowest share, too, with two exceptions. The share is higher for dates two days apart. It is as
    high for headlines that have only names in common, or only names and states (stems such as "8>1"), since they may
    then just have the same subject; and higher still if each of them also has other words that the other one lacks.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else 0
    if one.page == other.page:
        return _LIKELY_SHARE
    if days > _NEAR_DAYS or hostname(one.url) == hostname(other.url):
        return _NEARLY_ALL
    common = matching_stems(one.keywords.stems, other.keywords.stems)
    if not any(">" not in stem for stem in common - one.keywords.names):
        mine, theirs = (keywords.stems - keywords.names - common for keywords in (one.keywords, other.keywords))
        return _SURER_SHARE if mine and theirs else _SURE_SHARE
    return _SURE_SHARE if days == _NEAR_DAYS else _LIKELY_SHARE


def _numbers_differ(one: Headline, other: Headline) -> bool:
    mine, theirs = one.keywords.numbers, other.keywords.numbers
    apart = bool(mine and theirs) and not mine & theirs
    return apart or bool(mine - other.context.numbers and theirs - one.context.numbers)


def _unknown_names(one: Headline, other: Headline) -> frozenset[str]:
    names = one.keywords.names - one.context.lowercase - other.context.lowercase
    return names - matching_stems(names, other.context.stems)


def _one_word_differs(one: str, other: str) -> bool:
    """Return whether two headlines differ only in one word of a script without capitals, often the name of a place."""
    start = _common_prefix(one, other)
    end = _common_prefix(one[start:][::-1], other[start:][::-1])
    mine, theirs = one[start : len(one) - end].strip(), other[start : len(other) - end].strip()
    words = mine.isalpha() and theirs.isalpha() and mine.upper() == mine.lower() and theirs.upper() == theirs.lower()
    return words and not set(mine) & set(theirs) and start + end >= max(len(mine), len(theirs))


def _common_prefix(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _states_differ(one: Headline, other: Headline) -> bool:
    mine, theirs = one.states, other.states
    apart = any(theirs.get(course, state) != state for course, state in mine.items())
    return apart or _is_background(one, other) or _is_background(other, one)


def _is_background(one: Headline, other: Headline) -> bool:
    """Return whether `one` mentions the news of `other` only as the background of news of its own."""
    if len(parts := BACKGROUND.split(one.title, maxsplit=1)) < 2 or BACKGROUND.search(other.title):
        return False
    news, past = (keywords_of(part).stems for part in parts)
    stems = other.keywords.stems
    return (
        len(matching_stems(stems, past)) > len(matching_stems(stems, news))
        and len(news - matching_stems(news, stems)) > 1
    )


def _similarity(one: Keywords, other: Keywords) -> float:
    """Return the share of keywords that both have, from 0 to 1."""
    names = one.names | other.names

    def common_weight(mine: Keywords, theirs: Keywords) -> float:
        return sum(NAME_WEIGHT if stem in names else 1.0 for stem in matching_stems(mine.stems, theirs.stems))

    # A name may match an ordinary word that it begins. The two directions then have different weights, and the lower
    # one counts.
    common = min(common_weight(one, other), common_weight(other, one)) + NUMBER_WEIGHT * len(
        one.numbers & other.numbers
    )
    return _overlap(common, weight(one, names), weight(other, names))


def _overlap(common: float, mine: float, theirs: float) -> float:
    """Return the mean of two ratios: `common` to the lower weight (at most 1), and `common` to the mean weight."""
    least = min(mine, theirs)
    return (min(common / least, 1.0) + 2 * common / (mine + theirs)) / 2 if least else 0.0
