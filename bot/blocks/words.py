"""The words of a message without its blocks, as mrkdwn: for screen readers, notifications, and where blocks fail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.blocks.base import Block
from bot.blocks.escaping import escape
from perplexity.prose import Kind, regions

_LINK = re.compile(r"\[\[(\d+)\]\]\(([^()\s]+)\)")


def words(block: Block, *, links: bool) -> str:
    """Return what a block says; with `links` our links stay links, without they are their number or title."""
    match block["type"]:
        case "markdown":
            return _of_markdown(block["text"], links=links)
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
        escape(stretch) if kind in (Kind.FENCE, Kind.SPAN) else "".join(_of_prose(stretch, links=links))
        for kind, stretch in stretches
    )


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
