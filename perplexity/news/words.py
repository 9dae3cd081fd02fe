"""The words of a headline that tell what it is about, in any language. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from perplexity.news.stopwords import STOPWORDS
from perplexity.news.turns import turns_of

LONGEST = 300
"""Characters of a text that are looked at."""
BEGINNING = 4
"""So many letters of two stems must be the same, for one to be the beginning of the other."""
NAME, NUMBER = 2.0, 1.5
"""What a name and a number weigh; another word weighs 1."""

_NUMBER = r"\d+(?:[.,:-]\d+)*(?:\s?(?:billions?|bn|millions?|mio|mrd|b|m|k)\b|\s?%)?"
# Scripts that write no spaces; their runs of characters are compared by pairs.
_CLOSE = "\u0e00-\u0eff\u3005\u30a0-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HIRAGANA = "\u3040-\u309f"
_TOKEN = re.compile(rf"({_NUMBER})|([{_CLOSE}]+)|([^\W_{_CLOSE}{_HIRAGANA}]+)", re.IGNORECASE)
_BEHIND = re.compile(r"\s*[（(][^()（）]{1,20}[）)]\s*$")
_POSSESSIVE = re.compile(r"['’]s\b")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[.,  ](?=\d{3}\b)")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "en", "e")
_UNITS = {"billion": "b", "billions": "b", "bn": "b", "mrd": "b", "million": "m", "millions": "m", "mio": "m"}
_COUNTED = {
    word: str(number)
    for number, words in {
        2: "two zwei deux dos due",
        3: "three third drei trois tres tre",
        4: "four fourth vier quatre cuatro quattro",
        5: "five fifth funf cinq cinco cinque",
        6: "six sixth sechs seis sei",
        7: "seven seventh sieben sept siete sette",
        8: "eight eighth acht huit ocho otto",
        9: "nine ninth neun neuf nueve nove",
        10: "ten tenth zehn dix diez dieci",
        11: "eleven elf onze once undici",
        12: "twelve zwolf douze doce dodici",
        24: "dozens dutzende dizaines decenas",
        100: "hundreds hunderte centaines cientos centinaia",
        1000: "thousands tausende milliers miles migliaia",
        1000000: "millions millionen millones milioni",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a text is about: its stems, its numbers, those stems that it writes as names, and those in lower case."""

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    plain: frozenset[str]


def words_of(text: str) -> Words:
    """Return a text's words, those that say nothing left out."""
    stems, numbers, names, plain = set[str](), set[str](), set[str](), set[str]()
    for number, run, word in _TOKEN.findall(_prepared(text)):
        if number:
            numbers.add(_numbered(number))
        elif run:
            stems.update(_pairs(run))
        else:
            counted, meant = _read(word)
            if counted:
                numbers.add(counted)
            elif meant:
                stems.add(meant)
                (plain if word.islower() else names).add(meant)
    names = set[str]() if _all_capitals(names, plain) else names - plain
    return Words(
        stems=frozenset(stems),
        numbers=frozenset(numbers),
        names=frozenset(names),
        plain=frozenset(plain),
    )


@lru_cache(maxsize=16384)
def _read(word: str) -> tuple[str, str]:
    """Return the number that a word stands for, or else its stem; neither of one that says nothing."""
    if (folded := fold(word)) in _COUNTED:
        return _COUNTED[folded], ""
    if folded in _SAYING_NOTHING or len(folded) < 2:
        return "", ""
    return "", meaning(folded) if word[1:].islower() else stem(folded)


def fold(word: str) -> str:
    """Return a word as it is compared: without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


_SAYING_NOTHING = frozenset(map(fold, STOPWORDS))


def stem(folded: str) -> str:
    """Return a word without its commonest endings."""
    ending = next((e for e in _ENDINGS if folded.endswith(e) and len(folded) - len(e) >= 3), "")
    return folded[: len(folded) - len(ending)]


def meaning(folded: str) -> str:
    """Return one stem for all words that tell the same turn, such as "holds" and "keeps", else the word's own."""
    course, place = next(iter(turns_of(folded)), (None, None))
    return stem(folded) if course is None else f"{course}>{place}"


def matched(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Return which stems of one stand in the other too, or are the beginning of one there, or begin with one."""
    both, apart = one & other, dict[str, list[str]]()
    for theirs in other:
        apart.setdefault(theirs[:BEGINNING], []).append(theirs)
    return both | {mine for mine in one - both if any(_alike(mine, t) for t in apart.get(mine[:BEGINNING], ()))}


def weight(words: Words, names: frozenset[str]) -> float:
    """Return what the words weigh: the more, the more they tell which story it is."""
    return len(words.stems) + (NAME - 1) * len(words.stems & names) + NUMBER * len(words.numbers)


def _alike(one: str, other: str) -> bool:
    """Tell whether one of two stems is the beginning of the other."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= BEGINNING and len(long) - len(short) <= 4 and long.startswith(short)


def _prepared(text: str) -> str:
    text = _BEHIND.sub("", text[:LONGEST]) if ")" in text or "）" in text else text[:LONGEST]
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if "'" in text or "’" in text:
        text = _ELISION.sub("", _POSSESSIVE.sub("", text))
    return _GROUPED.sub("", text)


def _numbered(number: str) -> str:
    """Return a number as it is compared: `$2 billion` and `$2B` are one, and so are 2:1 and 2-1."""
    digits = _DIGITS.findall(number)
    unit = _DIGITS.sub("", number.casefold()).strip(" .,:-%")
    return ".".join(digits) + _UNITS.get(unit, unit)


def _pairs(run: str) -> Iterator[str]:
    yield from (run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,)


def _all_capitals(names: set[str], plain: set[str]) -> bool:
    """Tell whether a headline writes every word with a capital, so that none of them is known for a name."""
    return len(names) > 3 and len(names) > 4 * len(plain)
