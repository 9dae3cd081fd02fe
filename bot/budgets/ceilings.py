"""The cost that is reserved for a call, by its effort, until the ledger knows the costs of enough real calls."""

from __future__ import annotations

from collections.abc import Mapping

SEARCH, POSTS, AGENT = "search", "posts", "agent"
"""Names in place of the effort of calls without one: a search, a look at posts on X, a step of the agent's model."""

CEILINGS: Mapping[str, int] = {
    SEARCH: 20_000,
    "fast": 20_000,
    "low": 20_000,
    "medium": 100_000,
    "high": 2_000_000,
    "xhigh": 2_000_000,
    POSTS: 500_000,
    AGENT: 100_000,
}
"""The ceilings in micro-dollars."""

REASONING = frozenset({"medium"})
"""The efforts that become `FAST` near the end of a budget."""

FAST = "fast"

OFFERED = (FAST, "medium", "high")
"""The efforts that a refusal may offer."""


def cheaper(effort: str) -> dict[str, int]:
    """Return the cheaper efforts that a person can choose instead, with their ceilings; none instead of `POSTS`."""
    return {one: CEILINGS[one] for one in OFFERED if effort != POSTS and CEILINGS[one] < CEILINGS[effort]}
