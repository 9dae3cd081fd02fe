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
"""Puts a space before each of these signs; otherwise NFKC would join them to the digits before, and make 102 of 10²."""


def plain(text: str) -> str:
    """Return a text with compatibility characters replaced by ordinary ones; 10² becomes "10 2", not "102"."""
    return unicodedata.normalize("NFKC", text.translate(_RAISED))


def lowered(text: str) -> str:
    """Return a text in lower case with the same length, so that positions are the same in both texts."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join([c.lower()[0] for c in text])
