"""Dollars added up, where some services say what they charge and others do not. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def total(costs: Iterable[float | None]) -> float | None:
    """Return the sum of those that are known, None where none is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
