"""The numbers, fractions and dates of a source, read once and compared with figures of an answer."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal
from functools import cache, cached_property, partial

from perplexity.figures.amounts import NUMBER, Amount, read_number
from perplexity.figures.computed import Computed, adds, compares
from perplexity.figures.dates import WrittenDate
from perplexity.figures.fractions import Fraction, find_fractions, said_factors, said_percentages
from perplexity.figures.languages import is_known
from perplexity.figures.matching import apart, contains
from perplexity.figures.number_words import find_worded, listed, roman, says_length, small_words
from perplexity.figures.numbers import (
    Number,
    are_alike,
    counts,
    has_same_name,
    in_table,
    is_about,
    names_what,
    rounds,
    unit_follows,
)
from perplexity.figures.source_dates import SourceDates
from perplexity.lexicon.folding import lowered
from perplexity.lexicon.units import CURRENCIES
from perplexity.types import Source

_PART = re.compile(r"\d+")
_MIXED = re.compile(r"(?<![\w.,/])(?:(\d{1,3})[ -])?([13])/([24])(?![\d/])")
_DOZENS = re.compile(r"(?<![\w.,/])(\d{1,3}) (?:dozen|dutzend)", re.IGNORECASE)
_OF_SO_MANY = re.compile(r"[ -](?:in|of|out of|von)[ -](?!100\b)\d")
_ORDINAL = re.compile(r"(?:rd|th|te[nrsm]?)\Z")
_ORDINAL_END = re.compile(r"(?:th|te[nrsm]?)(?![^\W\d_])")
_EITHER = re.compile(r"\d{1,3}[.,]\d{3}")
_TIMES = re.compile(r"[ -]?(?:times|x|×|[Mm]al)(?!\w)")
_TABLE_HEADS = {
    3: ("in thousand", "in tsd", "in tausend", "$ thousand", "€ thousand", "(thousand", "(000"),
    6: ("in million", "in mio", "in €m", "in $m", "in € m", "in $ m", "in eur m", "in usd m", "in us$ m", "$ million",
        "€ million", "(million", "(mio", "(€m", "($m", "(eur m", "(usd m", "(£m", "£ million"),
    9: ("in billion", "in mrd", "in milliarden", "in €bn", "in $bn", "$ billion", "€ billion", "(billion",
        "($bn", "(€bn"),
}  # fmt: skip
"""Words in the head of a table, in lower case. A key is the power of ten by which they multiply the table's numbers."""
MOST_PLACES = 50
"""The most entries that are used of a list of the excerpt's numbers, since longer lists would take long."""
_CELL_END = re.compile(r"[ \u00a0]?(?:[|\n\t]|\Z)")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_NAUGHT_OR_ONE = {"0": ("nil", "null", "zero", "love", "scoreless"), "1": ("one", "ein")}
_CHEMICAL = re.compile(r"(?:CO|CH|N|O|NO|SO|NH|H)[2-4]|H2O|N2O")
_JOINT = "[ ‑–\u00a0-]?"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GERMAN_WORDS, _ENGLISH_WORDS = (" der ", " die ", " und ", " von ", " im ", " als "), (" the ", " of ")


class Excerpt:
    """A source's title and excerpt, and the values in them."""

    def __init__(self, source: Source) -> None:
        self.is_known = bool(source.snippet.strip())
        self.is_foreign = is_known(source.snippet) is False
        self.text = f"{source.title}\n{source.snippet}"
        self.lower = lowered(self.text)
        self.dates = SourceDates(source, self.text, self.lower)

    @cached_property
    def _in_digits(self) -> list[Number]:
        return [Number(self.text, *match.span()) for match in NUMBER.finditer(self.text)]

    @cached_property
    def _in_words(self) -> list[Number]:
        found: list[tuple[int, int, Decimal]] = [*find_worded(self.lower, inside=True)]
        mixed, dozens = _MIXED.finditer(self.text), _DOZENS.finditer(self.text)
        found += [(*one.span(), int(one[1] or 0) + Decimal(one[2]) / int(one[3])) for one in mixed]
        found += [(*one.span(), Decimal(12 * int(one[1]))) for one in dozens]
        return [Number(self.text, *one) for one in found]

    @cached_property
    def _by_digits(self) -> dict[str, list[Number]]:
        """The numbers of the text. A key is a number's digits, without zeros at both ends.

        Separators and multipliers do not change the key: "1,500,000" and "1.5 million" both have the key "15".
        """
        found: dict[str, list[Number]] = {}
        for number in (*self._in_digits, *self._in_words):
            found.setdefault(number.digits, []).append(number)
        return found

    @cached_property
    def _sizes(self) -> list[tuple[int, str]]:
        """A pair for each key of `_by_digits`, sorted: its first six digits as an integer, and the key."""
        return sorted((_six_digits(digits), digits) for digits in self._by_digits if digits)

    @cached_property
    def _percentages(self) -> list[float]:
        return sorted(float(a.value) for number in self._in_digits for a in number.amounts if a.unit == "%")

    @cached_property
    def _said_percentages(self) -> list[float]:
        return sorted(said_percentages(self.lower))

    @cached_property
    def _parts_of_a_point(self) -> frozenset[Decimal]:
        """The fractions of a percentage point that the text has in words: 0.25 for "a quarter point"."""
        return frozenset(one.percentage for one in find_fractions(self.text, self.lower) if one.of_a_point)

    @cached_property
    def _factors(self) -> frozenset[Decimal]:
        return frozenset(said_factors(self.lower))

    @cached_property
    def _values_in_words(self) -> frozenset[Decimal]:
        return frozenset(number.value for number in self._in_words if number.value is not None)

    @cached_property
    def _neighbours(self) -> frozenset[tuple[str, str]]:
        """Each number in digits with the next one, if fewer than 30 characters are between them."""
        both = zip(self._in_digits, self._in_digits[1:], strict=False)
        return frozenset((one.written, other.written) for one, other in both if other.start - one.end < 30)

    @cached_property
    def _all_digits(self) -> str:
        return "".join(_PART.findall(self.text))

    @cached_property
    def _listed(self) -> frozenset[int]:
        return listed(self.text)

    @cached_property
    def _is_german(self) -> bool:
        german, english = (sum(map(self.lower.count, words)) for words in (_GERMAN_WORDS, _ENGLISH_WORDS))
        return german > english

    @cached_property
    def _scales(self) -> frozenset[int]:
        """The powers of ten by which the text's tables multiply their numbers: 6 for a table "in millions"."""
        return frozenset(power for power, heads in _TABLE_HEADS.items() if self._has_words(heads))

    @cached_property
    def _computed(self) -> Computed:
        """The amounts and years to compute with; numbers in dates and in names such as "A380" are left out."""
        found: list[tuple[int, Amount]] = []
        years = set(self.dates.years)
        for number in self._in_digits[:MOST_PLACES]:
            if number.is_year and number.amounts:
                years.add(int(number.written))
            elif number.amounts and not self.dates.is_in_date(number.start) and not any(number.letters):
                found += [(number.start, amount) for amount in self._likely(number.amounts, number.written)]
        for number in (Number(self.text, *one) for one in find_worded(self.lower)):
            if not _ORDINAL.search(number.written) and self.lower[number.end : number.end + 1] != "-":
                found.append((number.start, number.amounts[0]))
        return Computed([amount for _, amount in sorted(found, key=lambda one: one[0])], [*years])

    @cached_property
    def contains(self) -> Callable[[str], bool]:
        """Whether the text has some words, other than inside a longer number or word; an answer may repeat them."""
        return cache(partial(contains, self.text))

    def _has_words(self, words: Sequence[str]) -> bool:
        """Return whether the text in lower case contains one of `words`, also inside a longer word."""
        return any(word in self.lower for word in words)

    def has_date(self, date: WrittenDate) -> bool:
        """Return whether the text, the source's date or the source's address has a date.

        A range is found if both its ends are found, or if the text has its length (see `_has_months`).
        """
        found = [self.dates.has(one) for one in date.readings]
        return all(found) or self._has_months(date) if date.is_range else any(found)

    def _has_months(self, date: WrittenDate) -> bool:
        """Return whether the text gives a range of months as its length and its end, such as "three months to June".

        For a range from January, the year (if any) may replace the end: "six months of 2024".
        """
        first, last = date.readings[0], date.readings[-1]
        if first.day or last.day or first.month is None or last.month is None:
            return False
        count = last.month - first.month + 1
        ends = self.dates.has(last) or (first.month == 1 and (last.year is None or self.dates.has_year(last.year)))
        return ends and self._has_plain(f"{count} months")

    def _has_plain(self, written: str) -> bool:
        """Return whether `has_number` finds the number and the unit in `written`, such as "6 months"."""
        return self.has_number(Number(written, 0, len(written.split(" ", maxsplit=1)[0])))

    def has_fraction(self, fraction: Fraction) -> bool:
        """Return whether the text has a fraction in words, in percent, in basis points or as a ratio of two numbers.

        A fraction whose words may be separate numbers is also found if the text has each of these numbers.
        """
        exact = float(fraction.percentage)
        if fraction.of_a_point:
            return self._has_plain(f"{fraction.percentage} %")
        if self._has_percentage(round(exact), fraction.hedge) or self._says_percentage(exact):
            return True
        near = 0.15 if fraction.hedge else 0.03
        parts = (exact, 100 - exact, 100 + exact) if fraction.is_change else (exact,)
        bounds = [(part / 100 * (1 - near), part / 100 * (1 + near)) for part in parts if part >= 10]
        return any(self._computed.has_ratio(low, high, of_shares=False) for low, high in bounds) or (
            len(fraction.numbers) > 0 and all(map(self._has_small, fraction.numbers))
        )

    def _says_percentage(self, percentage: float) -> bool:
        """Return whether the text names roughly this percentage in words, such as "half" or "nine in ten"."""
        return _has_between(self._said_percentages, round(percentage) - 1, round(percentage) + 1)

    def _has_percentage(self, percentage: int, hedge: str) -> bool:
        """Return whether the text has about this percentage in digits: 35 % for "a third", or 60 % for "over half"."""
        near = 2 + percentage // (5 if hedge else 20)
        low = percentage - (near if hedge != "over" else 0)
        high = percentage + (near if hedge not in {"under", "nearly"} else 0)
        return percentage > 0 and _has_between(self._percentages, low, high)

    def _has_small(self, number: int) -> bool:
        if number == 1:
            return self._has_words(_NAUGHT_OR_ONE["1"]) or self.contains("1")
        return self._has_plain(str(number))

    def has_century(self, number: str) -> bool:
        """Return whether the text has a century such as "19th century", or a year of it."""
        return self.dates.has_century(int(number)) or Decimal(number) in self._values_in_words

    def has_season(self, first: str, last: str) -> bool:
        """Return whether the text has both years of a season such as "2023/24"; `last` has two digits."""
        return self.dates.has_year(int(first)) and self.dates.has_year(int(first[:2] + last))

    def has_slashed(self, count: str, parts: str) -> bool:
        """Return whether the text has the fraction `count`/`parts`, such as 2/3, in another form."""
        is_share = int(count) < int(parts)
        return self.has_fraction(Fraction(0, 0, Decimal(100 * int(count)) / int(parts) if is_share else Decimal(1000)))

    def has_pair(self, first: str, second: str) -> bool:
        """Return whether the text has two numbers: in digits near each other, in either order, or in words anywhere."""
        if (first, second) in self._neighbours or (second, first) in self._neighbours:
            return True
        if len(second) > 3:
            value = read_number(second)[:1]
            return any(one == first and read_number(other)[:1] == value for one, other in self._neighbours)
        return (
            first.isdecimal()
            and second.isdecimal()
            and all(
                self._has_words(_NAUGHT_OR_ONE[one]) if one in _NAUGHT_OR_ONE else Decimal(one) in self._values_in_words
                for one in (first, second)
            )
        )

    def has_feet(self, first: str, second: str) -> bool:
        """Return whether the text has a length of `first` feet and `second` inches.

        The text may have the two numbers, as `has_pair` finds them, or about the same length in a unit other than
        inches.
        """
        inches = Decimal(12 * int(first) + int(second))
        amount = Amount(inches, "inch", Decimal(1), bare=inches)
        return self.has_pair(first, second) or self._computed.has_converted(amount, sign=1, is_rough=False)

    def has_digits(self, digits: str) -> bool:
        """Return whether the text's digits, all joined together, contain these digits, as for a phone number."""
        return digits in self._all_digits

    def has_multiple(self, factor: Decimal, hedge: str) -> bool:
        """Return whether the text has a multiple: in words, as a percentage or as the ratio of two of its numbers."""
        if factor in self._factors:
            return True
        if factor < 1:
            hedge = {"over": "under", "under": "over", "nearly": "over"}.get(hedge, hedge)
        value = float(factor)
        low = value * (0.7 if factor < 1 and hedge == "under" else 0.99 if hedge == "over" else 0.85 if hedge else 0.93)
        high = value * (1.5 if hedge == "over" else 1.01 if hedge in {"nearly", "under"} else 1.07)
        changes = ((low - 1, high - 1), (low, high)) if factor > 1 else ((1 - high, 1 - low), (low, high))
        return self._computed.has_ratio(low, high, of_shares=True) or any(
            _has_between(self._percentages, 100 * least, 100 * most) for least, most in changes
        )

    def has_name(self, prefix: str, written: str, suffix: str) -> bool:
        """Return whether the text has a number with the letters that make a name of it, as in "A380" and "5G".

        The formula of a gas, such as CO2, always counts as found, because it is no figure.
        """
        if _CHEMICAL.fullmatch(f"{prefix}{written}{suffix}"):
            return True
        prefix = prefix.rstrip("-‑")
        before = f"{re.escape(prefix)}{_JOINT}" if prefix else ""
        if re.search(f"{before}{apart(written)}{_JOINT}{re.escape(suffix)}", self.text, re.IGNORECASE):
            return True
        # Chemists write the number as a subscript, as in "PM₁₀".
        return f"{prefix}{written.translate(_SUBSCRIPTS)}{suffix}".lower() in self.lower

    def has_number(self, mine: Number) -> bool:
        """Return whether the text has a number in any form, or numbers from which it can be computed.

        The number in a name such as "Voyager 1" counts as found if the text lacks the word before the number.
        """
        if not mine.amounts:
            return self.contains(mine.written)
        in_name = mine.before[1:] in {"-", "‑"} and mine.before[0].isalpha()
        return (
            any(self._is_same(mine, other) for other in self._by_digits.get(mine.digits, ())[:MOST_PLACES])
            or any(self._is_rounded(mine, other) for other in self._near(mine))
            or (mine.is_year and (self.contains(mine.written) or self.dates.has_year(int(mine.written))))
            or self._says(mine)
            or self._has_version(mine)
            or self._has_length_of_time(mine)
            or (mine.name != "" and mine.name not in self.lower)
            or (not (mine.is_year or in_name) and self._follows(mine))
        )

    def _is_same(self, mine: Number, other: Number) -> bool:
        """Return whether `other`, a number in the excerpt, equals `mine`, the sentence's; both have the same digits."""
        if other.in_words:
            return self._is_same_in_words(mine, other)
        for theirs in self._scaled(other, in_cell=True) if mine.is_scaled else other.amounts:
            for amount in mine.amounts:
                has_units = amount.unit and theirs.unit and not in_table(theirs)
                same = amount.value == theirs.value if has_units else amount.bare == theirs.bare
                may_be_tonnes = amount.is_scaled and not amount.unit and theirs.unit == "g"
                if may_be_tonnes and amount.bare.scaleb(6) == theirs.value:
                    return True
                if same and self._is_alike(mine, amount, other, theirs):
                    return True
        return False

    def _is_same_in_words(self, mine: Number, other: Number) -> bool:
        unit = mine.amounts[0].unit
        theirs = other.amounts[0].unit
        is_ordinal = other.written[-2:] in {"th", "rd"} or _ORDINAL_END.match(self.lower, other.end) is not None
        if is_ordinal and unit and not theirs:
            return False
        if unit and not theirs and counts(self.text, other.end_of_unit):
            return unit_follows(self.text, other.end_of_unit, unit)
        pairs = [(a, b) for a in mine.amounts for b in other.amounts if a.value == b.value]
        return any(not a.unit or not b.unit or are_alike(a, b) for a, b in pairs)

    def _is_alike(self, mine: Number, amount: Amount, other: Number, theirs: Amount) -> bool:
        """Return whether two equal numbers can be about the same thing."""
        if (
            not mine.has_sign_of(other)
            or (mine.rate and other.rate not in {"", mine.rate})
            or (amount.unit == "%" and _OF_SO_MANY.match(self.text, other.end))
        ):
            return False
        if amount.unit and theirs.unit:
            return are_alike(amount, theirs)
        return self._counts_alike(mine, amount, other, theirs)

    def _counts_alike(self, mine: Number, amount: Amount, other: Number, theirs: Amount) -> bool:
        """Return whether two equal numbers, one of them without a unit, can be about the same thing."""
        is_large = theirs.bare >= 100 or theirs.bare != theirs.bare.to_integral_value()
        last = other.end_of_unit
        ends_range = other.before[1:] in {"-", "–"} and other.before[0].isdecimal()
        if amount.unit and (names_what if is_large else counts)(self.text, last) and not ends_range:
            return unit_follows(self.text, last, amount.unit)
        if theirs.unit and not is_large and mine.counts and not in_table(theirs):
            return unit_follows(mine.text, mine.end, theirs.unit)
        if is_large:
            return not mine.is_other_kind_of_year(other)
        in_pair = any(side[1:] == ":" and side[0].isdecimal() for side in (other.before, other.after[::-1]))
        if in_pair or not has_same_name(mine, other):
            return False
        may_be_day = theirs.value <= 31 and not theirs.unit and not mine.after.startswith((".", "st", "nd", "rd", "th"))
        return not may_be_day or not self.dates.is_in_date(other.start)

    def _scaled(self, other: Number, *, in_cell: bool) -> tuple[Amount, ...]:
        """Return a number's possible amounts, then these amounts multiplied as the text's tables say ("in millions").

        With `in_cell`, a number at the end of a table cell may be in thousands, millions or billions, even if no table
        says so.
        """
        scales = _TABLE_HEADS if in_cell and _CELL_END.match(self.text, other.end) else self._scales
        rows = [a for a in other.amounts if not a.is_scaled and (not a.unit or a.unit in CURRENCIES)]
        return (
            *other.amounts,
            *(
                Amount(a.value.scaleb(power), a.unit or "?", a.step.scaleb(power), True, a.bare.scaleb(power))
                for a in rows
                for power in scales
            ),
        )

    def _near(self, mine: Number) -> Iterator[Number]:
        """Yield the excerpt's numbers in digits that could become `mine` when they are rounded."""
        if not mine.digits:
            return
        size = _six_digits(mine.digits)
        widest = max(size // 100, 10 ** max(0, 6 - len(mine.digits)) // 2)
        if mine.hedge:
            widest = size // (9 if mine.hedge == "about" else 2 if mine.digits == "1" else 4)
        # Rounding may move the first digit: 9.96 becomes 10, so its six digits are about ten times those of 10.
        for center in (size, 10 * size, size // 10):
            reach = widest * center // size
            low = bisect_left(self._sizes, (center - reach, ""))
            high = bisect_right(self._sizes, (center + reach, "~"))
            for _, digits in self._sizes[low:high][:MOST_PLACES]:
                yield from (one for one in self._by_digits[digits][:5] if not one.in_words)

    def _is_rounded(self, mine: Number, other: Number) -> bool:
        """Return whether rounding a number of the excerpt, `other`, gives the sentence's number, `mine`."""
        if (
            (mine.is_year and not mine.counts and other.has_four_digits)
            or any(other.letters)
            or not mine.has_sign_of(other)
        ):
            return False
        others = self._scaled(other, in_cell=False) if mine.is_scaled else other.amounts
        unit = self._left_out(mine, other)
        return any(
            rounds(mine, amount, theirs if theirs.unit else theirs._replace(unit=unit))
            for theirs in self._in_its_language(others, other.written)
            for amount in mine.amounts
        )

    def _left_out(self, mine: Number, other: Number) -> str:
        """Return the unit of `mine` if a table or list may omit it after `other`, else "".

        The unit is percent, or a currency if `other` has two decimals, as in "19.99".
        """
        unit = mine.amounts[0].unit
        if other.written.isdecimal() or other.counts:
            return ""
        return unit if unit == "%" or (unit in CURRENCIES and other.written[-3:-2] in {".", ","}) else ""

    def _says(self, mine: Number) -> bool:
        """Return whether the text says a number in other words: "both" for two, "a quarter point" for 0.25 %."""
        amount, value = mine.amounts[0], mine.amounts[0].bare
        if amount.unit in {"", "%"} and amount.value in self._parts_of_a_point:
            return True
        if amount.unit == "%":
            return self._says_percentage(float(amount.value))
        if amount.unit or value >= 100:
            return says_length(self.lower, amount.unit, amount.value)
        if (mine.in_words and value in self._listed) or (value < 5 and self.contains(f"Q{value}")):
            return True
        words = small_words(value, in_words=mine.in_words)
        if value == 1 and not mine.in_words:
            words += mine.as_one()
        return self._has_words(words) or (roman(value) != "" and self.contains(roman(value)))

    def _has_version(self, mine: Number) -> bool:
        """Return whether the text has a version that begins with the number: 3.13.1 for 3.13."""
        if mine.written.count(".") != 1 or mine.amounts[0].unit:
            return False
        return re.search(rf"(?<![\d.,]){re.escape(mine.written)}\.\d", self.text) is not None

    def _has_length_of_time(self, mine: Number) -> bool:
        """Return whether the text has a length of time in other units or another form: "90 minutes" for 1.5 hours."""
        amount = mine.amounts[0]
        if amount.unit == "month":
            return self.dates.counts_months(amount.value)
        years = amount.bare.to_integral_value(ROUND_FLOOR)  # a remainder of what is very large cannot be had
        if amount.unit == "year" and amount.bare - years == Decimal("0.5"):
            return self._has_plain(f"{years:f} years") and self._has_plain("6 months")
        if amount.unit not in _SECONDS:
            return False
        seconds, durations = amount.value * _SECONDS[amount.unit], self.dates.durations
        if mine.hedge:
            return seconds in durations or any(is_about(seconds, other, mine.hedge) for other in durations)
        return seconds in durations or amount.bare in self.dates.clock_parts

    def _follows(self, mine: Number) -> bool:
        """Return whether a number of the sentence can be computed from numbers of the excerpt."""
        text, start, end = mine.text, mine.start, mine.end
        sign = -1 if mine.is_negative else 1
        compared, added = compares(text, start, end), adds(text, start, end)
        is_long = len(mine.digits) > (1 if mine.amounts[0].bare >= 1000 else 3)
        amounts = self._likely(mine.amounts, mine.written)
        return any(
            self._computed.has_converted(amount, sign=sign, is_rough=mine.hedge != "")
            or self._computed.has_value(amount, compares=compared, adds=added, is_long=is_long)
            or (amount.unit == "%" and self._computed.has_percentage_of(amount, compares=compared))
            or (not amount.unit and _TIMES.match(text, end) and self.has_multiple(amount.value, mine.hedge))
            or (
                (amount.unit == "year" or (not amount.unit and mine.is_age))
                and self._computed.has_years_between(amount.value, mine.hedge)
            )
            for amount in amounts
        )

    def _likely(self, amounts: tuple[Amount, ...], written: str) -> tuple[Amount, ...]:
        """Return a tuple with the likeliest of a number's amounts; empty if it has none.

        Amounts with a unit are likelier. "1.234" is read as a number is written in the text's language.
        """
        return self._in_its_language(tuple(amount for amount in amounts if amount.unit) or amounts, written)[:1]

    def _in_its_language(self, amounts: tuple[Amount, ...], written: str) -> tuple[Amount, ...]:
        if not amounts or _EITHER.fullmatch(written) is None:
            return amounts
        steps = [amount.step for amount in amounts]
        step = min(steps) if ("," in written) == self._is_german else max(steps)
        return tuple(amount for amount in amounts if amount.step == step)


def _has_between(ordered: Sequence[float], low: float, high: float) -> bool:
    place = bisect_left(ordered, low)
    return place < len(ordered) and ordered[place] <= high


def _six_digits(digits: str) -> int:
    return int(digits[:6].ljust(6, "0"))
