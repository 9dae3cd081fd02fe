"""Letters as they are compared. Pure."""

from __future__ import annotations

import unicodedata


def fold(word: str) -> str:
    """Return a word without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def lowered(text: str) -> str:
    """Return a text in lower case, character for character."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join([c.lower()[0] for c in text])
