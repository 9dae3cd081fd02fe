"""Shares in words, such as "a third" and "one in five", and the percentages that they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from perplexity.figures.words import number_words, whole_words, words_of


class Share(NamedTuple):
    """A share that is written in words from `start` to `end`, in percent.

    An excerpt that has one of the `words` says the same. A change by a share of a percentage point has none. The words
    may mean `numbers` instead, each on its own, as "a third goal" and "two in three games" do.
    """

    start: int
    end: int
    percentage: Decimal
    words: tuple[str, ...]
    numbers: tuple[int, ...] = ()


SHARE_WORDS: dict[int, tuple[str, ...]] = {
    2: ("half", "halv", "hälfte", "halb", "1/2", "½"),
    3: ("third", "drittel", "1/3", "2/3", "⅓", "⅔"),
    4: ("quarter", "viertel", "1/4", "3/4", "¼", "¾"),
    5: ("fifth", "fünftel", "1/5", "2/5", "3/5", "4/5"),
    10: ("tenth", "zehntel", "1/10"),
}
"""What says that something is in so many parts."""
_PARTS = {
    "half": 2, "halves": 2, "hälfte": 2, "third": 3, "thirds": 3, "drittel": 3, "quarter": 4, "quarters": 4,
    "viertel": 4, "dreiviertel": 4, "viertelprozentpunkt": 4, "fifth": 5, "fifths": 5, "fünftel": 5, "tenth": 10,
    "tenths": 10, "zehntel": 10,
}  # fmt: skip
_ENGLISH_PARTS_WORDS = "half halves third quarter fifth tenth thirds quarters fifths tenths"
_ENGLISH_PARTS = frozenset(_ENGLISH_PARTS_WORDS.split(" "))
_OF = re.compile(r"\s(?:of|the|its|their|all)(?![^\W\d_])")
_POINT = re.compile(r"(?<=punkt)|(?:[- ](?:of an? )?|[- ]an? )(?:percentage[- ])?(?:point|Prozentpunkt)", re.IGNORECASE)
_COUNT = re.compile(r"(?<![^\W\d_])(by an?|an?|one|two|three|four|eine?[mn]?|zwei|drei|vier)[ -]\Z", re.IGNORECASE)
_COUNTS = {"two": 2, "three": 3, "four": 4, "zwei": 2, "drei": 3, "vier": 4}
_IN = re.compile(r"[ -](?:in|out[ -]of|von)[ -](\d{1,3}|[a-zäöüß]+)(?![\w%]|[.,]\d)")
_SO_MANY = re.compile(r"(?<![\w.,])(\d{1,2}|[a-zäöüß]+)\Z")
_EACH = re.compile(r"(?<!\w)jede[rnsm]? (zweite|dritte|vierte|fünfte|sechste|achte|zehnte)[rnsm]?(?!\w)")


def find_shares(text: str, lower: str, words: Set[str]) -> Iterator[Share]:
    """Yield "two thirds", "ein Viertel", "one in five"; `words` are the words of the text in lower case."""
    for word in words & _PARTS.keys():
        for start, end in whole_words(lower, word):
            yield from _share(text, start, end, word)
    for match in _IN.finditer(lower):
        before = _SO_MANY.search(lower, max(0, match.start() - 12), match.start())
        count, number = _small(before[1]) if before else 0, _small(match[1])
        if before and 0 < count < number:
            yield _so_many(before.start(), match.end(), count, number)
    if "jede" in lower:
        for match in _EACH.finditer(lower):
            yield _so_many(*match.span(), 1, 2 if match[1] == "zweite" else _small(match[1]))


def _so_many(start: int, end: int, count: int, number: int) -> Share:
    words = SHARE_WORDS.get(number, ()) if count == 1 else ()
    percentage = Decimal(round(100 * count / number))
    return Share(start, end, percentage, so_many_in(count, number) + words, (count, number))


def _small(written: str) -> int:
    if written in {"one", "ein", "eine", "einer", "eines"}:
        return 1
    return int(written) if written.isdecimal() else number_words().get(written, 0)


def _share(text: str, start: int, end: int, word: str) -> Iterator[Share]:
    if text.endswith((" and a ", "-and-a-"), 0, start):  # "a year and a half"
        return
    count, parts = _COUNT.search(text, max(0, start - 8), start), _PARTS[word]
    several = 3 if word == "dreiviertel" else _COUNTS.get(count[1].lower(), 1) if count else 1
    first = count.start(1) if count and several > 1 else start
    if point := _POINT.match(text, end):
        yield Share(first, point.end(), Decimal(several) / parts, ())
        return
    percentage = Decimal(round(100 * several / parts))
    ordinals: tuple[int, ...] = ()
    if word in _ENGLISH_PARTS and not (_OF.match(text, end) and (parts == 2 or count)):
        if not count or (parts in {2, 4} and count[1] in {"a", "an", "one"}):
            return
        ordinals = (parts,) if count[1] in {"a", "an"} else ()
    yield Share(first, end, percentage, SHARE_WORDS[parts], ordinals)


@lru_cache(maxsize=256)
def so_many_in(count: int, number: int) -> tuple[str, ...]:
    """Return how so many of a number may be written, in lower case."""
    counts = (str(count), *(words_of(count) if count > 1 else ("one", "eine")))
    numbers = (str(number), *words_of(number))
    found = [f"{one} {joint} {n}" for one in counts for joint in ("in", "out of", "von") for n in numbers]
    found += [f"{one}-{joint}-{n}" for one in counts for joint in ("in", "out-of") for n in numbers]
    if count == 1:
        found += [f"jede{ending} {word}" for ending in ("", *"rsnm") for word in words_of(number)]
        found += [f"1:{number}", f"jeder {number}."]
    return (*found, f"{count}/{number}")


@lru_cache(maxsize=256)
def share_phrases(percentage: int) -> re.Pattern[str] | None:
    """Return what matches the words for a percentage in lower case, None if there are none; "half" is 50 and 49.

    A half of the year and a quarter are no shares.
    """
    found = [words for value, words in _PHRASES if abs(value - percentage) <= 1]
    return re.compile("|".join(found)) if found else None


@lru_cache(maxsize=256)
def counted_shares(percentage: int) -> tuple[str, ...]:
    """Return how a percentage is written as so many of a number, in lower case, such as "nine in ten" for 90."""
    parts = [(several, number) for number in (*range(3, 11), 20) for several in range(1, number)]
    near = [(several, number) for several, number in parts if abs(100 * several - percentage * number) <= number]
    return tuple(said for several, number in near for said in so_many_in(several, number))


_HALF = r"(?<!first )(?<!second )(?<!other )\bhalf\b(?! year)|hälfte|jede[rs]? zweite|(?:one|1) in (?:two|2)\b"
_ALL = r"\bdoubl|verdopp|twofold|zweifach|\bentire|\bfully|\bcomplete|vollständig|komplett|\ball\b|\balle"
_NAMES = {3: "thirds?|drittel", 4: "quarters?|viertel", 5: "fifths?|fünftel", 10: "tenths?|zehntel"}
_COUNTED = {1: r"\ban?|\bone|\beine?[mns]?|1/", 2: "two|zwei", 3: "three|drei", 4: "four|vier"}
_PHRASES = [
    (Decimal(50), _HALF),
    (Decimal(100), _ALL),
    (Decimal(200), r"\btripl|verdreif|threefold|dreifach"),
    *[
        (Decimal(100 * several) / parts, rf"(?:{counted})[ -]?(?:{names})")
        for parts, names in _NAMES.items()
        for several, counted in _COUNTED.items()
        if several < parts and (several, parts) != (2, 4)
    ],
]
