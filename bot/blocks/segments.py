"""A Markdown text as the blocks that Slack will make of it, each written as every renderer reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from markdown_it.token import Token

from bot.blocks.escaping import JOINER
from bot.blocks.tables import narrow
from perplexity.prose import blocks

LONGEST_HEADING = 150
"""Slack makes a header block of a heading, which takes 150 characters."""

_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# What follows a language: attributes such as `title="x"`, `{1,3}`, `:main.py` or a file's name.
_INFO = re.compile(r"\{?\.?(?P<language>[\w+#-]{1,30})(?:[ \t]*(?P<more>[:{,][^\n]*|[\w-]+=[^\n]*|[\w./-]+\.\w+)|\})?")
_SPECIAL = frozenset({"heading_open", "fence", "code_block", "table_open", "hr"})


class Form(StrEnum):
    """What a segment is."""

    HEADING = "heading"
    TEXT = "text"
    LIST = "list"
    QUOTE = "quote"
    FENCE = "fence"
    TABLE = "table"
    RULE = "rule"


_FORMS = {
    "heading_open": Form.HEADING,
    "bullet_list_open": Form.LIST,
    "ordered_list_open": Form.LIST,
    "blockquote_open": Form.QUOTE,
    "fence": Form.FENCE,
    "code_block": Form.FENCE,
    "table_open": Form.TABLE,
    "hr": Form.RULE,
}
FLOWING = frozenset({Form.TEXT, Form.LIST, Form.QUOTE})
"""Forms that Slack renders into one rich text together with their neighbours."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One top-level block. `text` is its Markdown, for a fence only what stands inside.

    `headings` and `special` count the headings, and all blocks that Slack renders apart, inside a list or a quote.
    """

    form: Form
    text: str
    language: str = ""
    headings: int = 0
    special: int = 0

    @property
    def markdown(self) -> str:
        """The segment as Markdown that stands on its own."""
        if self.form is not Form.FENCE:
            return self.text
        longest = max((len(run) for run in re.findall("`+", self.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{self.language}\n{self.text}\n{fence}"


def segments(text: str) -> list[Segment]:
    """Cut a Markdown text into its top-level blocks; together they hold every word of it."""
    tokens, lines = blocks(text), text.split("\n")
    starts = [i for i, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    found = (segment for a, b in pairwise([*starts, len(tokens)]) for segment in _segments(tokens[a:b], lines))
    return [segment for segment in found if segment.text.strip() or segment.language]


def inert(text: str) -> str:
    """Return text that begins a paragraph, and nothing else, whatever its first character is."""
    text = text.strip()
    return text if not text or text[0].isalpha() else f"{JOINER}{text}"


def _segments(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Segment]:
    """Yield the segment of a block; of a table with more columns than Slack takes, several."""
    if tokens[0].type != "table_open":
        yield _segment(tokens, lines)
        return
    for table in narrow(lines[slice(*(tokens[0].map or (0, 0)))]):
        yield Segment(form=Form.TABLE, text=table.markdown)


def _segment(tokens: Sequence[Token], lines: Sequence[str]) -> Segment:
    first = tokens[0]
    form = _FORMS.get(first.type, Form.TEXT)
    source = lines[slice(*(first.map or (0, 0)))]
    match form:
        case Form.HEADING:
            return _heading(first, tokens[1].content)
        case Form.FENCE:
            return _fence(first)
        case Form.RULE:
            return Segment(form=form, text="---")
        case Form.TEXT:
            return Segment(form=form, text="\n".join(source).strip())
    return _holding(form, "\n".join(source).rstrip(), tokens)


def _heading(token: Token, content: str) -> Segment:
    content = " ".join(content.split())
    if len(content) > LONGEST_HEADING:
        return Segment(form=Form.TEXT, text=inert(content))
    return Segment(form=Form.HEADING, text=f"{'#' * int(token.tag[1])} {content}" if content else "")


def _fence(token: Token) -> Segment:
    language, content = token.info.strip(), token.content.removesuffix("\n")
    if language and not _LANGUAGE.fullmatch(language):
        # Words in the place of a language, or behind it, would not be shown.
        info = _INFO.fullmatch(language)
        language, more = (info["language"], info["more"] or "") if info else ("", language)
        content = f"{more}\n{content}" if more else content
    return Segment(form=Form.FENCE, text=content, language=language)


def _holding(form: Form, text: str, tokens: Sequence[Token]) -> Segment:
    kinds = [token.type for token in tokens]
    special = sum(kind in _SPECIAL for kind in kinds)
    return Segment(form=form, text=text, headings=kinds.count("heading_open"), special=special)


def list_items(text: str) -> Iterator[Segment]:
    """Yield the items of a list, each as a list of its own."""
    lines = text.split("\n")
    for token in blocks(text):
        if token.type == "list_item_open" and token.level == 1 and token.map:
            source = "\n".join(lines[slice(*token.map)]).rstrip()
            yield _holding(Form.LIST, source, blocks(source))


def flattened(text: str) -> str:
    """Return the lines of a text as one paragraph, whatever they were."""
    return "\n".join(inert(line) for line in text.split("\n") if line.strip())
