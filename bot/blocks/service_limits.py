"""Renders the limits of calls to search services."""

from __future__ import annotations

from bot.model.admin import LaneUse
from perplexity.limiter import TIERS

PEOPLE_PER_QUESTION = 20
"""The people for whom a question per minute is enough: three in one's busiest hour are one in 20 minutes."""

_SOURCES = {"tier": "what a new key has, until a reply says more", "reply": "as it says", "set": "your PROVIDER_LIMITS"}
_KINDS = {"answer": "answers", "background": "deep answers", "search": "searches"}


def service_line(use: LaneUse) -> str:
    """Return a service's limit, its usage, the number of people that it is enough for, and how to raise it."""
    provider, kind = use.lane.partition(":")[0].split(".")
    full = min(100, round(100 * use.fullest / use.per_minute))
    line = (
        f"{provider.capitalize()} {_KINDS[kind]}: {use.per_minute:,} a minute ({_SOURCES[use.source]}). "
        f"Busiest minute of the last hour: {full} % full."
    )
    if kind != "answer":
        return line
    line += f" Enough for about {use.per_minute * PEOPLE_PER_QUESTION:,} people."
    if provider != "perplexity" or use.source == "set":
        return line
    more = next(((dollars, calls) for dollars, calls in TIERS if calls > use.per_minute), None)
    if more is None:
        return line
    return (
        f"{line} Once you have spent ${more[0]:,} there: {more[1]:,} a minute, for {more[1] * PEOPLE_PER_QUESTION:,}."
    )


def full_text(use: LaneUse) -> str:
    """Return a text for admins on a limit that was full for ten minutes."""
    return f"For ten minutes people have waited for their turn, since this limit is full. {service_line(use)}"
