"""Finds the quantities of a text (its numbers with their units) in a form in which two texts can be compared.

Numbers are read in English and German. The smallest numbers in French, Spanish and Italian words are read too, and so
are Chinese multiples.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from perplexity.figures.amounts import NUMBER
from perplexity.figures.number_words import find_worded
from perplexity.figures.numbers import Number, span_with_unit
from perplexity.lexicon.folding import lowered
from perplexity.lexicon.numbers import ORDINALS, ROMANCE_NUMBERS

_HANZI = {"万": 4, "萬": 4, "亿": 8, "億": 8}
_ROMANCE = re.compile(rf"(?<!\w)(?:{'|'.join(ROMANCE_NUMBERS)}|hundred|hundert)(?!\w)")
_YEAR = re.compile(r"1\d{3}|20\d{2}")


class Quantity(NamedTuple):
    """A number from `start` up to, not including, `end`, in the base unit of its kind: 1,500 "m" for "1.5 km".

    The value of a version, or of a number that is too long, is its text. `unit` is "" if none is known.
    """

    start: int
    end: int
    value: Decimal | str
    unit: str = ""
    is_year: bool = False


def find_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order, without overlaps, each in its likeliest reading."""
    lower = lowered(text)
    found = [_quantity(text, Number(text, *match.span())) for match in NUMBER.finditer(text)]
    romance = ((*match.span(), Decimal(ROMANCE_NUMBERS.get(match[0], 100))) for match in _ROMANCE.finditer(lower))
    worded = [Number(text, *one) for one in (*find_worded(lower), *romance)]
    found += [_quantity(text, one) for one in worded if lower[one.start : one.end] not in ORDINALS]
    apart: list[Quantity] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


def _quantity(text: str, number: Number) -> Quantity:
    start, end = span_with_unit(text, number.start, number.end)
    if not number.amounts:
        return Quantity(start, end, number.written)
    amount = number.amounts[0]
    value = amount.value.scaleb(_HANZI.get(text[end : end + 1], 0))
    end += text[end : end + 1] in _HANZI
    is_year = not amount.unit and _YEAR.fullmatch(text[start:end]) is not None
    return Quantity(start, end, -value if number.is_negative else value, amount.unit, is_year)
