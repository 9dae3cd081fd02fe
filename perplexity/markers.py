"""The grammar of markers: `[1]`, `[2, 4-6]`, `[web:4]`, `【3】`, also with full-width signs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_OF_A_RANGE = 50
"""The most numbers of a range that are read; no answer has so many sources, and `[1-999999]` must stay cheap."""

DASHES = r"\-‐‑‒–—―−﹣－~～〜"
"""Signs between the ends of a range, for a class of a regular expression."""

_SPACES = r"[ \t\u00a0\u2009\u202f\u3000]{0,8}"
_DASH = rf"{_SPACES}[{DASHES}]{_SPACES}"
# `[0-9]` stays text, because no service counts from 0. A date such as `[10-2025]` stays text, too.
_ITEM = rf"(?:web:)?(?!0+{_DASH})\d{{1,3}}(?:{_DASH}(?:web:)?(?!(?:19|20)\d\d(?!\d))\d+)?"
OPEN = r"(?:\\?\[|【|［)"
NUMBERS = rf"{_SPACES}{_ITEM}(?:{_SPACES}[,;，；、]{_SPACES}{_ITEM})*{_SPACES}"
"""The inside of a marker. A number of four digits or more, as in `[2024-2026]`, is never a source's number."""
CLOSE = r"(?:\\?\]|】|］)"

_RANGE = re.compile(rf"(\d+)(?:{_DASH}(?:web:)?(\d+))?")
_LONGEST_NUMBER = 9


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers of a range, at most `MOST_OF_A_RANGE`; `cut` says whether there were more."""

    numbers: range
    cut: bool = False


def ranges(written: str) -> Iterator[Range]:
    """Yield the numbers in the text of a `NUMBERS` match; a single number is a range of one."""
    for match in _RANGE.finditer(written):
        low, high = sorted((_value(match[1]), _value(match[2] or match[1])))
        end = min(high, low + MOST_OF_A_RANGE - 1)
        yield Range(numbers=range(low, end + 1), cut=end < high)


def is_plain(marker: str) -> bool:
    """Return whether a marker is written with ASCII signs and without a range, so that every reader understands it."""
    return marker.isascii() and not any(dash in marker for dash in "-~")


def written(numbers: Sequence[int]) -> str:
    """Return markers for these numbers."""
    return "".join(f"[{number}]" for number in numbers)


def _value(digits: str) -> int:
    # Turning many digits into a number takes time in proportion to the square of their count.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else 10**_LONGEST_NUMBER
