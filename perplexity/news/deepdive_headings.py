"""A stage's own headings, which must not stand beside those of the report: they become bold lines. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

from perplexity.prose import blocks

# What shows a text later may drop control characters, and may begin a line wherever Unicode does.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BOLD = re.compile(r"\*{2,}|_{2,}")
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_AROUND_A_HEADING = " #*:_"


def without_headings(text: str) -> str:
    """Return a Markdown text whose headings, in lists and quotations too, are bold lines; code stays as it is.

    Control characters are left out, and every line ends in a line feed.
    """
    lines = _LINE_END.split(_UNSEEN.sub("", text))
    tokens = pairwise(blocks("\n".join(lines)))
    found = [(token, inline.content) for token, inline in tokens if token.type == "heading_open"]
    kept: list[str] = []
    place = 0
    for heading, words in found:
        if heading.map:
            first, end = heading.map
            # Without empty lines around it, it would be one paragraph with its neighbours.
            kept += [*lines[place:first], "", _before(lines[first], heading.markup, words) + _bold(words), ""]
            place = end
    return "\n".join([*kept, *lines[place:]])


def without_own_heading(text: str, heading: str) -> str:
    """Return a section's text without the heading that stands above it anyway."""
    first, _, rest = text.lstrip().partition("\n")
    return _EMPTY_LINES.sub("", rest) if first.strip(_AROUND_A_HEADING).upper() == heading else text


def _before(line: str, markup: str, words: str) -> str:
    """Return the marks of the lists and quotations that a heading's first line stands in."""
    place = line.find(markup) if markup.startswith("#") else line.rfind(words.partition("\n")[0])
    return line[: max(0, place)]


def _bold(words: str) -> str:
    plain = " ".join(_BOLD.sub("", words).split())
    return f"**{plain}**" if plain else ""
