"""Figures with their bars, and measurements of two things in turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil, floor
from statistics import median

Measurement = Callable[[int], Awaitable[float]]
"""Measures once; it is given the number of the round."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured value and the bar for it: the most it may be, or `at_least` the least. `detail` explains it."""

    name: str
    measured: float
    bar: float
    unit: str = "×"
    at_least: bool = False
    detail: str = ""

    @property
    def reached(self) -> bool:
        """Whether the bar is reached."""
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    @property
    def shown(self) -> float:
        """The measured value in hundredths, rounded to the worse side: one that misses its bar looks like it."""
        hundredths = round(self.measured * 100, 6)
        return (floor(hundredths) if self.at_least else ceil(hundredths)) / 100


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The medians of two measurements, and of their ratios, round by round."""

    ratio: float
    ours: float
    reference: float


async def compare(ours: Measurement, reference: Measurement, *, rounds: int) -> Comparison:
    """Measure both in each round, in turns the one and the other first, and return the medians.

    The first round, which fills caches, does not count. A machine that is busy for a while slows both down, so the
    ratio of a round says more than that of two medians.
    """
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        if number % 2:
            first = await ours(number)
            pairs.append((first, await reference(number)))
        else:
            second = await reference(number)
            pairs.append((await ours(number), second))
    counted = pairs[1:]
    return Comparison(
        ratio=median(one / other for one, other in counted),
        ours=median(one for one, _ in counted),
        reference=median(other for _, other in counted),
    )
