"""Normalizes letters for comparison, without I/O."""

from __future__ import annotations

import unicodedata


def fold(word: str) -> str:
    """Return a word without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


_RAISED = str.maketrans({sign: f" {sign}" for sign in "⁰¹²³⁴⁵⁶⁷⁸⁹¼½¾⅓⅔⅕⅛⅜⅝⅞"})
"""Signs that NFKC would join to the digits before them: 10² is not 102."""


def plain(text: str) -> str:
    """Return a text with compatibility characters replaced by ordinary ones, but 10² does not become 102."""
    return unicodedata.normalize("NFKC", text.translate(_RAISED))


def lowered(text: str) -> str:
    """Return a text in lower case with the same number of characters, so that places in both texts agree."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join([c.lower()[0] for c in text])
