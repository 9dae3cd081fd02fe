"""The attempts to get a reply from providers, the sum of their costs, and the reasons why they failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

from perplexity.scope import N_, say

RequestKind = Literal["search", "answer"]
"""The kinds of requests: `search` for ranked pages, `answer` for a written answer."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call of a provider; `error_class` and `summary` are None if it answered.

    `kind` is the kind of the request; `cost_usd` is its cost, None if the provider does not report it. A provider that
    was skipped after repeated failures has the error class `Resting` and took no time. A `search_only` provider has no
    model that could write an answer.
    """

    provider: str
    seconds: float
    kind: RequestKind = "answer"
    error_class: str | None = None
    summary: str | None = None
    cost_usd: float | None = None
    search_only: bool = False


_DECIMALS = 12
"""The decimal places of a sum. Services report at most ten; adding floats can produce more, which are on no invoice."""


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the known costs; None if no cost is known."""
    known = [cost for cost in costs if cost is not None]
    return (known[0] if len(known) == 1 else round(fsum(known), _DECIMALS)) if known else None


def cost_with_failures(own: float | None, failed: Iterable[Attempt]) -> float | None:
    """Return the cost of a reply, `own`, plus the costs of the attempts that `failed` before; None if none is known."""
    return total_cost([own, *(attempt.cost_usd for attempt in failed)])


def without_costs(failed: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts without their costs, for use next to a sum that includes these costs."""
    return tuple(replace(attempt, cost_usd=None) for attempt in failed)


def attempt_reasons(failed: Iterable[Attempt]) -> list[str]:
    """Return the reasons of the failed attempts, each reason once, such as "Perplexity could not be reached"."""
    return list(dict.fromkeys(f"{attempt.provider} {say(attempt.summary or N_('failed'))}" for attempt in failed))
