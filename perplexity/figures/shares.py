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

    An excerpt that has one of the `words` says the same. A change by a share of a percentage point has none; `ordinal`
    is a number that the words may mean instead, as "a third goal" does.
    """

    start: int
    end: int
    percentage: Decimal
    words: tuple[str, ...]
    ordinal: int = 0


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
_ONE_IN = re.compile(
    r"(?<!\w)(?:one|1) (?:in|out of) (?:(?P<number>\d{1,2})|(?P<word>[a-z]+))(?!\w)|"
    r"(?<!\w)jede[rnsm]? (?P<ordinal>zweite|dritte|vierte|fünfte|sechste|achte|zehnte)[rnsm]?(?!\w)",
    re.IGNORECASE,
)


def find_shares(text: str, lower: str, words: Set[str]) -> Iterator[Share]:
    """Yield "two thirds", "ein Viertel", "one in five"; `words` are the words of the text in lower case."""
    for word in words & _PARTS.keys():
        for start, end in whole_words(lower, word):
            yield from _share(text, start, end, word)
    if "jede" in lower or "one " in lower or "1 " in lower:
        for match in _ONE_IN.finditer(text):
            word = (match["word"] or match["ordinal"] or "").lower()
            number = int(match["number"] or (2 if word == "zweite" else number_words().get(word, 0)))
            if number > 1:
                yield Share(*match.span(), Decimal(round(100 / number)), one_in(number) + SHARE_WORDS.get(number, ()))


def _share(text: str, start: int, end: int, word: str) -> Iterator[Share]:
    count, parts = _COUNT.search(text, max(0, start - 8), start), _PARTS[word]
    several = 3 if word == "dreiviertel" else _COUNTS.get(count[1].lower(), 1) if count else 1
    first = count.start(1) if count and several > 1 else start
    if point := _POINT.match(text, end):
        yield Share(first, point.end(), Decimal(several) / parts, ())
        return
    percentage, ordinal = Decimal(round(100 * several / parts)), 0
    if word in _ENGLISH_PARTS and not (_OF.match(text, end) and (parts == 2 or count)):
        if not count or (parts in {2, 4} and count[1] in {"a", "an", "one"}):
            return
        ordinal = parts if count[1] in {"a", "an"} else 0
    yield Share(first, end, percentage, SHARE_WORDS[parts], ordinal)


def one_in(number: int) -> tuple[str, ...]:
    """Return how one of so many may be written, in lower case."""
    words = words_of(number)
    return (
        *[f"{one} {joint} {n}" for one in ("one", "1") for joint in ("in", "out of") for n in (number, *words)],
        *[f"jede{ending} {word}" for ending in ("", *"rsnm") for word in words],
        f"1:{number}",
        f"jeder {number}.",
    )


@lru_cache(maxsize=256)
def share_phrases(percentage: Decimal) -> re.Pattern[str] | None:
    """Return what matches the words for a percentage in lower case, None if there are none; "half" is 50 and 49.

    A half of the year and a quarter are no shares.
    """
    found = [words for value, words in _PHRASES if abs(value - percentage) <= 1]
    return re.compile("|".join(found)) if found else None


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
    *[(Decimal(100) / parts, "|".join(map(re.escape, one_in(parts)))) for parts in (3, 4, 5, 6, 7, 8, 9, 10, 20)],
]
