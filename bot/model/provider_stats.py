"""What is known of the providers' work: figures, no texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProviderStats:
    """One provider over a span of time: how often it was asked and answered, how fast, for how much.

    `p50`, `p95` are seconds of the answers that came, None without any; `cost_usd` is what is known of the cost.
    `admin_issue` is the class of the last failure that only an admin can mend, such as a refused key, None when the
    provider has answered since.
    """

    provider: str
    asked: int
    answered: int
    p50: float | None = None
    p95: float | None = None
    cost_usd: float | None = None
    admin_issue: str | None = None

    @property
    def answer_rate(self) -> float:
        """The share of attempts that were answered, 0 to 1."""
        return self.answered / self.asked if self.asked else 0.0
