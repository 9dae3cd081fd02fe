"""Decides whether an amount follows from a text's numbers: converted, or as a sum, difference, ratio or time span."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from perplexity.figures.amounts import Amount, in_base

_MOST = 60
"""The most numbers of a text that are used."""
_APART = 3
"""Among the numbers of one unit, two are added or compared only if they are at most this many places apart."""
_YEARS = 20
_TOLERANCE = Decimal("0.01")
_COMPARED = re.compile(
    r"(?<!\w)(?:up|down|by|rose|ris(?:e|en|es|ing)|gr[eo]w\w*|increas\w*|gain\w*|climb\w*|jump\w*|fell|fall\w*|drop\w*|"
    r"declin\w*|decreas\w*|shr[aiu]nk\w*|more|less|fewer|(?:high|low|long|short|old|young|tall|larg|small|cheap|fast|slow|"
    r"wid|deep|heavi|light|earli|lat|bigg|great)er|ahead|behind|lead\w*|margin|differ\w*|gap|lost|los[es]\w*|cut\w*|"
    r"reduc\w*|short|mehr|weniger|um|stieg\w*|gestiegen|wuchs|gewachsen|sank|gesunken|fiel|gefallen|Unterschied|Rückgang|"
    r"Zuwachs|Anstieg|Plus|Minus|Differenz|(?:höh|niedrig|läng|kürz|ält|jüng|größ|klein|schnell|spät|früh)er)(?!\w)",
    re.IGNORECASE,
)
_ADDED = re.compile(
    r"(?<!\w)(?:total\w*|together|combined|altogether|in all|overall|sum|both|remain\w*|"
    r"of the|of them|davon|von den|rest|others?|left|leaves?|leaving|insgesamt|"
    r"zusammen|Summe|gesamt\w*|übrig\w*)(?!\w)",
    re.IGNORECASE,
)
_NEAR = 60
_SHARES = frozenset({"%", "°C", "°F", "°"})


def compares(text: str, start: int, end: int) -> bool:
    """Return whether words near a place say that something changed, or is more or less than something else."""
    return _COMPARED.search(text, max(0, start - _NEAR), end + _NEAR) is not None


def adds(text: str, start: int, end: int) -> bool:
    """Return whether words near a place say that something is a sum or a remainder."""
    return _ADDED.search(text, max(0, start - _NEAR), end + _NEAR) is not None


class Computed:
    """The amounts of a text, in their order, and its years, from which other amounts can be computed."""

    def __init__(self, amounts: Sequence[Amount], years: Sequence[int]) -> None:
        self._amounts = [amount for amount in dict.fromkeys(amounts) if amount.value][:_MOST]
        self._years = sorted(years)[:_YEARS]

    def has_converted(self, amount: Amount, *, sign: int, is_rough: bool) -> bool:
        """Return whether the text has about this amount in another unit, such as feet for metres.

        `sign` is -1 if the amount is negative, otherwise 1. `is_rough` allows a larger difference.
        """
        unit, value, step = in_base(amount)
        near = max((3 if is_rough else 1) * _TOLERANCE * value, step / 2 if 10 <= amount.bare < 100 or is_rough else 0)
        others = [other for other in self._amounts if other.unit != amount.unit and unit]
        for other, (base, theirs, its_step) in zip(others, map(in_base, others), strict=True):
            if base == unit and abs(theirs - value) <= max(near, its_step / 2):
                return True
            if {unit, base} == {"°C", "°F"} and _is_same_heat(amount, other, sign):
                return True
        return False

    def has_value(self, amount: Amount, *, compares: bool, adds: bool, is_long: bool) -> bool:
        """Return whether an amount is a difference or a sum of amounts of the text, or 100 % minus one of them.

        `compares` says whether words near the amount speak of a difference, `adds` whether they speak of a sum or a
        remainder. Without such words, the amount must be too long to match by chance (`is_long`). An amount in cents
        needs no such words: it may also be an amount in dollars or euros, or the difference of two.
        """
        unit, values = amount.unit, []
        if compares or adds or is_long:
            values += [abs(one - other) for one, other in self._near(unit)]
        if adds or is_long:
            values += [one + other for one, other in self._near(unit)]
        if adds:
            same = self._of(unit)
            values += [100 - one for one in same] if unit == "%" else []
            values += [
                sum(three, Decimal()) for n in range(len(same)) for three in combinations(same[n : n + 2 + _APART], 3)
            ]
        if unit == "cent":
            values += [100 * abs(one - other) for unit in ("USD", "EUR") for one, other in self._near(unit)]
            values += [100 * one for unit in ("USD", "EUR") for one in self._of(unit)]
        near = min(amount.step / 2, amount.value / 50)
        return any(abs(value - amount.value) <= near for value in values)

    def has_ratio(self, low: float, high: float, *, of_shares: bool) -> bool:
        """Return whether two amounts of one unit have a ratio from `low` to `high`.

        Percentages, degrees and temperatures count only with `of_shares`.
        """
        return any(low <= ratio <= high and (of_shares or unit not in _SHARES) for unit, ratio in self._ratios)

    def has_percentage_of(self, amount: Amount, *, compares: bool) -> bool:
        """Return whether one number of the text is this percentage (`amount`) of another.

        With `compares`, one number may also be larger or smaller than another by this percentage.
        """
        value, near = float(amount.value) / 100, float(amount.step) / 200
        parts = (value, 1 + value, 1 - value) if compares else (value,)
        return any(part > 0 and self.has_ratio(part - near, part + near, of_shares=False) for part in parts)

    def has_years_between(self, count: Decimal, hedge: str) -> bool:
        """Return whether two years of the text are from `count` to `count` + 1 years apart.

        The range is for ages: until their birthday, people are a year younger than the difference of the years.
        A `hedge` such as "about" widens the range.
        """
        least = count * (Decimal("0.85") if hedge in {"under", "nearly", "about"} else 1)
        most = count * (Decimal("1.2") if hedge in {"over", "about"} else 1) + 1
        return any(least <= b - a <= most for n, a in enumerate(self._years) for b in self._years[n + 1 :])

    def _of(self, unit: str) -> list[Decimal]:
        return [amount.value for amount in self._amounts if amount.unit == unit]

    def _near(self, unit: str) -> list[tuple[Decimal, Decimal]]:
        same = self._of(unit)
        return [(one, other) for n, one in enumerate(same) for other in same[n + 1 : n + 1 + _APART]]

    @cached_property
    def _ratios(self) -> list[tuple[str, float]]:
        """The ratios of two amounts, both ways, each with the unit of both."""
        pairs = [(unit, pair) for unit in {amount.unit for amount in self._amounts} for pair in self._near(unit)]
        return [(unit, float(a / b)) for unit, (one, other) in pairs for a, b in ((one, other), (other, one))]


def _is_same_heat(amount: Amount, other: Amount, sign: int) -> bool:
    """Return whether two temperatures, or two differences of temperature, are the same in °C and °F."""
    celsius, heat = (amount, other) if amount.unit == "°C" else (other, amount)
    near = max(amount.step, other.step, heat.value * _TOLERANCE)
    difference = celsius.value * Decimal("1.8")
    return any(abs(abs(exact) - heat.value) <= near for exact in (sign * difference + 32, difference))
