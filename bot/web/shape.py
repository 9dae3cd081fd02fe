"""What a request of Slack's looks like, as far as Bolt and the listeners read it. Pure.

Bolt takes for granted that `event` is an object, that `actions` is not empty, that an id is a text; anything else ends
in a traceback (bolt-python 1.30, `request/internals.py`, `listener_matcher/builtins.py`). Postgres keeps no NUL and no
half of a surrogate pair, and no long text in an index.
https://docs.slack.dev/interactivity/handling-user-interaction https://docs.slack.dev/apis/events-api#callback-field
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_ID = re.compile(r"[ -~]{0,255}")
_COMMAND = re.compile(r"[^\x00\ud800-\udfff]{0,255}")
_ADDRESS = re.compile(r"[^\x00\ud800-\udfff]*")


def is_slacks(body: Mapping[str, Any]) -> bool:
    """Return whether a body, parsed from a form or from JSON, can be handed to Bolt."""
    try:
        return _is_object(body) and _is_text(body.get("text")) and _is_text(body.get("challenge"))
    except RecursionError:
        return False


def _is_object(value: object) -> bool:
    """Return whether every part that names a person, a team, a channel or a moment is what Slack sends there."""
    if not isinstance(value, Mapping):
        return False
    return all(check(value[name]) for name, check in _CHECKS.items() if name in value)


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, str) and _ID.fullmatch(value) is not None)


def _is_command(value: object) -> bool:
    return isinstance(value, str) and _COMMAND.fullmatch(value) is not None


def _is_address(value: object) -> bool:
    return value is None or (isinstance(value, str) and _ADDRESS.fullmatch(value) is not None)


def _is_id_or_object(value: object) -> bool:
    return _is_id(value) or _is_object(value)


def _is_object_or_null(value: object) -> bool:
    return value is None or _is_object(value)


def _is_event(value: object) -> bool:
    return isinstance(value, Mapping) and _is_object(value) and _is_text(value.get("text"))


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_list_or_null(value: object) -> bool:
    return value is None or _is_list(value)


def _are_actions(value: object) -> bool:
    """Return whether they are a click's actions: Bolt takes it for granted that each has an `action_id`."""
    return isinstance(value, list) and value != [] and all(map(_is_action, value))


def _is_action(value: object) -> bool:
    return isinstance(value, Mapping) and _is_object(value) and isinstance(value.get("action_id"), str)


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(
        (
            "action_id", "action_ts", "api_app_id", "app_id", "app_installed_team_id", "block_id", "bot_access_token",
            "bot_id", "callback_id", "channel_id", "channel_type", "context_enterprise_id", "context_team_id",
            "enterprise_id", "event_id", "event_ts", "execution_id", "function_execution_id", "id", "message_ts",
            "parent_user_id", "source_team", "subtype", "team_id", "thread_ts", "trigger_id", "ts", "type", "user_id",
            "user_team",
        ),
        _is_id,
    ),
    **dict.fromkeys(("channel", "enterprise", "team", "user"), _is_id_or_object),
    **dict.fromkeys(
        ("assistant_thread", "container", "function_data", "item", "message", "previous_message", "view"),
        _is_object_or_null,
    ),
    "actions": _are_actions,
    "authorizations": _is_list_or_null,
    "command": _is_command,
    "event": _is_event,
    "response_url": _is_address,
    "response_urls": _is_list,
    "value": _is_text,
}  # fmt: skip
"""The checks of fields by name, at any depth of a request."""
