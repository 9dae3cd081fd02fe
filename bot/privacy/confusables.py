"""Converts a text to plain letters, as a person reads it: without invisible characters, look-alikes and encodings.

A text in plain letters has neither invisible characters nor accents, and look-alikes are replaced by ASCII's letters
and digits (https://www.unicode.org/reports/tr39/).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Span = tuple[int, int]

_ALIKE = dict(
    zip(
        "аеорсухіјѕԁһӏԛԝкмтвнАВЕКМНОРСТУХІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧαορνικτυ∙·․‐‑‒–—―−⁃⁄∕﹫。",
        "aeopcyxijsdhlqwkmtbhABEKMHOPCTYXIJSGABEZHIKMNOPTYXaopviktu...--------//@.",
        strict=True,
    )
)
"""Characters that look like an ASCII character. Unicode's compatibility form (NFKD) leaves nearly all unchanged."""

_NOT_SEEN = frozenset({"Cf", "Mn", "Me"})
"""The Unicode categories of characters that are invisible, or visible only as a part of another character."""

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that are blank."""


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return a character in plain letters: in ASCII if it looks like ASCII, an empty text if it is invisible."""
    if unicodedata.category(char) in _NOT_SEEN or char in _BLANK:
        return ""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    if char in _ALIKE:
        return _ALIKE[char]
    letters = unicodedata.normalize("NFKD", char)
    return "".join(_ALIKE.get(one, one) for one in letters if unicodedata.category(one) not in _NOT_SEEN)


def plain_letters(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in plain letters, and for each letter the index of its character in the text."""
    if text.isascii():
        return text, range(len(text))
    letters, places = [], []
    for place, char in enumerate(text):
        plain = char if char < "\x80" else _plain(char)
        letters.append(plain)
        places.extend([place] * len(plain))
    return "".join(letters), places


MAX_NESTED = 3
"""How many levels of nested encodings are decoded: an address within an address may be encoded twice."""

_CODE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})++"
    r"|&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)"
    r"|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\(?=[!-/:-@\[-`{-~])"
)
"""Encoded characters as they occur in addresses, in HTML, in JSON and other code, and in Markdown."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A text in plain letters: its `letters`, and where each letter starts and ends in the text."""

    letters: str
    starts: Sequence[int]
    ends: Sequence[int]

    def in_text(self, span: Span) -> Span:
        """Return the span of the text from which a span of the letters was read."""
        start, stop = span
        return self.starts[start], self.ends[stop - 1]

    def decoded(self) -> Reading:
        """Return the reading with one level of encodings decoded."""
        letters, starts, ends, end = [], [], [], 0

        def add(plain: str, start: int, stop: int) -> None:
            letters.append(plain)
            starts.extend([start] * len(plain))
            ends.extend([stop] * len(plain))

        for found in _CODE.finditer(self.letters):
            letters.append(self.letters[end : found.start()])
            starts.extend(self.starts[end : found.start()])
            ends.extend(self.ends[end : found.start()])
            place, end = found.span()
            for char, length in _characters(found[0]):
                add(char if char < "\x80" else _plain(char), self.starts[place], self.ends[place + length - 1])
                place += length
        letters.append(self.letters[end:])
        return Reading(letters="".join(letters), starts=[*starts, *self.starts[end:]], ends=[*ends, *self.ends[end:]])


def readings(text: str) -> Iterator[Reading]:
    """Yield the readings of a text: in plain letters, and then with one more level of encodings decoded each time."""
    letters, places = plain_letters(text)
    reading = Reading(letters=letters, starts=places, ends=[place + 1 for place in places])
    yield reading
    for _ in range(MAX_NESTED):
        if _CODE.search(reading.letters) is None:
            return
        reading = reading.decoded()
        yield reading


def _characters(code: str) -> Iterator[tuple[str, int]]:
    """Yield the characters that a code encodes, each with the length of its part of the code.

    For a backslash that escapes a sign, the code is the backslash alone, and nothing is yielded.
    """
    match code[0], code[1:2]:
        case "%", _:
            for char in bytes.fromhex(code.replace("%", "")).decode(errors="surrogateescape"):
                length = 3 * len(char.encode(errors="surrogateescape"))
                yield char if char.isprintable() or char.isspace() else "\ufffd", length
        case "\\", "u" | "x":
            char = chr(int.from_bytes(bytes.fromhex(code[2:])))
            yield "\ufffd" if "\ud800" <= char <= "\udfff" else char, len(code)
        case "&", _:
            text = html.unescape(code)
            yield text[:1], len(code)
        case _:
            return
