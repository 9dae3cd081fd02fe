"""Finds dates, quarters, times and durations as they are written in English and German.

"3 May 2026", "May 3, 2026", "3. Mai 2026", "03.05.2026" and "2026-05-03" are one date. "05/03/2026" is read both as
3 May and as 5 March.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from perplexity.lexicon.numbers import NUMBERS, ORDINALS


class PartialDate(NamedTuple):
    """A date or a part of one; `year`, `month` and `day` are None if not written.

    `part` is a quarter or half-year such as "Q3" and "H1", "" if none is written.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    part: str = ""

    def is_said_by(self, other: PartialDate) -> bool:
        """Return whether `other` says everything that this date says."""
        return all(mine in (None, "", theirs) for mine, theirs in zip(self, other, strict=True))


class WrittenDate(NamedTuple):
    """A date in a text, from `start` up to, not including, `end`.

    The text may mean any one of the `readings`. If `is_range` is True, as for "3–5 May", it means both: the first and
    the last day or month of the range.
    """

    start: int
    end: int
    readings: tuple[PartialDate, ...]
    is_range: bool = False


_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan jän", "feb", "mar mär mrz", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez"), 1
    )
    for name in names.split()
}
_MONTH = (
    r"(?:J(?:an(?:uary?|uar|\.)?|änner|un(?:[ei]|\.)?|ul(?:[iy]|\.)?)|Feb(?:ruary?|er|\.)?"
    r"|M(?:arch|är(?:z|\.)|ar\.?|rz\.?|a[iy])|A(?:pr(?:il|\.)?|ug(?:ust|\.)?)|Sep(?:t(?:ember|\.)?|\.)?"
    r"|O[ck]t(?:ober|\.)?|Nov(?:ember|\.)?|De[cz](?:ember|\.)?)(?![^\W\d_])"
)
_DAY = r"[0-3]?\d(?:st|nd|rd|th|\.)?(?![\d%])"
_GAP = r"[ \u00a0\u2009\u202f\n]{1,2}"
_SPACE = r"[ \u00a0\u2009\u202f\n]{0,2}"
_TO = rf"{_SPACE}(?:[-–—/&]|to|until|through|and|bis(?: zum)?|und){_SPACE}"
_YEAR = r"(?:1\d|20|21)\d\d(?![\d%])"
_OF_YEAR = rf"(?:,?{_GAP}(?:of{_GAP}|in{_GAP}|des Jahres{_GAP}|fiscal{_GAP}|FY){{0,2}}|/|-)"


_DIGITS_FIRST = re.compile(
    r"(?P<first>[0-9](?<![\w.,:/-][0-9])\d{0,3})(?:"
    r"(?P<sign>[-/.‑])(?P<second>\d\d?)(?:(?P=sign)(?P<third>\d{4}|\d\d?)(?!\d|[.,:/-]\d))"
    r"|(?<=\d{4})[-/](?P<month>0[1-9]|1[0-2])(?!\d|[-.,:/]\d)"
    r"|\.(?P<dotted>\d\d?)\.(?!,?\d|\.)"
    rf"|\.[ \u00a0](?P<spaced>\d\d?)\.{_SPACE}(?P<spaced_year>{_YEAR})"
    rf"|(?:st|nd|rd|th|\.)?(?:{_GAP}(?P<first_month>{_MONTH}))?(?:{_TO}(?P<last>{_DAY}))?(?:{_SPACE}|-|{_GAP}of{_GAP})"
    rf"(?P<name>{_MONTH})(?:{_OF_YEAR}?(?P<year>(?<!\d){_YEAR}|['’]\d\d(?!\d)))?"
    rf"|\.?{_TO}(?P<last_day>[0-3]?\d)\.(?P<last_month>[01]?\d)\.(?P<range_year>{_YEAR})?"
    r"|(?<=(?<!\d)[01]\d)[./](?P<after_month>(?:19|20)\d\d)(?!\d|[.,/]\d)"
    rf"|Q'?(?P<quarter_year>{_YEAR}|\d\d(?!\d))?(?!\w)"
    r")"
)


_MONTH_FIRST = re.compile(
    rf"(?P<name>{_MONTH})(?:"
    rf"{_SPACE}(?P<day>[0-3]?\d)(?![\d:%]|[.,]\d)(?:st|nd|rd|th)?"
    rf"(?:{_TO}(?:(?P<last_month>{_MONTH}){_SPACE})?(?P<last>[0-3]?\d)(?!\d|[.,]\d)(?:st|nd|rd|th)?)?"
    rf"(?:{_OF_YEAR}(?P<year>{_YEAR}))?"
    rf"|(?:{_TO}(?P<end_month>{_MONTH}))?{_OF_YEAR}?(?P<only_year>(?<!\d){_YEAR}|'\d\d(?!\d))"
    r")?"
)


_UNTIL_MONTH = re.compile(rf"{_TO}(?P<last>{_MONTH})(?!{_SPACE}[0-3]?\d)")


_PART_FIRST = re.compile(
    rf"[QH](?:(?<=Q)[1-4]|(?<=H)[12])(?!\w)"
    rf"(?:{_OF_YEAR}?(?:FY ?)?'?(?P<year>(?<!\d){_YEAR}|(?<=['/ Y])\d\d(?![\d%])))?"
)


_PART_NAMED = re.compile(rf"(?P<part>[QqHh](?:uarter|uartals?|alf|albjahre?s?))(?!\w)(?:{_OF_YEAR}(?P<year>{_YEAR}))?")


_FISCAL = re.compile(rf"(?<![^\W\d_])(?:FY|GJ)[ \u00a0-]?'?(?P<year>{_YEAR}|\d\d(?!\d))")
_ORDINAL = re.compile(
    r"(?<!\w)(?:(1st|first|erste[mnrs]?|1\.)|(2nd|second|zweite[mnrs]?|2\.)|(3rd|third|dritte[mnrs]?|3\.)"
    r"|(4th|fourth|vierte[mnrs]?|4\.))(?: fiscal)?[ \u00a0-]\Z",
    re.IGNORECASE,
)
# A month alone is a date only after one of these words, because "may" and "march" are also other words. Names in
# `_SURE` need no such word.
_BEFORE_A_MONTH = re.compile(
    r"(?<!\w)(?:in|im|since|seit|until|till|bis|by|from|of|ab|early|mid|late|ende|anfang|mitte|last|this|next|vom|zum|"
    r"letzten|diesen|through|during|before|after|vor|nach|and|und|to)[ \u00a0-]\Z",
    re.IGNORECASE,
)
_SURE = frozenset(["January", "February", "July", "September", "October", "November", "December", "Januar", "Februar"])
_BEFORE_A_DAY = re.compile(r"(?<!\w)(?:am|vom|zum|ab|den|dem|seit|bis|der|(?:Mo|Di|Mi|Do|Fr|Sa|So)\.?,?)[ \u00a0]\Z")
_AFTER_A_DAY = re.compile(r"[ \u00a0]?(?:bis|und|-|–)|[,:;]")
_LONGEST_BEFORE = 16
_LONGEST_DAY = 20
_DAY_ENDS = frozenset(["of", "te", "en", "er"])
"""Endings of the word before a month, if this word may be part of a day in words: "first of June", "ersten Juni"."""
_LAST_WORD = re.compile(r"(?<!\w)(?:(?:twenty|thirty)-)?[^\W\d_]{4,20}\Z")
CLOCK_TIME = re.compile(
    r"([0-9](?<![\d.,:][0-9])\d?)(?=[:.][0-5]\d(?!\d|[.,]\d)|[ \u00a0\u202f]?[UaApPobtu–-])"
    r"(?:[:.]([0-5]\d)(?![\d:]|[.,]\d))?"
    r"(?:[ \u00a0\u202f]?(?:(Uhr|[apAP]\.?[mM]\b\.?|o.clock)(?:(?<=Uhr) ([0-5]?\d)(?![\d.,%]))?"
    r"|(bis|–|-|to|und|and)[ \u00a0]?(?=\d\d?(?:[:.]\d\d)?[ \u00a0]?(?:Uhr|[apAP]\.?[mM]\b))))?"
)
"""Matches an hour with minutes, with "pm", with "Uhr" and maybe minutes, or before a later time, as in "8 to 10 pm".

It also matches some numbers that are no times, for which `minutes_of` returns an empty tuple.
"""


_HOURS = r"([0-9](?<![\w.,:][0-9])\d{0,2})[ \u00a0-]?(?:h|hrs?\.?|hours?|Std\.?|Stunden?)(?![^\W\d_])"
_MINUTES = r"([0-9](?<![\w.,:][0-9])\d{0,2})[ \u00a0-]?(?:m|min\.?|mins\.?|minutes?|Min\.?|Minuten?)(?![^\W\d_])"
_REST = r"(\d{1,2}(?:[.,]\d{1,3})?)[ \u00a0-]?(?:s|secs?\.?|seconds?|Sek\.?|Sekunden?)(?![^\W\d_])"
_THEN = r",?[ \u00a0-]?(?:(?:and|und) )?"
_DURATION = re.compile(rf"{_HOURS}(?:{_THEN}{_MINUTES})?(?:{_THEN}{_REST})?|{_MINUTES}{_THEN}{_REST}")
COLONS = re.compile(r"[0-9](?<![\d.,:][0-9])\d{0,2}(?::[0-5]\d){1,2}(?:[.,]\d{1,3})?(?![\d:])")
_ONE_LENGTH = re.compile(
    r"([0-9](?<![\d.,:][0-9])\d{0,3}(?:[.,]\d+)?)[ \u00a0-]?(h|hours?|Stunden?|min|minutes?|Minuten?)(?![^\W\d_])"
)


_WORDED_TIME = re.compile(r"\b(viertel nach|viertel vor|halb|quarter past|quarter to|half past) ([a-zäöüß]+|\d{1,2})\b")
_MINUTES_OFF = {
    "viertel nach": 15, "viertel vor": -15, "halb": -30, "quarter past": 15, "quarter to": -15, "half past": 30,
}  # fmt: skip


def find_worded_times(lower: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the start, the end and the possible minutes since midnight of times such as "quarter past eight".

    The text is in lower case.
    """
    for match in _WORDED_TIME.finditer(lower):
        hour = int(match[2]) if match[2].isdecimal() else NUMBERS.get(match[2], 0)
        if 0 < hour <= 12:
            minutes = 60 * hour + _MINUTES_OFF[match[1]]
            yield match.start(), match.end(), (minutes, minutes + 720)


def find_durations(text: str) -> Iterator[tuple[int, int, frozenset[Decimal]]]:
    """Yield the start, the end and the seconds of durations in several units, such as "2 hours and 3 minutes"."""
    for match in _DURATION.finditer(text):
        if match[2] or match[3] or match[4]:
            parts = [Decimal((part or "0").replace(",", ".")) for part in match.groups()]
            hours, minutes, seconds = parts[0], parts[1] + parts[3], parts[2] + parts[4]
            yield match.start(), match.end(), frozenset({3600 * hours + 60 * minutes + seconds})


def seconds_of(written: str) -> frozenset[Decimal]:
    """Return the seconds of a duration such as "2:03:17". "3:42" has two values: 3 may be minutes or hours."""
    *parts, last = [Decimal(part.replace(",", ".")) for part in written.split(":")]
    if len(parts) == 1:
        return frozenset({60 * parts[0] + last, 3600 * parts[0] + 60 * last})
    return frozenset({3600 * parts[0] + 60 * parts[1] + last})


def all_durations(text: str) -> frozenset[Decimal]:
    """Return all durations of a text in seconds: of several units, with colons, and of one unit."""
    found = {seconds for _, _, many in find_durations(text) for seconds in many}
    found |= {seconds for match in COLONS.finditer(text) for seconds in seconds_of(match[0])}
    for match in _ONE_LENGTH.finditer(text):
        found.add(Decimal(match[1].replace(",", ".")) * (60 if match[2][0] in "mM" else 3600))
    return frozenset(found)


def minutes_of(time: re.Match[str]) -> tuple[int, ...]:
    """Return the minutes since midnight of a match of `CLOCK_TIME`; an empty tuple for a number that is no time.

    A time that may be before or after noon is returned as both.
    """
    hours, minutes, sign = int(time[1]), int(time[2] or time[4] or 0), (time[3] or "").lower()
    if hours > 24 or not (sign or time[2] or time[5]):
        return ()
    if sign.startswith(("a", "p")):
        return ((hours % 12 + (12 if sign.startswith("p") else 0)) * 60 + minutes,)
    exact = hours * 60 + minutes
    return (exact, exact + 720) if hours <= 12 and sign != "uhr" else (exact,)


def find_dates(text: str, *, bare_months: bool = False) -> list[WrittenDate]:
    """Return the dates in a text in their order; a year alone does not count.

    Of two dates that overlap, the one that ends later counts, or the first one if both end together. A month alone
    counts if its name has no other meaning, as "January", or after a word such as "in" or "since"; with `bare_months`,
    it counts anywhere.
    """
    found = (*_by_digits(text), *_by_months(text, bare=bare_months), *_by_parts(text, bare=bare_months))
    apart: list[WrittenDate] = []
    for one in sorted(found):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
        elif one.end > apart[-1].end:
            apart[-1] = one
    return apart


def _by_digits(text: str) -> Iterator[WrittenDate]:
    for match in _DIGITS_FIRST.finditer(text):
        readings, first = _of_digits(match), match["first"]
        is_range = len(readings) > 1 and len(first) < 3 and bool(match["last"] or match["last_day"])
        if readings:
            yield WrittenDate(match.start(), match.end(), readings, is_range)


def _of_digits(match: re.Match[str]) -> tuple[PartialDate, ...]:
    """Return the readings of a date that begins with digits, which may be a range such as "3–5 May 2026"."""
    first, readings = match["first"], tuple[PartialDate, ...]()
    if match["name"]:
        month, year = _month(match["name"]), _short_year(match["year"])
        first_month = _month(match["first_month"]) if match["first_month"] else month
        day = _partial(year, first_month, int(first)) if len(first) < 3 else ()
        readings = (*day, *_partial(year, month, _number(match["last"]))) if day and match["last"] else day
    elif match["third"]:
        readings = _of_three(first, int(match["second"]), match["third"], match["sign"])
    elif match["last_day"] and (match["range_year"] or match[0][len(first)] == "."):
        year, month = _number(match["range_year"]), int(match["last_month"])
        days = [_partial(year, month, int(day)) for day in (first, match["last_day"]) if len(day) < 3]
        readings = (*days[0], *days[-1])
    elif match["after_month"]:
        readings = _partial(int(match["after_month"]), int(first), None)
    elif match["month"] and first[0] in "12":
        readings = _partial(int(first), int(match["month"]), None)
    elif match["dotted"] and _is_day(match):
        readings = _partial(None, int(match["dotted"]), int(first))
    elif match["spaced"]:
        readings = _partial(int(match["spaced_year"]), int(match["spaced"]), int(first))
    elif "Q" in match[0] and first in {"1", "2", "3", "4"}:
        readings = (PartialDate(_short_year(match["quarter_year"]), part=f"Q{first}"),)
    return readings


def _of_three(first: str, second: int, third: str, sign: str) -> tuple[PartialDate, ...]:
    """Return the readings of a date of three numbers.

    The month is the second number. It may also be the first if the year is last and `sign` is not a dot.
    """
    if len(first) == 4:
        return _partial(int(first), second, int(third))
    if len(third) == 1 or len(first) > 2:
        return ()
    year = int(third) if len(third) == 4 else 2000 + int(third)
    days = _partial(year, second, int(first))
    return days if sign == "." else (*days, *_partial(year, int(first), second))


def _is_day(match: re.Match[str]) -> bool:
    """Return whether a match such as "3.5." is a date rather than the end of a sentence."""
    before = _BEFORE_A_DAY.search(match.string, max(0, match.start() - 6), match.start())
    return bool(before or _AFTER_A_DAY.match(match.string, match.end())) or len(match[0]) == len("03.05.")


def _by_months(text: str, *, bare: bool) -> Iterator[WrittenDate]:
    for match in _MONTH_FIRST.finditer(text):
        start, end = match.span()
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            continue
        month, day, later = _month(match["name"]), match["day"], match["last_month"] or match["end_month"]
        year = _short_year(match["year"] or match["only_year"])
        ends = [(month, _number(day))]
        if match["last"] or later:
            ends.append((_month(later) if later else month, _number(match["last"])))
        if not day and text[start - 3 : start - 1] in _DAY_ENDS and (worded := _worded_day(text, start)):
            start, number = worded
            ends = [(month, number)]
        elif not day and year is None:
            before = _BEFORE_A_MONTH.search(text, max(0, start - _LONGEST_BEFORE), start)
            if not (bare or match["name"] in _SURE or before):
                continue
            if until := _UNTIL_MONTH.match(text, end):
                end = until.end()
                ends.append((_month(until["last"]), None))
        readings = tuple(partial for ends_month, ends_day in ends for partial in _partial(year, ends_month, ends_day))
        if readings:
            yield WrittenDate(start, end, readings, len(readings) > 1)


def _worded_day(text: str, month: int) -> tuple[int, int] | None:
    """Return the start and the number of a day in words before a month, as in "first of June" and "am ersten Juni".

    Return None if there is none. `month` is where the month starts.
    """
    joint = " of " if text.endswith(" of ", 0, month) else " "
    word = _LAST_WORD.search(text, max(0, month - len(joint) - _LONGEST_DAY), month - len(joint))
    number = ORDINALS.get(word[0].lower(), 0) if word and text.endswith(joint, 0, month) else 0
    return (word.start(), number) if word and 0 < number <= 31 else None


def _by_parts(text: str, *, bare: bool) -> Iterator[WrittenDate]:
    for match in _PART_FIRST.finditer(text):
        start = match.start()
        if not (start and text[start - 1].isalnum()):
            yield WrittenDate(start, match.end(), (PartialDate(_short_year(match["year"]), part=match[0][:2]),))
    for match in _FISCAL.finditer(text):
        yield WrittenDate(match.start(), match.end(), (PartialDate(_short_year(match["year"])),))
    for match in _PART_NAMED.finditer(text):
        start = match.start()
        if ordinal := _ORDINAL.search(text, max(0, start - _LONGEST_BEFORE - 8), start):
            kind = "Q" if match["part"][0] in "Qq" else "H"
            number = next(index for index, group in enumerate(ordinal.groups(), 1) if group)
            if kind == "Q" or (number <= 2 and (bare or match["year"] or match["part"].startswith("Halbj"))):
                partial = PartialDate(_number(match["year"]), part=f"{kind}{number}")
                yield WrittenDate(ordinal.start(), match.end(), (partial,))


def _month(name: str) -> int:
    return _MONTHS[name[:3].lower()]


def _number(written: str | None) -> int | None:
    digits = "".join(filter(str.isdecimal, written or ""))
    return int(digits) if digits else None


def _short_year(written: str | None) -> int | None:
    number = _number(written)
    return number if number is None or number >= 100 else 2000 + number


def _partial(year: int | None, month: int, day: int | None) -> tuple[PartialDate, ...]:
    """Return a tuple with the date, or an empty one if these numbers are no date."""
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return ()
    return (PartialDate(year, month, day),)
