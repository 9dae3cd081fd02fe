"""Finds the numbers that an answer gives to its own items and lists; no source has them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perplexity.lexicon.numbers import NUMBERS

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
_LIST = re.compile(r"[^:;—–(\n]{2,80}(?:(?P<colon>:)|\s[—–-]|\s\()\s*(?P<items>[^\n—–)]{0,400})")
_OR = re.compile(r",? (?:and|or|und|oder|sowie) ")


def find_own_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of numbers that label the answer's own items, such as "(2)" and "Third,", or that count them."""
    for labels in _LABELS:
        for match in labels.finditer(text):
            yield match.span(match.lastindex or 0)
    for match in _COUNT.finditer(text):
        word = match[1].lower()
        count = int(word) if word.isdecimal() else NUMBERS.get(word, 0)
        listed = _LIST.match(text, match.end()) if 1 < count <= 12 else None
        if listed and (count in _lengths(listed["items"]) or (listed["colon"] and not listed["items"].strip())):
            yield match.span(1)


def _lengths(items: str) -> set[int]:
    """Return the numbers of items that a list may have, counted by its semicolons, its commas, and its "and"."""
    commas = items.count(", ") + 1
    joined = len(_OR.findall(items.replace(", and ", " and ").replace(", or ", " or ")))
    return {
        items.count("; ") + 1,
        commas,
        items.replace(", and ", " and ").replace(", or ", " or ").count(", ") + 1 + joined,
    }
