"""Stories: which of them are one, told by several sites, and which are new. Pure.

The thresholds were found with tests/data/stories/tuning.jsonl and are measured by
tests/perplexity/news/test_story_corpus.py.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import chain, takewhile

from perplexity.news.headlines import (
    MAX_LENGTH,
    NAME_WEIGHT,
    NUMBER_WEIGHT,
    PREFIX_LENGTH,
    Keywords,
    event_states,
    fold,
    keywords_of,
    matching_stems,
    strip_site_name,
    weight,
)
from perplexity.news.pages import canonical_url, is_section_page
from perplexity.types import Source
from perplexity.urls import site
from perplexity.wire.json import encode

BACKGROUND = re.compile(r"\b(?:after|following|despite|nach|apres|après|tras|dopo|após)\b", re.IGNORECASE)
"""Words behind which a headline tells what has happened before."""

_NAMED = re.compile(r"(?P<start>^[\W_]*|[.!?…:][\W_]+)?\b(?P<word>[A-ZÀ-ÖØ-Þ][\w&]*)[ \u00a0]\d+\b(?![.,]\d)")
"""A word with a capital and a number: a name, unless the word has its capital from the start of a sentence."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A story in one site's words."""

    text: str
    sentence: str
    date: date | None
    url: str

    @cached_property
    def title(self) -> str:
        """The headline without the site's name."""
        return strip_site_name(self.text, self.url)

    @cached_property
    def folded(self) -> str:
        """The title as it is compared with another."""
        return fold(self.title)

    @cached_property
    def keywords(self) -> Keywords:
        """The words of the headline."""
        return keywords_of(self.title)

    @cached_property
    def context(self) -> Keywords:
        """The words of the headline and the sentence together."""
        return keywords_of(f"{self.title} . {self.sentence}"[:MAX_LENGTH])

    @cached_property
    def sentence_numbers(self) -> frozenset[str]:
        """The numbers that the sentence adds to those of the headline, without those in names such as "S&P 500"."""
        told = _NAMED.sub(lambda found: " " if self._is_name(found) else found[0], self.sentence)
        return keywords_of(told).numbers - self.keywords.numbers

    def _is_name(self, found: re.Match[str]) -> bool:
        """Tell a name with a number, such as "S&P 500", from how many there are: "Some 200" at a sentence's start."""
        word = found["word"]
        if found["start"] is None or any(map(str.isupper, word[1:])):
            return True
        return not keywords_of(word).stems.isdisjoint(self.keywords.stems - self.keywords.lowercase)

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """What the headline shares at least one of with another that shares a word or a number with it."""
        return frozenset(stem[:PREFIX_LENGTH] for stem in self.keywords.stems) | self.keywords.numbers

    @cached_property
    def max_per_prefix(self) -> int:
        """How many words of the headline, at most, have one beginning."""
        return max(Counter(stem[:PREFIX_LENGTH] for stem in self.keywords.stems).values(), default=1)

    @cached_property
    def weight(self) -> float:
        """What the headline weighs, with no other names than its own."""
        return weight(self.keywords, self.keywords.names)

    @cached_property
    def states(self) -> dict[int, int]:
        """How far the story has come; what the headline calls the past is not looked at."""
        return event_states(
            fold(word) for word in re.findall(r"[^\W\d_]+", BACKGROUND.split(self.title, maxsplit=1)[0])
        )

    @cached_property
    def page(self) -> str:
        """The page, without what a link adds to it, as far as `kept` keeps it."""
        return canonical_url(self.url[:MAX_LENGTH])

    @cached_property
    def is_section_page(self) -> bool:
        """Whether the page is the front of a site or of a section."""
        return is_section_page(self.title, self.page)

    @property
    def section_key(self) -> tuple[str, str, str]:
        """What tells one day of a section's front from another, as far as `kept` keeps it."""
        headline, sentence, _, url = self.to_json()
        return headline, sentence, url

    def to_json(self) -> list[str]:
        """Return it as JSON takes it."""
        day = self.date.isoformat() if self.date else ""
        return [self.text[:MAX_LENGTH], self.sentence[:MAX_LENGTH], day, self.url[:MAX_LENGTH]]

    @classmethod
    def from_json(cls, kept: Sequence[str]) -> Headline:
        """Return what `kept` gave."""
        headline, sentence, day, url = kept
        return cls(text=headline, sentence=sentence, date=date.fromisoformat(day) if day else None, url=url)


_LIKELY, _SURELY, _NEARLY_ALL = 0.55, 0.7, 0.88
"""How much of the headlines must be shared, by how likely it is beforehand that they tell the same."""
_NEAR_DAYS, _FAR_DAYS = 2, 14


def same_story(one: Headline, other: Headline) -> bool:
    """Tell whether both tell the same story, and neither more than the other.

    What stands on a section's front is another story every day under one title: only the very same text is the same.
    """
    alike = one.folded == other.folded
    if not alike and _unlike(one, other):
        return False
    if one.is_section_page or other.is_section_page:
        return one.section_key == other.section_key
    return alike or (_shared_words(one.keywords, other.keywords) >= _wanted(one, other) and not _differ(one, other))


def distinct_events(one: Headline, other: Headline, *, at_once: bool) -> bool:
    """Tell whether two stories at two addresses are of two events, however alike their headlines are.

    Headlines such as "Jackpot grows again" come back: with other figures on another day, or weeks later. A site tells
    of one event once, and other sites on that day or the next. Stories that were found `at_once` are of one time, so
    that two sites tell of one event there though nobody says on which days.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else None
    if days is not None and days > _FAR_DAYS:
        return True
    if not (one.sentence_numbers and other.sentence_numbers) or one.sentence_numbers & other.sentence_numbers:
        return False
    alone = site(one.url) == site(other.url)
    return (alone or not at_once) if days is None else days > (0 if alone else 1)


def _unlike(one: Headline, other: Headline) -> bool:
    """Tell, quickly, whether so few words have a beginning in common that whatever else they are is not enough."""
    if one.prefixes.isdisjoint(other.prefixes):
        return True
    common = len(one.prefixes & other.prefixes)
    return _share(NAME_WEIGHT * common * one.max_per_prefix, one.weight, other.weight) < _LIKELY


def _differ(one: Headline, other: Headline) -> bool:
    return (
        _swapped(one.title, other.title)
        or _other_numbers(one, other)
        or _other_names(one, other)
        or _moved_on(one, other)
    )


def _wanted(one: Headline, other: Headline) -> float:
    """Return how much must be shared.

    Sites tell of one event on one day or the next, and each site once, at one address; what comes later, or at another
    address of the same site, is about something that has happened since. Names alone are a subject and no event.
    """
    days = abs((one.date - other.date).days) if one.date and other.date else 0
    if one.page == other.page:
        return _LIKELY
    if days > _NEAR_DAYS or site(one.url) == site(other.url):
        return _NEARLY_ALL
    only_names = not matching_stems(one.keywords.stems, other.keywords.stems) - one.keywords.names
    return _SURELY if only_names or days == _NEAR_DAYS else _LIKELY


def _other_numbers(one: Headline, other: Headline) -> bool:
    mine, theirs = one.keywords.numbers, other.keywords.numbers
    apart = bool(mine and theirs) and not mine & theirs
    return apart or bool(mine - other.context.numbers and theirs - one.context.numbers)


def _other_names(one: Headline, other: Headline) -> bool:
    """Tell whether each headline names somebody or some place that the other story does not know."""
    return bool(_own_names(one, other) and _own_names(other, one))


def _own_names(one: Headline, other: Headline) -> frozenset[str]:
    names = one.keywords.names - one.context.lowercase - other.context.lowercase
    return names - matching_stems(names, other.context.stems)


def _swapped(one: str, other: str) -> bool:
    """Tell whether the headlines differ in one word only, of a script without capitals, as by another place's name."""
    start = _alike_for(one, other)
    end = _alike_for(one[start:][::-1], other[start:][::-1])
    mine, theirs = one[start : len(one) - end].strip(), other[start : len(other) - end].strip()
    words = mine.isalpha() and theirs.isalpha() and mine.upper() == mine.lower() and theirs.upper() == theirs.lower()
    return words and not set(mine) & set(theirs) and start + end >= max(len(mine), len(theirs))


def _alike_for(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved_on(one: Headline, other: Headline) -> bool:
    mine, theirs = one.states, other.states
    apart = any(theirs.get(course, state) != state for course, state in mine.items())
    return apart or _looks_back(one, other) or _looks_back(other, one)


def _looks_back(one: Headline, other: Headline) -> bool:
    """Tell whether one calls the past what the other tells as news, and has news of its own."""
    if len(parts := BACKGROUND.split(one.title, maxsplit=1)) < 2 or BACKGROUND.search(other.title):
        return False
    news, past = (keywords_of(part).stems for part in parts)
    told = other.keywords.stems
    return (
        len(matching_stems(told, past)) > len(matching_stems(told, news)) and len(news - matching_stems(news, told)) > 1
    )


def _shared_words(one: Keywords, other: Keywords) -> float:
    """Return how much is shared, from 0 to 1."""
    names = one.names | other.names
    common = sum(NAME_WEIGHT if stem in names else 1.0 for stem in matching_stems(one.stems, other.stems))
    common += NUMBER_WEIGHT * len(one.numbers & other.numbers)
    return _share(common, weight(one, names), weight(other, names))


def _share(common: float, mine: float, theirs: float) -> float:
    """Return the mean of the share of the shorter and the share of both."""
    least = min(mine, theirs)
    return (min(common / least, 1.0) + 2 * common / (mine + theirs)) / 2 if least else 0.0


_MOST_TELLINGS = 4


@dataclass(frozen=True, kw_only=True)
class Story:
    """One story as one site tells it; `others` are further sites that tell the same one.

    `date` is the day of the page, None where nobody says; `sentence` is what happened.
    """

    headline: str
    source: Source
    date: date | None = None
    sentence: str = ""
    others: tuple[Source, ...] = ()


def deduplicate(stories: Iterable[Story]) -> tuple[Story, ...]:
    """Return each story once, where it stands first; the other sites that tell it become its `others`.

    The stories are those of one answer: a page that several of them cite, such as a round-up, makes them not one.
    """
    stories = tuple(stories)
    shared = _shared(stories)
    kept: list[Story] = []
    for story in stories:
        told = _tellings(story, shared)
        known = (_tellings(earlier, shared) for earlier in kept)
        place = next((place for place, before in enumerate(known) if _alike(told, before, at_once=True)), None)
        if place is None:
            kept.append(story)
        else:
            kept[place] = _merged(kept[place], story)
    return tuple(kept)


def fingerprint(story: Story, *, among: Iterable[Story] = ()) -> str:
    """Return what `unseen` needs to know the story again, in a text of at most some 4,000 characters.

    `among` are all stories of its answer: by a page that several of them cite, none is known again.
    """
    tellings = _tellings(story, _shared(among))
    return encode([telling.to_json() for telling in tellings], separators=(",", ":"))


def unseen(stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story] = ()) -> tuple[Story, ...]:
    """Return the stories of an answer that are none of those whose fingerprints are `seen`, in order.

    `among` are all stories of the answer, where these are not all. So it can be done in two steps: for those that were
    seen, and then, with what was new, for those that were seen since. It takes 0.1 s for 8 stories and 500 seen ones.
    """
    stories = tuple(stories)
    shared = _shared(tuple(among) or stories)
    known = [[Headline.from_json(kept) for kept in json.loads(text)] for text in seen]
    told = ((story, _tellings(story, shared)) for story in stories)
    return tuple(story for story, tellings in told if not any(_alike(tellings, before) for before in known))


def _alike(one: Sequence[Headline], other: Sequence[Headline], *, at_once: bool = False) -> bool:
    """Tell whether the first telling of either is among the other's, and they are not of two events.

    Two stories may share a further page that tells of many, such as a round-up: that makes them no single story.
    """
    pairs = chain(((one[0], telling) for telling in other), ((telling, other[0]) for telling in one[1:]))
    found = [(mine, theirs) for mine, theirs in pairs if same_story(mine, theirs)]
    return bool(found) and (
        any(mine.page == theirs.page for mine, theirs in found)
        or not distinct_events(one[0], other[0], at_once=at_once)
    )


def _shared(stories: Iterable[Story]) -> frozenset[str]:
    """Return the addresses that more than one of the stories cites."""
    cited = Counter(url for story in stories for url in {story.source.url, *(other.url for other in story.others)})
    return frozenset(url for url, times in cited.items() if times > 1)


def _tellings(story: Story, shared: Collection[str] = ()) -> list[Headline]:
    """Return the story in each site's words, its own first; pages that are `shared` with other stories say nothing."""
    own = Headline(text=story.headline, sentence=story.sentence, date=story.date, url=story.source.url)
    others = (s for s in story.others if s.url not in shared)
    told = (Headline(text=s.title, sentence="", date=parse_date(s.date), url=s.url) for s in others)
    return [own, *told][:_MOST_TELLINGS]


def _merged(story: Story, other: Story) -> Story:
    """Return the story with the other's sites, each address once."""
    sources = {source.url: source for source in (*story.others, other.source, *other.others)}
    sources.pop(story.source.url, None)
    return replace(story, others=tuple(sources.values()))


def parse_date(value: str | None) -> date | None:
    """Return the day that an ISO date or timestamp begins with, None for what is none."""
    try:
        return date.fromisoformat((value or "")[:10])
    except ValueError:
        return None
