"""Converts a rendered part of an answer to `rich_text` blocks, for modals, which accept no `markdown` block.

Only the signs of Markdown are left out, so that a preview shows every word of the message, and its links except those
in tables.
https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.blocks.markdown.blocks import MarkdownBlock, segments
from bot.model.message import Block
from perplexity.markdown import BlockKind, RegionKind, parse, regions

MAX_RICH_TEXT = 3_000
"""The most characters of one block."""

_LINK = r"\[\[(\d+)\]\]\(([^()\s]+)\)"
_INLINE = re.compile(rf"\\([!-/:-@\[-`{{-~])|{_LINK}|\*\*|__|~~|[*_]")
_LINKED = re.compile(_LINK)
_STYLES = {"**": "bold", "__": "bold", "*": "italic", "_": "italic", "~~": "strike"}
_HEADING = re.compile(r"#{1,6}[ \t]+")
_BULLET = re.compile(r"^([ \t]*)[-+*](?=[ \t])", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[\w+#.-]*\n?", re.MULTILINE)
_DASHES = re.compile(r"\|[ \t:|-]+\|")
_CODE = frozenset({RegionKind.FENCE, RegionKind.SPAN})


class _Leaf(NamedTuple):
    """A stretch of text in one style, or a sign that may begin or end a style, such as `**`.

    `sign` is this sign, empty for other text. `opens` and `closes` say whether the sign may begin or end the style.
    """

    text: str
    url: str = ""
    styles: frozenset[str] = frozenset()
    sign: str = ""
    opens: bool = False
    closes: bool = False

    @property
    def block(self) -> Block:
        """The stretch as an element of a `rich_text` block."""
        element: Block = {"type": "link", "url": self.url} if self.url else {"type": "text"}
        element["text"] = self.text
        return element | ({"style": dict.fromkeys(sorted(self.styles), True)} if self.styles else {})


def rich_text_blocks(text: str, *, few: bool = False) -> list[Block]:
    """Return a part's Markdown as blocks of at most 3,000 characters; a rule becomes a divider.

    Each paragraph is a block of its own, which sets it apart from the next one; with `few`, each block has as many
    paragraphs as fit.
    """
    blocks: list[Block] = []
    room = 0
    for segment in segments(parse(text)):
        if segment.kind is BlockKind.RULE:
            blocks.append({"type": "divider"})
            room = 0
            continue
        kind, leaves = _element(segment)
        for chunk in _chunks(leaves):
            length = sum(len(leaf.text) for leaf in chunk) + 1
            if length > room or not few:
                blocks.append({"type": "rich_text", "elements": []})
                room = MAX_RICH_TEXT
            elements = blocks[-1]["elements"]
            apart = [_Leaf("\n")] if elements and kind == "rich_text_section" else []
            elements.append({"type": kind, "elements": [leaf.block for leaf in (*apart, *chunk)]})
            room -= length
    return blocks


def _element(segment: MarkdownBlock) -> tuple[str, list[_Leaf]]:
    """Return the type and the contents of the element for a segment."""
    text = segment.text
    match segment.kind:
        case BlockKind.FENCE:
            return "rich_text_preformatted", [_Leaf(text)]
        case BlockKind.TABLE:
            rows = [line for line in text.split("\n") if not _DASHES.fullmatch(line.strip())]
            return "rich_text_preformatted", [_Leaf(_LINKED.sub(r"[\1]", "\n".join(rows)))]
        case BlockKind.QUOTE:
            return "rich_text_quote", _leaves(_QUOTE.sub("", text))
        case BlockKind.HEADING:
            words = _leaves(_HEADING.sub("", text, count=1))
            return "rich_text_section", [leaf._replace(styles=leaf.styles | {"bold"}) for leaf in words]
        case BlockKind.LIST:
            return "rich_text_section", _leaves(_BULLET.sub(r"\1•", text))
    return "rich_text_section", _leaves(text)


def _leaves(text: str) -> list[_Leaf]:
    """Return the text in stretches of one style; signs without a partner stay in the text."""
    tokens = [*_tokens(text)]
    paired = _paired(tokens)
    leaves: list[_Leaf] = []
    active: set[str] = set()
    for place, token in enumerate(tokens):
        if place in paired:
            active ^= {_STYLES[token.sign]}
        elif leaves and not token.url and not leaves[-1].url and leaves[-1].styles == token.styles | active:
            leaves[-1] = leaves[-1]._replace(text=leaves[-1].text + token.text)
        else:
            leaves.append(_Leaf(token.text, token.url, token.styles | active))
    return leaves


def _tokens(text: str) -> Iterator[_Leaf]:
    for region in regions(text):
        if region.kind in _CODE:
            code = text[region.start : region.end]
            if shown := _FENCE.sub("", code) if region.kind is RegionKind.FENCE else code.strip("`"):
                yield _Leaf(shown, styles=frozenset({"code"}))
            continue
        place = region.start
        for match in _INLINE.finditer(text, region.start, region.end):
            if place < match.start():
                yield _Leaf(text[place : match.start()])
            place = match.end()
            yield _Leaf(match[1]) if match[1] else _link_or_sign(match)
        if place < region.end:
            yield _Leaf(text[place : region.end])


def _link_or_sign(match: re.Match[str]) -> _Leaf:
    if match[2]:
        return _Leaf(f"[{match[2]}]", match[3])
    text, sign = match.string, match[0]
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    inside_word = len(sign) == 1 or "_" in sign
    opens = bool(after.strip()) and not (inside_word and before.isalnum())
    closes = bool(before.strip()) and not (inside_word and after.isalnum())
    return _Leaf(sign, sign=sign, opens=opens, closes=closes)


def _paired(tokens: Sequence[_Leaf]) -> set[int]:
    """Return the places of the signs that begin or end a style."""
    open_at: dict[str, int] = {}
    paired: set[int] = set()
    for place, token in enumerate(tokens):
        if token.closes and token.sign in open_at:
            paired |= {open_at.pop(token.sign), place}
        elif token.opens:
            open_at[token.sign] = place
    return paired


def _chunks(leaves: Sequence[_Leaf]) -> Iterator[list[_Leaf]]:
    """Yield the leaves in groups that each fit into a block; a leaf that is longer than a block is cut."""
    most = MAX_RICH_TEXT - 1
    group: list[_Leaf] = []
    room = most
    for leaf in leaves:
        for piece in _pieces(leaf.text, most):
            if len(piece) > room:
                yield group
                group, room = [], most
            group.append(leaf._replace(text=piece))
            room -= len(piece)
    if group:
        yield group


def _pieces(text: str, most: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most` characters, between words if a word ends near the cut."""
    start = 0
    while len(text) - start > most:
        space = text.rfind(" ", start + most // 2, start + most)
        end = space + 1 if space > 0 else start + most
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
