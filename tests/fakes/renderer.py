"""Reads a message as the most eager renderer would: what it shows, what it links to, whom it mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

EAGER = MarkdownIt("commonmark", {"linkify": True, "html": True}).enable(["table", "strikethrough", "linkify"])
EAGER_FOR_FILES = MarkdownIt("commonmark", {"linkify": True, "html": True}).enable(["table", "linkify"])
"""Reads files: no viewer makes a link of a bare `a.com`."""
if EAGER_FOR_FILES.linkify is not None:
    EAGER_FOR_FILES.linkify.set({"fuzzy_link": False, "fuzzy_email": False}).add("//", None)
DATE = r"!date\^\d{1,12}\^[^<>|^]*\|[^<>|]*>"
LIVE = re.compile(rf"<(?!{DATE})[@!#]|@(?:here|channel|everyone|group)(?![^\W_])", re.IGNORECASE)
MRKDWN_LINK = re.compile(rf"<(?!{DATE})([^<>|]+)(?:\|[^<>]*)?>")


def tokens(text: str, parser: MarkdownIt = EAGER) -> Iterator[Token]:
    """Yield every token of a Markdown text, with those inside lines in their place."""
    for token in parser.parse(text):
        yield from token.children or [token]


def links(text: str) -> list[str]:
    """Return the address of every link and image that a renderer could make of a Markdown text, and every HTML tag."""
    found = []
    for token in tokens(text):
        if token.type == "link_open":
            found.append(str(token.attrs["href"]))
        elif token.type == "image":
            found.append(f"image {token.attrs['src']}")
        elif token.type in ("html_inline", "html_block"):
            found.append(f"html {token.content}")
    return found


def shown(text: str) -> str:
    """Return what a Markdown text shows, links by their label; the language of a fence counts as shown."""
    said = []
    for token in tokens(text):
        if token.type in ("text", "code_inline", "fence", "code_block"):
            said.append(f"{token.info} {token.content}")
        elif token.type in ("softbreak", "hardbreak", "inline", "td_close", "paragraph_close"):
            said.append("\n")
    return "".join(said).replace("\u2060", "")


def all_links(payload: Mapping[str, Any]) -> list[str]:
    """Return every address that any text of a message links to."""
    found = mrkdwn_links(payload["text"])
    for kind, text in texts(payload):
        found += links(text) if kind == "markdown" else mrkdwn_links(text) if kind == "mrkdwn" else []
        found += [text] if kind == "url" else []
    return found


def mrkdwn_links(text: str) -> list[str]:
    """Return the address of every link in a mrkdwn text."""
    return [link.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for link in MRKDWN_LINK.findall(text)]


def mentions(payload: Mapping[str, Any]) -> list[str]:
    """Return what could call someone in any text that Slack reads for mentions."""
    live = [payload["text"], *(text for kind, text in texts(payload) if kind in ("mrkdwn", "markdown"))]
    return [match for text in live for match in LIVE.findall(text)]


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield each text of a message's blocks with its kind: the type of the object that holds it, or "url"."""
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), str) and "type" in value:
            yield value["type"], value["text"]
        if isinstance(value.get("url"), str):
            yield "url", value["url"]
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
