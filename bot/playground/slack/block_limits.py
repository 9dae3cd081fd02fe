"""What Slack accepts as a block, by its type, as documented or measured.

https://docs.slack.dev/reference/block-kit/blocks

Each function yields what is wrong, as the end of a sentence that begins with the place of the block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bot.playground.slack import element_limits
from bot.playground.slack.element_limits import (
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

TASK_STATUSES = ("in_progress", "complete", "error")

IN_MODAL = {"actions", "alert", "context", "divider", "header", "image", "input", "rich_text", "section"}
IN_HOME = IN_MODAL - {"alert"} | {"table"}
IN_MESSAGE = IN_HOME | {"context_actions", "data_visualization", "markdown", "plan", "task_card"}
"""The types of blocks that the app uses, by the surface that Slack takes them on."""


def check_by_type(blocks: Sequence[Dict], allowed: set[str], *, surface: str) -> Iterator[str]:
    """Check each block as its type demands; `surface` is what takes only the `allowed` types."""
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


NAMED_LEAVES = {"user": ("user_id", r"[UW][A-Z0-9]+"), "channel": ("channel_id", r"[CG][A-Z0-9]+")}
"""Leaves that Slack shows as a name, with the field of the id and its form.

https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""


def _leaf(leaf: Dict) -> Iterator[str]:
    if (named := NAMED_LEAVES.get(str(leaf.get("type")))) is not None:
        field, form = named
        yield from only(leaf, field, "style")
        if not re.fullmatch(form, str(leaf.get(field, ""))):
            yield f"has the {field} {leaf.get(field)}, which is no {leaf.get('type')}'s"
        return
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
