"""Fractions in words such as "a third" and "one in five", as percentages, and multiples such as "doubled"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from perplexity.figures.computed import compares
from perplexity.figures.number_words import OF_ONE, OF_PART
from perplexity.figures.numbers import hedge_before
from perplexity.lexicon.numbers import NUMBERS


class Fraction(NamedTuple):
    """A fraction in words or as "2/3", from `start` to `end` of a text.

    If the words may be separate numbers, as in "a third goal" and "two in three games", `numbers` has these. `hedge` is
    as for a `Number`. `is_change` is True if something grows or shrinks by the fraction. `of_a_point` is True for a
    fraction of a percentage point: the `percentage` of "a quarter point" is 0.25, that of "a quarter" is 25.
    """

    start: int
    end: int
    percentage: Decimal
    numbers: tuple[int, ...] = ()
    hedge: str = ""
    is_change: bool = False
    of_a_point: bool = False


_PARTS = {
    "half": 2, "halves": 2, "hälfte": 2, "third": 3, "thirds": 3, "drittel": 3, "quarter": 4, "quarters": 4,
    "viertel": 4, "dreiviertel": 4, "viertelprozentpunkt": 4, "dreiviertelprozentpunkt": 4, "viertelpunkt": 4,
    "fifth": 5, "fifths": 5, "fünftel": 5, "tenth": 10, "tenths": 10, "zehntel": 10, "sixth": 6, "sixths": 6,
    "sechstel": 6, "eighth": 8, "eighths": 8, "achtel": 8,
}  # fmt: skip
_PART = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(_PARTS)})(?![^\W\d_])")
_ENGLISH_PARTS = frozenset(part for part in _PARTS if part[0] in "tqs" or part in {"half", "halves", "fifth", "fifths"})
_OF = re.compile(r"\s(?:of|the|its|their|all)(?![^\W\d_])")
_POINT = re.compile(r"(?<=punkt)|(?:[- ](?:of an? )?|[- ]an? )(?:percentage[- ])?(?:point|Prozentpunkt)", re.IGNORECASE)
_COUNT = re.compile(
    r"(?<![^\W\d_])(by an?|an?|one|two|three|four|five|seven|nine|eine?[mn]?|zwei|drei|vier|fünf|sieben|neun)[ -]\Z",
    re.IGNORECASE,
)
_OF_ONE = re.compile(rf"[ -](?:of[ -])?an? (?:{'|'.join(sorted(OF_ONE | OF_PART))})(?![^\W\d_])")
_IN = re.compile(
    r"(?<![\w.,])(\d{1,2}|[a-zäöüß]{2,10})[ -](?:in|out[ -]of|von)[ -](?:every )?(\d{1,3}|[a-zäöüß]+)(?![\w%]|[.,]\d)"
)
_EACH = re.compile(r"(?<!\w)jede[rnsm]? (zweite|dritte|vierte|fünfte|sechste|achte|zehnte|\d{1,2}\.)[rnsm]?(?!\w)")


def find_fractions(text: str, lower: str) -> Iterator[Fraction]:
    """Yield fractions such as "two thirds", "ein Viertel" and "one in five"; `lower` is the text in lower case."""
    for match in _PART.finditer(lower):
        yield from _fraction(text, *match.span(), match[0])
    yield from _counted(lower)


def _counted(lower: str) -> Iterator[Fraction]:
    for match in _IN.finditer(lower):
        count, number = _small(match[1]), _small(match[2])
        if 0 < count < number:
            yield Fraction(*match.span(), Decimal(100 * count) / number, (count, number))
    for match in _EACH.finditer(lower):
        number = 2 if match[1] == "zweite" else _small(match[1].rstrip("."))
        if number > 1:
            yield Fraction(*match.span(), Decimal(100) / number, (1, number))


def _small(written: str) -> int:
    if written in {"one", "ein", "eine", "einer", "eines"}:
        return 1
    return int(written) if written.isdecimal() else NUMBERS.get(written, 0)


def _fraction(text: str, start: int, end: int, word: str) -> Iterator[Fraction]:
    if text.endswith((" and a ", "-and-a-"), 0, start) or _OF_ONE.match(text, end):  # "a year and a half"
        return
    count, parts = _COUNT.search(text, max(0, start - 8), start), _PARTS[word]
    several = 3 if word.startswith("dreiviertel") else NUMBERS.get(count[1].lower(), 1) if count else 1
    first = count.start(1) if count and several > 1 else start
    if point := _POINT.match(text, end):
        yield Fraction(first, point.end(), Decimal(several) / parts, of_a_point=True)
        return
    ordinals: tuple[int, ...] = ()
    hedge = hedge_before(text, count.start(1) if count else start)
    if word in _ENGLISH_PARTS and not ((_OF.match(text, end) or (hedge and parts != 4)) and (parts == 2 or count)):
        if not count or (parts in {2, 4} and count[1] in {"a", "an", "one"}):
            return
        ordinals = (parts,) if count[1] in {"a", "an"} and not _OF.match(text, end) else ()
    yield Fraction(first, end, Decimal(100 * several) / parts, ordinals, hedge, compares(text, start, end))


_SAID = re.compile(
    r"(?P<all>\bdoubl|verdopp|twofold|zweifach|\bentire|\bfully|\bcomplete|vollständig|komplett|\ball\b|\balle)"
    r"|(?P<triple>\btripl|verdreif|threefold|dreifach)"
    r"|(?P<half>(?<!first )(?<!second )(?<!other )\bhalf\b(?! year)|hälfte)"
    r"|(?:(?P<count>two|three|four|five|seven|nine|zwei|drei|vier|fünf|sieben|neun)|\ban?|\bone|\beine?[mns]?)[ -]?"
    r"(?P<part>thirds?|drittel|quarters?|viertel|fifths?|fünftel|sixths?|sechstel|eighths?|achtel|tenths?|zehntel)n?\b"
    r"|(?P<several>\d{1,2})[/:](?P<number>\d{1,3})(?!\d)|(?P<sign>[½⅓⅔¼¾⅛⅜⅝⅞])"
)
_SHARES = dict(zip("½⅓⅔¼¾⅛⅜⅝⅞", (50, 33, 67, 25, 75, 12.5, 37.5, 62.5, 87.5), strict=True))
_SHARES |= {"all": 100, "triple": 200, "half": 50}


def said_percentages(lower: str) -> Iterator[float]:
    """Yield the percentages that a text in lower case says in words, also loosely: "half" is 50, "doubled" is 100.

    Periods of time do not count: "first half", "half year", and "quarter" without "a", "one" or a number.
    """
    for match in _SAID.finditer(lower):
        if match["part"]:
            yield 100 * NUMBERS.get(match["count"] or "", 1) / _PARTS[match["part"]]
        elif match["several"]:
            if int(match["number"]):
                yield 100 * int(match["several"]) / int(match["number"])
        else:
            yield _SHARES[match["sign"] or match.lastgroup or ""]
    yield from (float(fraction.percentage) for fraction in _counted(lower))


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
_SAID_FACTORS = {
    "twice": Decimal(2), "double": Decimal(2), "doppelt": Decimal(2), "triple": Decimal(3), "thrice": Decimal(3),
    "half": Decimal("0.5"), "hälfte": Decimal("0.5"),
}  # fmt: skip


def find_multiples(lower: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield the start, the end and the factor of words such as "doubled", "halved", "fivefold" or "verdreifacht".

    The text is in lower case.
    """
    for match in _MULTIPLE.finditer(lower):
        times = match["times"]
        if factor := _times(times) if times else _FACTORS[match.lastgroup or ""]:
            yield *match.span(), factor


def _times(written: str) -> Decimal:
    return Decimal(written.replace(",", ".")) if written[0].isdecimal() else Decimal(_small(written))


def said_factors(lower: str) -> Iterator[Decimal]:
    """Yield the factors that a text in lower case states, as in "twice", "doubled" or "three times"."""
    yield from (factor for word, factor in _SAID_FACTORS.items() if word in lower)
    yield from (factor for *_, factor in find_multiples(lower))
    yield from (_times(match[1] or match[2]) for match in _TIMES.finditer(lower))
