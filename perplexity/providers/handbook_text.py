"""Markdown as plain text, so that a passage of the handbook reads well where Markdown is not rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable("table")


def readable(markdown: str) -> str:
    """Return the words of a Markdown text, a paragraph, list item, table row or code block each, a blank line between.

    A row's cells are joined by dashes; a table's header and pictures are left out.
    """
    return "\n\n".join(block for block in _blocks(_PARSER.parse(markdown)) if block)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    row: list[str] | None = None
    in_head = False
    for token in tokens:
        in_head = (in_head or token.type == "thead_open") and token.type != "thead_close"
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield "" if in_head else " – ".join(filter(None, row or []))
            row = None
        elif token.type in {"fence", "code_block"}:
            yield token.content.rstrip()
        elif token.type == "inline":
            words = _words(token.children or [])
            if row is None:
                yield words
            else:
                row.append(words)


def _words(children: Sequence[Token]) -> str:
    shown = (
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in children
        if child.type != "image"
    )
    return "".join(shown).strip()
