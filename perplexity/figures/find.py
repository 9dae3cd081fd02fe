"""Finds the figures of a sentence, each with a test that finds it in an excerpt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from perplexity.figures.amounts import NUMBER, power_end, read_suffix, unit_before
from perplexity.figures.dates import CLOCK_TIME, find_dates, find_durations, find_worded_times, minutes_of, seconds_of
from perplexity.figures.excerpts import Excerpt
from perplexity.figures.fractions import find_fractions, find_multiples
from perplexity.figures.number_words import find_worded
from perplexity.figures.numbers import Number, hedge_before, span_with_unit
from perplexity.figures.source_dates import SourceDates
from perplexity.lexicon.folding import lowered
from perplexity.lexicon.numbers import DECADES, NUMBERS


class Figure(NamedTuple):
    """A figure of a text, from `start` up to, not including, `end`; `is_in` returns whether an excerpt has it."""

    start: int
    end: int
    is_in: Callable[[Excerpt], bool]


_CLOCK = re.compile(
    r"1(?<![\d.,:]1) ?: ?\d{1,3}(?:[.,  ]\d{3})*[.,  ]000(?!\d)|1(?<![\d.,:]1) ?: ?\d{4,9}|"
    r"[0-9](?<![\d.,:][0-9])\d{0,2}(?::\d\d)+(?!\d)(?:[.,]\d+)?|[0-9](?<![\d.,:][0-9])\d{0,2} ?: ?\d{1,3}"
)
_PAIR = re.compile(r"([0-9](?<![\d.,/-][0-9])\d{0,2})[-–](\d{1,3})(?![.,/-]?\d)")
_FEET = re.compile(
    r"([1-9](?<![\d.,][1-9])\d?)(?:[ -]?(?:ft|feet|foot)[ -]|['’′] ?)(\d{1,2})(?!\d)"
    r"(?:[ -]?(?:in(?:ch(?:es)?)?(?!\w)|[\"”″]))?"
)
_RATIO = re.compile(r"([0-9](?<![\d.,/-][0-9])\d{0,2})-(?:to|zu|for|of)-(\d{1,3})(?![.,/-]?\d)")
_SEASON = re.compile(r"([12](?<![\d.,/-][0-9])\d{3})[/–-](\d\d)(?![.,/-]?\d)")
_SLASHED = re.compile(r"([0-9](?<![\d.,/][0-9])\d?)/(\d{1,2})(?![\d/]|[.,]\d)")
_PHONE = re.compile(r"[+0](?<![\w.,][+0])\d[\d()/ –-]{6,20}\d")
_DECADE = re.compile(r"([0-9](?<![\w.,][0-9])\d(?:\d0)?)(?:s|ern?)(?![^\W\d_])")
_NEAR_A_TIME = re.compile(
    r"(?<!\w)(?:around|about|roughly|just|shortly|before|after|gegen|etwa|rund|circa|ca\.|kurz|vor|nach|knapp) \Z",
    re.IGNORECASE,
)
_CENTURY = re.compile(r"(?<![\d.,])([12]?\d)(?:st|nd|rd|th|\.)[ -](?:[cC]entury|Jahrhunderts?|Jh\.?)(?![^\W\d_])")
_OF_A_CENTURY = re.compile(r"[ -](?:century|jahrhunderts?)(?![^\W\d_])")
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th|te[nrsm]?)\Z")
_WORDED_DECADE = re.compile(rf"(?:the|early|mid|late|den|der|frühen|späten)[ -]({'|'.join(DECADES)})(?!\w)")
_DIGITS = re.compile(r"\d+")


def find_figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a text, which do not overlap; numbers that label or count the text's items are left out."""
    taken = bytearray(len(text))
    for start, end in _own_numbers(text):
        taken[start:end] = b"\1" * (end - start)
    for figure in (*_special(text), *_in_words(text)):
        if not any(taken[figure.start : figure.end]):
            taken[figure.start : figure.end] = b"\1" * (figure.end - figure.start)
            yield figure
    for match in NUMBER.finditer(text):
        start, end = match.span()
        if not taken[start]:
            yield _number(text, start, end)
            last = power_end(text, start, end)
            taken[end:last] = b"\1" * (last - end)


_LABELS = (
    re.compile(r"(?<![^\s])\((\d{1,2})\)(?= [^\W\d_])(?! (?:million|billion|thousand|percent|Mio|Mrd|Prozent))"),
    re.compile(
        r"(?:(?<![^\n])|(?<=[;:] )|(?<=, and )|(?<=; and ))"
        r"(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?=,)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<![^\n])(?:(?:Step|Reason|Tip|Option|Point|Rule|Method|Example|Question|Schritt|Grund|Tipp|Punkt|Regel|Frage|"
        r"Beispiel|Möglichkeit) #?(\d{1,2}|[a-zäöü]+)|(?:Phase|Figure|Table|Part|Stage|Level|Abbildung|Tabelle|Teil) "
        r"(\d{1,2}|[a-zäöü]+)(?=[:.)] )|(\d{1,2})[.)](?= [^\W\d_]))"
    ),
)
_COUNT = re.compile(r"(?<![\w.,$€£/-])([2-9]|1[0-2]|[^\W\d_]{3,6}) (?=[^\W\d_])")
_ITEMS = re.compile(r"[^:;—–(\n]{2,80}(?:(?P<colon>:)|\s[—–-]|\s\()\s*(?P<items>[^\n—–)]{0,400})")
_OR = re.compile(r",? (?:and|or|und|oder|sowie) ")


def _own_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of numbers that label the answer's own items, such as "(2)" and "Third,", or that count them."""
    for labels in _LABELS:
        for match in labels.finditer(text):
            yield match.span(match.lastindex or 0)
    for match in _COUNT.finditer(text):
        word = match[1].lower()
        count = int(word) if word.isdecimal() else NUMBERS.get(word, 0)
        listed = _ITEMS.match(text, match.end()) if 1 < count <= 12 else None
        if listed and (count in _lengths(listed["items"]) or (listed["colon"] and not listed["items"].strip())):
            yield match.span(1)


def _lengths(items: str) -> set[int]:
    """Return the possible lengths of a list: by its semicolons, by its commas, and by its commas and conjunctions."""
    joined = items.replace(", and ", " and ").replace(", or ", " or ")
    both = joined.count(", ") + 1 + len(_OR.findall(joined))
    return {items.count("; ") + 1, items.count(", ") + 1, both}


def _of_dates(has: Callable[..., bool]) -> Callable[..., bool]:
    """Return a test that calls `has`, a method of `SourceDates`, on an excerpt's dates."""
    return lambda excerpt, *parts: has(excerpt.dates, *parts)


def _as_written(text: str, start: int, end: int, has: Callable[..., bool], *parts: object) -> Figure:
    """Return a figure. An excerpt has the figure if it has the same words, or if `has(excerpt, *parts)` is True."""
    written = text[start:end]
    return Figure(start, end, lambda excerpt: excerpt.contains(written) or has(excerpt, *parts))


_OF_PARTS = (
    (_SEASON, Excerpt.has_season),
    (_SLASHED, Excerpt.has_slashed),
    (_RATIO, Excerpt.has_pair),
    (_PAIR, Excerpt.has_pair),
    (_FEET, Excerpt.has_feet),
    (_DECADE, _of_dates(SourceDates.has_decade)),
    (_CENTURY, Excerpt.has_century),
)
"""Patterns of figures. Each has a test, which takes an excerpt and the groups of a match."""


def _special(text: str) -> Iterator[Figure]:
    """Yield the figures that are more than a number and its unit, such as dates, times, scores and decades."""
    for date in find_dates(text):
        yield _as_written(text, date.start, date.end, Excerpt.has_date, date)
    for match in _PHONE.finditer(text):
        digits = "".join(_DIGITS.findall(match[0]))
        if 6 < len(digits) < len(match[0]):
            yield _as_written(text, *match.span(), Excerpt.has_digits, digits)
    yield from _times(text)
    for pattern, has in _OF_PARTS:
        for match in pattern.finditer(text):
            if pattern is not _PAIR or _is_bare(text, *match.span()):
                yield _as_written(text, *match.span(), has, *match.groups())


def _times(text: str) -> Iterator[Figure]:
    """Yield times of day, durations and scores."""
    for match in CLOCK_TIME.finditer(text):
        last = max(match.end(group) for group in (1, 2, 3, 4))
        minutes = minutes_of(match)
        if minutes and (match[3] or match[5] or ":" in text[match.start() : last]):
            is_near = _NEAR_A_TIME.search(text, max(0, match.start() - 16), match.start()) is not None
            yield _as_written(text, match.start(), last, _has_time, (match[1], match[2] or ""), minutes, is_near)
    for start, end, seconds in find_durations(text):
        numbers = [Number(text, *match.span()) for match in NUMBER.finditer(text, start, end)]
        yield _as_written(text, start, end, _has_duration, seconds, numbers)
    for match in _CLOCK.finditer(text):
        parts = match[0].replace(" ", "").split(":")
        yield (
            _as_written(text, *match.span(), Excerpt.has_pair, *parts)
            if len(parts) == 2
            else _as_written(text, *match.span(), _of_dates(SourceDates.has_duration), seconds_of(match[0]))
        )


def _is_bare(text: str, start: int, end: int) -> bool:
    """Return whether no letters and no currency precede a pair of numbers, and no unit follows it."""
    has_letters = Number(text, start, end).letters[0] != ""
    return not (has_letters or unit_before(text, start) or read_suffix(text, end).end > end)


def _has_duration(excerpt: Excerpt, seconds: frozenset[Decimal], numbers: list[Number]) -> bool:
    """Return whether an excerpt has a duration of several units: in any form, or each of its numbers by itself."""
    return excerpt.dates.has_duration(seconds) or all(map(excerpt.has_number, numbers))


def _has_time(excerpt: Excerpt, pair: tuple[str, str], minutes: tuple[int, ...], is_near: bool) -> bool:
    return excerpt.dates.has_time(minutes, within=15 if is_near else 0) or excerpt.has_pair(*pair)


def _number(text: str, start: int, end: int) -> Figure:
    """Return the figure of a number in digits."""
    number = Number(text, start, end)
    prefix, suffix = number.letters if power_end(text, start, end) == end else ("", "")
    if prefix or suffix:
        return _as_written(text, start - len(prefix), end + len(suffix), _has_name, number, prefix, suffix)
    return Figure(*span_with_unit(text, start, end), partial(Excerpt.has_number, mine=number))


def _has_name(excerpt: Excerpt, number: Number, prefix: str, suffix: str) -> bool:
    """Return whether an excerpt has a number with the letters around it.

    After letters with a hyphen, such as "mid-", the number alone is enough.
    """
    is_alone = prefix[-1:] in {"-", "‑"} and not suffix
    return excerpt.has_name(prefix, number.written, suffix) or (is_alone and excerpt.has_number(number))


def _in_words(text: str) -> Iterator[Figure]:
    """Yield the figures in words: times, decades, centuries, multiples such as "doubled", fractions and numbers."""
    lower = lowered(text)
    for start, end, minutes in find_worded_times(lower):
        yield _as_written(text, start, end, _of_dates(SourceDates.has_time), minutes)
    for match in _WORDED_DECADE.finditer(lower):
        yield _as_written(text, *match.span(1), _of_dates(SourceDates.has_decade), str(DECADES[match[1]]))
    for start, end, factor in find_multiples(lower):
        hedge = hedge_before(text, start)
        yield Figure(start, end, partial(Excerpt.has_multiple, factor=factor, hedge=hedge))
    for fraction in find_fractions(text, lower):
        yield _as_written(text, fraction.start, fraction.end, Excerpt.has_fraction, fraction)
    for found in find_worded(lower):
        century = _OF_A_CENTURY.match(lower, found.end)
        if century and _ORDINAL_END.search(lower, found.start, found.end):
            yield _as_written(text, found.start, century.end(), Excerpt.has_century, str(found.value))
        else:
            number = Number(text, found.start, found.end, found.value)
            yield _as_written(text, found.start, number.end_of_unit, Excerpt.has_number, number)
