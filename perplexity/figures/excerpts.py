"""Whether a source's excerpt has a number, however it is written there; dates and words are asked elsewhere. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice

from perplexity.figures.amounts import (
    NUMBER,
    Amount,
    Plain,
    digits_of,
    read_amounts,
    read_number,
    read_suffix,
    with_suffix,
)
from perplexity.figures.computed import Computed, adds, compares
from perplexity.figures.dates import (
    Moment,
    WrittenDate,
)
from perplexity.figures.languages import is_known
from perplexity.figures.moments import Moments
from perplexity.figures.numbers import (
    RELATED,
    Number,
    counts,
    ends_range,
    has_same_name,
    in_pair,
    in_table,
    is_about,
    is_negative,
    letters_around,
    names_what,
    rate,
    rounds,
    says_age,
    unit_follows,
)
from perplexity.figures.places import MOST_PLACES, contains, is_apart, occurrences
from perplexity.figures.shares import Share, says_multiple
from perplexity.figures.units import CURRENCIES
from perplexity.figures.wording import Wording
from perplexity.figures.words import find_worded, roman, says_length, small_words
from perplexity.types import Source

_PART = re.compile(r"\d+")
_OF_SO_MANY = re.compile(r"[ -](?:in|of|out of|von)[ -](?!100\b)\d")
_TWO = re.compile(r"(?<!\w)(?:and|und|one|single)(?!\w)")
"""What joins or takes apart the two that an answer counts itself."""
_ORDINAL = re.compile(r"(?:rd|th|te[nrsm]?)\Z")
_EITHER = re.compile(r"\d{1,3}[.,]\d{3}")
_TIMES = re.compile(r"[ -]?(?:times|x|×|[Mm]al)(?!\w)")
_LETTERS = re.compile(r"[^\W\d_]+")
_TABLE_HEADS = {
    3: ("in thousand", "in tsd", "in tausend", "$ thousand", "€ thousand", "(thousand", "(000"),
    6: ("in million", "in mio", "in €m", "in $m", "in € m", "in $ m", "in eur m", "in usd m", "in us$ m", "$ million",
        "€ million", "(million", "(mio", "(€m", "($m", "(eur m", "(usd m", "(£m", "£ million"),
    9: ("in billion", "in mrd", "in milliarden", "in €bn", "in $bn", "$ billion", "€ billion", "(billion",
        "($bn", "(€bn"),
}  # fmt: skip
"""What says, in lower case, that the numbers of a table are in thousands, in millions, in billions."""
_OF_A_CELL = frozenset({3, 6, 9})
_CELL_END = re.compile(r"[ \u00a0]?(?:[|\n\t]|\Z)")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_NAUGHT_OR_ONE = {"0": ("nil", "null", "zero", "love", "scoreless"), "1": ("one", "ein")}
_SLASHED = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
_FRACTIONS = {Decimal("0.5"): "1/2", Decimal("0.25"): "1/4", Decimal("0.75"): "3/4"}
_CHEMICAL = re.compile(r"(?:CO|CH|N|O|NO|SO|NH|H)[2-4]|H2O|N2O")
_SIX_MONTHS = Number("6 months", 0, 1)
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@lru_cache(maxsize=32)
def read_excerpt(source: Source) -> Excerpt:
    """Return the excerpt of a source; the last ones are known: an answer is checked for its footer and its sources."""
    return Excerpt(source)


class Excerpt:
    """What a source says: its title and its excerpt, read as far as a figure asks for it."""

    def __init__(self, source: Source) -> None:
        self.is_known = bool(source.snippet.strip())
        self.text = f"{source.title}\n{source.snippet}"
        self.moments = Moments(source, self.text)
        self.wording = Wording(self.text)
        self._amounts: dict[tuple[int, int], tuple[Amount, ...]] = {}
        self._contained: dict[str, bool] = {}
        self._places_of: dict[str, list[tuple[int, int]]] = {}
        self.is_foreign = is_known(source.snippet) is False

    def contains(self, written: str) -> bool:
        """Return whether the text has these words, not inside a longer number or word."""
        known = self._contained.get(written)
        if known is None:
            known = self._contained[written] = contains(self.text, written)
        return known

    def has_date(self, date: WrittenDate) -> bool:
        """Return whether the text, the source's date or its address has a date; of a range, both ends."""
        found = [self.moments.has_moment(moment) for moment in date.readings]
        return all(found) or self._has_months(date) if date.is_range else any(found)

    def _has_months(self, date: WrittenDate) -> bool:
        """Return whether the text has a range of months as their number, such as "the three months to June"."""
        first, last = date.readings[0], date.readings[-1]
        if first.day or last.day or first.month is None or last.month is None:
            return False
        count = last.month - first.month + 1
        part = f"Q{last.month // 3}" if count == 3 else f"H{last.month // 6}" if count == 6 else ""
        if part and last.month % count == 0 and self.moments.has_moment(Moment(last.year, part=part)):
            return True
        ends = self.moments.has_moment(last) or (
            first.month == 1 and (last.year is None or self.moments.has_year(last.year))
        )
        return ends and self.has_number(Number(f"{count} months", 0, len(str(count))))

    def has_share(self, share: Share) -> bool:
        """Return whether the text has a share, in words, as a percentage or in basis points."""
        if not share.words:
            written = f"{share.percentage} %"
            return self.has_number(Number(written, 0, len(written) - 2))
        percentage, exact = round(share.percentage), float(share.percentage)
        if self.wording.has_words(share.words) or self.has_percentage(percentage, share.hedge):
            return True
        if self.wording.says_percentage(share.percentage):
            return True
        for part in (exact, 100 - exact, 100 + exact) if share.is_change else (exact,):
            near = 0.15 if share.hedge else 0.03
            if part >= 10 and self._computed.has_ratio(
                part / 100 * (1 - near), part / 100 * (1 + near), of_shares=False
            ):
                return True
        return len(share.numbers) > 0 and all(self._has_small(number) for number in share.numbers)

    def _has_small(self, number: int) -> bool:
        written = str(number)
        if number == 1:
            return self.wording.has_words(_NAUGHT_OR_ONE["1"]) or self.contains(written)
        return self.wording.has_word(Decimal(number)) or self.has_number(Number(written, 0, len(written)))

    def has_century(self, number: str) -> bool:
        """Return whether the text has a century such as "19th century", or a year of it."""
        return self.moments.has_century(int(number)) or self.wording.has_word(Decimal(number))

    def has_season(self, first: str, last: str) -> bool:
        """Return whether the text has two years, the second of which is written in two digits, as in "2023/24"."""
        if any(following == last for following in self._next_numbers(first)):
            return True
        return self.moments.has_year(int(first)) and self.moments.has_year(int(first[:2] + last))

    def has_pair(self, first: str, second: str) -> bool:
        """Return whether two numbers are next to each other, in either order."""
        if second in self._next_numbers(first) or first in self._next_numbers(second):
            return True
        if len(second) > 3 and any(
            read_number(one)[:1] == read_number(second)[:1] for one in self._next_numbers(first)
        ):
            return True
        return (
            first.isdecimal()
            and second.isdecimal()
            and all(
                self.wording.has_words(_NAUGHT_OR_ONE[one])
                if one in _NAUGHT_OR_ONE
                else self.wording.has_word(Decimal(one))
                for one in (first, second)
            )
        )

    def has_feet(self, first: str, second: str) -> bool:
        """Return whether the text has a length in feet and inches, or in another unit."""
        inches = Decimal(12 * int(first) + int(second))
        amount = Amount(inches, "inch", Decimal(1), bare=inches)
        return self.has_pair(first, second) or self._computed.has_converted(amount, sign=1, is_rough=False)

    def has_digits(self, digits: str) -> bool:
        """Return whether all digits of the text in a row have these, as of a telephone number."""
        return digits in self._all_digits

    def has_percentage(self, percentage: int, hedge: str) -> bool:
        """Return whether the text has a percentage that "a third" or "more than half" may be said for."""
        if percentage <= 0:
            return False
        near = 2 + percentage // (5 if hedge else 20)
        places = self._near(percentage * 10_000, near * 10_000)
        low, high = (
            percentage - (near if hedge != "over" else 0),
            percentage + (near if hedge not in {"under", "nearly"} else 0),
        )
        return any(a.unit == "%" and low <= a.value <= high for place in places for a in self._read(place))

    def has_multiple(self, factor: Decimal, hedge: str) -> bool:
        """Return whether the text says that something is so many times as much, or has two numbers that are."""
        if says_multiple(self.wording.lower, factor):
            return True
        if factor < 1:
            hedge = {"over": "under", "under": "over", "nearly": "over"}.get(hedge, hedge)
        low = factor * Decimal(
            "0.7" if factor < 1 and hedge == "under" else "0.99" if hedge == "over" else "0.93" if not hedge else "0.85"
        )
        high = factor * Decimal("1.5" if hedge == "over" else "1.01" if hedge in {"nearly", "under"} else "1.07")
        changes = ((low - 1, high - 1), (low, high)) if factor > 1 else ((1 - high, 1 - low), (low, high))
        return self._computed.has_ratio(float(low), float(high), of_shares=True) or any(
            self._computed.has_percentage(100 * least, 100 * most) for least, most in changes
        )

    def has_name(self, prefix: str, written: str, suffix: str) -> bool:
        """Return whether the text has a number with the letters that make a name of it, as in "A380" and "5G".

        The formula of a gas, such as CO2, is no figure.
        """
        if _CHEMICAL.fullmatch(f"{prefix}{written}{suffix}"):
            return True
        prefix, suffix = prefix.rstrip("-‑").lower(), suffix.lower()
        for start, end in self._written(written):
            before = self.text[max(0, start - len(prefix) - 1) : start].rstrip(" -‑–\u00a0").lower()
            after = self.text[end : end + len(suffix) + 1].lstrip(" -‑–\u00a0").lower()
            if before.endswith(prefix) and after.startswith(suffix):
                return True
        # Chemists write the number below the line.
        return f"{prefix}{written.translate(_SUBSCRIPTS)}{suffix}" in self.wording.lower

    def has_number(self, number: Number) -> bool:
        """Return whether the text has a number in any form."""
        if not number.amounts:
            return self.contains(number.written)
        return (
            any(self._fits(number, place) for place in self._places(number.digits))
            or (number.is_year and self.contains(number.written))
            or (number.is_year and self.moments.has_year(int(number.written)))
            or self._says(number)
            or any(self.wording.has_word(small, number.amounts) for small in number.small_numbers)
            or self._has_rounded(number)
            or self._has_version(number)
            or self._has_parts(number)
            or self._has_converted(number)
            or (number.name != "" and number.name not in self.wording.lower)
            or (not (number.is_year or number.is_in_a_name) and self._follows(number))
        )

    def _follows(self, number: Number) -> bool:
        """Return whether a number follows from others of the text."""
        text, start, end = number.text, number.start, number.end
        sign = -1 if is_negative(text, start) else 1
        compared, added = compares(text, start, end), adds(text, start, end)
        is_long = len(number.digits) > (1 if number.amounts[0].bare >= 1000 else 3)
        amounts = self._likely(number.amounts, number.written)
        if not amounts[0].unit and unit_follows(text, end, "%"):
            amounts += tuple(amount._replace(unit="%") for amount in amounts)
        return any(
            self._computed.has_converted(amount, sign=sign, is_rough=number.hedge != "")
            or self._computed.has_value(amount, compares=compared, adds=added, is_long=is_long)
            or (amount.unit == "%" and self._has_percentage_of(amount, compares=compared))
            or (not amount.unit and _TIMES.match(text, end) and self.has_multiple(amount.value, number.hedge))
            or (
                (amount.unit == "year" or (not amount.unit and says_age(text, start, end)))
                and self._computed.has_years_between(amount.value, number.hedge)
            )
            for amount in amounts
        )

    def _likely(self, amounts: tuple[Amount, ...], written: str) -> tuple[Amount, ...]:
        """Return the likeliest meaning of a number: with a unit, and read as in the text's language."""
        return self._in_its_language(tuple(amount for amount in amounts if amount.unit) or amounts, written)[:1]

    def _in_its_language(self, amounts: tuple[Amount, ...], written: str) -> tuple[Amount, ...]:
        if not amounts or _EITHER.fullmatch(written) is None:
            return amounts
        steps = [amount.step for amount in amounts]
        step = min(steps) if ("," in written) == self._is_german else max(steps)
        return tuple(amount for amount in amounts if amount.step == step)

    @cached_property
    def _is_german(self) -> bool:
        lower = self.wording.lower
        return sum(lower.count(word) for word in (" der ", " die ", " und ", " von ", " im ", " als ")) > lower.count(
            " the "
        ) + lower.count(" of ")

    def _has_percentage_of(self, amount: Amount, *, compares: bool) -> bool:
        """Return whether two numbers of the text are to each other as a percentage, or as a change by it, says."""
        value, near = float(amount.value) / 100, float(amount.step) / 200
        parts = (value, 1 + value, 1 - value) if compares else (value,)
        return any(part > 0 and self._computed.has_ratio(part - near, part + near, of_shares=False) for part in parts)

    @cached_property
    def _computed(self) -> Computed:
        """What can be computed from the numbers of the text that are in no date and in no name."""
        lower = self.wording.lower
        found: list[tuple[int, Amount]] = []
        years = set(self.moments.years)
        for match in islice(NUMBER.finditer(self.text), MOST_PLACES):
            amounts = self._read(match.span())
            if len(match[0]) == 4 and match[0].isdecimal() and "1000" <= match[0] < "2200":
                years.add(int(match[0]))
            elif (
                amounts
                and not self.moments.is_in_date(match.start())
                and not any(letters_around(self.text, *match.span()))
            ):
                found += [(match.start(), amount) for amount in self._likely(amounts, match[0])]
        for one in islice(find_worded(lower, set(_LETTERS.findall(lower))), MOST_PLACES):
            if _ORDINAL.search(lower, one.start, one.end) or lower[one.end : one.end + 1] == "-":
                continue
            found.append(
                (one.start, with_suffix((Plain(one.value, Decimal(1)),), read_suffix(self.text, one.end), "")[0])
            )
        found.sort()
        return Computed([amount for _, amount in found], [*years])

    def _says(self, number: Number) -> bool:
        """Return whether other words of the text say a number: "both" for two, "a quarter point" for 0.25 %."""
        amount = number.amounts[0]
        value = amount.bare
        fraction = _FRACTIONS.get(value % 1) if value < 1000 else None
        if fraction and any(self.contains(f"{value // 1}{joint}{fraction}") for joint in " -"):
            return True
        if number.written in _SLASHED and self.contains(_SLASHED[number.written]):
            return True
        if amount.unit == "%" or (not number.in_words and self.wording.says_part(amount)):
            return amount.unit != "%" or self.wording.says_percentage(amount.value)
        if amount.unit or value >= 100:
            return says_length(self.wording.lower, amount.unit, amount.value)
        if (number.in_words and (value in self.wording.listed or (value == 2 and _TWO.search(self.text)))) or (
            value < 5 and self.contains(f"Q{value}")
        ):
            return True
        words = small_words(value, in_words=number.in_words)
        if value == 1 and not number.in_words:
            words += number.as_one()
        return self.wording.has_words(words) or (roman(value) != "" and self.contains(roman(value)))

    def _has_converted(self, number: Number) -> bool:
        """Return whether the text has a length of time in another way."""
        amount = number.amounts[0]
        if amount.unit == "month":
            return self.moments.counts_months(amount.value)
        if amount.unit == "year" and amount.bare % 1 == Decimal("0.5"):
            years = str(int(amount.bare))
            return self.has_number(Number(f"{years} years", 0, len(years))) and self.has_number(_SIX_MONTHS)
        return amount.unit in _SECONDS and self._lasts(amount, number.hedge)

    def _lasts(self, amount: Amount, hedge: str) -> bool:
        """Return whether the text has a duration, or one as "2:41" of which this is a part."""
        seconds, durations = amount.value * _SECONDS[amount.unit], self.moments.durations
        if hedge:
            return seconds in durations or any(is_about(seconds, other, hedge) for other in durations)
        return seconds in durations or amount.bare in self.moments.clock_parts

    @cached_property
    def _numbers(self) -> dict[str, list[tuple[int, int]]]:
        """Where the numbers are, by their digits without the zeros at both ends."""
        text = self.text
        found: dict[str, list[tuple[int, int]]] = {}
        for match in NUMBER.finditer(text):
            written = match[0]
            found.setdefault(digits_of(written), []).append(match.span())
            if " " in written:
                # It may as well be several numbers.
                for part in _PART.finditer(text, *match.span()):
                    found.setdefault(digits_of(part[0]), []).append(part.span())
        return found

    @cached_property
    def _sizes(self) -> list[tuple[int, str]]:
        """The first six digits of all numbers as numbers, in order, with all their digits."""
        return sorted((_six_digits(digits), digits) for digits in self._numbers if digits)

    @cached_property
    def _all_digits(self) -> str:
        return "".join(_PART.findall(self.text))

    @cached_property
    def _scales(self) -> frozenset[int]:
        """The powers of ten that a table's numbers are in: 6 for "in millions"."""
        lower = self.wording.lower
        return frozenset(power for power, heads in _TABLE_HEADS.items() if any(head in lower for head in heads))

    def _written(self, written: str) -> list[tuple[int, int]]:
        """Return where a number is written in the same way."""
        known = self._places_of.get(written)
        if known is None:
            places = (place for place in occurrences(self.text, written) if is_apart(self.text, place, written))
            known = self._places_of[written] = [(place, place + len(written)) for place in places]
        return known

    def _places(self, digits: str) -> list[tuple[int, int]]:
        """Return where the first numbers of these digits are."""
        return self._numbers.get(digits, [])[:MOST_PLACES]

    def _near(self, size: int, widest: int) -> list[tuple[int, int]]:
        """Return where numbers are whose first digits, as a number of six digits, are near to a size."""
        sizes = self._sizes
        found: list[tuple[int, int]] = []
        # 9.96 becomes 10, and 1.04 becomes 1.
        for center in (size, 10 * size, size // 10):
            reach = widest * center // size
            if 90_000 < center < 1_100_000:
                low, high = bisect_left(sizes, (center - reach, "")), bisect_right(sizes, (center + reach, "~"))
                found += [place for _, digits in sizes[low:high][:MOST_PLACES] for place in self._places(digits)[:5]]
        return found

    def _read(self, place: tuple[int, int]) -> tuple[Amount, ...]:
        known = self._amounts.get(place)
        if known is None:
            known = self._amounts[place] = read_amounts(self.text, *place)
        return known

    def _next_numbers(self, written: str) -> set[str]:
        """Return the numbers that are next to a number."""
        found = set()
        for _, end in self._written(written):
            if following := NUMBER.search(self.text, end, end + 30):
                found.add(following[0])
        return found

    def _fits(self, number: Number, place: tuple[int, int]) -> bool:
        """Return whether a number of the text, which has the digits, is the one that is looked for."""
        for other in self._scaled(place, in_cell=True) if number.is_scaled else self._read(place):
            for mine in number.amounts:
                has_units = mine.unit and other.unit and not in_table(mine, other)
                same = mine.value == other.value if has_units else mine.bare == other.bare
                if mine.is_scaled and not mine.unit and other.unit == "g" and mine.bare.scaleb(6) == other.value:
                    return True
                if same and self._is_alike(number, mine, other, place):
                    return True
        return False

    def _scaled(self, place: tuple[int, int], *, in_cell: bool) -> tuple[Amount, ...]:
        """Return what a number may mean in a table whose head says "in millions", or `in_cell` in any cell."""
        amounts = self._read(place)
        scales = _OF_A_CELL if in_cell and _CELL_END.match(self.text, place[1]) else self._scales
        if not scales:
            return amounts
        rows = [a for a in amounts if not a.is_scaled and (not a.unit or a.unit in CURRENCIES)]
        return (
            *amounts,
            *(
                Amount(a.value.scaleb(power), a.unit or "?", a.step.scaleb(power), True, a.bare.scaleb(power))
                for a in rows
                for power in scales
            ),
        )

    def _is_alike(self, number: Number, mine: Amount, other: Amount, place: tuple[int, int]) -> bool:
        """Return whether two equal numbers can be about the same thing."""
        text, (start, end) = self.text, place
        if (
            not number.has_sign_of(text, start, end)
            or (number.rate and rate(text, end) not in {"", number.rate})
            or (mine.unit == "%" and _OF_SO_MANY.match(text, end))
        ):
            return False
        if mine.unit and other.unit:
            return mine.unit == other.unit or {mine.unit, other.unit} in RELATED or in_table(mine, other)
        return self._counts_alike(number, mine, other, place)

    def _counts_alike(self, number: Number, mine: Amount, other: Amount, place: tuple[int, int]) -> bool:
        """Return whether two equal numbers, one of them without a unit, can be about the same thing."""
        text, (start, end) = self.text, place
        is_large = other.bare >= 100 or other.bare != other.bare.to_integral_value()
        last = read_suffix(text, end).end
        if mine.unit and (names_what if is_large else counts)(text, last) and not ends_range(text, start):
            return unit_follows(text, last, mine.unit)
        if other.unit and not is_large and number.counts and not in_table(mine, other):
            return unit_follows(number.text, number.end, other.unit)
        if is_large:
            return not number.is_other_kind_of_year(text, start, end)
        if in_pair(text, start, end) or not has_same_name(number, text, start, end):
            return False
        return bool(other.unit) or other.value > 31 or number.is_ordinal or not self.moments.is_in_date(place[0])

    def _has_rounded(self, number: Number) -> bool:
        """Return whether the text has a number that becomes this one when it is rounded."""
        if not number.digits:
            return False
        size = _six_digits(number.digits)
        widest = (
            size // (9 if number.hedge == "about" else 2 if number.digits == "1" else 4)
            if number.hedge
            else max(size // 100, 10 ** max(0, 6 - len(number.digits)) // 2)
        )
        for place in self._near(size, widest):
            others = self._scaled(place, in_cell=False) if number.is_scaled else self._read(place)
            if unit := self._left_out(number, place):
                others = tuple(other if other.unit else other._replace(unit=unit) for other in others)
            for other in self._in_its_language(others, self.text[slice(*place)]):
                if any(rounds(number, mine, other) for mine in number.amounts) and not self._is_other_year(
                    number, place
                ):
                    return not any(letters_around(self.text, *place)) and number.has_sign_of(self.text, *place)
        return False

    def _is_other_year(self, number: Number, place: tuple[int, int]) -> bool:
        """Return whether both numbers can be years: 2020 is not about 2022."""
        written = self.text[slice(*place)]
        return number.is_year and not number.counts and len(written) == 4 and written.isdecimal()

    def _left_out(self, number: Number, place: tuple[int, int]) -> str:
        """Return the unit that a number without one may have in a table or a list: percent, or money for "19.99"."""
        unit, written = number.amounts[0].unit, self.text[slice(*place)]
        if written.isdecimal() or counts(self.text, place[1]):
            return ""
        return unit if unit == "%" or (unit in CURRENCIES and written[-3:-2] in {".", ","}) else ""

    def _has_version(self, number: Number) -> bool:
        """Return whether the number is the beginning of a version, as 3.13 is of 3.13.1."""
        if number.written.count(".") != 1 or number.amounts[0].unit:
            return False
        beginning = f"{number.written}."
        return any(
            self.text[place + len(beginning) : place + len(beginning) + 1].isdecimal()
            and not (place and (self.text[place - 1].isdecimal() or self.text[place - 1] in ".,"))
            for place in occurrences(self.text, beginning)
        )

    def _has_parts(self, number: Number) -> bool:
        """Return whether the parts of a number with a plain space, which may be several numbers, are there."""
        return " " in number.written and all(self.contains(part) for part in number.written.split(" "))


def _six_digits(digits: str) -> int:
    return int(digits[:6].ljust(6, "0"))
