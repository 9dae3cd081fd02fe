"""Reads a message as its eyes would, to compare with the text that screen readers read."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from markdown_it.token import Token

from bot.model.message import Block, OutgoingMessage
from tests.fakes.renderer import EAGER

STATES = (":warning:", "You stopped", "still writing")
_SIGNS = re.compile(r":(?:warning|x|white_check_mark|grey_question): ")
_TOKEN = re.compile(r"<(?:[^<>|]+\|)?([^<>]*)>")


def missing_words(message: OutgoingMessage) -> list[str]:
    """Return the words that a message shows and its text does not say in this order, states first."""
    blocks = sorted(message.blocks, key=lambda block: not is_state(block))
    rest = iter(_words(html.unescape(message.text)))
    return [word for block in blocks for word in _words("\n".join(_shown(block))) if word not in rest]


def left_out(message: OutgoingMessage) -> list[str]:
    """Return the letters that a message shows more often than its text says them: dialects part words differently."""
    shown = Counter(sign for block in message.blocks for word in _words("\n".join(_shown(block))) for sign in word)
    return [*(shown - Counter("".join(_words(html.unescape(message.text)))))]


def is_state(block: Block) -> bool:
    return block["type"] == "context" and str(block["elements"][0]["text"]).startswith(STATES)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace("\u2060", "").replace("_", " "))


def _shown(block: Block) -> Iterator[str]:
    match block["type"]:
        case "markdown":
            yield from _markdown(EAGER.parse(block["text"]))
        case "header":
            yield block["text"]["text"]
        case "section":
            yield _mrkdwn(block["text"]["text"])
        case "context":
            yield from (_mrkdwn(element["text"]) for element in block["elements"])
        case "rich_text":
            yield "".join(_leaves(block["elements"]))
        case _:
            yield from _drawn(block)


def _drawn(block: Block) -> Iterator[str]:
    match block["type"]:
        case "table":
            titles, *rows = ([" ".join(_leaves([cell])) for cell in row] for row in block["rows"])
            yield from _rows(titles, rows)
        case "data_visualization":
            yield block["title"]
            yield from (f"{point['label']} {point['value']:g}" for s in block["chart"]["series"] for point in s["data"])
        case "plan":
            yield block["title"]
            yield from (
                " ".join([one["title"], *(site["text"] for site in one.get("sources", ()))]) for one in block["tasks"]
            )


def _mrkdwn(text: str) -> str:
    return html.unescape(_TOKEN.sub(r"\1", _SIGNS.sub("", text)))


def _leaves(elements: Iterable[Block]) -> Iterator[str]:
    for element in elements:
        if element["type"] in ("user", "channel"):
            yield element[f"{element['type']}_id"]
        else:
            yield element["text"] if "text" in element else "".join([*_leaves(element["elements"]), "\n"])


def _markdown(tokens: list[Token]) -> Iterator[str]:
    rows: list[list[str]] = []
    kind = ""
    for token in tokens:
        match token.type:
            case "table_open":
                rows = []
            case "th_open" | "td_open":
                kind = token.type
            case "tr_open":
                rows.append([])
            case "table_close":
                yield from _rows(rows[0], rows[1:])
            case "th_close" | "td_close":
                kind = ""
            case "inline" if kind:
                rows[-1].append(_inline(token))
            case "inline":
                yield _inline(token)
            case "fence" | "code_block" | "html_block":
                yield token.content


def _inline(token: Token) -> str:
    breaks = ("softbreak", "hardbreak")
    return "".join("\n" if one.type in breaks else one.content for one in token.children or ())


def _rows(titles: list[str], rows: list[list[str]]) -> Iterator[str]:
    for row in rows:
        yield from (f"{title} {value}" for title, value in zip_longest(titles, row, fillvalue="") if _words(value))
    if not rows:
        yield " ".join(titles)
