"""The words of a message without its blocks, as mrkdwn: for screen readers, notifications, and where blocks fail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.blocks.base import Block
from bot.blocks.escaping import escape
from perplexity.prose import Kind, regions

_BACKTICKS = re.compile(r"\A[ \t>]*`{3,}[\w+#.-]*|`+")
# Signs of code, which are none of Markdown: noncharacters hold their places until Markdown's own are gone.
_HIDDEN = {ord("*"): "\ufde0", ord("#"): "\ufde1"}
_SIGNS = re.compile("[*`#]+")
_LINK = re.compile(r"\[\[(\d+)\]\]\(([^()\s]+)\)")


def without_signs(text: str) -> str:
    """Return words without the signs of Markdown; those that are code stay."""
    shown = _SIGNS.sub("", text)
    for sign, held in _HIDDEN.items():
        shown = shown.replace(held, chr(sign))
    return shown


def words(block: Block, *, links: bool) -> str:
    """Return what a block says; with `links` our links stay links, without they are their number or title."""
    match block["type"]:
        case "markdown":
            return _of_markdown(block["text"], links=links)
        case "header":
            return escape(block["text"]["text"])
        case "section":
            return _of_mrkdwn(block["text"]["text"], links=links)
        case "context":
            return _of_mrkdwn("\n".join(element["text"] for element in block["elements"]), links=links)
        case "rich_text":
            return "\n".join(_of_quote(quote, links=links) for quote in block["elements"])
    return ""


def _of_markdown(text: str, *, links: bool) -> str:
    stretches = ((region.kind, text[region.start : region.end]) for region in regions(text))
    return "".join(
        _of_code(stretch, links=links) if kind in (Kind.FENCE, Kind.SPAN) else "".join(_of_prose(stretch, links=links))
        for kind, stretch in stretches
    )


def _of_code(code: str, *, links: bool) -> str:
    return escape(code) if links else escape(_BACKTICKS.sub("", code)).translate(_HIDDEN)


def _of_prose(text: str, *, links: bool) -> Iterator[str]:
    place = 0
    for match in _LINK.finditer(text):
        yield escape(text[place : match.start()])
        yield _shown_link(match[2], f"[{match[1]}]", links=links)
        place = match.end()
    yield escape(text[place:])


def _of_mrkdwn(text: str, *, links: bool) -> str:
    return text if links else re.sub(r"<[^<|>]+\|([^<>]*)>", r"\1", text)


def _of_quote(quote: Block, *, links: bool) -> str:
    return "".join(_of_rich_text(quote["elements"], links=links))


def _of_rich_text(elements: list[Block], *, links: bool) -> Iterator[str]:
    for element in elements:
        if element["type"] == "link":
            yield _shown_link(element["url"], element["text"], links=links)
        else:
            yield escape(element["text"])


def _shown_link(address: str, label: str, *, links: bool) -> str:
    return f"<{escape(address)}|{escape(label)}>" if links else escape(label)
