"""Which figures of an answer's cited sentences are in the excerpts of their sources. Pure.

The rules are our own, for English and German; what is in another language is not checked. No model is asked. A figure
is a number, an amount of money or a date.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from perplexity.citations import CitedText
from perplexity.figures.amounts import NUMBER, SPACES, power_end, read_suffix, unit_before
from perplexity.figures.dates import CLOCK_TIME, find_dates, find_durations, find_worded_times, minutes_of, seconds_of
from perplexity.figures.dates import compile_patterns as compile_dates
from perplexity.figures.excerpts import Excerpt, read_excerpt
from perplexity.figures.languages import is_known
from perplexity.figures.moments import Moments
from perplexity.figures.numbers import Number, hedge_before, letters_around
from perplexity.figures.own_numbers import find_own_numbers
from perplexity.figures.sentences import Sentence, cited_sentences
from perplexity.figures.shares import Share, find_multiples, find_shares, share_phrases, written_share
from perplexity.figures.words import WordedNumber, find_worded


@dataclass(frozen=True, kw_only=True)
class CheckedSentence:
    """A sentence that cites sources, without markup and markers.

    `sources` are the numbers of the sources as the reader sees them, from 1. `not_found` are the figures, as they are
    written, that are in no excerpt of these sources. `is_checked` is False if the sentence has a figure but it or an
    excerpt is in another language than English or German.
    """

    text: str
    sources: tuple[int, ...]
    not_found: tuple[str, ...]
    is_checked: bool = True


_APART = "\n\n\n"
"""Between two sentences: no figure reaches over it."""


def check_figures(cited: CitedText) -> tuple[CheckedSentence, ...]:
    """Return the sentences of a text that cite sources, with the figures that are in none of their excerpts.

    A figure is found if it is written otherwise there: with other separators, as "1.2 million" for 1,200,000, in
    another unit of the same kind (1.5 km for 1,500 m), in words, as another form of the same date, or with more digits
    than the sentence has. So is one that follows from the excerpt: in a unit of another system, or as a sum, a
    difference or a share of two of its numbers if the sentence says so. What a source's title says counts, and so do
    its date and the date in its address. A source without an excerpt cannot be checked: no figure of a sentence that
    cites one is returned. Nor can a sentence or an excerpt in another language than English and German.
    """
    sentences = cited_sentences(cited)
    excerpts = {n: read_excerpt(cited.sources[n - 1]) for n in {n for sentence in sentences for n in sentence.sources}}
    searched = [[excerpts[number] for number in sentence.sources] for sentence in sentences]
    starts = [0, *accumulate(len(sentence.text) + len(_APART) for sentence in sentences)]
    missing: list[dict[str, None]] = [{} for _ in sentences]
    text = _APART.join([sentence.checked for sentence in sentences])
    foreign = _foreign(sentences, searched)
    for figure in _figures(text):
        index = bisect_right(starts, figure.start) - 1
        known = searched[index]
        if index in foreign:
            continue
        if figure.written and any(excerpt.contains(figure.written) for excerpt in known):
            continue
        if all(excerpt.is_known for excerpt in known) and not figure.is_in_any(known):
            start, end = _shown(text, figure.start, figure.end) if figure.is_number else figure[:2]
            shown = sentences[index].text[start - starts[index] : end - starts[index]]
            missing[index][shown.strip()] = None
    return tuple(
        CheckedSentence(
            text=sentence.text,
            sources=sentence.sources,
            not_found=tuple(figures),
            is_checked=index not in foreign or not _PART.search(sentence.checked),
        )
        for index, (sentence, figures) in enumerate(zip(sentences, missing, strict=True))
    )


def _foreign(sentences: Sequence[Sentence], searched: Sequence[Sequence[Excerpt]]) -> set[int]:
    """Return which sentences are, or cite an excerpt, in another language; a short one is in that of the others."""
    known = [is_known(sentence.checked) for sentence in sentences]
    whole = is_known(" ".join([sentence.checked for sentence in sentences])) if None in known else None
    return {
        index
        for index, (mine, excerpts) in enumerate(zip(known, searched, strict=True))
        if (whole if mine is None else mine) is False or any(excerpt.is_foreign for excerpt in excerpts)
    }


def compile_patterns() -> None:
    """Compile what the first checks would compile, for tens of milliseconds: a process can do so before it answers."""
    compile_dates()
    for percentage in range(1, 101):
        share_phrases(percentage)


class _Figure(NamedTuple):
    """A figure of a sentence, from `start` to `end`; `is_number` is whether words around it belong to it.

    If `written` is in an excerpt, the figure is found; otherwise `is_in_any` looks closer.
    """

    start: int
    end: int
    written: str
    is_in_any: Callable[[Sequence[Excerpt]], bool]
    is_number: bool = False


def _any(has: Callable[..., bool], **arguments: object) -> Callable[[Sequence[Excerpt]], bool]:
    """Return what asks each excerpt."""
    return lambda excerpts: any(has(excerpt, **arguments) for excerpt in excerpts)


def _any_moment(has: Callable[..., bool], **arguments: object) -> Callable[[Sequence[Excerpt]], bool]:
    """Return what asks the dates and times of each excerpt."""
    return lambda excerpts: any(has(excerpt.moments, **arguments) for excerpt in excerpts)


_CLOCK = re.compile(
    r"1(?<![\d.,:]1) ?: ?\d{1,3}(?:[.,  ]\d{3})*[.,  ]000(?!\d)|1(?<![\d.,:]1) ?: ?\d{4,9}|"
    r"[0-9](?<![\d.,:][0-9])\d{0,2}(?::\d\d)+(?!\d)(?:[.,]\d+)?|[0-9](?<![\d.,:][0-9])\d{0,2} ?: ?\d{1,3}"
)
_PAIR = re.compile(r"([0-9](?<![\d.,/-][0-9])\d{0,2})[-–](\d{1,3})(?![.,/-]?\d)")
_FEET = re.compile(
    r"([1-9](?<![\d.,][1-9])\d?)(?:[ -]?(?:ft|feet|foot)[ -]|['’′] ?)(\d{1,2})(?!\d)"
    r"(?:[ -]?(?:in(?:ch(?:es)?)?(?!\w)|[\"”″]))?"
)
_PAIRED = re.compile(r"[0-9](?:[/–-](?:[0-9]|to-|zu-|for-|of-)|[ -]?f(?:ee|oo|)t|['’′])")
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
_DECADES = {"tw": "20", "th": "30", "fo": "40", "fi": "50", "six": "60", "sev": "70", "ei": "80", "ni": "90"} | {
    "zw": "20", "dr": "30", "vi": "40", "fü": "50", "sec": "60", "sie": "70", "ac": "80", "ne": "90",
}  # fmt: skip
_PART = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def _figures(text: str) -> Iterator[_Figure]:
    """Yield the figures of a text."""
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
            if (last := power_end(text, start, end)) > end:
                taken[end:last] = b"\1" * (last - end)


def _special(text: str) -> Iterator[_Figure]:
    """Yield what is more than one number: dates, times, scores, fractions and telephone numbers."""
    for date in find_dates(text):
        yield _Figure(date.start, date.end, text[date.start : date.end], _any(Excerpt.has_date, date=date))
    yield from _phones(text)
    yield from _clocks(text)
    if _PAIRED.search(text):
        yield from _pairs(text)
    if "0s" in text or "0er" in text:
        for match in _DECADE.finditer(text):
            yield _Figure(*match.span(), match[0], _any_moment(Moments.has_decade, written=match[1]))
    if "entur" in text or "ahrh" in text:
        for match in _CENTURY.finditer(text):
            yield _Figure(*match.span(), "", _any(Excerpt.has_century, number=match[1]))


def _phones(text: str) -> Iterator[_Figure]:
    if "+" in text or " 0" in text:
        for match in _PHONE.finditer(text):
            digits = "".join(_PART.findall(match[0]))
            if 6 < len(digits) < len(match[0]):
                yield _Figure(*match.span(), "", _any(Excerpt.has_digits, digits=digits))


def _clocks(text: str) -> Iterator[_Figure]:
    """Yield times of day, durations and scores."""
    if ":" in text or any(sign in text for sign in ("Uhr", "am", "pm", ".m.", "AM", "PM", "clock")):
        for match in CLOCK_TIME.finditer(text):
            if minutes := minutes_of(match):
                last = max(match.end(group) for group in (1, 2, 3, 4))
                written = text[match.start() : last]
                if match[3] or match[5] or ":" in written:
                    is_near = _NEAR_A_TIME.search(text, max(0, match.start() - 16), match.start()) is not None
                    has = _any(_has_time, written=written, minutes=minutes, is_near=is_near)
                    yield _Figure(match.start(), last, written, has)
    for start, end, seconds in find_durations(text):
        yield _Figure(
            start, end, text[start:end], _any(_has_duration, text=text, start=start, end=end, seconds=seconds)
        )
    if ":" in text:
        for match in _CLOCK.finditer(text):
            first, second = match[0].replace(" ", "").split(":")[:2]
            near = _any(Excerpt.has_pair, first=first, second=second)
            exact = _any_moment(Moments.has_duration, seconds=seconds_of(match[0]))
            yield _Figure(*match.span(), match[0], near if match[0].count(":") == 1 else exact)


def _pairs(text: str) -> Iterator[_Figure]:
    for match in _SEASON.finditer(text):
        yield _Figure(*match.span(), match[0], _any(Excerpt.has_season, first=match[1], last=match[2]))
    for match in _SLASHED.finditer(text):
        count, parts = map(int, match[0].split("/"))
        percentage = Decimal(round(100 * count / parts)) if count < parts else Decimal(1000)
        share = Share(*match.span(), percentage, written_share(count, parts))
        yield _Figure(*match.span(), match[0], _any(Excerpt.has_share, share=share))
    for match in _RATIO.finditer(text):
        yield _Figure(*match.span(), match[0], _any(Excerpt.has_pair, first=match[1], second=match[2]))
    for match in _FEET.finditer(text):
        yield _Figure(*match.span(), match[0], _any(Excerpt.has_feet, first=match[1], second=match[2]))
    for match in _PAIR.finditer(text):
        start, end = match.span()
        if not (letters_around(text, start, end)[0] or unit_before(text, start) or read_suffix(text, end).end > end):
            yield _Figure(start, end, match[0], _any(Excerpt.has_pair, first=match[1], second=match[2]))


def _has_duration(excerpt: Excerpt, text: str, start: int, end: int, seconds: frozenset[Decimal]) -> bool:
    """Return whether an excerpt has a duration of several units, in another form or each of its numbers."""
    return excerpt.moments.has_duration(seconds) or all(
        excerpt.has_number(Number(text, *match.span())) for match in NUMBER.finditer(text, start, end)
    )


def _has_time(excerpt: Excerpt, written: str, minutes: tuple[int, ...], *, is_near: bool) -> bool:
    hours, _, rest = written.partition(":")
    if is_near and excerpt.moments.has_time_near(minutes):
        return True
    return excerpt.moments.has_time(minutes) or (
        rest.isdecimal() and hours.isdecimal() and excerpt.has_pair(hours, rest)
    )


def _number(text: str, start: int, end: int) -> _Figure:
    """Return the figure of a number in digits."""
    before = text[start - 1] if start else " "
    if power_end(text, start, end) == end and (before.isalpha() or before in "-‑" or text[end : end + 1].isalpha()):
        prefix, suffix = letters_around(text, start, end)
        if prefix or suffix:
            first, last = start - len(prefix), end + len(suffix)
            return _Figure(first, last, text[first:last], lambda excerpts: _has_name(excerpts, text, start, end))
    return _Figure(start, end, "", lambda excerpts: _has_number(excerpts, text, start, end), is_number=True)


def _has_number(excerpts: Sequence[Excerpt], text: str, start: int, end: int) -> bool:
    number = Number(text, start, end)
    return any(excerpt.has_number(number) for excerpt in excerpts)


def _has_name(excerpts: Sequence[Excerpt], text: str, start: int, end: int) -> bool:
    prefix, suffix = letters_around(text, start, end)
    if any(excerpt.has_name(prefix, text[start:end], suffix) for excerpt in excerpts):
        return True
    return prefix[-1:] in {"-", "‑"} and not suffix and _has_number(excerpts, text, start, end)


def _shown(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a number begins and ends together with its currency, its multiplier and its unit."""
    money, first = unit_before(text, start), start
    if money:
        first -= 1 + (text[start - 1] in SPACES)
        while first > max(0, start - 5) and not text[first - 1].isspace() and text[first - 1] not in "(-–—/":
            first -= 1
    return first, max(end, read_suffix(text, end, is_money=money != "").end)


def _in_words(text: str) -> Iterator[_Figure]:
    """Yield the numbers and the shares that are written in words."""
    lower = text.lower()
    if len(lower) != len(text):
        return
    words = set(_LETTERS.findall(lower))
    for start, end, minutes in find_worded_times(lower):
        yield _Figure(start, end, text[start:end], _any_moment(Moments.has_time, minutes=minutes))
    for match in _WORDED_DECADE.finditer(lower):
        written = _DECADES.get(match[1][:2]) or _DECADES[match[1][:3]]
        yield _Figure(*match.span(1), "", _any_moment(Moments.has_decade, written=written))
    for start, end, factor in find_multiples(lower):
        has = _any(Excerpt.has_multiple, factor=factor, hedge=hedge_before(text, start))
        yield _Figure(start, end, "", has)
    for share in find_shares(text, lower, words):
        yield _Figure(share.start, share.end, text[share.start : share.end], _any(Excerpt.has_share, share=share))
    for found in find_worded(lower, words):
        century = _OF_A_CENTURY.match(lower, found.end)
        if century and _ORDINAL_END.search(lower, found.start, found.end):
            has = _any(Excerpt.has_century, number=str(found.value))
            yield _Figure(found.start, century.end(), text[found.start : century.end()], has)
            continue
        last = read_suffix(text, found.end).end
        yield _Figure(found.start, last, text[found.start : last], _any_worded(text, found))


def _any_worded(text: str, found: WordedNumber) -> Callable[[Sequence[Excerpt]], bool]:
    """Return what looks for a number in words; most are found as they are written, without being read."""

    def is_in_any(excerpts: Sequence[Excerpt]) -> bool:
        number = Number(text, found.start, found.end, found.value)
        if not found.dozens:
            return any(excerpt.has_number(number) for excerpt in excerpts)
        dozens = Number(text, found.start, found.end, found.dozens)
        return any(_has_dozens(excerpt, dozens, number) for excerpt in excerpts)

    return is_in_any


def _has_dozens(excerpt: Excerpt, number: Number, all_of_them: Number) -> bool:
    return excerpt.has_number(all_of_them) or (
        excerpt.wording.has_words(("dozen", "dutzend")) and excerpt.has_number(number)
    )
