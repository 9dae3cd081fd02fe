"""Statistics of a provider's requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProviderStats:
    """One provider over a period: the numbers of requests and answers, and the speed.

    `p50` and `p95` are the median and the 95th percentile of the seconds per answer, None without answers.
    """

    provider: str
    asked: int
    answered: int
    p50: float | None = None
    p95: float | None = None

    @property
    def answer_rate(self) -> float:
        """The share of requests that were answered, 0 to 1."""
        return self.answered / self.asked if self.asked else 0.0
