"""Dates, durations, costs and counts as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from difflib import get_close_matches

from perplexity.scope import say

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def format_date(day: date) -> str:
    """Return a day as "7 Oct 2025"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?(?!\d)", re.ASCII)


def format_duration(seconds: float) -> str:
    """Return a duration as "3.4 s", or from 100 seconds on as "2 min 5 s"."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def format_dollars(cost: float | None) -> str:
    """Return a cost as "$0.0014" or "under $0.0001", 0 as "free", and an unknown cost (None) as an empty text."""
    if cost is None:
        return ""
    if cost == 0:
        return "free"
    if cost < 0.0001:
        return "under $0.0001"
    rounded = f"{cost:.2f}" if cost >= 1 else f"{float(f'{cost:.2g}'):.6f}"
    whole, part = rounded.split(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def format_iso_date(value: str | None) -> str:
    """Return an ISO date as "7 Oct 2025", a month as "Oct 2025", a year as "2025", anything else as an empty text."""
    match = _DATE.match(value.strip()) if value else None
    if match is None:
        return ""
    year, month, day = match.groups()
    try:
        parsed = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    if day:
        return format_date(parsed)
    return f"{MONTHS[parsed.month - 1]} {parsed.year}" if month else str(year)


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: "A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


_LONGEST_WORD = 40
"""The most characters of a word that is compared; the time grows with the square of the length."""


def closest_match(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a misspelt word probably means; None if none is close, or the word is one letter.

    A choice that begins with the word is preferred to the most similar choice.
    """
    names = {choice if word.startswith("--") else choice.removeprefix("--"): choice for choice in choices}
    begun = [name for name in names if name.startswith(word)]
    near = begun or (get_close_matches(word, names, n=1, cutoff=0.65) if len(word) <= _LONGEST_WORD else [])
    return names[near[0]] if near and len(word.removeprefix("--")) > 1 else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return "did you mean gold? " for a misspelt word, an empty text if no choice is close to it."""
    meant = closest_match(word, choices)
    return say("did you mean {meant}? ").format(meant=meant) if meant else ""
