"""Finds lasting changes of a service by comparing its newest answers for one preset with earlier answers.

The newest `RECENT` answers are compared with those before them. A difference in only a few of the newest answers is not
a change. An answer that lacks a value, such as its cost, is left out when this value is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from operator import attrgetter, mul
from statistics import median
from typing import Literal

Kind = Literal["model", "price", "shape", "sources"]

RECENT = 16
KEPT = RECENT + 96
"""The most answers that are compared: the recent ones, and six times as many before them."""

FEWEST_BEFORE = 20

LASTING = 0.75
"""How far the share of answers with a value must rise or fall, for example from none to 12 of the 16 recent ones."""

AGREEING = 13
"""The fewest recent figures that must differ from the earlier median in the same direction as the recent median."""

UNLIKELY = 4.3
"""By how many standard deviations the recent figures must differ from chance in a rank test.

Chance alone would reach a lower value within some ten thousand answers.
"""

STEPS: Mapping[Kind, float] = {"price": 0.08, "sources": 0.25}
"""How far the median of the figures must move, as a share of the earlier median."""

MOST_LISTED = 5


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The values of an answer that may show a change at its service; None for a value that the answer lacks.

    `shape` are the names and types of the response's fields.
    """

    at: datetime
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    sources: int | None = None
    shape: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class ProviderChange:
    """A lasting change of one kind, with the values before and after. `at` is when the first answer showed the change.

    For "shape", `before` lists the missing fields and `after` the new ones. A field whose type changed is in both.
    For "price", each value is the median of a ratio: the cost of an answer, divided by its cost at the prices fitted to
    earlier answers.
    """

    kind: Kind
    at: datetime
    before: str
    after: str


Answers = Sequence[Observation]

_VALUES: Mapping[Kind, Callable[[Observation], object]] = {
    "model": attrgetter("model"),
    "price": attrgetter("cost"),
    "shape": attrgetter("shape"),
    "sources": attrgetter("sources"),
}
"""The value that an answer must have to be compared, by kind of change."""


def find_changes(answers: Answers, since: Mapping[Kind, datetime]) -> list[ProviderChange]:
    """Return the lasting changes in `answers`, which begin with the oldest one.

    `since` has the time of the last known change of each kind; older answers are not compared for that kind.
    """
    found: list[ProviderChange] = []
    for kind, value in _VALUES.items():
        telling = [one for one in answers if value(one) is not None and (kind not in since or one.at >= since[kind])]
        if len(telling) >= FEWEST_BEFORE + RECENT:
            compare = _compare_figures if kind in STEPS else _compare_values
            found += compare(kind, telling[-KEPT:-RECENT], telling[-RECENT:])
    return found


def _compare_values(kind: Kind, before: Answers, after: Answers) -> list[ProviderChange]:
    def values(one: Observation) -> set[str]:
        return {one.model or ""} if kind == "model" else {*(one.shape or ())}

    old, new = (Counter(value for one in some for value in values(one)) for some in (before, after))
    moves = {value: new[value] / len(after) - old[value] / len(before) for value in old | new}
    if max(map(abs, moves.values()), default=0.0) < LASTING:
        return []
    # Also report values whose share moved at least half as far as `LASTING`.
    gone, come = ({value for value, move in moves.items() if sign * move >= LASTING / 2} for sign in (-1, 1))
    at = next(one.at for one in after if values(one) & come or gone - values(one))
    return [ProviderChange(kind=kind, at=at, before=_listed(gone), after=_listed(come))]


def _listed(values: set[str]) -> str:
    more = len(values) - MOST_LISTED
    return ", ".join([*sorted(values)[:MOST_LISTED], *([f"+{more}"] if more > 0 else [])])


def _compare_figures(kind: Kind, before: Answers, after: Answers) -> list[ProviderChange]:
    """Return a change if the recent median is outside the range of the medians of earlier groups of `RECENT` answers.

    The median must also have moved as far as `STEPS` says, and the recent figures must meet `AGREEING` and `UNLIKELY`.
    """
    prices = _fitted_prices(before) if kind == "price" else []
    olds, news = (
        [(one.cost or 0) / (sum(map(mul, _parts(one), prices)) or 1) if prices else one.sources or 0 for one in some]
        for some in (before, after)
    )
    old, new = median(olds), median(news)
    stretches = [median(olds[end - RECENT : end]) for end in range(len(olds), RECENT - 1, -RECENT)]
    if (
        abs(new - old) < STEPS[kind] * old
        or min(stretches) <= new <= max(stretches)
        or sum((one - old) * (new - old) > 0 for one in news) < AGREEING
        or abs(_rank_deviation(olds, news)) < UNLIKELY
    ):
        return []
    at = next(one.at for one, figure in zip(after, news, strict=True) if abs(figure - new) <= abs(figure - old))
    return [ProviderChange(kind=kind, at=at, before=f"{old:.3g}", after=f"{new:.3g}")]


def _rank_deviation(before: Sequence[float], after: Sequence[float]) -> float:
    """Return by how many standard deviations the ranks of `after` differ from chance (Mann and Whitney's test)."""
    m, n = len(before), len(after)
    wins = sum((new > old) - (new < old) for new in after for old in before) / 2
    return wins / sqrt(m * n * (m + n + 1) / 12)


def _fitted_prices(answers: Answers) -> list[float]:
    """Return the prices of an input token, an output token and an answer itself that fit the costs best.

    The fit is a non-negative least squares of the costs per token, by coordinate descent. Another mix of long and short
    answers therefore does not look like another price.
    """
    rows = [[part / sum(_parts(one)) for part in (*_parts(one), one.cost or 0)] for one in answers]
    columns = [*zip(*rows, strict=True)]
    products = [[sum(map(mul, one, other)) for other in columns] for one in columns]
    prices = [0.0] * 3
    for place in [0, 1, 2] * 300:
        product = products[place]
        error = product[3] - sum(map(mul, product, prices))
        prices[place] = max(0.0, prices[place] + error / (product[place] or 1.0))
    return prices


def _parts(one: Observation) -> tuple[int, int, int]:
    """Return the quantities that are paid for: tokens read, tokens written, and one answer."""
    return one.input_tokens or 0, one.output_tokens or 0, 1
