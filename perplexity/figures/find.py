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
from perplexity.figures.fractions import Fraction, find_fractions, find_multiples
from perplexity.figures.number_words import find_worded
from perplexity.figures.numbers import Number, hedge_before, letters_around, span_with_unit
from perplexity.figures.own_numbers import find_own_numbers
from perplexity.figures.source_dates import SourceDates
from perplexity.lexicon.folding import lowered
from perplexity.lexicon.numbers import NUMBERS


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
_SLASHED = re.compile(r"[0-9](?<![\d.,/][0-9])\d?/\d{1,2}(?![\d/]|[.,]\d)")
_PHONE = re.compile(r"[+0](?<![\w.,][+0])\d[\d()/ –-]{6,20}\d")
_DECADE = re.compile(r"([0-9](?<![\w.,][0-9])\d(?:\d0)?)(?:s|ern?)(?![^\W\d_])")
_NEAR_A_TIME = re.compile(
    r"(?<!\w)(?:around|about|roughly|just|shortly|before|after|gegen|etwa|rund|circa|ca\.|kurz|vor|nach|knapp) \Z",
    re.IGNORECASE,
)
_CENTURY = re.compile(r"(?<![\d.,])([12]?\d)(?:st|nd|rd|th|\.)[ -](?:[cC]entury|Jahrhunderts?|Jh\.?)(?![^\W\d_])")
_OF_A_CENTURY = re.compile(r"[ -](?:century|jahrhunderts?)(?![^\W\d_])")
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th|te[nrsm]?)\Z")
_WORDED_DECADE = re.compile(
    r"(?:the|early|mid|late|den|der|frühen|späten)[ -]((?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies|"
    r"(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)er)(?!\w)"
)
_DIGITS = re.compile(r"\d+")


def find_figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a text, which do not overlap; numbers that label or count the text's items are left out."""
    taken = bytearray(len(text))
    for start, end in find_own_numbers(text):
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


def _of_dates(has: Callable[..., bool], **arguments: object) -> Callable[[Excerpt], bool]:
    """Return a test that calls `has`, a method of `SourceDates`, on an excerpt's dates."""
    return lambda excerpt: has(excerpt.dates, **arguments)


def _as_written(text: str, start: int, end: int, has: Callable[[Excerpt], bool]) -> Figure:
    """Return a figure that also counts as found where an excerpt has the same words."""
    written = text[start:end]
    return Figure(start, end, lambda excerpt: excerpt.contains(written) or has(excerpt))


def _special(text: str) -> Iterator[Figure]:
    """Yield the figures of more than one number: dates, times, scores, fractions and telephone numbers."""
    for date in find_dates(text):
        yield _as_written(text, date.start, date.end, partial(Excerpt.has_date, date=date))
    for match in _PHONE.finditer(text):
        digits = "".join(_DIGITS.findall(match[0]))
        if 6 < len(digits) < len(match[0]):
            yield Figure(*match.span(), partial(Excerpt.has_digits, digits=digits))
    yield from _times(text)
    yield from _pairs(text)
    for match in _DECADE.finditer(text):
        yield _as_written(text, *match.span(), _of_dates(SourceDates.has_decade, written=match[1]))
    for match in _CENTURY.finditer(text):
        yield Figure(*match.span(), partial(Excerpt.has_century, number=int(match[1])))


def _times(text: str) -> Iterator[Figure]:
    """Yield times of day, durations and scores."""
    for match in CLOCK_TIME.finditer(text):
        last = max(match.end(group) for group in (1, 2, 3, 4))
        written, minutes = text[match.start() : last], minutes_of(match)
        if minutes and (match[3] or match[5] or ":" in written):
            is_near = _NEAR_A_TIME.search(text, max(0, match.start() - 16), match.start()) is not None
            has = partial(_has_time, pair=(match[1], match[2] or ""), minutes=minutes, is_near=is_near)
            yield _as_written(text, match.start(), last, has)
    for start, end, seconds in find_durations(text):
        numbers = [Number(text, *match.span()) for match in NUMBER.finditer(text, start, end)]
        yield _as_written(text, start, end, partial(_has_duration, seconds=seconds, numbers=numbers))
    for match in _CLOCK.finditer(text):
        first, second = match[0].replace(" ", "").split(":")[:2]
        near = partial(Excerpt.has_pair, first=first, second=second)
        exact = _of_dates(SourceDates.has_duration, seconds=seconds_of(match[0]))
        yield _as_written(text, *match.span(), near if match[0].count(":") == 1 else exact)


def _pairs(text: str) -> Iterator[Figure]:
    for match in _SEASON.finditer(text):
        yield _as_written(text, *match.span(), partial(Excerpt.has_season, first=match[1], last=match[2]))
    for match in _SLASHED.finditer(text):
        count, parts = map(int, match[0].split("/"))
        fraction = Fraction(*match.span(), Decimal(100 * count) / parts if count < parts else Decimal(1000))
        yield _as_written(text, *match.span(), partial(Excerpt.has_fraction, fraction=fraction))
    for match in (*_RATIO.finditer(text), *_pairs_apart(text)):
        yield _as_written(text, *match.span(), partial(Excerpt.has_pair, first=match[1], second=match[2]))
    for match in _FEET.finditer(text):
        yield _as_written(text, *match.span(), partial(Excerpt.has_feet, first=match[1], second=match[2]))


def _pairs_apart(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of two numbers joined by a hyphen, unless letters or a currency precede or a unit follows."""
    for match in _PAIR.finditer(text):
        start, end = match.span()
        if not (letters_around(text, start, end)[0] or unit_before(text, start) or read_suffix(text, end).end > end):
            yield match


def _has_duration(excerpt: Excerpt, seconds: frozenset[Decimal], numbers: list[Number]) -> bool:
    """Return whether an excerpt has a duration of several units: in any form, or each of its numbers by itself."""
    return excerpt.dates.has_duration(seconds) or all(map(excerpt.has_number, numbers))


def _has_time(excerpt: Excerpt, pair: tuple[str, str], minutes: tuple[int, ...], *, is_near: bool) -> bool:
    dates = excerpt.dates
    return dates.has_time(minutes) or (is_near and dates.has_time_near(minutes)) or excerpt.has_pair(*pair)


def _number(text: str, start: int, end: int) -> Figure:
    """Return the figure of a number in digits."""
    number = Number(text, start, end)
    prefix, suffix = number.letters if power_end(text, start, end) == end else ("", "")
    if prefix or suffix:
        is_alone = prefix[-1:] in {"-", "‑"} and not suffix
        has_name = partial(Excerpt.has_name, prefix=prefix, written=number.written, suffix=suffix)
        return _as_written(
            text,
            start - len(prefix),
            end + len(suffix),
            lambda excerpt: has_name(excerpt) or (is_alone and excerpt.has_number(number)),
        )
    return Figure(*span_with_unit(text, start, end), partial(Excerpt.has_number, mine=number))


def _in_words(text: str) -> Iterator[Figure]:
    """Yield the numbers and the fractions that are written in words."""
    lower = lowered(text)
    for start, end, minutes in find_worded_times(lower):
        yield _as_written(text, start, end, _of_dates(SourceDates.has_time, minutes=minutes))
    for match in _WORDED_DECADE.finditer(lower):
        tens = f"{match[1][:-3]}y" if match[1].endswith("ies") else match[1].removesuffix("er")
        yield Figure(*match.span(1), _of_dates(SourceDates.has_decade, written=str(NUMBERS[tens])))
    for start, end, factor in find_multiples(lower):
        hedge = hedge_before(text, start)
        yield Figure(start, end, partial(Excerpt.has_multiple, factor=factor, hedge=hedge))
    for fraction in find_fractions(text, lower):
        has = partial(Excerpt.has_fraction, fraction=fraction)
        yield _as_written(text, fraction.start, fraction.end, has)
    for found in find_worded(lower):
        century = _OF_A_CENTURY.match(lower, found.end)
        if century and _ORDINAL_END.search(lower, found.start, found.end):
            has = partial(Excerpt.has_century, number=int(found.value))
            yield _as_written(text, found.start, century.end(), has)
        else:
            number = Number(text, found.start, found.end, found.value)
            yield _as_written(text, found.start, number.end_of_unit, partial(Excerpt.has_number, mine=number))
