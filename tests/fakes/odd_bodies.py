"""What Slack would never send, signed anyway: parts are missing, of another kind, or cannot be stored."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st

from fake_slack.payloads import message_actions
from tests.fakes.person import GENERAL, actor, event_envelope, slash_command

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

ODD: tuple[Any, ...] = (
    None, True, 0, -1.5, 10**400, "", "x", "\x00", "U\x001", "\ud800", "T1\udfff", "ü💡", "x" * 300, "x" * 20_000,
    "a b", "\n", [], [None], ["x"], [[]], [{}], [{"id": 5}], {}, {"id": 5}, {"id": ["U1"]}, {"id": "\x00"},
    {"type": {}}, {"type": "message"}, {"0": "x"}, "https://[", "https://hooks.slack.com/\x00",
    {"event": {"event": {"event": "x"}}}, {"authorizations": [{"authorizations": {"0": 1}}]},
)  # fmt: skip
"""What can stand anywhere."""

COMMAND = slash_command("/ask why", trigger="t1", user="U1", url="https://hooks.slack.com/commands/1")
MENTION = event_envelope(
    {"type": "app_mention", "channel": "C1", "text": "<@U0APP> why", "ts": "1.1"}, user="U1", id="E"
)
DIRECT = event_envelope(
    {"type": "message", "channel": "D1", "channel_type": "im", "text": "why", "ts": "1.2"}, user="U1", id="E"
)
_WRITTEN = {"type": "message", "user": "U1", "text": "why", "ts": "1.2", "thread_ts": "1.1"}
REPLY = event_envelope(_WRITTEN | {"channel": "C1", "channel_type": "channel"}, user="U1", id="E")
CHANGES = tuple(
    event_envelope(
        {"type": "message", "subtype": subtype, "channel": "D1", "channel_type": "im", "ts": "1.3", "hidden": True}
        | {"message": _WRITTEN | {"text": "why not"}, "previous_message": _WRITTEN},
        user="U1",
        id="E",
    )
    for subtype in ("message_changed", "message_deleted")
)
OPENED = event_envelope({"type": "app_home_opened", "channel": "D1", "tab": "messages"}, user="U1", id="E")


def click(action_id: str) -> dict[str, Any]:
    """Return what Slack says about a click."""
    value, text = "3fa85f64-5717-4562-b3fc-2c963f66afa6", {"type": "plain_text", "text": "Again"}
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": value, "text": text}
    return message_actions(
        actor("U1"),
        [action | {"action_ts": "1.3"}],
        message={"type": "message", "ts": "1.2", "user": "U0APP", "text": "x"},
        private=False,
        channel=GENERAL,
        trigger_id="t",
        response_url="https://hooks.slack.com/actions/1",
    )


ENVELOPES: tuple[dict[str, Any], ...] = (
    MENTION,
    DIRECT,
    REPLY,
    *CHANGES,
    OPENED,
    {"type": "url_verification", "challenge": "c"},
    {"type": "event_callback", "is_ext_shared_channel": True, **MENTION},
)
CLICKS = tuple(map(click, ("retry", "stop", "as_file", "digest_run", "digest_pause", "digest_delete", "other")))
NAMES = sorted({
    "team", "user", "channel", "enterprise", "message", "previous_message", "item", "assistant_thread", "view", "event",
    "authorizations", "actions", "response_urls", "function_data", "function_execution_id", "is_ext_shared_channel",
    "is_enterprise_install", "command", "ssl_check", "payload", "type", "callback_id", "subtype", "edited", "hidden",
    "bot_id", "bot_profile", "user_team", "thread_ts", "workflow_step", "challenge", "channel_type", "tab",
})  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to everything inside a body."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for name, part in inside for way in [(*path, name), *places(part, (*path, name))]]


@st.composite
def changed(draw: st.DrawFn, bodies: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Draw a body with up to four parts replaced, added or taken away."""
    body: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(bodies)))
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(places(body) or [("type",)]))
        holder: Any = body
        for step in way:
            holder = holder[step]
        what = draw(st.sampled_from(("replace", "replace", "remove", "add")))
        if what == "remove" and last in (holder if isinstance(holder, dict) else range(len(holder))):
            del holder[last]
        elif what == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(NAMES))] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif isinstance(holder, dict):
            holder[last] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return body


def as_form(fields: dict[str, Any]) -> bytes:
    """Return a form; what is no text goes as JSON."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return urlencode(texts, errors="surrogatepass").encode()


def as_payload(body: Any) -> bytes:
    """Return a click as Slack sends it."""
    return urlencode({"payload": json.dumps(body)}).encode()


odd = st.one_of(
    st.tuples(changed((COMMAND,)).map(as_form), st.just(FORM)),
    st.tuples(changed(ENVELOPES).map(lambda body: json.dumps(body).encode()), st.just(JSON)),
    st.tuples(changed(CLICKS).map(as_payload), st.just(FORM)),
    st.tuples(st.sampled_from(ODD).map(as_payload), st.just(FORM)),
    st.tuples(st.sampled_from(ODD).map(lambda body: json.dumps(body).encode()), st.just(JSON)),
    st.tuples(changed((*ENVELOPES, *CLICKS)).map(as_form), st.just(FORM)),
    st.tuples(changed((*CLICKS, COMMAND)).map(lambda body: json.dumps(body).encode()), st.just(JSON)),
    st.tuples(st.binary(max_size=60), st.sampled_from((FORM, JSON))),
)
"""A body and its content type."""
