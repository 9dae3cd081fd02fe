"""Markdown as a terminal shows it, where nothing of the text is hidden and no link goes where its words do not say."""

from __future__ import annotations

from markdown_it import MarkdownIt
from rich.markdown import Markdown

from perplexity.formulas import readable

# By itself Rich drops HTML, which in an answer is text such as `List<int>`, definitions of links, and where images are.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "image"])


def markdown(text: str) -> Markdown:
    """Return a printable text to be shown, its LaTeX readable; a link is its words and then its address."""
    text = readable(text)
    rendered = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    rendered.markup, rendered.parsed = text, _PARSER.parse(text)
    return rendered
