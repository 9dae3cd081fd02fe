"""The pages of the part for admins: all of a table of which the home tab shows the beginning."""

from __future__ import annotations

from perplexity.formatting import pluralize

DAYS = "Use by day"
PEOPLE = "Use by person"
CHANNELS = "Use by channel"
SERVICES = "Use by service"
DIGESTS = "Everyone’s digests"
CHANGES = "Audit log"

COUNTING = "Counting…"
PREVIOUS = "Previous"
NEXT = "Next"

EVERYTHING = "All of it"
NO_NAME = "–"


def all_of(title: str, count: int) -> str:
    """Return the label of the button that opens a page."""
    return f"{title} ({count:,})"


def place(first: int, last: int, count: int) -> str:
    """Return which rows of how many a page has."""
    return f"{first:,} to {last:,} of {count:,}"


def use(questions: int, cost: str) -> str:
    """Return what follows a name; `cost` is an amount."""
    return f": {pluralize(questions, 'question')}, {cost}"
