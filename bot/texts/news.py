"""News: the heading of a summary, and the other sites with a story."""

from __future__ import annotations

from collections.abc import Sequence


def heading(category: str) -> str:
    """Return the heading of a category's news."""
    return f"*{category.capitalize()} news*"


def as_of(moment: str) -> str:
    """Return when the news were looked up."""
    return f"as of {moment}"


def other_sites(sites: Sequence[str], *, more: int) -> str:
    """Return the other sites that report a story, and how many more do."""
    rest = [f"{more} more"] if more > 0 else []
    return f"also: {', '.join([*sites, *rest])}"
