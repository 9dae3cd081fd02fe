"""Text from models and pages as part of a report: it can contain no heading, HTML, foreign link or marker."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from perplexity.block_parser import BlockKind, read_blocks
from perplexity.citations import without_strangers
from perplexity.formulas import readable
from perplexity.markdown import RegionKind, parse, regions
from perplexity.sanitize import one_line, strip_controls
from perplexity.types import Answer, AnswerKind, Source

# A renderer may drop control characters, and may break lines at every Unicode line separator.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BOLD = re.compile(r"\*{2,}|_{2,}")
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_HEADING_MARKS = " #*:_"


def headings_to_bold(text: str) -> str:
    """Return a Markdown text with its headings, in lists and quotations too, as bold lines; code is unchanged.

    Control characters are removed, and every line ends in a line feed.
    """
    lines = _LINE_END.split(_CONTROL_CHARACTERS.sub("", text))
    found = [block for block in read_blocks("\n".join(lines)) if block.kind is BlockKind.HEADING]
    kept: list[str] = []
    place = 0
    for heading in found:
        first, words = lines[heading.start], heading.content
        # Empty lines keep it from joining the paragraphs around it.
        kept += [*lines[place : heading.start], "", _container_prefix(first, heading.markup, words) + _bold(words), ""]
        place = heading.end
    return "\n".join([*kept, *lines[place:]])


def strip_own_heading(text: str, heading: str) -> str:
    """Return a section's text without a first line that repeats its heading."""
    first, _, rest = text.lstrip().partition("\n")
    return _EMPTY_LINES.sub("", rest) if first.strip(_HEADING_MARKS).upper() == heading else text


def _container_prefix(line: str, markup: str, words: str) -> str:
    """Return the marks of the lists and quotations that contain a heading."""
    place = line.find(markup) if markup.startswith("#") else line.rfind(words.partition("\n")[0])
    return line[: max(0, place)]


def _bold(words: str) -> str:
    plain = " ".join(_BOLD.sub("", words).split())
    return f"**{plain}**" if plain else ""


_WORD_JOINER = "\u2060"
_TEXT_KINDS = {RegionKind.PROSE, RegionKind.MATH}
_BLOCK_CODE = {RegionKind.FENCE, RegionKind.INDENTED}
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|\](?=\()")
# A definition makes a link of each marker of its number: https://spec.commonmark.org/0.31.2/#link-reference-definitions
_DEFINITION = re.compile(r"^([ \t>*+\-0-9.)]*\[(?:\\.|[^\[\]\\]){1,999}\]):", re.MULTILINE | re.DOTALL)


def neutralize(text: str, sources: Sequence[Source]) -> str:
    """Return a section's text without headings, HTML and links to unknown sources, with readable LaTeX.

    Code is unchanged.
    """
    text, _ = without_strangers(readable(parse(strip_controls(text))).text, sources)
    return headings_to_bold(_break_definitions(_break_markup(text)))


def neutralize_line(text: str) -> str:
    """Return a title, a date or a note on one line that cannot be a heading, a list or a quotation."""
    words, _ = without_strangers(one_line(text), ())
    line = _MARKUP.sub(r"\g<0> ", words).strip()
    plain = not line or read_blocks(line)[0].kind is BlockKind.PARAGRAPH
    return line if plain else f"{_WORD_JOINER}{line}"


def _break_markup(text: str) -> str:
    """Return the text with a space in each tag and link, so that they are plain text; LaTeX is not affected."""
    pieces = ((region.kind, text[region.start : region.end]) for region in regions(text))
    return "".join(_MARKUP.sub(r"\g<0> ", piece) if kind in _TEXT_KINDS else piece for kind, piece in pieces)


def _break_definitions(text: str) -> str:
    code = [(region.start, region.end) for region in regions(text) if region.kind in _BLOCK_CODE]
    starts = [start for start, _ in code]

    def broken(match: re.Match[str]) -> str:
        before = bisect_right(starts, match.start())
        inside = before > 0 and match.start() < code[before - 1][1]
        return match[0] if inside else f"{match[1]} :"

    return _DEFINITION.sub(broken, text)


_EMPHASIS = re.compile(r"[*_~]{2,}")


def quote_passages(answer: Answer) -> Answer:
    """Return passages as block quotes, each on one line with its source's number; a written answer is unchanged.

    A page's own `[2]` becomes ‹2›, its links become their text, and it cannot make a heading, list, table or bold
    line, so that no page can imitate a source or another section.
    """
    if answer.kind is not AnswerKind.PASSAGES:
        return answer
    lines = [(_passage_text(passage.text), passage.source) for passage in answer.passages]
    return replace(answer, text="\n\n".join(f"> {words} [{source}]" for words, source in lines if words))


def _passage_text(text: str) -> str:
    # The removal of a link may have joined the text around it to a marker.
    return one_line(neutralize_line(_EMPHASIS.sub("", text)))
