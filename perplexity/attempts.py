"""Attempts at providers: the sum of their costs, and the reasons why they failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

RequestKind = Literal["search", "answer"]
"""What can be asked for: ranked pages, or an answer."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What one provider did: `error_class` and `summary` are None when it answered.

    `kind` is what was asked for; `cost_usd` what it cost, None if the provider does not say. One that was
    left alone, since it had failed again and again, has the error class `Resting` and took no time. A provider that is
    `search_only` has no model that could write an answer.
    """

    provider: str
    seconds: float
    kind: RequestKind = "answer"
    error_class: str | None = None
    summary: str | None = None
    cost_usd: float | None = None
    search_only: bool = False


_DECIMALS = 12
"""Of a sum: services count in ten, and the digits that a float adds after them are on no invoice."""


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of those that are known, None if none is."""
    known = [cost for cost in costs if cost is not None]
    return (known[0] if len(known) == 1 else round(fsum(known), _DECIMALS)) if known else None


def cost_with_failures(own: float | None, failed: Iterable[Attempt]) -> float | None:
    """Return the sum of all charges for a reply: its provider's `own`, and those of attempts that `failed` before."""
    return total_cost([own, *(attempt.cost_usd for attempt in failed)])


def without_costs(failed: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts without their prices, for use next to a sum that includes them."""
    return tuple(replace(attempt, cost_usd=None) for attempt in failed)


def attempt_reasons(failed: Iterable[Attempt]) -> list[str]:
    """Return the reason of each failed attempt once: "Perplexity could not be reached"."""
    return list(dict.fromkeys(f"{attempt.provider} {attempt.summary or 'failed'}" for attempt in failed))
