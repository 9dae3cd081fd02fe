"""Finds words and figures in a text, other than inside longer ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_PLACES = 50
"""The most places examined for one figure in one excerpt, so that a number repeated often does not take long."""
_NARROW = frozenset("\u00a0\u2009\u202f\u2007")
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")


def contains(text: str, written: str) -> bool:
    """Return whether a text has the words `written`, other than inside a longer number or word."""
    return any(is_apart(text, place, written) for place in occurrences(text, written))


def occurrences(text: str, written: str) -> Iterator[int]:
    """Yield the places where one text occurs in another, also inside longer words; at most `MOST_PLACES`."""
    place = text.find(written)
    for _ in range(MOST_PLACES):
        if place < 0:
            return
        yield place
        place = text.find(written, place + 1)


def is_apart(text: str, place: int, written: str) -> bool:
    """Return whether the words at a place are not part of a longer number or word."""
    end = place + len(written)
    before, after = text[max(0, place - 2) : place], text[end : end + 2]
    if before and (before[-1].isalnum() if not written[0].isdecimal() else before[-1].isdecimal()):
        return False
    if written[0].isdecimal() and before[-1:] in {".", ",", "'", "’"} and before[:1].isdecimal():
        return False
    if after and (after[0].isdecimal() or (after[0].isalpha() and written[-1].isalpha())):
        return False
    if before[-1:] in _NARROW and before[:1].isdecimal() and _THREE_DIGITS.match(written):
        return False
    if after[:1] in _NARROW and written[-1].isdecimal() and _THREE_DIGITS.match(text, end + 1):
        return False
    return not (written[-1].isdecimal() and after[:1] in {".", ",", "'", "’"} and after[1:].isdecimal())
