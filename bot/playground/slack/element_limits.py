"""What Slack accepts as an element of a block: buttons, menus and inputs, and the objects that they are made of.

https://docs.slack.dev/reference/block-kit/block-elements
https://docs.slack.dev/reference/block-kit/composition-objects

Each function yields what is wrong, as the end of a sentence that begins with the place of the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Dict = Mapping[str, Any]
Check = Callable[[Dict], Iterator[str]]

PLAIN = ("plain_text",)
ANY_TEXT = ("mrkdwn", "plain_text")

MAX_INPUT = 3000
MAX_OPTIONS, MAX_CHOICES, MAX_MENU = 100, 10, 5

_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", re.ASCII)
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)


def only(value: Dict, *names: str) -> Iterator[str]:
    """Check that there are no other fields than these."""
    yield from (f"has the unknown field {name}" for name in value if name not in {"type", "block_id", *names})


def text_object(value: Any, *, longest: int = 3000, types: tuple[str, ...] = ANY_TEXT) -> Iterator[str]:
    """Check a text object of one of these types."""
    if not isinstance(value, dict) or value.get("type") not in types:
        yield "must provide a text object of the right type"
        return
    yield from only(value, "text", *(("verbatim",) if value["type"] == "mrkdwn" else ("emoji",)))
    if not isinstance(value.get("text"), str) or not 1 <= len(value["text"]) <= longest:
        yield f"text must have 1 to {longest} characters"


def sized(value: Dict, name: str, *, longest: int, shortest: int = 1) -> Iterator[str]:
    """Check the length of a text; one that is missing is empty."""
    text = value.get(name, "")
    if not isinstance(text, str) or not shortest <= len(text) <= longest:
        yield f"{name} must have {f'{shortest} to' if shortest else 'at most'} {longest} characters"


def elements(block: Dict, allowed: Mapping[str, Check], *, most: int) -> Iterator[str]:
    """Check the elements of a block, of which only some types are allowed."""
    yield from only(block, "elements")
    if not 1 <= len(block.get("elements", [])) <= most:
        yield f"needs 1 to {most} elements"
    for one in block.get("elements", []):
        yield from element(one, allowed)


def element(value: Any, allowed: Mapping[str, Check]) -> Iterator[str]:
    """Check one element by its type."""
    kind = value.get("type") if isinstance(value, dict) else value
    check = allowed.get(kind) if isinstance(kind, str) else None
    if check is None:
        yield f"has the element {kind}, which is not allowed there"
        return
    yield from check(value)


def image(value: Dict) -> Iterator[str]:
    """Check an image of a context or a section."""
    yield from only(value, "image_url", "alt_text")
    yield from sized(value, "image_url", longest=3000)
    yield from sized(value, "alt_text", longest=2000)


def _named(value: Dict, *names: str) -> Iterator[str]:
    """Check an element's fields, its id, and its question whether the person is sure."""
    yield from only(value, "action_id", "confirm", *names)
    yield from sized(value, "action_id", longest=255)
    if "confirm" in value:
        yield from _confirm(value["confirm"])


def _confirm(dialog: Dict) -> Iterator[str]:
    """Check a dialog (https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object)."""
    yield from only(dialog, "title", "text", "confirm", "deny", "style")
    for name, longest in (("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)):
        faults = text_object(dialog.get(name), longest=longest, types=ANY_TEXT if name == "text" else PLAIN)
        yield from (f"confirm: {name}: {fault}" for fault in faults)
    yield from _style(dialog)


def _style(value: Dict) -> Iterator[str]:
    if value.get("style", "primary") not in {"primary", "danger"}:
        yield "style must be primary or danger"


def _button(button: Dict) -> Iterator[str]:
    yield from _named(button, "text", "value", "url", "style", "accessibility_label")
    yield from text_object(button.get("text"), longest=75, types=PLAIN)
    yield from sized(button, "value", shortest=0, longest=2000)
    yield from sized(button, "url", shortest=0, longest=3000)
    yield from sized(button, "accessibility_label", shortest=0, longest=75)
    yield from _style(button)


def _feedback_buttons(value: Dict) -> Iterator[str]:
    yield from only(value, "action_id", "positive_button", "negative_button")
    yield from sized(value, "action_id", longest=255)
    for name in ("positive_button", "negative_button"):
        button = value.get(name) or {}
        yield from only(button, "text", "value", "accessibility_label")
        yield from text_object(button.get("text"), longest=75, types=PLAIN)
        yield from sized(button, "value", longest=2000)
        yield from sized(button, "accessibility_label", shortest=0, longest=75)


def _option(option: Any, *, types: tuple[str, ...] = PLAIN, more: tuple[str, ...] = ()) -> Iterator[str]:
    """Check an option (https://docs.slack.dev/reference/block-kit/composition-objects/option-object)."""
    yield from only(option, "text", "value", "description", *more)
    yield from (f"an option: {fault}" for fault in text_object(option.get("text"), longest=75, types=types))
    yield from (f"an option: {fault}" for fault in sized(option, "value", longest=150))
    if "description" in option:
        faults = text_object(option["description"], longest=75, types=types)
        yield from (f"the description of an option: {fault}" for fault in faults)


def _options(value: Dict, *, most: int, types: tuple[str, ...] = PLAIN, more: tuple[str, ...] = ()) -> Iterator[str]:
    options = value.get("options", [])
    if not 1 <= len(options) <= most:
        yield f"needs 1 to {most} options"
    for option in options:
        yield from _option(option, types=types, more=more)
    yield from _chosen(value, options)


def _chosen(value: Dict, options: Sequence[Dict]) -> Iterator[str]:
    """Check that what is chosen at first is among the options, word for word."""
    single = [value["initial_option"]] if "initial_option" in value else []
    if "initial_options" in value and not value["initial_options"]:
        yield "initial_options must not be empty"
    for chosen in (*single, *value.get("initial_options", ())):
        if chosen not in options:
            yield "an initial option is not among the options"


def _overflow(menu: Dict) -> Iterator[str]:
    yield from _named(menu, "options")
    yield from _options(menu, most=MAX_MENU, more=("url",))


def _checkboxes(value: Dict) -> Iterator[str]:
    yield from _named(value, "options", "initial_options", "focus_on_load")
    yield from _options(value, most=MAX_CHOICES, types=ANY_TEXT)


def _radio_buttons(value: Dict) -> Iterator[str]:
    yield from _named(value, "options", "initial_option", "focus_on_load")
    yield from _options(value, most=MAX_CHOICES, types=ANY_TEXT)


def _placeholder(value: Dict) -> Iterator[str]:
    if "placeholder" in value:
        faults = text_object(value["placeholder"], longest=150, types=PLAIN)
        yield from (f"placeholder: {fault}" for fault in faults)


def _most_selected(value: Dict) -> Iterator[str]:
    most = value.get("max_selected_items", 1)
    if not isinstance(most, int) or most < 1:
        yield "max_selected_items must be at least 1"


def _static_select(value: Dict) -> Iterator[str]:
    multiple = value["type"] == "multi_static_select"
    own = ("initial_options", "max_selected_items") if multiple else ("initial_option",)
    yield from _named(value, "options", "option_groups", "placeholder", "focus_on_load", *own)
    yield from _placeholder(value)
    yield from _most_selected(value)
    if ("options" in value) == ("option_groups" in value):
        yield "needs either options or option_groups"
    if "option_groups" not in value:
        yield from _options(value, most=MAX_OPTIONS)
        return
    groups = value["option_groups"]
    if not 1 <= len(groups) <= MAX_OPTIONS:
        yield f"needs 1 to {MAX_OPTIONS} option groups"
    for group in groups:
        yield from only(group, "label", "options")
        yield from text_object(group.get("label"), longest=75, types=PLAIN)
        yield from _options({"options": group.get("options", [])}, most=MAX_OPTIONS)
    yield from _chosen(value, list(chain.from_iterable(group.get("options", []) for group in groups)))


def _selection(initial: str, *names: str) -> Check:
    """Return the check of a menu that Slack fills: with people, channels or conversations."""

    def check(value: Dict) -> Iterator[str]:
        multiple = value["type"].startswith("multi_")
        own = (f"{initial}s", "max_selected_items") if multiple else (initial,)
        yield from _named(value, "placeholder", "focus_on_load", *own, *names)
        yield from _placeholder(value)
        yield from _most_selected(value)
        conversations = value.get("filter", {})
        yield from only(conversations, "include", "exclude_external_shared_channels", "exclude_bot_users")
        if "filter" in value and not conversations:
            yield "filter must not be empty"
        if not set(conversations.get("include", ["im"])) <= {"im", "mpim", "private", "public"}:
            yield "filter includes something that is no kind of conversation"

    return check


def _plain_text_input(value: Dict) -> Iterator[str]:
    yield from _typed(value, "multiline", "min_length", "max_length")
    least, most = value.get("min_length", 0), value.get("max_length", MAX_INPUT)
    if not 0 <= least <= MAX_INPUT or not 1 <= most <= MAX_INPUT or least > most:
        yield f"min_length and max_length must be at most {MAX_INPUT}, and in this order"


def _typed(value: Dict, *names: str) -> Iterator[str]:
    """Check an input that a person types into."""
    yield from _named(value, "initial_value", "placeholder", "focus_on_load", "dispatch_action_config", *names)
    yield from _placeholder(value)
    yield from sized(value, "initial_value", shortest=0, longest=MAX_INPUT)
    triggers = (value.get("dispatch_action_config") or {}).get("trigger_actions_on", ["on_enter_pressed"])
    if not triggers or not set(triggers) <= {"on_enter_pressed", "on_character_entered"}:
        yield "dispatch_action_config has no or an unknown trigger"


def _number_input(value: Dict) -> Iterator[str]:
    yield from _typed(value, "is_decimal_allowed", "min_value", "max_value")
    if not isinstance(value.get("is_decimal_allowed"), bool):
        yield "is_decimal_allowed must be true or false"
    bounds = [value[name] for name in ("min_value", "initial_value", "max_value") if name in value]
    try:
        if bounds != sorted(bounds, key=float):
            yield "min_value, initial_value and max_value must be in this order"
    except (TypeError, ValueError):
        yield "min_value, initial_value and max_value must be numbers as text"


def _datepicker(value: Dict) -> Iterator[str]:
    yield from _named(value, "initial_date", "placeholder", "focus_on_load")
    yield from _placeholder(value)
    if not _DATE.fullmatch(value.get("initial_date", "2026-01-01")):
        yield "initial_date must be like 2026-01-31"


def _timepicker(value: Dict) -> Iterator[str]:
    yield from _named(value, "initial_time", "placeholder", "focus_on_load", "timezone")
    yield from _placeholder(value)
    if not _TIME.fullmatch(value.get("initial_time", "00:00")):
        yield "initial_time must be like 09:30"
    try:
        ZoneInfo(value.get("timezone", "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield "timezone must be a name such as Europe/Berlin"


def _datetimepicker(value: Dict) -> Iterator[str]:
    yield from _named(value, "initial_date_time", "focus_on_load")
    at = value.get("initial_date_time", 10**9)
    if not isinstance(at, int) or not 10**9 <= at < 10**10:
        yield "initial_date_time must be seconds since 1970, in 10 digits"


_users = _selection("initial_user")
_channels = _selection("initial_channel", "response_url_enabled")
_conversations = _selection("initial_conversation", "default_to_current_conversation", "response_url_enabled", "filter")

SINGLE_CHOICES: Mapping[str, Check] = {
    "channels_select": _channels,
    "checkboxes": _checkboxes,
    "conversations_select": _conversations,
    "datepicker": _datepicker,
    "radio_buttons": _radio_buttons,
    "static_select": _static_select,
    "timepicker": _timepicker,
    "users_select": _users,
}

CHOICES: Mapping[str, Check] = {
    **SINGLE_CHOICES,
    "multi_channels_select": _channels,
    "multi_conversations_select": _conversations,
    "multi_static_select": _static_select,
    "multi_users_select": _users,
}

IN_ACTIONS: Mapping[str, Check] = {
    **SINGLE_CHOICES,
    "button": _button,
    "datetimepicker": _datetimepicker,
    "overflow": _overflow,
}

IN_SECTION: Mapping[str, Check] = {**CHOICES, "button": _button, "image": image, "overflow": _overflow}

IN_INPUT: Mapping[str, Check] = {
    **CHOICES,
    "datetimepicker": _datetimepicker,
    "email_text_input": _typed,
    "number_input": _number_input,
    "plain_text_input": _plain_text_input,
    "url_text_input": _typed,
}

IN_CONTEXT: Mapping[str, Check] = {"image": image, "mrkdwn": text_object, "plain_text": text_object}

IN_CONTEXT_ACTIONS: Mapping[str, Check] = {"feedback_buttons": _feedback_buttons}
