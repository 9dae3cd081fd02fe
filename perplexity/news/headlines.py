"""Headlines in a form that can be compared: stems, names, numbers and the state of an event."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise

from perplexity.lexicon.common_words import DUTCH, ENGLISH, GERMAN, ROMANCE, RUSSIAN_AND_ARABIC
from perplexity.lexicon.folding import fold
from perplexity.lexicon.numbers import NUMBERS, ROMANCE_NUMBERS
from perplexity.urls import canonical_url, hostname, is_section_page

MAX_LENGTH = 300
"""The most characters of a text, from its start, that are compared."""
PREFIX_LENGTH = 4
"""A stem with fewer letters than this does not count as the prefix of a longer stem."""
NAME_WEIGHT, NUMBER_WEIGHT = 2.0, 1.5
"""The weights of a name and of a number; any other word has the weight 1."""

BACKGROUND = re.compile(r"\b(?:after|following|despite|nach|apres|après|tras|dopo|após)\b", re.IGNORECASE)
"""Words after which a headline gives the background of its news."""

_NUMBERED_NAME = re.compile(r"(?P<start>^[\W_]*|[.!?…:][\W_]+)?\b(?P<word>[A-ZÀ-ÖØ-Þ][\w&]*)[ \u00a0]\d+\b(?![.,]\d)")
"""A capitalized word and a number, which form a name unless the word is capitalized because it begins a sentence."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A story in the words of one site: `text` is the headline, and `sentence` says what happened."""

    text: str
    sentence: str
    date: date | None
    url: str

    @cached_property
    def title(self) -> str:
        """The headline without the name of the site."""
        return strip_site_name(self.text, self.url)

    @cached_property
    def folded(self) -> str:
        """The title without case and accents, for comparison."""
        return fold(self.title)

    @cached_property
    def keywords(self) -> Keywords:
        """The keywords of the headline."""
        return keywords_of(self.title)

    @cached_property
    def context(self) -> Keywords:
        """The keywords of the headline and the sentence together."""
        return keywords_of(f"{self.title} . {self.sentence}"[:MAX_LENGTH])

    @cached_property
    def sentence_numbers(self) -> frozenset[str]:
        """The numbers that are in the sentence but not in the headline, without those in names such as "S&P 500"."""
        counts = _NUMBERED_NAME.sub(lambda found: " " if self._is_name(found) else found[0], self.sentence)
        return keywords_of(counts).numbers - self.keywords.numbers

    def _is_name(self, found: re.Match[str]) -> bool:
        """Return whether a match is a name such as "S&P 500", not a count such as "Some 200" that begins a sentence."""
        word = found["word"]
        if found["start"] is None or any(map(str.isupper, word[1:])):
            return True
        return not keywords_of(word).stems.isdisjoint(self.keywords.stems - self.keywords.lowercase)

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The beginnings of the headline's stems, and its numbers; headlines with none in common share no keyword."""
        return frozenset(stem[:PREFIX_LENGTH] for stem in self.keywords.stems) | self.keywords.numbers

    @cached_property
    def max_per_prefix(self) -> int:
        """The highest number of stems that share one prefix."""
        return max(Counter(stem[:PREFIX_LENGTH] for stem in self.keywords.stems).values(), default=1)

    @cached_property
    def weight(self) -> float:
        """The weight of the headline's own keywords."""
        return weight(self.keywords, self.keywords.names)

    @cached_property
    def states(self) -> dict[int, int]:
        """The states that the headline names: for each course (see `_STATE_LISTS`), the index of the state.

        Words about the background of its news do not count.
        """
        words = re.findall(r"[^\W\d_]+", BACKGROUND.split(self.title, maxsplit=1)[0])
        named = sorted({state for word in words for state in states_of(fold(word))}, reverse=True)
        return dict(named)

    @cached_property
    def page(self) -> str:
        """The canonical URL of the page, made from as many characters as `to_json` keeps."""
        return canonical_url(self.url[:MAX_LENGTH])

    @cached_property
    def is_section_page(self) -> bool:
        """Whether the page is the front of a site or of a section."""
        return is_section_page(self.title, self.page)

    def to_json(self) -> list[str]:
        """Return the headline as a JSON list of strings."""
        day = self.date.isoformat() if self.date else ""
        return [self.text[:MAX_LENGTH], self.sentence[:MAX_LENGTH], day, self.url[:MAX_LENGTH]]

    @classmethod
    def from_json(cls, fields: Sequence[str]) -> Headline:
        """Return the headline of a list that `to_json` returned."""
        text, sentence, day, url = fields
        return cls(text=text, sentence=sentence, date=date.fromisoformat(day) if day else None, url=url)


_NEWS_WORDS = """
again report reports said say says see monday tuesday wednesday thursday friday saturday sunday today latest new news
live just update updated exclusive breaking watch video opinion analysis
"""
STOPWORDS = ENGLISH | GERMAN | ROMANCE | DUTCH | RUSSIAN_AND_ARABIC | frozenset(_NEWS_WORDS.split())
"""Words that do not identify a story, in the most frequent languages of news."""


_STATE_LISTS = """
sentence jail prison verurteil condamn conden
convict guilty acquit
trial jury
charge indict anklag examen imput
arrest detain custod suspect festgenommen garde deten
wanted manhunt gesucht

found rescu safe gerettet retrouv rescat freed free liberat befreit
taken abduct kidnap trap stuck
missing search vermisst disparu desaparec

appoint hire replac ernannt nomm
sack fire oust dismiss resign stepp quit tritt zuruckgetreten demission dimit
probe investigat ermittl enquet

sign
pass

abandon scrap walk cancel withdraw collaps fail gescheitert scheiter
reject rebuff spurn refus block renvers rechaz ablehn lehnt suspend overturn
approv accept adopt agree deal confirm clear beschlie genehmig aprob approuv acuerd einigt accord
talk explor receiv approach consider weigh propos vote seek plan debat stimm menac negoti berat erwag examin file apply

vote stimm ballot authoriz
strik streik greve huelg

win won wins champion siegt gewinnt gana remport vince
reach advanc qualif

restor fix resolv repair recover reopen
outage down crash disrupt infect

delay postpon scrub halt verschieb verschob reporte aplaza retras out injur
launch releas return liftoff lift resum erschien veroffentlich start

landfall hit hits batter trifft touche
near approach strengthen form warn

end ends ended close conclud over endet
open opens begin began start

kill dead death dies toll tote mort muert mata
missing injur

fall fell drop lower down declin slid cut reduc eas sink sank plung lose lost minus verlier baiss bajan cae recul
rise rose climb jump gain higher up surg increas grow soar plus steig stieg hauss sube alza
hold held keep kept steady unchang unverandert maintien mantien
"""

"""Courses that events take, separated by empty lines. A course is a sequence of states.

Each line has the folded prefixes of the words that name a state.
If a headline names several states of a course, the first of them in the sequence counts. A language without words in
these lists has no states.
"""
_STATES: dict[str, list[tuple[int, int]]] = {}
"""For each prefix, the states that it names, as `states_of` returns them."""
for _course, _states in enumerate(_STATE_LISTS.strip().split("\n\n")):
    for _place, _prefixes in enumerate(_states.splitlines()):
        for _prefix in _prefixes.split():
            _STATES.setdefault(_prefix, []).append((_course, _place))

_MIN_PREFIX, _MAX_SUFFIX = 4, 4


@lru_cache(maxsize=16384)
def states_of(word: str) -> tuple[tuple[int, int], ...]:
    """Return each state that a folded word names, as the index of its course and its index in the course."""
    shortest = max(_MIN_PREFIX, len(word) - _MAX_SUFFIX)
    beginnings = [word[:length] for length in range(shortest, len(word) + 1)]
    short = {word, word.removesuffix("s")}
    beginnings += [beginning for beginning in short if len(beginning) < _MIN_PREFIX]
    return tuple(sorted({turn for beginning in beginnings for turn in _STATES.get(beginning, ())}))


_NUMBER = r"\d+(?:[.,:-]\d+)*(?:\s?(?:billions?|bn|millions?|mio|mrd|b|m|k)\b|\s?%)?"
# Scripts without spaces; their runs of characters are compared as bigrams.
_UNSPACED = "\u0e00-\u0eff\u3005\u30a0-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HIRAGANA = "\u3040-\u309f"


# Case is ignored only in numbers, such as "2BN": ignoring it for the large sets of characters would be slow.
_TOKEN = re.compile(rf"((?i:{_NUMBER}))|([{_UNSPACED}]+)|([^\W_{_UNSPACED}{_HIRAGANA}]+)")
"""A number, a run of a script without spaces, or a word."""
_TRAILING_PARENTHESIS = re.compile(r"\s*[（(][^()（）]{1,20}[）)]\s*$")
_POSSESSIVE = re.compile(r"['’]s\b")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[.,  ](?=\d{3}\b)")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "en", "e")
_UNITS = {"billion": "b", "billions": "b", "bn": "b", "mrd": "b", "million": "m", "millions": "m", "mio": "m"}
_MANY = {
    24: "dozens dutzende dizaines decenas",
    100: "hundreds hunderte centaines cientos centinaia",
    1000: "thousands tausende milliers miles migliaia",
    1000000: "millions millionen millones milioni",
}
_NUMBER_WORDS = {fold(word): str(number) for word, number in (NUMBERS | ROMANCE_NUMBERS).items() if number <= 12} | {
    word: str(number) for number, words in _MANY.items() for word in words.split()
}


@dataclass(frozen=True, kw_only=True)
class Keywords:
    """The stems and the numbers of a text.

    `names` are the stems of words that the text writes as names, `lowercase` those of words in lower case.
    """

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    lowercase: frozenset[str]


def keywords_of(text: str) -> Keywords:
    """Return the keywords of a text, without stopwords."""
    stems, numbers, names, plain = set[str](), set[str](), set[str](), set[str]()
    for number, run, word in _TOKEN.findall(_normalize(text)):
        if number:
            numbers.add(_normalize_number(number))
        elif run:
            stems.update(map("".join, pairwise(run)) if len(run) > 1 else run)
        else:
            meant = _number_or_stem(word)
            if meant.isdecimal():
                numbers.add(meant)
            elif meant:
                stems.add(meant)
                (plain if word.islower() else names).add(meant)
    # If a headline capitalizes every word, its names cannot be recognized.
    is_title_case = len(names) > 3 and len(names) > 4 * len(plain)
    known = frozenset[str]() if is_title_case else frozenset(names - plain)
    return Keywords(stems=frozenset(stems), numbers=frozenset(numbers), names=known, lowercase=frozenset(plain))


@lru_cache(maxsize=16384)
def _number_or_stem(word: str) -> str:
    """Return the digits of the number that a word names, or else the word's stem; "" for a stopword."""
    if (folded := fold(word)) in _NUMBER_WORDS:
        return _NUMBER_WORDS[folded]
    if folded in _FOLDED_STOPWORDS or len(folded) < 2:
        return ""
    return concept(folded) if word[1:].islower() else stem(folded)


_FOLDED_STOPWORDS = frozenset(map(fold, STOPWORDS))


def stem(folded: str) -> str:
    """Return a folded word without its ending, if the ending is common and at least three letters are left."""
    ending = next((e for e in _ENDINGS if folded.endswith(e) and len(folded) - len(e) >= 3), "")
    return folded[: len(folded) - len(ending)]


def concept(folded: str) -> str:
    """Return a common stem for words that name the same state, such as "holds" and "keeps", or the word's own stem."""
    return next((f"{course}>{place}" for course, place in states_of(folded)), stem(folded))


def matching_stems(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Return the stems of `one` that are in `other`, that begin a stem of `other`, or that begin with such a stem."""
    both = one & other
    return both | {mine for mine in one - both if any(_share_prefix(mine, theirs) for theirs in other)}


def weight(words: Keywords, names: frozenset[str]) -> float:
    """Return the weight of the keywords: the better they identify a story, the higher. Stems in `names` count more."""
    return len(words.stems) + (NAME_WEIGHT - 1) * len(words.stems & names) + NUMBER_WEIGHT * len(words.numbers)


def _share_prefix(one: str, other: str) -> bool:
    """Return whether one of two stems has at least four letters and begins the other, which has at most four more."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= PREFIX_LENGTH and len(long) - len(short) <= 4 and long.startswith(short)


def _normalize(text: str) -> str:
    text = unicodedata.normalize("NFKC", _TRAILING_PARENTHESIS.sub("", text[:MAX_LENGTH]))
    return _GROUPED.sub("", _ELISION.sub("", _POSSESSIVE.sub("", text)))


def _normalize_number(number: str) -> str:
    """Return a number in one spelling: `$2 billion` and `$2B` are equal, and so are 2:1 and 2-1."""
    digits = _DIGITS.findall(number)
    unit = _DIGITS.sub("", number.casefold()).strip(" .,:-%")
    return ".".join(digits) + _UNITS.get(unit, unit)


_SITE_SUFFIX = re.compile(r"^(.{8,}\S)(?:\s+[-–—|·»•:]\s+|：|\s*[|｜]\s*|(?<=\w)-)([^-–—|·»•：]{2,40})$")
_LETTERS = re.compile(r"[\W_]+")
_MIN_SITE_WORD = 3


def strip_site_name(title: str, url: str) -> str:
    """Return a title without the site name at its end, such as " - BBC News" for bbc.co.uk."""
    title = " ".join(title.split())
    while len(title) <= MAX_LENGTH and (match := _SITE_SUFFIX.fullmatch(title)) and _is_site_name(match[2], url):
        title = match[1]
    return title


def _is_site_name(ending: str, url: str) -> bool:
    """Return whether an ending names the site.

    The host then contains the ending's letters, its initials or one of its words, or is itself part of its letters.
    """
    host = _LETTERS.sub("", hostname(url).rpartition(".")[0]).casefold()
    words = [_LETTERS.sub("", word).casefold() for word in ending.split()]
    said, initials = "".join(words), "".join(word[:1] for word in words)
    significant = [word for word in words if len(word) >= _MIN_SITE_WORD and word not in STOPWORDS]
    return bool(host) and (
        said in host
        or host in said
        or (len(initials) >= _MIN_SITE_WORD and initials in host)
        or any(word in host for word in significant)
    )
