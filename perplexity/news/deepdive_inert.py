"""A report as a document: nothing in it leads anywhere but to its sources, and nothing is shown but its words. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from perplexity.citations import without_strangers
from perplexity.formulas import readable
from perplexity.news.deepdive_headings import without_headings
from perplexity.prose import Kind, blocks, regions
from perplexity.quoting import harmless, quoted
from perplexity.types import Source

_JOINER = "\u2060"
_SHOWN = {Kind.PROSE, Kind.MATH}
_BLOCK_CODE = {Kind.FENCE, Kind.INDENTED}
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|\](?=\()")
# A definition makes a link of each marker of its number: https://spec.commonmark.org/0.31.2/#link-reference-definitions
_DEFINITION = re.compile(r"^([ \t>*+\-0-9.)]*\[(?:\\.|[^\[\]\\]){1,999}\]):", re.MULTILINE | re.DOTALL)


def inert(text: str, sources: Sequence[Source]) -> str:
    """Return a section's text without headings, HTML and links to what is no source, its LaTeX readable.

    Code stays as it is.
    """
    text, _ = without_strangers(readable(harmless(text)), sources)
    return without_headings(_without_definitions(_without_markup(text)))


def inert_line(text: str) -> str:
    """Return a title, a date or a note as words on one line, which is no heading, list or quotation either."""
    words, _ = without_strangers(quoted(text), ())
    line = _MARKUP.sub(r"\g<0> ", words).strip()
    plain = not line or blocks(line)[0].type == "paragraph_open"
    return line if plain else f"{_JOINER}{line}"


def _without_markup(text: str) -> str:
    """Return the text with a space in each tag and each link, which makes it none; in LaTeX that changes nothing."""
    pieces = ((region.kind, text[region.start : region.end]) for region in regions(text))
    return "".join(_MARKUP.sub(r"\g<0> ", piece) if kind in _SHOWN else piece for kind, piece in pieces)


def _without_definitions(text: str) -> str:
    code = [(region.start, region.end) for region in regions(text) if region.kind in _BLOCK_CODE]
    starts = [start for start, _ in code]

    def told(match: re.Match[str]) -> str:
        before = bisect_right(starts, match.start())
        inside = before > 0 and match.start() < code[before - 1][1]
        return match[0] if inside else f"{match[1]} :"

    return _DEFINITION.sub(told, text)
