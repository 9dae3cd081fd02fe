"""Finds words and figures in a text, other than inside longer ones."""

from __future__ import annotations

import re

_NARROW = "[\u00a0\u2009\u202f\u2007]"
_THREE_DIGITS = r"\d{3}(?!\d)"


def contains(text: str, written: str) -> bool:
    """Return whether a text has the words `written`, other than inside a longer number or word."""
    return written in text and re.search(apart(written), text) is not None


def apart(written: str) -> str:
    """Return a pattern that matches the words `written`, other than inside a longer number or word."""
    before, after = r"(?<![^\W_])", r"(?!\d)"
    if written[0].isdecimal():
        before = r"(?<!\d)(?<!\d[.,'’])"
        if re.match(_THREE_DIGITS, written):
            before += rf"(?<!\d{_NARROW})"
    if written[-1].isdecimal():
        after = rf"(?!\d|[.,'’]\d|{_NARROW}{_THREE_DIGITS})"
    elif written[-1].isalpha():
        after = r"(?![^\W_])"
    return before + re.escape(written) + after
