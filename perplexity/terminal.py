"""Make text from outside safe for a terminal.

An escape sequence in an answer or a title could move the cursor, rewrite what was shown, set the clipboard or make a
link that lies: https://en.wikipedia.org/wiki/ANSI_escape_code.
"""

from __future__ import annotations

import re

# C0 except tab and line feed, DEL, C1; the marks that reorder text (https://trojansource.codes); line separators that
# some terminals obey; half surrogate pairs, which cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_SPACES = re.compile(r"\s+")


def printable(text: str) -> str:
    """Return the text with control characters made visible, and with line feeds as the only line ends."""
    return _UNSAFE.sub(lambda match: _picture(ord(match[0])), text.replace("\r\n", "\n").replace("\r", "\n"))


def printable_line(text: str) -> str:
    """Return the printable text on one line, without repeated spaces."""
    return _SPACES.sub(" ", printable(text)).strip()


def escape_json(json: str) -> str:
    """Return JSON text with its unsafe characters as JSON escapes, so that the text still decodes to the same value."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def _picture(code: int) -> str:
    """Return the control picture of a C0 character or DEL, and the replacement character for any other."""
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
