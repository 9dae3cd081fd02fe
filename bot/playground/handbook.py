"""The project's own documentation as pages, so that the addresses of the handbook's passages can be opened."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt

from perplexity.providers.handbook import slug

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="/playground/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/playground/static/handbook.css">
<nav><a href="/playground">Back to the playground</a></nav>
<main>
{content}</main>
</html>
"""


def page(text: str, *, title: str) -> str:
    """Render one Markdown page as HTML whose headings can be linked to; HTML in the text stays text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    used: dict[str, int] = {}
    for opening, words in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", _unique(slug(words.content), used))
    return PAGE.format(title=escape(title), content=parser.renderer.render(tokens, parser.options, {}))


def _unique(anchor: str, used: dict[str, int]) -> str:
    """Return an anchor that no heading before has, numbered as GitHub does."""
    count = used.get(anchor, 0)
    used[anchor] = count + 1
    return f"{anchor}-{count}" if anchor and count else anchor
