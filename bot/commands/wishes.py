"""What follows `watch`, read as a digest: a category, a topic, days, a time. Pure.

Days and time stand at the end, in any order. Once both are known, what stands before them is the topic, unless a comma
or "and" joins it to them, or it belongs to a list such as "saturday sunday". Quotes keep a topic that ends like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import time

from bot.commands.hints import quoted
from bot.commands.words import DOUBLE_QUOTES
from bot.digests.base import Wish
from bot.digests.schedule import DAILY, DAYS, WEEKDAYS, WEEKENDS, Schedule
from bot.errors import UsageError
from perplexity.errors import InvalidRequest
from perplexity.news.categories import category
from perplexity.queries import parse_query

TIMES = "such as `9:00`, `17:30` or `9am`"
DAY_WORDS = "`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`"

_SETS = {
    "daily": DAILY, "everyday": DAILY, "every day": DAILY,
    "weekday": WEEKDAYS, "weekdays": WEEKDAYS, "weekend": WEEKENDS, "weekends": WEEKENDS,
}  # fmt: skip
_SHORT = {day[:length].casefold(): place for place, day in enumerate(DAYS) for length in (3, len(day))}
_NAMES = _SHORT | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
_FULL_NAMES = frozenset(map(str.casefold, DAYS))

_DAY = rf"(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))})s?"
_RANGE = rf"(?P<first>{_DAY}) ?(?:[-–—]| to ) ?(?P<last>{_DAY})"
_SET = "|".join(sorted(_SETS, key=len, reverse=True))
_TIME = r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}) ?(?P<half>[ap]\.?m\.?)?| ?(?P<sharp>[ap]\.?m\.?))"
_DAYS = re.compile(rf"(?P<set>{_SET})|{_RANGE}|(?P<day>{_DAY})", re.IGNORECASE)
_LEAD = r"(?:^|[ ,])(?:(?:at|on|every|each|and|&) ){0,3}"
_BEHIND = re.compile(
    rf"{_LEAD}(?:(?P<time>{_TIME}|noon|midnight)|(?P<days>{_DAYS.pattern}))$",
    re.IGNORECASE,
)
_LONGEST_WORDS = 80
"""Characters from the end on among which one name of days, or a time, begins: so a long text is not read again."""

_JOINED = re.compile(r"[,&]|\band\b", re.IGNORECASE)
_DOTTED = re.compile(r"\d+\.\d+")
"""A time such as 17.05, or else a number such as the version 3.14."""

_NAMED_TIMES = {"noon": time(12), "midnight": time(0)}


def read_wish(text: str, *, silence: Iterable[str] = ()) -> Wish:
    """Read `technology "open source databases" weekdays 9:00`; `silence` are words for days.

    The schedule has no zone yet. Raises UsageError.
    """
    subject, days, at = _schedule(" ".join(text.split()).rstrip(" ,"))
    first, _, topic = subject.partition(" ")
    return Wish(
        category=_category(first),
        topic=_topic(topic),
        schedule=Schedule(days=days, at=at, zone=""),
        silence=frozenset(day for words in silence for day in read_days(words)),
    )


def read_days(words: str) -> frozenset[int]:
    """Read one name of days, such as "weekdays", "mon" or "tue-thu". Raises UsageError."""
    match = _DAYS.fullmatch(words.strip())
    if match is None:
        raise UsageError(f"{quoted(words)} is no day of the week. It takes {DAY_WORDS}.")
    return _days(match)


def _schedule(text: str) -> tuple[str, frozenset[int], time]:
    """Return what stands before the schedule, its days and its time."""
    days: frozenset[int] = frozenset()
    times: list[str] = []
    joined = listed = False
    while match := _BEHIND.search(text, max(0, len(text) - _LONGEST_WORDS)):
        if not (joined or (listed and _is_full_name(match)) or _belongs(match, days=days, times=times)):
            break
        if match["time"]:
            times.insert(0, match["time"])
        else:
            days |= read_days(match["days"])
        before = text[: match.start()].rstrip(" ,")
        listed = _is_full_name(match)
        joined = bool(_JOINED.search(text[len(before) : match.start("time" if match["time"] else "days")]))
        text = before
    if not times:
        raise UsageError(f"At what time of day? Put it at the end, {TIMES}.")
    if len(times) > 1:
        raise UsageError(
            f"There are several times: {', '.join(map(quoted, times))}. A digest has one; make one for each. "
            "If one of them belongs to the topic, put the topic in quotes."
        )
    return text, days or DAILY, _time(times[0])


def _belongs(match: re.Match[str], *, days: frozenset[int], times: list[str]) -> bool:
    """Tell whether a word is one of the schedule's, whose later words are known; a second time is, to be refused."""
    if not times:
        return True
    if not match["time"]:
        return not days
    if _DOTTED.fullmatch(match["time"]):
        return not days and all(map(_DOTTED.fullmatch, times))
    return match["time"].casefold() not in _NAMED_TIMES


def _is_full_name(match: re.Match[str]) -> bool:
    return bool(match["day"]) and match["day"].casefold().removesuffix("s") in _FULL_NAMES


def _time(text: str) -> time:
    if named := _NAMED_TIMES.get(text.casefold()):
        return named
    match = re.fullmatch(_TIME, text, re.IGNORECASE)
    half = match and (match["half"] or match["sharp"])
    if match is None or (half and not 1 <= int(match["hour"]) <= 12):
        raise _no_time(text)
    hour = int(match["hour"]) % 12 + (12 if half[0] in "pP" else 0) if half else int(match["hour"])
    try:
        return time(hour, int(match["minute"] or 0))
    except ValueError:
        raise _no_time(text) from None


def _no_time(text: str) -> UsageError:
    return UsageError(f"{quoted(text)} is no time of day. It takes one from `0:00` to `23:59`, {TIMES}.")


def _days(match: re.Match[str]) -> frozenset[int]:
    if match["set"]:
        return _SETS[match["set"].casefold()]
    if match["day"]:
        return frozenset({_day(match["day"])})
    first, last = _day(match["first"]), _day(match["last"])
    return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))


def _day(word: str) -> int:
    name = word.casefold()
    return _NAMES[name] if name in _NAMES else _NAMES[name.removesuffix("s")]


def _category(word: str) -> str:
    try:
        return category(word)
    except InvalidRequest as error:
        problem = f"{quoted(word)} is no category of news." if word else "Which category of news?"
        raise UsageError(f"{problem} {_sentence(error.allowed)}") from None


def _topic(text: str) -> str:
    if len(text) > 1 and text[0] in DOUBLE_QUOTES and text[-1] in DOUBLE_QUOTES:
        text = text[1:-1]
    if not text.strip():
        return ""
    try:
        return parse_query(text)
    except InvalidRequest as error:
        raise UsageError(
            f"That topic cannot be used: {error.value or 'it is empty'}. {_sentence(error.allowed)}"
        ) from None


def _sentence(allowed: str | None) -> str:
    return re.sub(r"(?:^|(?<=\? ))\w", lambda match: match[0].upper(), allowed or "") + "."
