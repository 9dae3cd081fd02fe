"""The categories of news: a closed list. A new one is a line in `CATEGORIES` with the names it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from perplexity.errors import InvalidRequest

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "world": ("international", "global", "foreign"),
    "business": ("biz", "economy", "finance", "markets"),
    "technology": ("tech", "it"),
    "science": ("sci", "space"),
    "health": ("medicine", "medical"),
    "sports": ("sport",),
    "entertainment": ("culture", "arts", "movies", "music"),
    "politics": ("political", "government"),
}
"""Each category with its other names."""

_NAMES = {name: category for category, others in CATEGORIES.items() for name in (category, *others)}
_SHORTEST_BEGINNING = 3


def category(text: str) -> str:
    """Return the category of that name, or that the name is short for. Raises InvalidRequest with the nearest one."""
    typed = text.strip().casefold()
    begun = {_NAMES[name] for name in _NAMES if len(typed) >= _SHORTEST_BEGINNING and name.startswith(typed)}
    if typed in _NAMES or len(begun) == 1:
        return _NAMES.get(typed) or begun.pop()
    near = get_close_matches(typed, _NAMES, n=1, cutoff=0.7)
    hint = f"did you mean {_NAMES[near[0]]}? " if near else ""
    listed = list(CATEGORIES)
    allowed = f"{hint}it takes {', '.join(listed[:-1])} or {listed[-1]}"
    raise InvalidRequest.of("category", text.strip(), allowed)
