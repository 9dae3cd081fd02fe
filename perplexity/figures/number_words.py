"""Finds numbers that are written in English or German words, and other ways to say a small number: "both", "a year"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from perplexity.lexicon.numbers import NUMBERS


class WordedNumber(NamedTuple):
    """A number in words, from `start` up to, not including, `end`."""

    start: int
    end: int
    value: Decimal


_WORD = re.compile(r"[^\W\d_]+")
_REFERS_BACK = re.compile(r"(?<!\w)(?:the|these|those|die|den|der|diese|diesen|dieser) \Z")
_ONE = re.compile(
    r"(?<![\w-])(half an?|(?:an?[ -]|one[ -]|three[ -])?quarters?[ -]of an?|eine[rs]? halben?|eine[rs]? viertel|"
    r"dreiviertel|anderthalb|eineinhalb|ein halbes|an?|one|eine?[mnrs]?) \Z"
)
_LONGEST_ONE = 24
OF_ONE = frozenset(
    ["hundred", "thousand", "million", "billion", "trillion", "decade", "century", "milliarde", "dozen", "dutzend"]
)
OF_PART = frozenset(["hour", "year", "tonne", "ton", "mile", "kilometre", "metre", "litre", "pound", "inch", "stunde"])
"""Units that form a figure with "half a" or "a quarter of a" before them, but not with "a" alone."""
_DOZENS = frozenset({"dozen", "dutzend"})
_HALVES = {"half": "0.5", "halbe": "0.5", "halben": "0.5", "halbes": "0.5", "anderthalb": "1.5", "eineinhalb": "1.5",
           "three": "0.75", "dreiviertel": "0.75", "quarter": "0.25", "viertel": "0.25"}  # fmt: skip
_HUNDREDS = re.compile(r"(?<!\w)([a-z]+)[ -]hundred (?:and )?([a-z]+(?:-[a-z]+)?)(?!\w)")
_AFTER_HUNDREDS = re.compile(r"hundred (?:and )?\Z")
_MORE = re.compile(
    r"(?P<half>[ -]and[ -]a[ -]half)(?![^\W\d_])|(?P<dozen> (?:dozen|dutzend))(?![^\W\d_])|-(?P<ones>[a-z]+)"
)
_GERMAN_COMPOUND = re.compile(r"(?:(\w*?)tausend)?(?:und)?(?:(\w*?)hundert)?(?:und)?(\w*)")
_PART_OF_A_MILLION = re.compile("(?:viertel|dreiviertel|halbe)(?=million|milliarde)")
_ONES = NUMBERS | {"ein": 1, "eins": 1}
_BEGINNINGS = {word[:3] for word in (*_ONES, *OF_ONE, *OF_PART, *_HALVES, "tausend", "hundert")}
_LONGEST_NUMBER = 60
_LONGEST_BEGINNING = 20
_NO_NUMBER = -1_000_000_000


def find_worded(lower: str, *, inside: bool = False) -> list[WordedNumber]:
    """Return the numbers in words of a text in lower case. They may overlap; the earlier in the list then counts.

    With `inside`, numbers at the beginning of a longer word are also returned: 3 for "dreijährig".
    """
    hundreds = (
        (match, NUMBERS.get(match[1], int(match[1] in {"a", "one"})), NUMBERS.get(match[2], 0))
        for match in _HUNDREDS.finditer(lower)
    )
    found = [WordedNumber(*match.span(), Decimal(100 * n + rest)) for match, n, rest in hundreds if n and rest]
    plain: list[WordedNumber] = []
    for match in _WORD.finditer(lower):
        word, start, end = match[0], match.start(), match.end()
        if word[:3] not in _BEGINNINGS:
            continue
        if word in OF_ONE or word in OF_PART:
            found += _of_one(lower, start, end, word)
        elif word in NUMBERS:
            is_part = lower[start - 1 : start] == "-" or _AFTER_HUNDREDS.search(lower, max(0, start - 12), start)
            if not (is_part or (NUMBERS[word] == 2 and _REFERS_BACK.search(lower, max(0, start - 9), start))):
                plain.append(_with_more(lower, start, end, NUMBERS[word]))
        elif part := _PART_OF_A_MILLION.match(word):
            found.append(WordedNumber(start, start + part.end(), Decimal(_HALVES[part[0]])))
        elif value := _compound(word):
            found.append(WordedNumber(start, end, value))
        elif inside and (length := _beginning(word)):
            plain.append(WordedNumber(start, start + length, Decimal(NUMBERS[word[:length]])))
    return [*found, *plain]


def _compound(word: str) -> Decimal | None:
    """Return the number of a German word such as "dreieinhalb" or "zweitausend", None for any other word."""
    whole = _ONES.get(word.removesuffix("einhalb")) if word.endswith("einhalb") else None
    if whole or word == "anderthalb":
        return (whole or 1) + Decimal("0.5")
    is_long = len(word) > _LONGEST_NUMBER or word in {"tausend", "hundert"}
    match = None if is_long or not ("tausend" in word or "hundert" in word) else _GERMAN_COMPOUND.fullmatch(word)
    if match is None:
        return None
    thousands, hundreds, rest = (
        0 if part is None else _ONES.get(part, _NO_NUMBER) if part else int(factor > 1)
        for part, factor in zip(match.groups(), (1000, 100, 1), strict=True)
    )
    value = 1000 * thousands + 100 * hundreds + rest
    return Decimal(value) if value > 0 else None


def _beginning(word: str) -> int:
    """Return the length of the longest number at the beginning of a word; 0 if there is none."""
    return next((length for length in range(min(len(word), _LONGEST_BEGINNING), 2, -1) if word[:length] in NUMBERS), 0)


def _of_one(lower: str, start: int, end: int, word: str) -> Iterator[WordedNumber]:
    """Yield the number before a word such as "million" or "hour": 1 in "a million", 0.5 in "half an hour"."""
    one = _ONE.search(lower, max(0, start - _LONGEST_ONE), start)
    if one is None or (word in OF_PART and not any(part in one[1] for part in ("half", "quarter", "halbe", "viertel"))):
        return
    value = Decimal(next((_HALVES[part] for part in re.split("[ -]", one[1]) if part in _HALVES), "1"))
    is_dozen = word in _DOZENS
    yield WordedNumber(one.start(), end if is_dozen else one.end(1), value * 12 if is_dozen else value)


def _with_more(lower: str, start: int, end: int, value: int) -> WordedNumber:
    """Return a number with the words after it that change it: "two dozen", "three and a half", "twenty-five"."""
    more = _MORE.match(lower, end)
    if more and more["half"]:
        return WordedNumber(start, more.end(), value + Decimal("0.5"))
    if more and more["dozen"]:
        return WordedNumber(start, more.end(), Decimal(12 * value))
    if more and (both := NUMBERS.get(f"{lower[start:end]}-{more['ones']}")):
        return WordedNumber(start, more.end(), Decimal(both))
    return WordedNumber(start, end, Decimal(value))


_ORDINARY = ("tripl", "treble", "thrice", "hat-trick", "hat trick", "hattrick")
_SMALL = {
    0: ((), (" zero", " null", " nil", "nought", " no ", " none", " keine", " kein ")),
    1: (("first", "erst"), ("first", "erst")),
    2: (
        ("both", "pair", "couple", "twin", "doubl", "twice", "dual", "second", "2nd", "beid", "paar", "doppel", "zweit",
         " and ", " und ", " one ", "single"),
        ("second", "zweit", "2nd", "twice", "doubl", "doppel"),
    ),
    3: (_ORDINARY, _ORDINARY),
    4: (("quadrupl", "quartet"), ("quadrupl", "quartet")),
}  # fmt: skip
"""Parts of words that may stand for a small number in an excerpt.

The first tuple is for a number that the sentence has in words, the second for a number in digits. A number in words may
be the answer's own count of things, so " and " is enough for 2.
"""
_ROMAN = [
    f"{tens}{ones}"
    for tens in ("", "X", "XX", "XXX", "XL", "L", "LX")
    for ones in ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
]
_WHOLE = {
    ("second", 60): "minute", ("minute", 60): "hour|stunde", ("hour", 24): "day|tag", ("day", 7): "week|woche",
    ("month", 12): "year|jahr", ("month", 3): "quarter|vierteljahr|quartal", ("month", 6): "half|halbjahr|halbes jahr",
    ("week", 2): "fortnight", ("day", 14): "fortnight", ("month", 18): "year and a half",
}  # fmt: skip
_LIST = re.compile(
    r"(?<![^\s(:])(?:[^\s,;:()][^,;:()\n]{1,40}, ){1,9}[^,;:()\n]{2,40},? (?:and|und|or|oder|&) "
    r"|(?<!\w)[A-ZÄÖÜ]\w{1,40}(?: [A-ZÄÖÜ][\w.]{0,40}){0,3} (?:and|und|&) (?=[A-ZÄÖÜ])"
)


def says_length(lower: str, unit: str, value: Decimal) -> bool:
    """Return whether a text in lower case says a length of time with a longer unit: "a day" for 24 hours."""
    name = _WHOLE.get((unit, int(value)))
    return (
        name is not None
        and re.search(rf"\b(?:an?|one|last|past|eine?[mnrs]?|letzte[mnrs]?)[ -](?:{name})", lower) is not None
    )


def small_words(value: Decimal, *, in_words: bool) -> tuple[str, ...]:
    """Return parts of words that may stand for a small number, such as "both" for 2.

    `in_words` says whether the sentence has the number in words.
    """
    return _SMALL[int(value)][0 if in_words else 1] if value in _SMALL and value % 1 == 0 else ()


def roman(value: Decimal) -> str:
    """Return a whole number from 1 to 69 in Roman digits; "" for any other number, and for 1 and 50 ("I" and "L")."""
    return _ROMAN[int(value)] if value < len(_ROMAN) and value % 1 == 0 and value not in {1, 50} else ""


def listed(text: str) -> frozenset[int]:
    """Return the lengths of a text's lists: 3 for "Ann, Bob and Eve", which an answer may call "the three"."""
    return frozenset(match[0].removesuffix(", and ").count(", ") + 2 for match in _LIST.finditer(text))
