"""Days and a time of day as people type them: "weekdays 9:00", "mon/wed, fri at 5:30 pm". Pure.

They are read whole or not at all: one word that is not understood, a day that is named twice, or a second time could
change what the rest means, so it is an error and never left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from itertools import pairwise

from bot.commands.hints import quoted
from bot.commands.times import TIME, TIMES, read_time
from bot.commands.words import DASHES
from bot.digests.base import EXAMPLE
from bot.digests.schedule import DAILY, DAYS, WEEKDAYS, WEEKENDS
from bot.errors import UsageError

DAY_WORDS = "`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`"

_SETS = {
    **dict.fromkeys(("daily", "everyday", "every day", "each day", "all days"), DAILY),
    **dict.fromkeys(("weekday", "weekdays", "week days", "workday", "workdays", "work days"), WEEKDAYS),
    **dict.fromkeys(("working days", "business days", "m-f", "mo-fr"), WEEKDAYS),
    **dict.fromkeys(("weekend", "weekends"), WEEKENDS),
}
_FULL_NAMES = {f"{day.casefold()}{plural}": place for place, day in enumerate(DAYS) for plural in ("", "s")}
_SHORT_NAMES = {day[:3].casefold(): place for place, day in enumerate(DAYS)}
_NAMES = _FULL_NAMES | _SHORT_NAMES | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
SPELLED = (*_FULL_NAMES, *(name for name in _SETS if len(name) > 4))
"""The names of days that are long enough to be known when they are misspelt."""

_SET = "|".join(sorted(_SETS, key=len, reverse=True))
_DAY = "|".join(sorted(_NAMES, key=len, reverse=True))
_TO = rf" ?[{DASHES}] ?| (?:to|through|thru|until|till|til) "

# Letters are compared as ASCII: the dotless i is no i, and would be in none of the tables above.
_WORD = re.compile(
    rf"(?P<gap>[ ,/&]*)(?ai:(?P<set>{_SET})|(?:from )?(?P<first>{_DAY})\.?(?:{_TO})(?P<last>{_DAY})\.?"
    rf"|(?P<day>{_DAY})\.?|(?P<time>{TIME})|(?P<join>and)|on|at|every|each|(?P<unknown>[^ ,/&]+))(?=$|[ ,/&])"
)
_OTHERS = "mons|fris|sats|suns|mwf|hourly|nightly|weekly|biweekly|fortnightly|monthly"
_ANYWHERE = re.compile(rf"(?<!\w)(?ai:{_SET}|{_DAY}|{TIME}|{_OTHERS})(?!\w)")
_BEFORE = re.compile(
    "on|at|every|each|the|a|from|to|until|till|til|through|thru|between|by|before|after|since|starting|beginning|in|of"
    "|during|and|or|plus|but|not|no|non|never|only|all|any|except|excluding|without|other|alternate|odd|even"
    "|first|second|third|fourth|last|next|once|twice|thrice|times|1st|2nd|3rd|4th|24/7|(?:day|night|week|month|hour)s?"
    r"|minutes|mornings?|afternoons?|evenings?|today|tonight|tomorrow|now|then|also|mo|tu|we|th|fr|sa|su|[mtwfs]|\W+",
    re.IGNORECASE,
)
"""Words that can belong to days or a time where they stand directly before one, whether they are understood or not."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """At what time, and on which days of the week: None where none are named."""

    days: frozenset[int] | None
    at: time


@dataclass(frozen=True, kw_only=True)
class _Days:
    """One name of days, such as "weekdays"; `joined` by a comma, a slash or "and" to the one before."""

    days: frozenset[int]
    single: bool
    joined: bool


def beginning(text: str) -> int:
    """Return where days and time begin: with the first word that belongs to them, or directly before it could."""
    match = _ANYWHERE.search(text)
    if match is None:
        return len(text)
    place = text.rfind(" ", 0, match.start()) + 1
    while place and (space := text.rfind(" ", 0, place - 1)) >= 0:
        word = text[space + 1 : place - 1]
        if not (_BEFORE.fullmatch(word.rstrip(",.")) or _BEFORE.fullmatch(word)):
            break
        place = space + 1
    return place


def read_timing(text: str) -> Timing:
    """Read days and one time, in any order. Raises UsageError."""
    named, times, unknown = _words(text)
    if not times:
        raise UsageError(f"At what time of day? Put it at the end, {TIMES}.")
    if len(times) > 1:
        raise UsageError(
            f"There are several times: {', '.join(map(quoted, times))}. A digest has one; make one for each. "
            "If one of them belongs to the topic, put the topic in quotes."
        )
    if unknown or not _belong_together(named):
        raise unsure(unknown or text)
    return Timing(days=frozenset().union(*(one.days for one in named)) if named else None, at=read_time(times[0]))


def read_days(words: str) -> frozenset[int]:
    """Read names of days, such as "weekdays", "mon" or "tue-thu". Raises UsageError."""
    named, times, unknown = _words(words)
    if not named or times or unknown or not _belong_together(named):
        raise UsageError(f"{quoted(words)} is no day of the week. It takes {DAY_WORDS}.")
    return frozenset().union(*(one.days for one in named))


def unsure(words: str) -> UsageError:
    """Return the error that says which words could be days or a topic, and how to write either."""
    return UsageError(
        f"I am not sure what {quoted(words)} means. Days are {DAY_WORDS}; the time comes behind them, {TIMES}. "
        f"A topic goes in quotes, before them: `{EXAMPLE}`."
    )


def _words(text: str) -> tuple[list[_Days], list[str], str]:
    """Return the names of days, the times, and the first word that is neither (empty where there is none)."""
    named: list[_Days] = []
    times: list[str] = []
    unknown = ""
    joined = False
    # Without signs at the end, every run of them has a word behind it and is looked at once.
    for match in _WORD.finditer(text.rstrip(" ,/&")):
        joined = joined or bool(match["gap"].strip() or match["join"])
        unknown = unknown or match["unknown"] or ""
        if match["time"]:
            times.append(match["time"])
        elif days := _days(match):
            named.append(_Days(days=days, single=bool(match["day"]), joined=joined))
            joined = False
    return named, times, unknown


def _belong_together(named: Sequence[_Days]) -> bool:
    """Tell whether each day is named once, and whether only single days follow one another with nothing between."""
    once = sum(len(one.days) for one in named) == len(frozenset().union(*(one.days for one in named)))
    return once and all(two.joined or (one.single and two.single) for one, two in pairwise(named))


def _days(match: re.Match[str]) -> frozenset[int]:
    """Return the days that a word names, none for one such as "on"."""
    if match["set"]:
        return _SETS[match["set"].casefold()]
    if match["day"]:
        return frozenset({_NAMES[match["day"].casefold()]})
    if not match["first"]:
        return frozenset()
    first, last = _NAMES[match["first"].casefold()], _NAMES[match["last"].casefold()]
    if first == last:
        raise unsure(match[0])
    return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
