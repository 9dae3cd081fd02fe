"""Slack's limits on messages and views, as documented or measured; independent of the modules that write the app's.

Sources: https://docs.slack.dev/reference/block-kit/blocks, and for what breaks long answers
https://github.com/slackapi/bolt-js/issues/2509.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt

from bot.playground import element_limits
from bot.playground.element_limits import (
    IN_ACTIONS,
    IN_CONTEXT,
    IN_CONTEXT_ACTIONS,
    IN_INPUT,
    IN_SECTION,
    PLAIN,
    Dict,
    element,
    elements,
    only,
    sized,
    text_object,
)

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

TASK_STATUSES = ("in_progress", "complete", "error")

MAX_TABLE_TEXT = 10_000
"""The characters of all tables of a message or a view. https://docs.slack.dev/reference/block-kit/blocks/table-block"""

MAX_VIEW_BLOCKS = 100
MAX_VIEW_BYTES = 250_000
MAX_PRIVATE_METADATA = 3_000

IN_MODAL = {"actions", "alert", "context", "divider", "header", "image", "input", "rich_text", "section"}
IN_HOME = IN_MODAL - {"alert"} | {"table"}
IN_MESSAGE = IN_HOME | {"context_actions", "data_visualization", "markdown", "plan", "task_card"}
"""The types of blocks that the app uses, by the surface that Slack takes them on."""


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
    yield from _by_type(blocks, IN_MODAL if kind == "modal" else IN_HOME, surface=f"a {kind}")


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
    yield from (f"invalid_blocks: {fault}" for fault in _by_type(blocks, IN_MESSAGE, surface="a message"))


def _by_type(blocks: Sequence[Dict], allowed: set[str], *, surface: str) -> Iterator[str]:
    """Check each block as its type demands."""
    for place, block in enumerate(blocks):
        kind = str(block.get("type"))
        check = CHECKS.get(kind)
        if check is None or kind not in allowed:
            why = "unknown type" if check is None else f"type, which {surface} does not take:"
            yield f"/blocks/{place} has the {why} {block.get('type')}"
            continue
        yield from (f"/blocks/{place} {fault}" for fault in sized(block, "block_id", shortest=0, longest=255))
        yield from (f"/blocks/{place} {fault}" for fault in check(block))
        yield from (f"/blocks/{place} {fault}" for fault in _action_ids(block))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for name, item in value.items() if name == "text" and isinstance(text := item, str))
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))


def _section(block: Dict) -> Iterator[str]:
    yield from only(block, "text", "fields", "accessory", "expand")
    if "text" in block or not block.get("fields"):
        yield from text_object(block.get("text"))
    if len(block.get("fields", [])) > 10:
        yield "needs at most 10 fields"
    for field in block.get("fields", []):
        yield from text_object(field, longest=2000)
    if "accessory" in block:
        yield from element(block["accessory"], IN_SECTION)


def _context(block: Dict) -> Iterator[str]:
    yield from elements(block, IN_CONTEXT, most=10)


def _input(block: Dict) -> Iterator[str]:
    """Check an input (https://docs.slack.dev/reference/block-kit/blocks/input-block)."""
    yield from only(block, "label", "element", "hint", "optional", "dispatch_action")
    yield from text_object(block.get("label"), longest=2000, types=PLAIN)
    if "hint" in block:
        yield from text_object(block["hint"], longest=2000, types=PLAIN)
    yield from element(block.get("element"), IN_INPUT)


def _image_block(block: Dict) -> Iterator[str]:
    yield from element_limits.image({name: value for name, value in block.items() if name != "title"})
    if "title" in block:
        yield from text_object(block["title"], longest=2000, types=PLAIN)


def _alert(block: Dict) -> Iterator[str]:
    """Check an alert (https://docs.slack.dev/reference/block-kit/blocks/alert-block)."""
    yield from only(block, "text", "level")
    yield from text_object(block.get("text"), longest=200)
    if block.get("level", "default") not in {"default", "info", "warning", "error", "success"}:
        yield f"has the level {block.get('level')}"


def _table(block: Dict) -> Iterator[str]:
    """Check a table (https://docs.slack.dev/reference/block-kit/blocks/table-block)."""
    yield from only(block, "rows", "column_settings")
    rows = block.get("rows", [])
    if not 1 <= len(rows) <= 100 or any(not 1 <= len(row) <= 20 for row in rows):
        yield "needs 1 to 100 rows of 1 to 20 cells"
    for cell in (cell for row in rows for cell in row):
        if cell.get("type") == "rich_text":
            yield from _rich_text(cell)
        elif cell.get("type") not in {"raw_text", "raw_number"}:
            yield f"has a cell of the type {cell.get('type')}"
        elif not str(cell.get("text", "")):
            yield "has an empty cell"
    columns = block.get("column_settings", [])
    if len(columns) > 20:
        yield "needs at most 20 column_settings"
    for column in columns:
        yield from only(column or {}, "align", "is_wrapped")
        if (column or {}).get("align", "left") not in {"left", "center", "right"}:
            yield "a column has an unknown align"


def _markdown(block: Dict) -> Iterator[str]:
    yield from only(block, "text")
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        yield "has no text"


def _actions(block: Dict) -> Iterator[str]:
    yield from elements(block, IN_ACTIONS, most=25)


def _context_actions(block: Dict) -> Iterator[str]:
    """Check feedback buttons (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block)."""
    yield from elements(block, IN_CONTEXT_ACTIONS, most=5)


def _plan(block: Dict) -> Iterator[str]:
    """Check a plan (https://docs.slack.dev/reference/block-kit/blocks/plan-block); its tasks may be pending."""
    yield from only(block, "title", "tasks")
    yield from _title(block)
    for task in block.get("tasks", []):
        yield from _task_card(task, statuses=(*TASK_STATUSES, "pending"))


def _task_card(block: Dict, *, statuses: tuple[str, ...] = TASK_STATUSES) -> Iterator[str]:
    """Check a task (https://docs.slack.dev/reference/block-kit/blocks/task-card-block)."""
    yield from only(block, "task_id", "title", "status", "details", "output", "sources")
    yield from _title(block)
    if not block.get("task_id"):
        yield "needs a task_id"
    if block.get("status") not in statuses:
        yield f"has the status {block.get('status')}"
    for name in ("details", "output"):
        if name in block:
            yield from _rich_text(block[name])
    for source in block.get("sources", []):
        if source.get("type") != "url" or not source.get("url") or not source.get("text"):
            yield "has a source without a url and a text"


def _title(block: Dict) -> Iterator[str]:
    if not isinstance(block.get("title"), str) or not block["title"]:
        yield "title must be text"


def _header(block: Dict) -> Iterator[str]:
    yield from only(block, "text", "level")
    yield from text_object(block.get("text"), longest=150, types=PLAIN)


def _divider(block: Dict) -> Iterator[str]:
    yield from only(block)


def _rich_text(block: Dict) -> Iterator[str]:
    yield from only(block, "elements")
    if not block.get("elements"):
        yield "needs elements"
    for part in block.get("elements", []):
        yield from _rich_text_part(part)


def _rich_text_part(part: Dict) -> Iterator[str]:
    kind, inner = part.get("type"), part.get("elements", [])
    if not inner:
        yield "has an empty rich text element"
    if kind == "rich_text_list":
        yield from only(part, "elements", "style", "indent", "offset", "border")
        if part.get("style") not in {"bullet", "ordered"}:
            yield "a rich text list must have the style bullet or ordered"
        if any(item.get("type") != "rich_text_section" for item in inner):
            yield "an item of a rich text list must be a rich_text_section"
        inner = [leaf for item in inner for leaf in item.get("elements", [])]
    elif kind not in {"rich_text_section", "rich_text_quote", "rich_text_preformatted"}:
        yield f"has the rich text element {kind}"
    for leaf in inner:
        yield from _leaf(leaf)


def _leaf(leaf: Dict) -> Iterator[str]:
    if leaf.get("type") not in {"text", "link"}:
        yield f"has the rich text leaf {leaf.get('type')}"
    yield from only(leaf, "text", "style", *(("url", "unsafe") if leaf.get("type") == "link" else ()))
    if leaf.get("type") == "link" and not 1 <= len(leaf.get("url", "")) <= 3000:
        yield "url must have 1 to 3000 characters"
    if not leaf.get("text"):
        yield "has an empty rich text leaf"


def _chart(block: Dict) -> Iterator[str]:
    """Check a bar chart (https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block)."""
    yield from only(block, "title", "chart")
    chart = block.get("chart") or {}
    if not 1 <= len(block.get("title", "")) <= 50:
        yield "title must have 1 to 50 characters"
    if chart.get("type") != "bar":
        yield f"has the chart type {chart.get('type')}"
    axis, series = chart.get("axis_config") or {}, chart.get("series") or []
    categories = axis.get("categories") or []
    if not 1 <= len(categories) <= 20 or len(set(categories)) != len(categories):
        yield "needs 1 to 20 different categories"
    if any(not 1 <= len(label) <= 20 for label in categories):
        yield "a category must have 1 to 20 characters"
    if any(len(axis.get(name, "")) > 50 for name in ("x_label", "y_label")):
        yield "an axis label must have at most 50 characters"
    names = [one.get("name", "") for one in series]
    if not 1 <= len(series) <= 6 or len(set(names)) != len(names) or any(not 1 <= len(n) <= 20 for n in names):
        yield "needs 1 to 6 series with different names of 1 to 20 characters"
    for one in series:
        points = one.get("data") or []
        if [point.get("label") for point in points] != categories:
            yield f"the series {one.get('name')} must have a point for every category"
        if not all(isinstance(point.get("value"), (int, float)) for point in points):
            yield f"the series {one.get('name')} has a value that is not a number"


def _action_ids(block: Dict) -> Iterator[str]:
    ids = Counter(e.get("action_id") for e in block.get("elements", []) if isinstance(e, dict) and "action_id" in e)
    yield from (f"has the action_id {name} twice" for name, count in ids.items() if count > 1)


CHECKS: dict[str, Callable[[Dict], Iterator[str]]] = {
    "alert": _alert,
    "image": _image_block,
    "input": _input,
    "section": _section,
    "table": _table,
    "context": _context,
    "markdown": _markdown,
    "actions": _actions,
    "context_actions": _context_actions,
    "header": _header,
    "divider": _divider,
    "rich_text": _rich_text,
    "data_visualization": _chart,
    "plan": _plan,
    "task_card": _task_card,
}
