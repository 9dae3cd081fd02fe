"""Figures in a text, with their units, and those of a claim that a passage does not give. Pure.

English and German; thousands, decimals, multiples ("1.4 million"), small numbers in words, and the commonest units.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache

_NUMBER = r"\d{1,3}(?:[ '’]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)*"
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:(?P<sign>[.,])\d{3})(?:(?P=sign)\d{3})*(?P<rest>[.,]\d+)?")

_MULTIPLES = {
    **dict.fromkeys(("thousand", "k", "tausend", "tsd"), 3),
    **dict.fromkeys(("万", "萬"), 4),
    **dict.fromkeys(("million", "millions", "mn", "mio", "mill", "millionen"), 6),
    **dict.fromkeys(("亿", "億"), 8),
    **dict.fromkeys(("billion", "billions", "bn", "mrd", "milliarde", "milliarden"), 9),
    **dict.fromkeys(("trillion", "trillions", "tn", "billionen"), 12),
}
_UNITS = {
    **dict.fromkeys(("%", "percent", "prozent", "pct", "per cent"), "%"),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters", "metern", "米"), "m"),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers", "kilometern", "公里"), "km"),
    **dict.fromkeys(("cm", "centimetre", "centimetres", "centimeter", "centimeters", "zentimeter"), "cm"),
    **dict.fromkeys(("mm", "millimetres", "millimeters", "millimeter"), "mm"),
    **dict.fromkeys(("ft", "feet", "foot"), "ft"),
    **dict.fromkeys(("mi", "mile", "miles", "meilen"), "mi"),
    **dict.fromkeys(("kg", "kilogram", "kilograms", "kilo", "kilogramm"), "kg"),
    **dict.fromkeys(("g", "gram", "grams", "gramm"), "g"),
    **dict.fromkeys(("t", "ton", "tons", "tonne", "tonnes", "tonnen"), "t"),
    **dict.fromkeys(("lb", "lbs", "pounds"), "lb"),
    **dict.fromkeys(("°c", "celsius"), "°c"),
    **dict.fromkeys(("°f", "fahrenheit"), "°f"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp"), "£"),
    **dict.fromkeys(("¥", "yen", "jpy"), "¥"),
    **dict.fromkeys(("second", "seconds", "sekunden"), "s"),
    **dict.fromkeys(("minute", "minutes", "minuten"), "min"),
    **dict.fromkeys(("hour", "hours", "stunde", "stunden"), "h"),
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen"), "d"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen"), "w"),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten"), "month"),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren"), "year"),
}
_IN_WORDS: dict[str, Decimal | int] = {
    **{word: number for number, words in enumerate((
        "zero", "", "two zwei deux", "three drei trois tres", "four vier quatre cuatro", "five fünf cinq cinco",
        "six sechs", "seven sieben siete", "eight acht huit ocho", "nine neun neuf nueve", "ten zehn dix diez",
        "eleven elf onze", "twelve zwölf douze doce", "thirteen dreizehn", "fourteen vierzehn", "fifteen fünfzehn",
        "sixteen sechzehn", "seventeen siebzehn", "eighteen achtzehn", "nineteen neunzehn", "twenty zwanzig",
    )) for word in words.split()},
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "dreissig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80, "neunzig": 90,
    "hundred": 100, "hundert": 100, "dozen": 12, "twice": 2, "double": 2, "half": Decimal("0.5"),
}  # fmt: skip
"""Words for numbers, but for one, which is an article too."""

_SMALL = str.maketrans({sign: f" {sign}" for sign in "⁰¹²³⁴⁵⁶⁷⁸⁹¼½¾⅓⅔⅕⅛⅜⅝⅞"})
"""What NFKC would join to the digits before it: 10² is not 102."""


@dataclass(frozen=True)
class Figure:
    """A number as `written`, its value (a version, or a date in figures, is a text), and its unit if it is known."""

    written: str
    value: Decimal | str
    unit: str = ""

    @property
    def is_year(self) -> bool:
        """Whether it may be a year."""
        return not self.unit and re.fullmatch(r"1\d{3}|20\d{2}", self.written) is not None


@cache
def _pattern() -> re.Pattern[str]:
    def either(words: Iterable[str]) -> str:
        return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))

    multiples, units = either(_MULTIPLES), either(_UNITS)
    return re.compile(
        rf"(?P<currency>[$€£¥])? ?(?P<sign>(?<![\w)])[-−](?=\d))?(?P<number>{_NUMBER})"
        rf"(?:[ -]?(?P<multiple>{multiples})(?![a-zäöüß])\.?)?"
        rf"(?:[ -]?(?P<unit>{units})(?![a-zäöüß]))?"
        rf"|(?<!\w)(?P<word>{either(_IN_WORDS)})(?!\w)(?:[ -](?P<word_multiple>{multiples})(?!\w))?"
        rf"(?:[ -](?P<word_unit>{units})(?!\w))?"
    )


_MAX_DIGITS = 25
"""Of a number that is counted with: `decimal` rounds longer ones."""


@lru_cache(maxsize=64)
def read_figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text in order."""
    return tuple(_figure(match) for match in _pattern().finditer(plain(text).casefold()))


def find_figures(text: str) -> list[tuple[int, int, Figure]]:
    """Return the figures of a `plain` text, with where they begin and end."""
    lower = text.lower()
    folded = lower if len(lower) == len(text) else text
    return [(match.start(), match.end(), _figure(match)) for match in _pattern().finditer(folded)]


def plain(text: str) -> str:
    """Return a text with compatibility characters as others write them, but 10² not as 102."""
    return unicodedata.normalize("NFKC", text.translate(_SMALL))


def _figure(match: re.Match[str]) -> Figure:
    written = match[0].strip()
    if word := match["word"]:
        value = Decimal(_IN_WORDS[word]).scaleb(_MULTIPLES.get(match["word_multiple"] or "", 0))
        return Figure(written, value, _UNITS.get(match["word_unit"] or "", ""))
    number = match["number"]
    plain = re.sub(r"[ '’]", "", number)
    if (grouped := _GROUPED.fullmatch(plain)) is not None:
        rest = grouped["rest"] or ""
        plain = re.sub(r"[.,]", "", plain.removesuffix(rest)) + rest.replace(",", ".")
    if plain.count(".") + plain.count(",") > 1 or len(plain) > _MAX_DIGITS:
        return Figure(written, plain)
    value = Decimal(plain.replace(",", ".")).scaleb(_MULTIPLES.get(match["multiple"] or "", 0))
    value = value.copy_negate() if match["sign"] else value
    unit = match["unit"] or match["currency"] or ""
    return Figure(written, value, _UNITS.get(unit, ""))
