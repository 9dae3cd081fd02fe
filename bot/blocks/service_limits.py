"""Renders the limits of calls to search services."""

from __future__ import annotations

from bot.model.admin import LaneUse
from bot.translation import N_, money, number
from bot.translation import gettext as _
from perplexity.limiter import TIERS

PEOPLE_PER_QUESTION = 20
"""The number of people for whom one question per minute is enough.

In the busiest hour, a person asks three questions, which is one every 20 minutes.
"""

_SOURCES = {
    "tier": N_("what a new key has, until a reply says more"),
    "reply": N_("as it says"),
    "set": N_("your PROVIDER_LIMITS"),
}
_LINES = {
    "answer": N_("{provider} answers: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."),
    "background": N_(
        "{provider} deep answers: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."
    ),
    "search": N_("{provider} searches: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."),
}


def service_line(use: LaneUse) -> str:
    """Return a service's limit, its usage, the number of people that it is enough for, and how to raise it."""
    provider, kind = use.lane.partition(":")[0].split(".")
    full = min(100, round(100 * use.fullest / use.per_minute))
    line = _(_LINES[kind]).format(
        provider=provider.capitalize(), limit=number(use.per_minute), source=_(_SOURCES[use.source]), full=full
    )
    if kind != "answer":
        return line
    people = _("Enough for about {people} people.").format(people=number(use.per_minute * PEOPLE_PER_QUESTION))
    line = f"{line} {people}"
    if provider != "perplexity" or use.source == "set":
        return line
    more = next(((dollars, calls) for dollars, calls in TIERS if calls > use.per_minute), None)
    if more is None:
        return line
    dollars, calls = more
    raised = _("Once you have spent {amount} there: {limit} a minute, for {people}.").format(
        amount=money(f"${dollars:,}"), limit=number(calls), people=number(calls * PEOPLE_PER_QUESTION)
    )
    return f"{line} {raised}"


def full_text(use: LaneUse) -> str:
    """Return a text for admins on a limit that was full for ten minutes."""
    said = _("For ten minutes people have waited for their turn, since this limit is full.")
    return f"{said} {service_line(use)}"
