"""How long the chain may take, and how its time is shared out."""

from __future__ import annotations

from dataclasses import dataclass

from perplexity.models import Limits


@dataclass(frozen=True, kw_only=True)
class Deadlines(Limits):
    """Seconds for the whole chain, by what is asked; a provider keeps `reserve` free for each one behind it.

    `least` is what a provider is given all the same while there is time.
    """

    search: float = 20.0
    answer: float = 45.0
    reasoning: float = 90.0
    deep: float = 660.0
    reserve: float = 8.0
    least: float = 2.0

    def share(self, left: float, *, behind: int) -> float:
        """Return the seconds that a provider with `behind` others behind it may use of those that are left."""
        return max(left - self.reserve * behind, min(left, self.least))
