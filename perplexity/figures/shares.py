"""Shares in words, such as "a third" and "one in five", and the percentages that they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from perplexity.figures.computed import compares
from perplexity.figures.numbers import hedge_before
from perplexity.figures.words import OF_ONE, OF_PART, number_words, whole_words, words_of


class Share(NamedTuple):
    """A share that is written in words from `start` to `end`, in percent.

    An excerpt that has one of the `words` says the same. A change by a share of a percentage point has none. The words
    may mean `numbers` instead, each on its own, as "a third goal" and "two in three games" do. `hedge` is a number's;
    `is_change` is whether something is more or less by the share.
    """

    start: int
    end: int
    percentage: Decimal
    words: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    hedge: str = ""
    is_change: bool = False


_SIGNS = {"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾", "1/8": "⅛", "3/8": "⅜", "5/8": "⅝", "7/8": "⅞"}
_PARTS = {
    "half": 2, "halves": 2, "hälfte": 2, "third": 3, "thirds": 3, "drittel": 3, "quarter": 4, "quarters": 4,
    "viertel": 4, "dreiviertel": 4, "viertelprozentpunkt": 4, "fifth": 5, "fifths": 5, "fünftel": 5, "tenth": 10,
    "tenths": 10, "zehntel": 10, "sixth": 6, "sixths": 6, "sechstel": 6, "eighth": 8, "eighths": 8, "achtel": 8,
}  # fmt: skip
_ENGLISH_PARTS_WORDS = "half halves third quarter fifth tenth thirds quarters fifths tenths sixth sixths eighth eighths"
_ENGLISH_PARTS = frozenset(_ENGLISH_PARTS_WORDS.split(" "))
_OF = re.compile(r"\s(?:of|the|its|their|all)(?![^\W\d_])")
_POINT = re.compile(r"(?<=punkt)|(?:[- ](?:of an? )?|[- ]an? )(?:percentage[- ])?(?:point|Prozentpunkt)", re.IGNORECASE)
_COUNT = re.compile(
    r"(?<![^\W\d_])(by an?|an?|one|two|three|four|five|seven|nine|eine?[mn]?|zwei|drei|vier|fünf|sieben|neun)[ -]\Z",
    re.IGNORECASE,
)
_COUNTS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "nine": 9, "zwei": 2, "drei": 3, "vier": 4,
    "fünf": 5, "sechs": 6, "sieben": 7, "neun": 9,
}  # fmt: skip
_OF_ONE = re.compile(rf"[ -](?:of[ -])?an? (?:{'|'.join(sorted(OF_ONE | OF_PART))})(?![^\W\d_])")
_IN = re.compile(r"[ -](?:in|out[ -]of|von)[ -](?:every )?(\d{1,3}|[a-zäöüß]+)(?![\w%]|[.,]\d)")
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
    percentage = Decimal(100 * count) / number
    return Share(start, end, percentage, so_many_in(count, number), (count, number))


def _small(written: str) -> int:
    if written in {"one", "ein", "eine", "einer", "eines"}:
        return 1
    return int(written) if written.isdecimal() else number_words().get(written, 0)


def _share(text: str, start: int, end: int, word: str) -> Iterator[Share]:
    if text.endswith((" and a ", "-and-a-"), 0, start) or _OF_ONE.match(text, end):  # "a year and a half"
        return
    count, parts = _COUNT.search(text, max(0, start - 8), start), _PARTS[word]
    several = 3 if word == "dreiviertel" else _COUNTS.get(count[1].lower(), 1) if count else 1
    first = count.start(1) if count and several > 1 else start
    if point := _POINT.match(text, end):
        yield Share(first, point.end(), Decimal(several) / parts, ())
        return
    percentage = Decimal(100 * several) / parts
    ordinals: tuple[int, ...] = ()
    hedge = hedge_before(text, count.start(1) if count else start)
    if word in _ENGLISH_PARTS and not ((_OF.match(text, end) or (hedge and parts != 4)) and (parts == 2 or count)):
        if not count or (parts in {2, 4} and count[1] in {"a", "an", "one"}):
            return
        ordinals = (parts,) if count[1] in {"a", "an"} and not _OF.match(text, end) else ()
    yield Share(first, end, percentage, written_share(several, parts), ordinals, hedge, compares(text, start, end))


def written_share(count: int, parts: int) -> tuple[str, ...]:
    """Return how so many parts are written in digits, such as "2/3" and "⅔"."""
    written = f"{count}/{parts}"
    return (written, *([_SIGNS[written]] if written in _SIGNS else []))


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
_NAMES = {
    3: "thirds?|drittel",
    4: "quarters?|viertel",
    5: "fifths?|fünftel",
    6: "sixths?|sechstel",
    8: "eighths?|achtel",
    10: "tenths?|zehntel",
}
_COUNTED = {1: r"\ban?|\bone|\beine?[mns]?|1/", 2: "two|zwei", 3: "three|drei", 4: "four|vier", 5: "five|fünf",
            7: "seven|sieben", 9: "nine|neun"}  # fmt: skip
_PHRASES = [
    (Decimal(50), _HALF),
    (Decimal(100), _ALL),
    (Decimal(200), r"\btripl|verdreif|threefold|dreifach"),
    *[
        (Decimal(100 * several) / parts, rf"(?:{counted})[ -]?(?:{names})n?\b")
        for parts, names in _NAMES.items()
        for several, counted in _COUNTED.items()
        if several < parts and (several, parts) != (2, 4)
    ],
]


_MULTIPLE = re.compile(
    r"(?<![\w-])(?:(?P<two>doubl(?:ed|ing)|verdoppel\w*)|(?P<three>tripl(?:ed|ing)|trebl(?:ed|ing)|verdreifach\w*)|"
    r"(?P<four>quadrupl(?:ed|ing)|vervierfach\w*)|(?P<five>quintupl(?:ed|ing)|verfünffach\w*)|"
    r"(?P<half>halv(?:ed|ing)|halbier\w*)|"
    r"(?P<times>\d{1,3}(?:[.,]\d)?|[a-zäöüß]{2,20}?)[- ]?(?:fold|fach\w{0,2}))(?!\w)"
)
_TIMES = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[.,]\d)?|[a-zäöüß]{2,20})[ -]?(?:times|x|×|mal)(?!\w)|factor of (\d+|[a-z]+)"
)
_FACTORS = {"half": Decimal("0.5"), "two": Decimal(2), "three": Decimal(3), "four": Decimal(4), "five": Decimal(5)}
_SAID = {
    Decimal(2): ("twice", "double", "doppelt"),
    Decimal(3): ("triple", "thrice"),
    Decimal("0.5"): ("half", "hälfte"),
}


def find_multiples(lower: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield where "doubled", "halved", "fivefold" or "verdreifacht" begins and ends, and the factor; in lower case."""
    for match in _MULTIPLE.finditer(lower):
        times = match["times"]
        if factor := _times(times) if times else _FACTORS[match.lastgroup or ""]:
            yield *match.span(), factor


def _times(written: str) -> Decimal:
    return Decimal(written.replace(",", ".")) if written[0].isdecimal() else Decimal(_small(written))


def says_multiple(lower: str, factor: Decimal) -> bool:
    """Return whether a text in lower case has such a word for a factor, or says so many times."""
    if any(word in lower for word in _SAID.get(factor, ())) or any(one == factor for *_, one in find_multiples(lower)):
        return True
    return any(_times(match[1] or match[2]) == factor for match in _TIMES.finditer(lower))
