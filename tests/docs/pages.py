"""The project's Markdown pages as the tests read them: code blocks, code in the text, links and anchors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.commands import ORDER
from bot.commands.base import ROOT_COMMAND
from bot.features import COMMANDS

ROOT = Path(__file__).parents[2]
FEATURES = ROOT / "docs" / "features"
PATHS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LEFT_OUT = set(ORDER) - {command.name for command in COMMANDS}
"""Commands of features that this copy of the project does not have; pages of the core may still mention them."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block. `info` is what follows its fence, `line` where that is, `section` the heading above it."""

    page: str
    line: int
    section: str
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split(maxsplit=1)[0] if self.info else ""

    @property
    def is_output(self) -> bool:
        """Whether it shows what the block before it prints: `text output`."""
        return self.info == "text output"

    @property
    def not_run(self) -> bool:
        """Whether the page says that, and why, this block is not run: `sh no-run: needs Docker`."""
        _, marked, reason = self.info.partition(" no-run:")
        return bool(marked) and len(reason.split()) > 1

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def blocks() -> tuple[Block, ...]:
    """Return every fenced block of every page."""
    return tuple(
        Block(page=name(path), line=_line(token), section=section, info=token.info.strip(), text=token.content)
        for path in PATHS
        for section, token in _tokens(path)
        if token.type == "fence"
    )


def codes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the inline code of a page, each with the heading above it."""
    for section, token in _tokens(path):
        for child in token.children or ():
            if child.type == "code_inline":
                yield section, child.content


def is_here(example: str) -> bool:
    """Return whether the command of an example is in this copy of the project."""
    called, word = example.split()[:2]
    return (word if called.endswith(ROOT_COMMAND) else called.removeprefix("/").removeprefix("x-")) not in LEFT_OUT


def rows(path: Path, *, section: str) -> list[tuple[str, ...]]:
    """Return the cells of the tables under a heading, as they are written, without the tables' heads."""
    found: list[list[str]] = []
    for (above, before), (_, token) in pairwise(_tokens(path)):
        if above == section and before.type == "tr_open":
            found.append([])
        elif above == section and before.type == "td_open":
            found[-1].append(token.content)
    return [tuple(row) for row in found if row]


def links(path: Path) -> Iterator[str]:
    """Yield where the links and images of a page lead."""
    for _, token in _tokens(path):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target is not None:
                yield str(target)


def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a page, repeated headings numbered, as GitHub makes them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in (token.content for _, token in _tokens(path) if token.type == "heading"):
        anchor = slug(heading.replace("`", ""))
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return frozenset(found)


def slug(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it: lower case, spaces to hyphens, punctuation gone."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def name(path: Path) -> str:
    """Return a page's path below the root."""
    return path.relative_to(ROOT).as_posix()


@cache
def _tokens(path: Path) -> tuple[tuple[str, Token], ...]:
    """Return the tokens of a page, each with the heading above it; a heading's own is of type `heading`."""
    found: list[tuple[str, Token]] = []
    section, in_heading = "", False
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        if token.type == "inline" and in_heading:
            section = token.content
            found.append((section, Token("heading", "", 0, content=section)))
        in_heading = token.type == "heading_open"
        found.append((section, token))
    return tuple(found)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
