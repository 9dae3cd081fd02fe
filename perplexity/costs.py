"""Adds up what all services charged for one question. Pure.

Some services say what they charge and others do not, so a sum is one of those that are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perplexity.types import Attempt

_DECIMALS = 12
"""Of a sum: services count in ten, and what a float adds behind them is on no invoice."""


def total(costs: Iterable[float | None]) -> float | None:
    """Return the sum of those that are known, None if none is."""
    known = [cost for cost in costs if cost is not None]
    return (known[0] if len(known) == 1 else round(fsum(known), _DECIMALS)) if known else None


def charged(own: float | None, failed: Iterable[Attempt]) -> float | None:
    """Return the sum of all charges for a reply: its provider's `own`, and those of attempts that `failed` before."""
    return total([own, *(attempt.cost_usd for attempt in failed)])


def unpriced(failed: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts without their prices, to stand beside a sum that holds them already."""
    return tuple(replace(attempt, cost_usd=None) for attempt in failed)
