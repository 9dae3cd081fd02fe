"""A story in one site's words, and what is read out of them: each thing once, and only when it is asked for. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from perplexity.news.fronts import is_front
from perplexity.news.pages import page_of
from perplexity.news.titles import without_site
from perplexity.news.turns import states
from perplexity.news.words import BEGINNING, LONGEST, Words, fold, weight, words_of

PAST = re.compile(r"\b(?:after|following|despite|nach|apres|après|tras|dopo|após)\b", re.IGNORECASE)
"""Words behind which a headline tells what has happened before."""

_NAMED = re.compile(r"(?P<start>^[\W_]*|[.!?…:][\W_]+)?\b(?P<word>[A-ZÀ-ÖØ-Þ][\w&]*)[ \u00a0]\d+\b(?![.,]\d)")
"""A word with a capital and a number: a name, unless the word has its capital from the start of a sentence."""


@dataclass(frozen=True, kw_only=True)
class Telling:
    """A story in one site's words."""

    headline: str
    sentence: str
    date: date | None
    url: str

    @cached_property
    def title(self) -> str:
        """The headline without the site's name."""
        return without_site(self.headline, self.url)

    @cached_property
    def folded(self) -> str:
        """The title as it is compared with another."""
        return fold(self.title)

    @cached_property
    def words(self) -> Words:
        """The words of the headline."""
        return words_of(self.title)

    @cached_property
    def context(self) -> Words:
        """The words of the headline and the sentence together."""
        return words_of(f"{self.title} . {self.sentence}"[:LONGEST])

    @cached_property
    def figures(self) -> frozenset[str]:
        """The numbers that the sentence adds to those of the headline, without those in names such as "S&P 500"."""
        told = _NAMED.sub(lambda found: " " if self._is_name(found) else found[0], self.sentence)
        return words_of(told).numbers - self.words.numbers

    def _is_name(self, found: re.Match[str]) -> bool:
        """Tell a name with a number, such as "S&P 500", from how many there are: "Some 200" at a sentence's start."""
        word = found["word"]
        if found["start"] is None or any(map(str.isupper, word[1:])):
            return True
        return not words_of(word).stems.isdisjoint(self.words.stems - self.words.plain)

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """What the headline shares at least one of with another that shares a word or a number with it."""
        return frozenset(stem[:BEGINNING] for stem in self.words.stems) | self.words.numbers

    @cached_property
    def crowded(self) -> int:
        """How many words of the headline, at most, have one beginning."""
        return max(Counter(stem[:BEGINNING] for stem in self.words.stems).values(), default=1)

    @cached_property
    def weight(self) -> float:
        """What the headline weighs, with no other names than its own."""
        return weight(self.words, self.words.names)

    @cached_property
    def states(self) -> dict[int, int]:
        """How far the story has come; what the headline calls the past is not looked at."""
        return states(fold(word) for word in re.findall(r"[^\W\d_]+", PAST.split(self.title, maxsplit=1)[0]))

    @cached_property
    def address(self) -> str:
        """The page, without what a link adds to it, as far as `kept` keeps it."""
        return page_of(self.url[:LONGEST])

    @cached_property
    def is_front(self) -> bool:
        """Whether the page is the front of a site or of a section."""
        return is_front(self.title, self.address)

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
