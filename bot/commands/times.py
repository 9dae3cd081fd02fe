"""A time of day as people type it: "9:00", "5:30 pm", "noon". Pure."""

from __future__ import annotations

import re
from datetime import time

from bot.commands.hints import quoted
from bot.errors import UsageError

TIMES = "such as `9:00`, `17:30` or `9am`"

_HALF = r"[ap]\.?m\.?"
TIME = rf"\d{{1,2}}(?:[:.]\d{{2}}(?: ?{_HALF})?| ?{_HALF})|(?:12 )?(?:noon|midnight)"
"""What looks like a time of day, for a pattern of ASCII that ignores case."""

_CLOCK = re.compile(rf"(?ai:(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d{{2}}))? ?(?P<half>{_HALF})?)")
_NAMED = {"noon": time(12), "midnight": time(0)}


def read_time(text: str) -> time:
    """Read what `TIME` matches. Raises UsageError where there is no such time."""
    if named := _NAMED.get(text.casefold().removeprefix("12 ")):
        return named
    match = _CLOCK.fullmatch(text)
    half = match and match["half"]
    if match is None or (half and not 1 <= int(match["hour"]) <= 12):
        raise _no_time(text)
    hour = int(match["hour"]) % 12 + (12 if half[0] in "pP" else 0) if half else int(match["hour"])
    try:
        return time(hour, int(match["minute"] or 0))
    except ValueError:
        raise _no_time(text) from None


def _no_time(text: str) -> UsageError:
    return UsageError(f"{quoted(text)} is no time of day. It takes one from `0:00` to `23:59`, {TIMES}.")
