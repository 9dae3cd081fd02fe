"""Slack's limits on messages and views, as documented or measured, and not taken from the app's own code.

`block_kit.json` says what each block, element and view may contain; this module has the rules that span several of
them.

Sources: https://docs.slack.dev/reference/block-kit/blocks, and for the limits that long answers exceed
https://github.com/slackapi/bolt-js/issues/2509.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from markdown_it import MarkdownIt

Dict = Mapping[str, Any]

SCHEMA: Dict = json.loads((Path(__file__).parent / "block_kit.json").read_text(encoding="utf-8"))
DEFINITIONS: Dict = SCHEMA["$defs"]
FORMATS = FormatChecker(())

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MAX_BLOCKS = 50
MAX_MARKDOWN = 12_000
MAX_RENDERED = 13_200

MAX_TEXT = 40_000
"""The most characters of a message's text. https://docs.slack.dev/reference/methods/chat.postMessage#truncating"""

MAX_TEXT_BYTES = 4_000
"""The most bytes of the text of an update, or of a message with blocks.

https://docs.slack.dev/reference/methods/chat.update
"""

OWN_BLOCK = {"heading_open", "fence", "code_block", "table_open", "hr"}
"""The Markdown tokens for parts that Slack renders as a block of their own."""

MAX_TABLE_TEXT = 10_000
"""The most characters in all tables of a message. https://docs.slack.dev/reference/block-kit/blocks/table-block"""

MAX_VIEW_BYTES = 250_000
MAX_INPUT = 3_000


class SlackError(Exception):
    """A call was refused; the message is Slack's `error`, `details` are the other fields of the reply."""

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.details = details


def refuse(problems: Sequence[str]) -> None:
    """Raise `SlackError` if there are problems; each is the name of an error, a colon and the reason."""
    if problems:
        raise SlackError(problems[0].partition(":")[0], response_metadata={"messages": problems})


def check_message(payload: Dict) -> list[str]:
    """Return Slack's error names, each with the reason; empty for a message that Slack accepts.

    This is stricter than Slack in one point: a message with blocks also needs a text, which screen readers read.
    """
    blocks = payload.get("blocks") or ()
    malformed = [f"invalid_blocks: {fault}" for fault in _faults("message", payload, blocks)]
    return malformed or [*_text(payload), *_whole(blocks)]


def check_blocks(streamed: Sequence[Dict], closing: Sequence[Dict]) -> list[str]:
    """Return Slack's error names for a streamed message, each with the reason.

    `closing` are the blocks that `chat.stopStream` adds; they have their own limit of 50 blocks. The limit of 12,000
    characters of Markdown is not checked here, since it applies to each chunk and not to the whole message.
    """
    whole = [*streamed, *closing]
    malformed = [f"invalid_blocks: {fault}" for fault in _faults("message", {"blocks": whole}, whole)]
    return malformed or [*_counted(streamed), *_counted(closing), *_sized(whole), *_charts(whole)]


def check_view(view: Dict) -> list[str]:
    """Return Slack's error names for a modal or a home tab, each with the reason; empty for a view that Slack accepts.

    https://docs.slack.dev/reference/views
    """
    if len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")) > MAX_VIEW_BYTES:
        return ["view_too_large: the view has more than 250,000 bytes"]
    return [f"invalid_arguments: /view{fault}" for fault in _view(view)]


def _view(view: Dict) -> list[str]:
    kind = view.get("type")
    if kind not in ("modal", "home"):
        return [f"/type is {kind}, neither modal nor home"]
    blocks = view.get("blocks", ())
    return _faults(kind, view, blocks) or [
        f"/blocks {fault}" for fault in (*_repeated_ids(blocks), *_tables(blocks), *_misplaced(blocks, kind))
    ]


def _misplaced(blocks: Sequence[Dict], surface: str) -> Iterator[str]:
    if sum(_has(block, "focus_on_load") for block in blocks) > 1:
        yield "have the focus twice"
    if surface == "home" and any(_has(block, "response_url_enabled") for block in blocks):
        yield "enable a response_url, which only modals have"


def _one_of(validator: Any, choices: Sequence[Dict], value: Any, schema: Dict) -> Iterator[ValidationError]:
    """Yield the faults of a value, checked only against the choice that has the value's type.

    Plain JSON Schema would only say that no choice fits.
    """
    if "discriminator" not in schema:
        yield from Draft202012Validator.VALIDATORS["oneOf"](validator, choices, value, schema)
        return
    kind = value.get("type") if isinstance(value, dict) else None
    chosen = next((choice for choice in choices if kind in _types(choice["$ref"])), None)
    if chosen is not None:
        yield from validator.descend(value, chosen)
    else:
        known = f"{kind}" in DEFINITIONS
        yield ValidationError(
            f"has the type {kind}, which is not allowed there" if known else f"has the unknown type {kind}"
        )


@cache
def _types(reference: str) -> Sequence[str]:
    """Return the values of `type` that a definition of the schema covers."""
    kind = DEFINITIONS[reference.removeprefix("#/$defs/")]["properties"]["type"]
    return kind.get("enum") or [kind["const"]]


@FORMATS.checks("time-zone", raises=(ZoneInfoNotFoundError, ValueError, OSError))
def _is_zone(name: object) -> bool:
    return bool(ZoneInfo(str(name)))


@cache
def _validator(name: str) -> Any:
    arrays = Draft202012Validator.TYPE_CHECKER.redefine("array", lambda _, value: isinstance(value, list | tuple))
    validator = extend(Draft202012Validator, {"oneOf": _one_of}, type_checker=arrays)
    return validator({**SCHEMA, "$ref": f"#/$defs/{name}"}, format_checker=FORMATS)


def _faults(name: str, value: Dict, blocks: Sequence[Dict]) -> list[str]:
    """Return the faults of a message or a view and of its blocks, each with its place."""
    return [_described(error) for error in _validator(name).iter_errors(value)] or [
        f"/blocks/{at} {fault}" for at, block in enumerate(blocks) for fault in _contradictions(block)
    ]


def _described(error: ValidationError) -> str:
    place, inside = [f"/{part}" for part in list(error.path)[:2]], [f"{part}" for part in list(error.path)[2:]]
    reason = error.message.removeprefix(f"{error.instance!r} ")
    limit = f" ({error.validator}: {error.validator_value})" if type(error.validator_value) is int else ""
    return " ".join(part for part in ("".join(place), "/".join(inside), f"{reason}{limit}") if part)


def _contradictions(block: Dict) -> Iterator[str]:
    """Yield contradictions that no schema can express: parts of a block that do not fit together."""
    inner = [*block.get("elements", ()), block.get("accessory", {}), block.get("element", {})]
    ids = Counter(one["action_id"] for one in inner if "action_id" in one)
    yield from (f"has the action_id {name} twice" for name, count in ids.items() if count > 1)
    for element in inner:
        options = list(offered(element))
        chosen = [element["initial_option"]] if "initial_option" in element else element.get("initial_options", ())
        if any(one not in options for one in chosen):
            yield "has an initial option that is not among the options"
        if element.get("min_length", 0) > element.get("max_length", MAX_INPUT):
            yield "min_length is more than max_length"
        if element.get("type") == "number_input":
            bounds = [element[name] for name in ("min_value", "initial_value", "max_value") if name in element]
            if bounds != sorted(bounds, key=float):
                yield "min_value, initial_value and max_value must be in this order"
    if block["type"] == "data_visualization":
        yield from _mismatched(block["chart"])


def _mismatched(chart: Dict) -> Iterator[str]:
    names = [one["name"] for one in chart["series"]]
    if len(set(names)) != len(names):
        yield "the series must have different names"
    for one in chart["series"]:
        if [point["label"] for point in one["data"]] != chart["axis_config"]["categories"]:
            yield f"the series {one['name']} must have a point for every category"


def offered(element: Dict) -> Iterator[dict[str, Any]]:
    """Yield the options of an element, including those of its groups."""
    groups = (group["options"] for group in element.get("option_groups", ()))
    return chain(element.get("options", ()), *groups)


def _has(value: object, field: str) -> bool:
    """Return whether a field is set in an element somewhere in a block."""
    return any(isinstance(part, dict) and part.get(field) for part, _ in walk(value))


def walk(value: object) -> Iterator[tuple[object, int]]:
    """Yield a value and everything inside it, each with its depth."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        if isinstance(part, dict):
            waiting += [(inner, depth + 1) for pair in part.items() for inner in pair]
        elif isinstance(part, list):
            waiting += [(inner, depth + 1) for inner in part]


def rendered_blocks(text: str) -> int:
    """Count the blocks that Slack makes of a `markdown` block: one per `OWN_BLOCK` token or run of other text."""
    count, in_run, inside = 0, False, 0
    for token in MARKDOWN.parse(text):
        if token.type in OWN_BLOCK:
            count, in_run = count + 1, False
        inside += {"heading_open": 1, "table_open": 1, "heading_close": -1, "table_close": -1}.get(token.type, 0)
        if token.type == "inline" and not inside and not in_run:
            count, in_run = count + 1, True
    return count


def rendered_length(text: str) -> int:
    """Count characters about as Slack does: `&` as 5, `<` and `>` as 4, and 100 more for each heading."""
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


def _texts(value: object) -> Iterator[str]:
    found = (part.get("text") for part, _ in walk(value) if isinstance(part, dict))
    yield from (text for text in found if isinstance(text, str))
