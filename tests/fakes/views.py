"""Views that tests open, and the blocks that they are made of."""

from __future__ import annotations

from typing import Any

Block = dict[str, Any]


def plain(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}


def option(value: str, text: str = "An option") -> dict[str, Any]:
    return {"text": plain(text), "value": value}


def field(element: str, **more: Any) -> Block:
    """Return an input block; its id and that of its element are the element's type, or `name`."""
    name = more.pop("name", element)
    about = {key: more.pop(key) for key in list(more) if key in {"optional", "hint"}}
    inner = {"type": element, "action_id": name, **more}
    return {"type": "input", "block_id": name, "label": plain(name), **about, "element": inner}


def buttons(*elements: dict[str, Any]) -> Block:
    return {"type": "actions", "block_id": "buttons", "elements": list(elements)}


def accessory(**element: Any) -> Block:
    return {**TEXT, "accessory": element}


BUTTON = {"type": "button", "action_id": "go", "text": plain("Go"), "value": "q1"}
DIVIDER = {"type": "divider"}
HEADING = {"type": "header", "text": plain("Heading")}
TEXT = {"type": "section", "text": {"type": "mrkdwn", "text": "Text"}}
ASKS = field("plain_text_input", name="why")
OPTIONS = [option("0"), option("1")]
TABLE: Block = {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]}
CONFIRM = {"title": plain("Sure?"), "text": plain("Really"), "confirm": plain("Yes"), "deny": plain("No")}


def modal(*blocks: Block, **more: Any) -> dict[str, Any]:
    shown = {"type": "modal", "title": plain("A modal"), "submit": plain("Save"), "close": plain("Close")}
    return shown | {"blocks": list(blocks) or [TEXT]} | more


def home(*blocks: Block, **more: Any) -> dict[str, Any]:
    return {"type": "home", "blocks": list(blocks) or [TEXT]} | more


FULL = modal(
    field("plain_text_input", name="note", multiline=True, min_length=2, max_length=3000, placeholder=plain("Why")),
    field("plain_text_input", name="title", initial_value="A title", focus_on_load=True),
    field("checkboxes", options=OPTIONS, initial_options=OPTIONS[:1], optional=True),
    field("radio_buttons", options=[{**OPTIONS[0], "description": plain("The first")}, OPTIONS[1]]),
    field("static_select", options=OPTIONS, initial_option=OPTIONS[1]),
    field("multi_static_select", option_groups=[{"label": plain("All"), "options": OPTIONS}], max_selected_items=2),
    field("users_select", initial_user="U1"),
    field("conversations_select", default_to_current_conversation=True, response_url_enabled=True),
    field("multi_conversations_select", filter={"include": ["public", "private"]}, optional=True),
    field("datepicker", initial_date="2026-11-30"),
    field("timepicker", initial_time="09:30", timezone="Europe/Berlin"),
    field("number_input", is_decimal_allowed=False, min_value="1", max_value="20"),
    field("url_text_input", optional=True),
    accessory(**{**BUTTON, "confirm": CONFIRM}),
    buttons(BUTTON, {"type": "overflow", "action_id": "more", "options": OPTIONS}),
    HEADING,
    DIVIDER,
    {"type": "alert", "text": plain("Careful"), "level": "warning"},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}]},
    callback_id="full",
    private_metadata='{"question": "q1"}',
    external_id="full-1",
    notify_on_close=True,
)
