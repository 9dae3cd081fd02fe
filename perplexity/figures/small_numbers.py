"""Other ways to say a small number: "both", "a year", the number of items in a list, Roman digits."""

from __future__ import annotations

import re
from decimal import Decimal

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
"""Beginnings of other words for a small number: those for a number in words, and those for a number in digits.

A number in words may be the answer's own count of things, so " and " is enough for 2.
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
    """Return whether a text says a length of time as one of a longer unit, such as "a day" for 24 hours.

    The text is in lower case.
    """
    name = _WHOLE.get((unit, int(value)))
    return (
        name is not None
        and re.search(rf"\b(?:an?|one|last|past|eine?[mnrs]?|letzte[mnrs]?)[ -](?:{name})", lower) is not None
    )


def small_words(value: Decimal, *, in_words: bool) -> tuple[str, ...]:
    """Return beginnings of other words for a small number, such as "both".

    `in_words` says whether the sentence has the number in words.
    """
    return _SMALL[int(value)][0 if in_words else 1] if value % 1 == 0 and value in _SMALL else ()


def roman(value: Decimal) -> str:
    """Return a whole number from 1 to 69 in Roman digits; "" for any other number, and for 1 and 50 ("I" and "L")."""
    return _ROMAN[int(value)] if value % 1 == 0 and value < len(_ROMAN) and value not in {1, 50} else ""


def listed(text: str) -> frozenset[int]:
    """Return the lengths of a text's lists: 3 for "Ann, Bob and Eve", which an answer may call "the three"."""
    return frozenset(match[0].removesuffix(", and ").count(", ") + 2 for match in _LIST.finditer(text))
