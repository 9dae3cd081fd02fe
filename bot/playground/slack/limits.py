"""Slack's limits on messages and views, as documented or measured; independent of the modules that write the app's.

Sources: https://docs.slack.dev/reference/block-kit/blocks, and for what breaks long answers
https://github.com/slackapi/bolt-js/issues/2509.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt

from bot.playground.slack.block_limits import IN_HOME, IN_MESSAGE, IN_MODAL, check_by_type
from bot.playground.slack.element_limits import PLAIN, Dict, only, sized, text_object

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MAX_BLOCKS = 50
MAX_MARKDOWN = 12_000
MAX_RENDERED = 13_200

MAX_TEXT = 40_000
"""https://docs.slack.dev/reference/methods/chat.postMessage#truncating"""

MAX_TEXT_BYTES = 4_000
"""Of the text of an update, and of a text that comes with blocks. https://docs.slack.dev/reference/methods/chat.update"""

OWN_BLOCK = {"heading_open", "fence", "code_block", "table_open", "hr"}
"""The Markdown that Slack renders as a block of its own."""

MAX_TABLE_TEXT = 10_000
"""The characters of all tables of a message or a view. https://docs.slack.dev/reference/block-kit/blocks/table-block"""

MAX_VIEW_BLOCKS = 100
MAX_VIEW_BYTES = 250_000
MAX_PRIVATE_METADATA = 3_000


class SlackError(Exception):
    """A call was refused; the message is Slack's `error`, `details` are the other fields of the answer."""

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.details = details


def check_message(payload: Dict) -> list[str]:
    """Return Slack's error names, each with the reason; empty for a message that Slack takes.

    Stricter than Slack in one point: a message with blocks also needs a text, which screen readers read.
    """
    blocks = payload.get("blocks") or []
    try:
        return [*_text(payload), *_whole(blocks), *_each(blocks)]
    except (AttributeError, KeyError, TypeError):
        return ["invalid_blocks: a field is missing or of the wrong type"]


def check_blocks(streamed: Sequence[Dict], closing: Sequence[Dict]) -> list[str]:
    """Return Slack's error names for a streamed message, each with the reason.

    The blocks of its stop are counted apart. Its Markdown is limited chunk by chunk, not in sum.
    """
    try:
        whole = [*streamed, *closing]
        return [*_counted(streamed), *_counted(closing), *_sized(whole), *_charts(whole), *_each(whole)]
    except (AttributeError, KeyError, TypeError):
        return ["invalid_blocks: a field is missing or of the wrong type"]


def check_view(view: Dict) -> list[str]:
    """Return Slack's error names for a modal or a home tab, each with the reason; empty for one that Slack takes.

    https://docs.slack.dev/reference/views
    """
    if len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")) > MAX_VIEW_BYTES:
        return ["view_too_large: the view has more than 250,000 bytes"]
    try:
        return [f"invalid_arguments: /view{fault}" for fault in _view(view)]
    except (AttributeError, KeyError, TypeError):
        return ["invalid_arguments: /view a field is missing or of the wrong type"]


def _view(view: Dict) -> Iterator[str]:
    kind, blocks = view.get("type"), view.get("blocks")
    if kind not in {"modal", "home"}:
        yield f"/type is {kind}, neither modal nor home"
        return
    fields = {"title", "submit", "close", "clear_on_close", "notify_on_close", "submit_disabled"}
    own = fields if kind == "modal" else set()
    yield from (f" {fault}" for fault in only(view, "blocks", "callback_id", "external_id", "private_metadata", *own))
    for name in ("title", "submit", "close"):
        if kind == "modal" and (name in view or name == "title"):
            yield from (f"/{name} {fault}" for fault in text_object(view.get(name), longest=24, types=PLAIN))
    for name, longest in (("callback_id", 255), ("external_id", 255), ("private_metadata", MAX_PRIVATE_METADATA)):
        yield from (f"/{name} {fault}" for fault in sized(view, name, shortest=0, longest=longest))
    if not isinstance(blocks, list) or len(blocks) > MAX_VIEW_BLOCKS:
        yield f"/blocks must be a list of at most {MAX_VIEW_BLOCKS} blocks"
        return
    if kind == "modal" and "submit" not in view and any(block.get("type") == "input" for block in blocks):
        yield "/submit is missing, and there is an input"
    if sum(_has(block, "focus_on_load") for block in blocks) > 1:
        yield "/blocks have the focus twice"
    if kind == "home" and any(_has(block, "response_url_enabled") for block in blocks):
        yield "/blocks enable a response_url, which only modals have"
    yield from _whole_view(blocks)
    yield from check_by_type(blocks, IN_MODAL if kind == "modal" else IN_HOME, surface=f"a {kind}")


def _whole_view(blocks: Sequence[Dict]) -> Iterator[str]:
    yield from (f"/blocks {fault}" for fault in _repeated_ids(blocks))
    yield from (f"/blocks {fault}" for fault in _tables(blocks))


def _has(value: object, field: str) -> bool:
    """Return whether a field is set in an element somewhere in a block."""
    if isinstance(value, dict):
        return bool(value.get(field)) or any(_has(part, field) for part in value.values())
    return isinstance(value, list) and any(_has(part, field) for part in value)


def rendered_blocks(text: str) -> int:
    """Count the blocks that Slack makes of one `markdown` block: one a heading, table and so on, one a run of text."""
    count, in_run, inside = 0, False, 0
    for token in MARKDOWN.parse(text):
        if token.type in OWN_BLOCK:
            count, in_run = count + 1, False
        inside += {"heading_open": 1, "table_open": 1, "heading_close": -1, "table_close": -1}.get(token.type, 0)
        if token.type == "inline" and not inside and not in_run:
            count, in_run = count + 1, True
    return count


def rendered_length(text: str) -> int:
    """Count characters as Slack does: `&` is 5, `<` and `>` are 4, a heading costs about 100 more."""
    headings = sum(token.type == "heading_open" for token in MARKDOWN.parse(text))
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">")) + 100 * headings


def _text(payload: Dict) -> Iterator[str]:
    text = payload.get("text") or ""
    if not text.strip():
        yield "no_text: the top-level text is empty"
    if payload.get("blocks") and len(text.encode()) > MAX_TEXT_BYTES:
        yield "msg_too_long: the top-level text of a message with blocks has more than 4,000 bytes"
    if len(text) > MAX_TEXT:
        yield "msg_too_long: the text has more than 40,000 characters"
    try:
        json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "invalid_arguments: half a surrogate pair"


def _whole(blocks: Sequence[Dict]) -> Iterator[str]:
    if _expanded(blocks) > MAX_BLOCKS:
        yield "msg_blocks_too_long: more than 50 blocks after rendering"
    if sum(len(block["text"]) for block in blocks if block.get("type") == "markdown") > MAX_MARKDOWN:
        yield "msg_blocks_too_long: more than 12,000 characters of markdown"
    yield from _charts(blocks)
    yield from _sized(blocks)
    yield from (f"invalid_blocks: {fault}" for fault in (*_repeated_ids(blocks), *_tables(blocks)))


def _repeated_ids(blocks: Sequence[Dict]) -> Iterator[str]:
    ids = Counter(block["block_id"] for block in blocks if "block_id" in block)
    yield from (f"block_id {name} twice" for name, count in ids.items() if count > 1)


def _tables(blocks: Sequence[Dict]) -> Iterator[str]:
    texts = (text for block in blocks if block.get("type") == "table" for text in _texts(block))
    if sum(map(len, texts)) > MAX_TABLE_TEXT:
        yield f"more than {MAX_TABLE_TEXT} characters in tables"


def _expanded(blocks: Sequence[Dict]) -> int:
    """Count the blocks after Slack has rendered the Markdown."""
    return sum(rendered_blocks(block["text"]) if block.get("type") == "markdown" else 1 for block in blocks)


def _counted(blocks: Sequence[Dict]) -> Iterator[str]:
    if _expanded(blocks) > MAX_BLOCKS:
        yield "msg_blocks_too_many: more than 50 blocks after rendering"


def _sized(blocks: Sequence[Dict]) -> Iterator[str]:
    texts = [block["text"] for block in blocks if block.get("type") == "markdown"]
    others = [text for block in blocks if block.get("type") != "markdown" for text in _texts(block)]
    if sum(map(rendered_length, texts)) + sum(map(len, others)) > MAX_RENDERED:
        yield "msg_blocks_too_long: more than 13,200 characters in all"


def _charts(blocks: Sequence[Dict]) -> Iterator[str]:
    if sum(block.get("type") == "data_visualization" for block in blocks) > 2:
        yield "invalid_blocks: more than 2 charts"


def _each(blocks: Sequence[Dict]) -> Iterator[str]:
    yield from (f"invalid_blocks: {fault}" for fault in check_by_type(blocks, IN_MESSAGE, surface="a message"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for name, item in value.items() if name == "text" and isinstance(text := item, str))
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))
