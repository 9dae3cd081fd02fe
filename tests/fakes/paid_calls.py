"""The paid calls that each command makes, for the tests of budgets and for those of the pages about costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.budgets import AGENT, POSTS, SEARCH

CALLS: Mapping[str, Sequence[str]] = {
    "/search postgres vacuum": [SEARCH],
    "/news technology": ["fast"],
    "/ask why is the sky blue": ["fast"],
    "/ask --model low why is the sky blue": ["low"],
    "/ask --reasoning why is the sky blue": ["medium"],
    "/ask --model high why is the sky blue": ["high"],
    "/ask --model xhigh why is the sky blue": ["xhigh"],
    "/deepdive heat pumps": ["high", POSTS, "medium"],
    "/ask --agent why is the sky blue": [AGENT, SEARCH, AGENT],
    "/pplx check The sky is blue.": ["fast", SEARCH, "fast"],
}
"""The efforts of the calls of each command: of the agent with one search, and of one claim to check."""
