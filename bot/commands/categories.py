"""A category of news as people type it. Pure."""

from __future__ import annotations

from bot.commands.hints import brief
from bot.errors import UsageError
from perplexity.errors import InvalidRequest
from perplexity.news.categories import CATEGORIES, category

*_FIRST, _LAST = CATEGORIES
_LISTED = f"Choose from: {', '.join(_FIRST)} and {_LAST}."


def read_category(word: str) -> str:
    """Return the category that a word means. Raises UsageError, also for no word at all."""
    if not word:
        raise UsageError(f"Which category? {_LISTED}")
    try:
        return category(word)
    except InvalidRequest as error:
        meant, asked, _ = (error.allowed or "").partition("? ")
        hint = f"D{meant[1:]}? " if asked else ""
        raise UsageError(f"“{brief(word)}” isn’t a category. {hint}{_LISTED}") from None
