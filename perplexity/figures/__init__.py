"""Which figures of an answer's cited sentences are in the excerpts of their sources. Pure.

The rules are our own, for English and German; no model is asked. A figure is a number, an amount of money or a date.
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
from perplexity.figures.amounts import NUMBER, SPACES, number_words, power_end, read_suffix, unit_before, words_of
from perplexity.figures.dates import CLOCK_TIME, find_dates, minutes_of
from perplexity.figures.excerpts import Excerpt, read_excerpt
from perplexity.figures.numbers import Number, letters_around
from perplexity.figures.sentences import cited_sentences


@dataclass(frozen=True, kw_only=True)
class CheckedSentence:
    """A sentence that cites sources, without markup and markers.

    `sources` are the numbers of the sources as the reader sees them, from 1. `not_found` are the figures, as they are
    written, that are in no excerpt of these sources.
    """

    text: str
    sources: tuple[int, ...]
    not_found: tuple[str, ...]


_APART = "\n\n\n"
"""Between two sentences: no figure reaches over it."""


def check_figures(cited: CitedText) -> tuple[CheckedSentence, ...]:
    """Return the sentences of a text that cite sources, with the figures that are in none of their excerpts.

    A figure is found if it is written otherwise there: with other separators, as "1.2 million" for 1,200,000, in
    another unit of the same kind (1.5 km for 1,500 m), in words, as another form of the same date, or with more digits
    than the sentence has. What a source's title says counts, and so do its date and the date in its address. Figures
    that could only be computed, such as a sum or a difference, are not found. A source without an excerpt cannot be
    checked: no figure of a sentence that cites one is returned.
    """
    sentences = cited_sentences(cited)
    excerpts = {n: read_excerpt(cited.sources[n - 1]) for n in {n for sentence in sentences for n in sentence.sources}}
    searched = [[excerpts[number] for number in sentence.sources] for sentence in sentences]
    starts = [0, *accumulate(len(sentence.text) + len(_APART) for sentence in sentences)]
    missing: list[dict[str, None]] = [{} for _ in sentences]
    text = _APART.join([sentence.checked for sentence in sentences])
    for figure in _figures(text):
        index = bisect_right(starts, figure.start) - 1
        known = searched[index]
        if figure.written and any(excerpt.contains(figure.written) for excerpt in known):
            continue
        if all(excerpt.is_known for excerpt in known) and not figure.is_in_any(known):
            start, end = _shown(text, figure.start, figure.end) if figure.is_number else figure[:2]
            shown = sentences[index].text[start - starts[index] : end - starts[index]]
            missing[index][shown.strip()] = None
    return tuple(
        CheckedSentence(text=sentence.text, sources=sentence.sources, not_found=tuple(figures))
        for sentence, figures in zip(sentences, missing, strict=True)
    )


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


_CLOCK = re.compile(r"[0-9](?<![\d.,:][0-9])\d{0,2}(?::\d\d)+(?:[.,]\d+)?|[0-9](?<![\d.,:][0-9])\d{0,2} ?: ?\d{1,3}")
_PAIR = re.compile(r"([0-9](?<![\d.,/-][0-9])\d{0,2})[-–](\d{1,3})(?![.,/-]?\d)")
_SEASON = re.compile(r"([12](?<![\d.,/-][0-9])\d{3})[/–-](\d\d)(?![.,/-]?\d)")
_SLASHED = re.compile(r"[0-9](?<![\d.,/][0-9])\d?/\d{1,2}(?![\d/]|[.,]\d)")
_PHONE = re.compile(r"[+0](?<![\w.,][+0])\d[\d()/ –-]{6,20}\d")
_DECADE = re.compile(r"([0-9](?<![\w.,][0-9])\d(?:\d0)?)(?:s|ern?)(?![^\W\d_])")
_PART = re.compile(r"\d+")
_TAIL = re.compile(r"(?:[ \u00a0]?[%€]|[ \u00a0-]?[^\W\d_]{1,40})?")
_LETTERS = re.compile(r"[^\W\d_]+")
_SURE = 4
"""Characters of a number that is found wherever it is written, whatever is around it."""


def _figures(text: str) -> Iterator[_Figure]:
    """Yield the figures of a text."""
    taken = bytearray(len(text))
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
    if "/" in text or "-" in text or "–" in text:
        yield from _pairs(text)
    if "0s" in text or "0er" in text:
        for match in _DECADE.finditer(text):
            yield _Figure(*match.span(), match[0], _any(Excerpt.has_decade, written=match[1]))


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
                    yield _Figure(match.start(), last, written, _any(_has_time, written=written, minutes=minutes))
    if ":" in text:
        for match in _CLOCK.finditer(text):
            first, second = match[0].replace(" ", "").split(":")[:2]
            near = _any(Excerpt.has_pair, first=first, second=second)
            yield _Figure(*match.span(), match[0], near if match[0].count(":") == 1 else _any(_never))


def _pairs(text: str) -> Iterator[_Figure]:
    for match in _SEASON.finditer(text):
        yield _Figure(*match.span(), match[0], _any(Excerpt.has_season, first=match[1], last=match[2]))
    for match in _SLASHED.finditer(text):
        count, parts = map(int, match[0].split("/"))
        percentage = round(100 * count / parts) if parts in _SHARES and count < parts else 1000
        yield _Figure(*match.span(), match[0], _any(_has_share, words=_SHARES.get(parts, ()), percentage=percentage))
    for match in _PAIR.finditer(text):
        start, end = match.span()
        if not (letters_around(text, start, end)[0] or unit_before(text, start) or read_suffix(text, end).end > end):
            yield _Figure(start, end, match[0], _any(Excerpt.has_pair, first=match[1], second=match[2]))


def _never(_: Excerpt) -> bool:
    return False


def _has_time(excerpt: Excerpt, written: str, minutes: tuple[int, ...]) -> bool:
    hours, _, rest = written.partition(":")
    return excerpt.has_time(minutes) or (rest.isdecimal() and hours.isdecimal() and excerpt.has_pair(hours, rest))


def _number(text: str, start: int, end: int) -> _Figure:
    """Return the figure of a number in digits."""
    before = text[start - 1] if start else " "
    if before.isalpha() or before in "-‑" or text[end : end + 1].isalpha():
        prefix, suffix = letters_around(text, start, end)
        if prefix or suffix:
            first, last = start - len(prefix), end + len(suffix)
            return _Figure(first, last, text[first:last], lambda excerpts: _has_name(excerpts, text, start, end))
    tail = _TAIL.match(text, end)
    last = tail.end() if tail else end
    first = start - (before in "$€£¥")
    written = text[first:last] if last > end or end - start >= _SURE else ""
    return _Figure(start, end, written, lambda excerpts: _has_number(excerpts, text, start, end), is_number=True)


def _has_number(excerpts: Sequence[Excerpt], text: str, start: int, end: int) -> bool:
    number = Number(text, start, end)
    written = any(excerpt.has_as_written(number) for excerpt in excerpts)
    return written or any(excerpt.has_number(number) for excerpt in excerpts)


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


_SHARES: dict[int, tuple[str, ...]] = {
    2: ("half", "halv", "hälfte", "halb", "1/2", "½"),
    3: ("third", "drittel", "1/3", "2/3", "⅓", "⅔"),
    4: ("quarter", "viertel", "1/4", "3/4", "¼", "¾"),
    5: ("fifth", "fünftel", "1/5", "2/5", "3/5", "4/5"),
    10: ("tenth", "zehntel", "1/10"),
}
"""What says that something is in so many parts."""
_PARTS = {
    "half": 2, "halves": 2, "hälfte": 2, "third": 3, "thirds": 3, "drittel": 3, "quarter": 4, "quarters": 4,
    "viertel": 4, "dreiviertel": 4, "fifth": 5, "fifths": 5, "fünftel": 5, "tenth": 10, "tenths": 10, "zehntel": 10,
}  # fmt: skip
_ENGLISH_PARTS_WORDS = "half halves third quarter fifth tenth thirds quarters fifths tenths"
_ENGLISH_PARTS = frozenset(_ENGLISH_PARTS_WORDS.split(" "))
_OF = re.compile(r"\s(?:of|the|its|their|all)(?![^\W\d_])")
_COUNT = re.compile(r"(?<![^\W\d_])(by an?|an?|one|two|three|four|eine?[mn]?|zwei|drei|vier)[ -]\Z", re.IGNORECASE)
_COUNTS = {"two": 2, "three": 3, "four": 4, "zwei": 2, "drei": 3, "vier": 4}
_ONE_IN = re.compile(
    r"(?<!\w)(?:one|1) (?:in|out of) (?:(?P<number>\d{1,2})|(?P<word>[a-z]+))(?!\w)|"
    r"(?<!\w)jede[rnsm]? (?P<ordinal>zweite|dritte|vierte|fünfte|sechste|achte|zehnte)[rnsm]?(?!\w)",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(r"(?<!\w)(?:the|these|those|die|den|der|diese|diesen|dieser) \Z", re.IGNORECASE)
_ONE = re.compile(
    r"(?<![\w-])(half an?|eine halbe|anderthalb|eineinhalb|an?|one|eine?)"
    r"(?= (?:hundred|thousand|million|billion|trillion|Million|Milliarde|Billion)(?![^\W\d_]))",
    re.IGNORECASE,
)
_HALVES = {"half a": "0.5", "half an": "0.5", "eine halbe": "0.5", "anderthalb": "1.5", "eineinhalb": "1.5"}
_SCALES_WORDS = "hundred thousand million billion trillion milliarde millionen milliarden"
_SCALES = frozenset(_SCALES_WORDS.split(" "))


def _in_words(text: str) -> Iterator[_Figure]:
    """Yield the numbers and the shares that are written in words."""
    lower = text.lower()
    if len(lower) != len(text):
        return
    words = set(_LETTERS.findall(lower))
    if not words.isdisjoint(_SCALES):
        for match in _ONE.finditer(text):
            yield _worded(text, *match.span(), Decimal(_HALVES.get(match[1].lower(), "1")))
    yield from _shares(text, lower, words)
    known = number_words()
    for word in words & known.keys():
        for start, end in _whole_words(lower, word):
            value = known[word]
            if lower[start - 1 : start] == "-" or (value == 2 and _REFERS_BACK.search(text, max(0, start - 9), start)):
                continue
            ones = _LETTERS.match(lower, end + 1) if lower[end : end + 1] == "-" else None
            if ones and ones[0] in known:
                yield _worded(text, start, ones.end(), Decimal(value + known[ones[0]]))
            else:
                yield _worded(text, start, end, Decimal(value))


def _worded(text: str, start: int, end: int, value: Decimal) -> _Figure:
    number = Number(text, start, end, value)
    last = read_suffix(text, end).end
    return _Figure(start, last, text[start:last], _any(Excerpt.has_number, number=number))


def _whole_words(lower: str, word: str) -> Iterator[tuple[int, int]]:
    place = lower.find(word)
    while place >= 0:
        end = place + len(word)
        if not (lower[place - 1 : place].isalpha() if place else False) and not lower[end : end + 1].isalpha():
            yield place, end
        place = lower.find(word, end)


def _shares(text: str, lower: str, words: set[str]) -> Iterator[_Figure]:
    """Yield "two thirds", "ein Viertel", "one in five"."""
    for word in words & _PARTS.keys():
        for start, end in _whole_words(lower, word):
            count, parts = _COUNT.search(text, max(0, start - 8), start), _PARTS[word]
            if word in _ENGLISH_PARTS and not (
                (_OF.match(text, end) and (parts == 2 or count)) or (count and count[1] not in {"a", "an", "one"})
            ):
                continue
            several = 3 if word == "dreiviertel" else _COUNTS.get(count[1].lower(), 1) if count else 1
            first = count.start(1) if count and several > 1 else start
            has = _any(_has_share, words=_SHARES[parts], percentage=round(100 * several / parts))
            yield _Figure(first, end, text[first:end], has)
    if "jede" in lower or "one " in lower or "1 " in lower:
        for match in _ONE_IN.finditer(text):
            word = (match["word"] or match["ordinal"] or "").lower()
            number = int(match["number"] or (2 if word == "zweite" else number_words().get(word, 0)))
            if number > 1:
                has = _any(_has_one_in, number=number)
                yield _Figure(*match.span(), match[0], has)


def _has_one_in(excerpt: Excerpt, number: int) -> bool:
    written = (f"one in {number}", f"1 in {number}", f"one out of {number}", f"1:{number}", f"jeder {number}.")
    words = tuple(f"one in {word}" for word in words_of(number)) + tuple(
        f"jede{e} {w}" for e in "rs" for w in words_of(number)
    )
    return excerpt.has_words(written + words) or _has_share(excerpt, _SHARES.get(number, ()), round(100 / number))


def _has_share(excerpt: Excerpt, words: tuple[str, ...], percentage: int) -> bool:
    return excerpt.has_words(words) or excerpt.has_percentage(percentage)
