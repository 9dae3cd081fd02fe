"""Parses a digest's category, topic, days and time from text.

Text is understood completely or rejected: after one unknown word, repeated day or second time, the digest could run on
other days than the user meant, which would be noticed late. Days and time come last. A topic in quotes ends with the
quotes; one without quotes ends before the first word that could belong to days or a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import time
from difflib import get_close_matches
from itertools import pairwise

from bot.commands.filters import category_argument, usage_errors
from bot.commands.parsing import DASHES, DOUBLE_QUOTES, inline_code
from bot.errors import UsageError
from bot.model.digest import EXAMPLE, DigestSpec
from bot.model.schedule import DAILY, DAYS, WEEKDAYS, WEEKENDS, Schedule, format_days
from perplexity.validation import parse_query

TIME_EXAMPLES = "such as `9:00`, `17:30` or `9am`"

_HALF = r"[ap]\.?m\.?"
TIME = rf"\d{{1,2}}(?:[:.]\d{{2}}(?: ?{_HALF})?| ?{_HALF})|(?:12 )?(?:noon|midnight)"
"""A pattern for a time of day, to be used with the flags for ASCII and ignored case."""

_CLOCK = re.compile(rf"(?ai:(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d{{2}}))? ?(?P<half>{_HALF})?)")
_NAMED = {"noon": time(12), "midnight": time(0)}


def parse_time(text: str) -> time:
    """Parse a text that `TIME` matches. Raise UsageError if it is not a time of day."""
    if named := _NAMED.get(text.casefold().removeprefix("12 ")):
        return named
    match = _CLOCK.fullmatch(text)
    half = match and match["half"]
    if match is None or (half and not 1 <= int(match["hour"]) <= 12):
        raise _not_a_time(text)
    hour = int(match["hour"]) % 12 + (12 if half[0] in "pP" else 0) if half else int(match["hour"])
    try:
        return time(hour, int(match["minute"] or 0))
    except ValueError:
        raise _not_a_time(text) from None


def _not_a_time(text: str) -> UsageError:
    return UsageError(f"{inline_code(text)} isn’t a time of day. Use one from `0:00` to `23:59`, {TIME_EXAMPLES}.")


DAY_FORMS = "`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`"

_SETS = {
    **dict.fromkeys(("daily", "everyday", "every day", "each day", "all days"), DAILY),
    **dict.fromkeys(("weekday", "weekdays", "week days", "workday", "workdays", "work days"), WEEKDAYS),
    **dict.fromkeys(("working days", "business days", "m-f", "mo-fr"), WEEKDAYS),
    **dict.fromkeys(("weekend", "weekends"), WEEKENDS),
}
_FULL_NAMES = {f"{day.casefold()}{plural}": place for place, day in enumerate(DAYS) for plural in ("", "s")}
_SHORT_NAMES = {day[:3].casefold(): place for place, day in enumerate(DAYS)}
_NAMES = _FULL_NAMES | _SHORT_NAMES | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
DAY_SPELLINGS = (*_FULL_NAMES, *(name for name in _SETS if len(name) > 4))
"""The names of days that are long enough to be recognized if misspelt."""

_SET = "|".join(sorted(_SETS, key=len, reverse=True))
_DAY = "|".join(sorted(_NAMES, key=len, reverse=True))
_TO = rf" ?[{DASHES}] ?| (?:to|through|thru|until|till|til) "

# The flag `a` compares letters as ASCII: the dotless i is not an i, and the tables above do not have it.
# It is compiled at its first use: that takes longer than everything else in this module at import.
_WORD = (
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
"""Words that can belong to days or a time directly after them, even if they are not understood."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A time, and days of the week, None if none are given."""

    days: frozenset[int] | None
    at: time


@dataclass(frozen=True, kw_only=True)
class _Days:
    """One name of days, such as "weekdays"; `joined` means after a comma, a slash or "and"."""

    days: frozenset[int]
    single: bool
    joined: bool


def schedule_start(text: str) -> int:
    """Return the index of the first word that belongs, or could belong, to days and time."""
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


def parse_timing(text: str) -> Timing:
    """Parse days and one time, in any order. Raise UsageError."""
    named, times, unknown = _read_words(text)
    if not times:
        raise UsageError(f"At what time of day? Put it at the end, {TIME_EXAMPLES}.")
    if len(times) > 1:
        raise UsageError(
            f"There are several times: {', '.join(map(inline_code, times))}. Create one digest for each. "
            "If one of them belongs to the topic, put the topic in quotes."
        )
    if unknown or not _contiguous(named):
        raise ambiguous(unknown or text)
    return Timing(days=frozenset().union(*(one.days for one in named)) if named else None, at=parse_time(times[0]))


def parse_days(words: str) -> frozenset[int]:
    """Parse names of days, such as "weekdays", "mon" or "tue-thu". Raise UsageError."""
    named, times, unknown = _read_words(words)
    if not named or times or unknown or not _contiguous(named):
        raise UsageError(f"{inline_code(words)} isn’t a day of the week. Use {DAY_FORMS}.")
    return frozenset().union(*(one.days for one in named))


def ambiguous(words: str) -> UsageError:
    """Return the error for words that could be days or part of a topic."""
    return UsageError(
        f"I’m not sure what {inline_code(words)} means. Days are {DAY_FORMS}; the time comes after them, "
        f"{TIME_EXAMPLES}. A topic goes in quotes, before them: `{EXAMPLE}`."
    )


def _read_words(text: str) -> tuple[list[_Days], list[str], str]:
    """Return the names of days, the times, and the first unknown word, empty if there is none."""
    named: list[_Days] = []
    times: list[str] = []
    unknown = ""
    joined = False
    # Without separators at the end, each run of them is followed by a word and scanned once.
    for match in re.finditer(_WORD, text.rstrip(" ,/&")):
        joined = joined or bool(match["gap"].strip() or match["join"])
        unknown = unknown or match["unknown"] or ""
        if match["time"]:
            times.append(match["time"])
        elif days := _days_of(match):
            named.append(_Days(days=days, single=bool(match["day"]), joined=joined))
            joined = False
    return named, times, unknown


def _contiguous(named: Sequence[_Days]) -> bool:
    """Return whether each day is named once, and only single days are listed without a separator."""
    once = sum(len(one.days) for one in named) == len(frozenset().union(*(one.days for one in named)))
    return once and all(two.joined or (one.single and two.single) for one, two in pairwise(named))


def _days_of(match: re.Match[str]) -> frozenset[int]:
    """Return the days that a word names, none for one such as "on"."""
    if match["set"]:
        return _SETS[match["set"].casefold()]
    if match["day"]:
        return frozenset({_NAMES[match["day"].casefold()]})
    if not match["first"]:
        return frozenset()
    first, last = _NAMES[match["first"].casefold()], _NAMES[match["last"].casefold()]
    if first == last:
        raise ambiguous(match[0])
    return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))


_PHRASE = re.compile(rf"(?<!\w)[{DOUBLE_QUOTES}][^{DOUBLE_QUOTES}]*[{DOUBLE_QUOTES}]")
_DOTTED = re.compile(r"\d+\.\d+(?=$|[ ,])")
"""A time such as 17.05, or a number such as version 3.14."""

_CHECKED_WORDS = 3
"""How many words at the end of a topic are compared with names of days."""
_SIMILARITY = 0.82


def parse_digest_spec(text: str, *, report_empty_on: Iterable[str] = ()) -> DigestSpec:
    """Parse a digest such as `technology "open source databases" weekdays 9:00`; `report_empty_on` are words for days.

    The schedule has no time zone yet. Raise UsageError.
    """
    text = " ".join(text.split()).rstrip(" ,.")
    place = schedule_start(_PHRASE.sub(lambda phrase: "x" * len(phrase[0]), text))
    subject, timing = text[:place].rstrip(" ,"), parse_timing(text[place:])
    first, _, topic = subject.partition(" ")
    named = category_argument(first)
    if topic and not _PHRASE.fullmatch(topic):
        _check_topic_end(topic, timing, schedule=text[place:])
    days = DAILY if timing.days is None else timing.days
    return DigestSpec(
        category=named,
        topic=_parse_topic(topic),
        schedule=Schedule(days=days, at=timing.at, zone=""),
        report_empty_on=frozenset().union(*(_quiet_days(words, days) for words in report_empty_on)),
    )


def _check_topic_end(topic: str, timing: Timing, *, schedule: str) -> None:
    """Raise UsageError if an unquoted topic may continue in `schedule`, or may contain misspelt days."""
    words = topic.split()[-_CHECKED_WORDS:]
    if timing.days is None:
        raise UsageError(
            f"On which days? Use {DAY_FORMS}. Without days it runs daily, but only if "
            f"the topic is in quotes, as in `{EXAMPLE}`."
        )
    if dotted := _DOTTED.match(schedule):
        raise ambiguous(f"{words[-1]} {dotted[0]}")
    for word in words:
        if get_close_matches(word.casefold().strip(",.;:"), DAY_SPELLINGS, n=1, cutoff=_SIMILARITY):
            raise ambiguous(word)


def _quiet_days(words: str, days: frozenset[int]) -> frozenset[int]:
    """Return the days on which an empty digest is posted."""
    quiet = parse_days(words) & days
    if not quiet:
        raise UsageError(f"This digest doesn’t run on {inline_code(words)}. Its days are {format_days(days)}.")
    return quiet


def _parse_topic(text: str) -> str:
    if _PHRASE.fullmatch(text):
        text = text[1:-1]
    if not text.strip():
        return ""
    with usage_errors("a topic"):
        return parse_query(text)
