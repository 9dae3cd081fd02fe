"""Verification of Slack's requests before Bolt sees them: the signature, and the form of the body."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest

from bot.model.membership import RequestScope
from bot.web.connections import TOO_SLOW, TooSlow
from bot.web.metrics import Metrics
from perplexity import scope

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1_000_000
MAX_SKEW_SECONDS = 300
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


class RequestRejected(Exception):
    """A request is refused with a status and a short reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class RequestVerifier:
    """Verifies Slack's requests and passes them to Bolt. `now` is the wall clock in seconds since 1970.

    Bolt's own parser empties a form body that contains the word `payload`, and answers malformed JSON or a non-ASCII
    signature with a traceback (bolt-python 1.30, `request/internals.py`), so Bolt gets a parsed body.
    https://docs.slack.dev/authentication/verifying-requests-from-slack
    """

    app: AsyncApp
    _: KW_ONLY
    signing_secret: str = field(repr=False)
    metrics: Metrics
    now: Callable[[], float] = time.time

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer `POST /slack/events`: commands, events and interactivity."""
        started = time.monotonic()
        scope.enter(RequestScope(arrived=started))
        try:
            body = await _read_body(request)
            timestamps = request.headers.getall("X-Slack-Request-Timestamp", [])
            signatures = request.headers.getall("X-Slack-Signature", [])
            verify(timestamps, signatures, body, secret=self.signing_secret.encode(), now=self.now())
            parsed = parse(body, content_type=request.content_type)
        except TooSlow:
            self._reject(408, TOO_SLOW)
            raise
        except RequestRejected as error:
            return self._reject(error.status, error.reason)
        response = await self._dispatch(parsed, request)
        self.metrics.acked(time.monotonic() - started)
        return response

    def _reject(self, status: int, reason: str) -> web.Response:
        self.metrics.refused(status)
        log.info("request.refused", extra={"status": status, "error": reason})
        return web.Response(status=status, text=reason)

    async def _dispatch(self, parsed: dict[str, Any], request: web.Request) -> web.StreamResponse:
        if parsed.get("ssl_check") == "1":
            return web.Response()
        # In "socket_mode", Bolt accepts a request that is already verified and parsed.
        headers: dict[str, str | Sequence[str]] = {
            name: value for name, value in request.headers.items() if name.lower().startswith("x-slack-")
        }
        bolt_request = AsyncBoltRequest(body=parsed, headers=headers, mode="socket_mode")
        return await to_aiohttp_response(await self.app.async_dispatch(bolt_request))


async def _read_body(request: web.Request) -> bytes:
    if "Content-Encoding" in request.headers:
        raise RequestRejected(415, "compressed")  # Slack compresses nothing.
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise RequestRejected(413, "too large")
    body = bytearray()
    try:
        async for chunk in request.content.iter_chunked(65536):
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise RequestRejected(413, "too large")
    except (web.RequestPayloadError, ConnectionError):
        raise RequestRejected(400, "broken body") from None
    return bytes(body)


def verify(timestamps: Sequence[str], signatures: Sequence[str], body: bytes, *, secret: bytes, now: float) -> None:
    """Check the signature over the raw body in constant time. Raises `RequestRejected` with 401.

    `timestamps` and `signatures` are all values of the two headers; a missing or repeated header is invalid.
    """
    if len(timestamps) != 1 or len(signatures) != 1:
        raise RequestRejected(401, "unsigned")
    timestamp, signature = timestamps[0], signatures[0]
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise RequestRejected(401, "bad timestamp")
    if abs(now - int(timestamp)) > MAX_SKEW_SECONDS:
        raise RequestRejected(401, "old timestamp")
    expected = "v0=" + hmac.new(secret, f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape")):
        raise RequestRejected(401, "bad signature")


def parse(body: bytes, *, content_type: str) -> dict[str, Any]:
    """Parse a verified body into the mapping that Bolt matches on. Raises `RequestRejected` with 400."""
    if content_type not in {FORM, JSON}:
        raise RequestRejected(400, "unsupported content type")
    try:
        text = body.decode()
        if not text:
            raise ValueError("empty")
        if content_type == JSON:
            return _mapping(json.loads(text))
        form = dict(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
        return _mapping(json.loads(form["payload"]) if "payload" in form else form)
    except (ValueError, RecursionError):
        raise RequestRejected(400, "malformed body") from None


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not is_slack_body(value):
        raise RequestRejected(400, "malformed body")
    return dict(value)


_ID = re.compile(r"[ -~]{0,255}")
_COMMAND = re.compile(r"[^\x00\ud800-\udfff]{0,255}")
_ADDRESS = re.compile(r"[^\x00\ud800-\udfff]*")


def is_slack_body(body: Mapping[str, Any]) -> bool:
    """Return whether a body, parsed from a form or from JSON, has the form that Bolt and the listeners rely on.

    Bolt assumes that `event` is an object, that `actions` is not empty and that an id is a text; anything else ends in
    a traceback (bolt-python 1.30, `request/internals.py`, `listener_matcher/builtins.py`). Postgres accepts no NUL, no
    half of a surrogate pair, and no long text in an index.
    https://docs.slack.dev/interactivity/handling-user-interaction https://docs.slack.dev/apis/events-api#callback-field
    """
    try:
        return _is_object(body) and _is_text(body.get("text")) and _is_text(body.get("challenge"))
    except RecursionError:
        return False


def _is_object(value: object) -> bool:
    """Return whether a value is an object whose fields named in `_CHECKS` have the form that Slack sends."""
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
    """Return whether the value is a click's actions; Bolt assumes that each has an `action_id`."""
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
"""The check of each field, by the field's name, in the body and in every object that these fields contain."""
