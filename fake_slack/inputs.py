"""People's input in interactive elements: values as Slack reports them, and the checks of Slack's client.

https://docs.slack.dev/reference/views#view-states
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload

A raw value is a person's choice or typed text: text, the value of an option, an id, or a list of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from fake_slack.limits import offered
from fake_slack.request_parsing import BadInput, Block

Element = Mapping[str, Any]
Entered = Mapping[str, Mapping[str, Any]]
"""Maps block ids to element ids to values: either as a person entered them, or as in a view's state."""

_SELECTED = {
    "channels_select": "selected_channel",
    "checkboxes": "selected_options",
    "conversations_select": "selected_conversation",
    "datepicker": "selected_date",
    "datetimepicker": "selected_date_time",
    "email_text_input": "value",
    "multi_channels_select": "selected_channels",
    "multi_conversations_select": "selected_conversations",
    "multi_static_select": "selected_options",
    "multi_users_select": "selected_users",
    "number_input": "value",
    "plain_text_input": "value",
    "radio_buttons": "selected_option",
    "static_select": "selected_option",
    "timepicker": "selected_time",
    "url_text_input": "value",
    "users_select": "selected_user",
}
"""Maps the type of an element to the field of its state that has the value; other types have no state."""

_OPTIONS = {"checkboxes", "multi_static_select", "radio_buttons", "static_select"}
_TYPED = {"email_text_input", "number_input", "plain_text_input", "url_text_input"}

_REPORTED = ("action_id", "type", "text", "value", "selected_option", "style", "url", "timezone", "placeholder")

_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


def find_element(blocks: Sequence[Block], *, block_id: str, action_id: str) -> dict[str, Any] | None:
    """Return the element with these ids, None if there is none; it may be an accessory or an input, too."""
    for block in blocks:
        if block.get("block_id") == block_id:
            return next((e for e in _elements(block) if e.get("action_id") == action_id), None)
    return None


def _elements(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    inner = block.get("elements")
    for one in (*(inner if isinstance(inner, list) else ()), block.get("accessory"), block.get("element")):
        if isinstance(one, dict):
            yield one


def report(element: Element, raw: object, *, block_id: str, action_ts: str) -> dict[str, Any] | None:
    """Return an action as Slack reports it: the element with the person's choice.

    Return None if the element does not offer the value `raw`.

    https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element
    """
    try:
        chosen = _choice(element, raw)
    except (BadInput, AttributeError, KeyError, TypeError):  # A page opened before a restart sends outdated elements.
        return None
    kept = {name: element[name] for name in _REPORTED if name in element}
    return {**kept, **chosen, "block_id": block_id, "action_ts": action_ts}


def _choice(element: Element, raw: Any) -> dict[str, Any]:
    """Return the fields of an action that contain the person's choice; a button has none. Raises BadInput."""
    kind = element.get("type")
    if kind == "overflow":
        return {"selected_option": _offered(element, raw)}
    if kind == "feedback_buttons":
        if raw not in (element["positive_button"]["value"], element["negative_button"]["value"]):
            raise BadInput(f"{element['action_id']}: there is no such button")
        return {"value": raw}
    return _state(element, raw) if kind in _SELECTED else {}


def initial_state(blocks: Sequence[Block], *, channel: str = "") -> dict[str, dict[str, Any]]:
    """Return the state of an untouched view; `channel` is the conversation in which it was opened."""
    return {
        block_id: {action_id: _initial(element, channel=channel) for action_id, element in elements.items()}
        for block_id, elements in _stateful(blocks).items()
    }


def enter(blocks: Sequence[Block], state: Entered, raw: Entered) -> dict[str, dict[str, Any]]:
    """Return the state of a view after a person entered raw values. Raises BadInput for values that are not offered."""
    found = _stateful(blocks)
    for block_id, values in raw.items():
        if not isinstance(values, Mapping) or set(values) - set(found.get(block_id, ())):
            raise BadInput(f"values: the view has no such input in {block_id!r}")
    return {
        block_id: {
            action_id: _state(element, raw[block_id][action_id])
            if action_id in raw.get(block_id, {})
            else dict(state.get(block_id, {}).get(action_id) or _initial(element))
            for action_id, element in elements.items()
        }
        for block_id, elements in found.items()
    }


def carry_over(blocks: Sequence[Block], state: Entered, *, channel: str = "") -> dict[str, dict[str, Any]]:
    """Return the state of a view whose blocks were replaced; inputs that still offer their values keep them."""
    carried = initial_state(blocks, channel=channel)
    for block_id, elements in _stateful(blocks).items():
        for action_id, element in elements.items():
            before = state.get(block_id, {}).get(action_id)
            if before is not None and before["type"] == element["type"] and _still_offers(element, before):
                carried[block_id][action_id] = dict(before)
    return carried


def complaints(blocks: Sequence[Block], state: Entered) -> dict[str, str]:
    """Return, by block, the complaints that Slack's client shows below inputs with missing or invalid values."""
    found: dict[str, str] = {}
    for block in blocks:
        if block.get("type") != "input":
            continue
        element = block["element"]
        value = state[block["block_id"]][element["action_id"]][_SELECTED[element["type"]]]
        if value in (None, "", []):
            complaint = "" if block.get("optional") else "Please complete this required field."
        else:
            complaint = _complaint(element, value)
        if complaint:
            found[block["block_id"]] = complaint
    return found


def selections(blocks: Sequence[Block], state: Entered) -> Iterator[tuple[str, str, str]]:
    """Yield the ids of block, element and conversation for each selection in an input with `response_url_enabled`.

    https://docs.slack.dev/surfaces/modals#modal_response_url
    """
    for block in blocks:
        element = block.get("element")
        if block.get("type") == "input" and isinstance(element, dict) and element.get("response_url_enabled"):
            selected = state[block["block_id"]][element["action_id"]][_SELECTED[element["type"]]]
            if selected:
                yield block["block_id"], element["action_id"], selected


def _stateful(blocks: Sequence[Block]) -> dict[str, dict[str, dict[str, Any]]]:
    found = {
        block["block_id"]: {e["action_id"]: e for e in _elements(block) if e.get("type") in _SELECTED}
        for block in blocks
        if block.get("block_id")
    }
    return {block_id: elements for block_id, elements in found.items() if elements}


def _state(element: Element, raw: Any) -> dict[str, Any]:
    """Return the state of an element with a raw value. Raises BadInput."""
    kind = element["type"]
    field = _SELECTED[kind]
    value: Any = raw or None
    if kind == "datetimepicker":
        value = int(raw) if str(raw or "").isdecimal() else None
    elif field.endswith("s"):  # Several values.
        given = raw or []
        if not isinstance(given, list) or len(given) > element.get("max_selected_items", len(given)):
            raise BadInput(f"{element['action_id']}: too many are chosen")
        value = [_offered(element, one) for one in given] if kind in _OPTIONS else given
    elif raw and kind in _OPTIONS:
        value = _offered(element, raw)
    elif value is not None and not isinstance(value, str):
        raise BadInput(f"{element['action_id']}: it must be text")
    return {"type": kind, field: value}


def _offered(element: Element, raw: object) -> dict[str, Any]:
    option = next((one for one in offered(element) if one.get("value") == raw), None)
    if option is None:
        raise BadInput(f"{element['action_id']}: there is no such option")
    return option


def _initial(element: Element, *, channel: str = "") -> dict[str, Any]:
    kind = element["type"]
    field = _SELECTED[kind]
    value = element.get("initial_value" if kind in _TYPED else field.replace("selected", "initial"))
    if value is None and channel and element.get("default_to_current_conversation"):
        value = [channel] if field.endswith("s") else channel
    return {"type": kind, field: [] if value is None and field.endswith("s") else value}


def _still_offers(element: Element, before: Mapping[str, Any]) -> bool:
    if element["type"] not in _OPTIONS:
        return True
    value = before[_SELECTED[element["type"]]]
    chosen = value if isinstance(value, list) else [value] if value else []
    options = list(offered(element))
    return all(one in options for one in chosen)


def _complaint(element: Element, value: Any) -> str:
    kind = element["type"]
    if kind == "plain_text_input":
        return _length_complaint(element, value)
    if kind == "number_input":
        return _number_complaint(element, value)
    if kind == "url_text_input" and not (urlsplit(value).scheme in {"http", "https"} and urlsplit(value).netloc):
        return "Please enter a valid URL, such as https://example.com."
    if kind == "email_text_input" and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        return "Please enter a valid email address."
    return ""


def _length_complaint(element: Element, value: str) -> str:
    least, most = element.get("min_length", 0), element.get("max_length", 3000)
    if len(value) < least:
        return f"Please enter at least {least} characters."
    return f"Please enter at most {most} characters." if len(value) > most else ""


def _number_complaint(element: Element, value: str) -> str:
    if not _NUMBER.fullmatch(value) or ("." in value and not element["is_decimal_allowed"]):
        return "Please enter a number." if element["is_decimal_allowed"] else "Please enter a whole number."
    if "min_value" in element and float(value) < float(element["min_value"]):
        return f"Please enter a number of at least {element['min_value']}."
    if "max_value" in element and float(value) > float(element["max_value"]):
        return f"Please enter a number of at most {element['max_value']}."
    return ""
