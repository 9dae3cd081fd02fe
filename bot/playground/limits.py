"""Slack's limits on messages, as documented or measured; independent of the modules that write the app's messages.

Sources: https://docs.slack.dev/reference/block-kit/blocks, and for what breaks long answers
https://github.com/slackapi/bolt-js/issues/2509.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt

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

Dict = Mapping[str, Any]


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
    for ids in (Counter(block["block_id"] for block in blocks if "block_id" in block),):
        yield from (f"invalid_blocks: block_id {name} twice" for name, count in ids.items() if count > 1)


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
    for place, block in enumerate(blocks):
        check = CHECKS.get(str(block.get("type")))
        if check is None:
            yield f"invalid_blocks: /blocks/{place} has the unknown type {block.get('type')}"
            continue
        yield from (f"invalid_blocks: /blocks/{place} {fault}" for fault in check(block))
        yield from (f"invalid_blocks: /blocks/{place} {fault}" for fault in _action_ids(block))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for name, item in value.items() if name == "text" and isinstance(text := item, str))
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))


def _only(block: Dict, *names: str) -> Iterator[str]:
    yield from (f"has the unknown field {name}" for name in block if name not in {"type", "block_id", *names})


def _text_object(
    value: Any, *, longest: int = 3000, types: tuple[str, ...] = ("mrkdwn", "plain_text")
) -> Iterator[str]:
    if not isinstance(value, dict) or value.get("type") not in types:
        yield "must provide a text object of the right type"
        return
    yield from _only(value, "text", *(("verbatim",) if value["type"] == "mrkdwn" else ("emoji",)))
    if not isinstance(value.get("text"), str) or not 1 <= len(value["text"]) <= longest:
        yield f"text must have 1 to {longest} characters"


def _section(block: Dict) -> Iterator[str]:
    yield from _only(block, "text", "fields", "accessory", "expand")
    if "text" in block or not block.get("fields"):
        yield from _text_object(block.get("text"))


def _context(block: Dict) -> Iterator[str]:
    yield from _elements(block, most=10)
    for element in block.get("elements", []):
        yield from _image(element) if element.get("type") == "image" else _text_object(element)


def _image(image: Dict) -> Iterator[str]:
    yield from _only(image, "image_url", "alt_text")
    if not 1 <= len(image.get("image_url", "")) <= 3000:
        yield "image_url must have 1 to 3000 characters"
    if not 1 <= len(image.get("alt_text", "")) <= 2000:
        yield "alt_text must have 1 to 2000 characters"


def _markdown(block: Dict) -> Iterator[str]:
    yield from _only(block, "text")
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        yield "has no text"


def _actions(block: Dict) -> Iterator[str]:
    yield from _elements(block, most=25)
    for element in block.get("elements", []):
        yield from _overflow(element) if element.get("type") == "overflow" else _button(element)


def _elements(block: Dict, *, most: int) -> Iterator[str]:
    yield from _only(block, "elements")
    if not 1 <= len(block.get("elements", [])) <= most:
        yield f"needs 1 to {most} elements"


def _overflow(menu: Dict) -> Iterator[str]:
    """Check a menu (https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element)."""
    yield from _only(menu, "action_id", "options", "confirm")
    yield from _action_id(menu)
    if not 1 <= len(menu.get("options", [])) <= 5:
        yield "needs 1 to 5 options"
    for option in menu.get("options", []):
        yield from _text_object(option.get("text"), longest=75, types=("plain_text",))
        if not 1 <= len(option.get("value", "")) <= 150:
            yield "the value of an option must have 1 to 150 characters"


def _context_actions(block: Dict) -> Iterator[str]:
    """Check feedback buttons (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block)."""
    yield from _elements(block, most=5)
    for element in block.get("elements", []):
        if element.get("type") != "feedback_buttons":
            yield f"has the element {element.get('type')}"
            continue
        yield from _only(element, "action_id", "positive_button", "negative_button")
        yield from _action_id(element)
        for name in ("positive_button", "negative_button"):
            yield from _feedback_button(element.get(name) or {})


def _feedback_button(button: Dict) -> Iterator[str]:
    yield from _text_object(button.get("text"), longest=75, types=("plain_text",))
    if not 1 <= len(button.get("value", "")) <= 2000:
        yield "value must have 1 to 2000 characters"


def _action_id(element: Dict) -> Iterator[str]:
    if not 1 <= len(element.get("action_id", "")) <= 255:
        yield "action_id must have 1 to 255 characters"


def _button(button: Dict) -> Iterator[str]:
    if button.get("type") != "button":
        yield f"has the element {button.get('type')} where a button must be"
    yield from _only(button, "text", "action_id", "value", "url", "style", "confirm", "accessibility_label")
    yield from _text_object(button.get("text"), longest=75, types=("plain_text",))
    yield from _action_id(button)
    if len(button.get("value", "")) > 2000:
        yield "value must have at most 2000 characters"
    if button.get("style", "primary") not in {"primary", "danger"}:
        yield "style must be primary or danger"


def _plan(block: Dict) -> Iterator[str]:
    """Check a plan (https://docs.slack.dev/reference/block-kit/blocks/plan-block); its tasks may be pending."""
    yield from _only(block, "title", "tasks")
    yield from _title(block)
    for task in block.get("tasks", []):
        yield from _task_card(task, statuses=(*TASK_STATUSES, "pending"))


def _task_card(block: Dict, *, statuses: tuple[str, ...] = TASK_STATUSES) -> Iterator[str]:
    """Check a task (https://docs.slack.dev/reference/block-kit/blocks/task-card-block)."""
    yield from _only(block, "task_id", "title", "status", "details", "output", "sources")
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
    yield from _only(block, "text", "level")
    yield from _text_object(block.get("text"), longest=150, types=("plain_text",))


def _divider(block: Dict) -> Iterator[str]:
    yield from _only(block)


def _rich_text(block: Dict) -> Iterator[str]:
    yield from _only(block, "elements")
    if not block.get("elements"):
        yield "needs elements"
    for element in block.get("elements", []):
        if element.get("type") not in {"rich_text_section", "rich_text_quote", "rich_text_preformatted"}:
            yield f"has the rich text element {element.get('type')}"
        if not element.get("elements"):
            yield "has an empty rich text element"
        for leaf in element.get("elements", []):
            yield from _leaf(leaf)


def _leaf(leaf: Dict) -> Iterator[str]:
    if leaf.get("type") not in {"text", "link"}:
        yield f"has the rich text leaf {leaf.get('type')}"
    yield from _only(leaf, "text", "style", *(("url", "unsafe") if leaf.get("type") == "link" else ()))
    if leaf.get("type") == "link" and not 1 <= len(leaf.get("url", "")) <= 3000:
        yield "url must have 1 to 3000 characters"
    if not leaf.get("text"):
        yield "has an empty rich text leaf"


def _chart(block: Dict) -> Iterator[str]:
    """Check a bar chart (https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block)."""
    yield from _only(block, "title", "chart")
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
    "section": _section,
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
