"""What a text says in words: numbers, shares and how many names a list has. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property

from perplexity.figures.amounts import Amount, read_suffix
from perplexity.figures.numbers import RELATED, counts, unit_follows
from perplexity.figures.places import contains, lowered, occurrences
from perplexity.figures.shares import counted_shares, share_phrases
from perplexity.figures.words import phrases_of

_LONGER_WORD = re.compile(r"teen|ty|zehn|zig|hundert|tausend|einhalb|und\w{3,8}zig")
_ORDINAL_END = re.compile(r"(?:th|te[nrsm]?)(?![^\W\d_])")
_POINTS = {
    Decimal("0.25"): (
        "quarter point",
        "quarter-point",
        "quarter of a p",
        "quarter percentage",
        "viertelpunkt",
        "viertel prozentp",
        "viertelprozentp",
    ),
    Decimal("0.75"): ("three quarters of a p", "three-quarters of a p", "dreiviertelprozentp"),
    Decimal("0.5"): ("half point", "half-point", "half a p", "half percentage", "halber p", "halben p"),
}
_ZERO = ("zero", "null", "nil", "nought", "no", "none", "keine", "kein")
_PARTS = {25: ("quarter", "quarter of a", "viertel"), 50: ("half", "half a", "halbe", "halben"),
          75: ("three quarters of a", "three-quarters of a", "dreiviertel")}  # fmt: skip
_SCALES = {6: ("million",), 9: ("billion", "milliarde")}
_TRIPLED = 200
"""The highest percentage that is written in words."""
_ONES = ("a", "one", "an", "eine", "ein")
_SCALED_ONE = {
    1: ("decade", "jahrzehnt"),
    2: ("hundred", "hundert", "century", "jahrhundert"),
    3: ("thousand", "tausend"), 6: ("million",), 9: ("billion", "milliarde"),
    12: ("trillion", "billion"),
}  # fmt: skip
_LIST = re.compile(
    r"(?<![^\s(:])(?:[^\s,;:()][^,;:()\n]{1,40}, ){1,9}[^,;:()\n]{2,40},? (?:and|und|or|oder|&) "
    r"|(?<!\w)[A-ZÄÖÜ]\w{1,40}(?: [A-ZÄÖÜ][\w.]{0,40}){0,3} (?:and|und|&) (?=[A-ZÄÖÜ])"
)


class Wording:
    """The numbers and shares that a text says in words; `lower` is the text in lower case, character for character."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lower(self) -> str:
        """The text in lower case, character for character."""
        return lowered(self.text)

    def has_words(self, words: tuple[str, ...]) -> bool:
        """Return whether the text has one of these beginnings of words, in lower case."""
        return any(word in self.lower for word in words)

    def has_word(self, value: Decimal, amounts: tuple[Amount, ...] = ()) -> bool:
        """Return whether a number is written in words, with the words after it that make it one of the amounts."""
        if value == 1:
            powers = [power for power in _SCALED_ONE if any(a.value == Decimal(10) ** power for a in amounts)]
            return any(
                contains(self.lower, f"{one} {word}") for p in powers for word in _SCALED_ONE[p] for one in _ONES
            )
        lower = self.lower
        for word in phrases_of(value):
            for place in occurrences(lower, word):
                end = place + len(word)
                if place and lower[place - 1].isalpha():
                    continue
                longer = _LONGER_WORD.match(lower, end)
                if longer and (longer[0] not in {"tausend", "hundert"} or not amounts):
                    continue
                is_ordinal = word[-2:] in {"th", "rd"} or _ORDINAL_END.match(lower, end) is not None
                if not amounts or self._word_fits(value, end, amounts, is_ordinal=is_ordinal):
                    return True
        return False

    def says_percentage(self, value: Decimal) -> bool:
        """Return whether a percentage is said in words, such as "a quarter point", "half" and "nine in ten"."""
        if self.has_words(_POINTS.get(value, ())):
            return True
        if value > _TRIPLED:
            return False
        phrases = share_phrases(round(value))
        return (phrases is not None and phrases.search(self.lower) is not None) or self.has_words(
            counted_shares(round(value))
        )

    def says_part(self, amount: Amount) -> bool:
        """Return whether nothing, a part of a million, or a part of a percentage point is said in words."""
        if not amount.value:
            return any(contains(self.lower, word) for word in _ZERO)
        if not amount.unit and self.has_words(_POINTS.get(amount.value, ())):
            return True
        return any(
            f"{part}{joint}{name}" in self.lower
            for power, names in _SCALES.items()
            for part in _PARTS.get(int(amount.value.scaleb(2 - power)), ())
            if amount.value == Decimal(int(amount.value.scaleb(2 - power))).scaleb(power - 2)
            for joint in (" ", "-", "")
            for name in names
        )

    @cached_property
    def listed(self) -> frozenset[int]:
        """How many items the lists such as "Ann, Bob and Eve" have: "the three" are counted rather than cited."""
        return frozenset(match[0].removesuffix(", and ").count(", ") + 2 for match in _LIST.finditer(self.text))

    def _word_fits(self, value: Decimal, end: int, amounts: tuple[Amount, ...], *, is_ordinal: bool) -> bool:
        suffix = read_suffix(self.text, end)
        if is_ordinal and not suffix.unit and amounts[0].unit:
            return False
        if amounts[0].unit and not suffix.unit and counts(self.text, suffix.end):
            return unit_follows(self.text, suffix.end, amounts[0].unit)
        values = [value.scaleb(exponent) for exponent in suffix.exponents]
        return any(
            a.value in values
            and (a.unit == suffix.unit or not a.unit or not suffix.unit or {a.unit, suffix.unit} in RELATED)
            for a in amounts
        )
