"""Slack's Web API methods that the app calls, and the signed tokens of response_urls.

A new method is one function and one line in `METHODS`. https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bot.playground.bodies import BadInput, blocks_of, json_value, text_of, ts_of
from bot.playground.timeline import (
    USER_ID,
    Author,
    Message,
    Timeline,
    bot_identity,
    direct_message_channel,
    resolve_channel,
    user_profile,
)

LIFETIME_SECONDS = 30 * 60
MAX_USES = 5

MAX_TRACKED = 1000
"""The most addresses whose uses are counted; the oldest are dropped first."""

_SIGNATURE_BYTES = hashlib.sha256().digest_size


class ClosedError(Exception):
    """The response_url is closed; the message is Slack's error name."""


@dataclass(frozen=True, kw_only=True)
class ResponseUrlToken:
    """Where the answers to a response_url go: the channel, and the `ts` of the message that they may replace.

    `trigger` is the `trigger_id` of the request, `issued` seconds since 1970, `private` whether the original is.
    """

    channel: str
    original: str
    trigger: str
    issued: float
    private: bool = True


def encode(ticket: ResponseUrlToken, *, secret: str) -> str:
    """Return a token as a signed segment of a path."""
    packed = json.dumps(asdict(ticket), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_signature(packed, secret) + packed).decode().rstrip("=")


def decode(token: str, *, secret: str) -> ResponseUrlToken:
    """Return the token of a path segment. Raises `ClosedError` if `encode` did not sign it with the same secret."""
    try:
        signed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        raise ClosedError("invalid_url") from None
    signature, packed = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(packed, secret)):
        raise ClosedError("invalid_url")
    try:
        return ResponseUrlToken(**json.loads(packed))
    except (ValueError, TypeError):  # of another version
        raise ClosedError("invalid_url") from None


def _signature(packed: bytes, secret: str) -> bytes:
    """Return the signature of a token; its prefix keeps it apart from signatures of requests."""
    return hmac.new(secret.encode(), b"response_url:" + packed, hashlib.sha256).digest()


class UseCounter:
    """Counts the uses of each response_url. `clock` returns seconds since 1970."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, tuple[int, float]] = {}

    def spend(self, ticket: ResponseUrlToken) -> None:
        """Count one use. Raises `ClosedError` if the address is too old or used up."""
        now = self._clock()
        if not abs(now - ticket.issued) <= LIFETIME_SECONDS:  # also for NaN
            raise ClosedError("expired_url")
        self._used = {key: use for key, use in self._used.items() if now - use[1] <= LIFETIME_SECONDS}
        count = self._used.get(ticket.trigger, (0, ticket.issued))[0]
        if count >= MAX_USES:
            raise ClosedError("used_url")
        self._used.pop(ticket.trigger, None)
        self._used[ticket.trigger] = (count + 1, ticket.issued)
        if len(self._used) > MAX_TRACKED:
            del self._used[next(iter(self._used))]


Arguments = Mapping[str, Any]


class SlackError(Exception):
    """A call was refused; the message is Slack's `error`."""


@dataclass(frozen=True, kw_only=True)
class WebApi:
    """Answers method calls from the timeline; `user` returns the person, as `users.info` does."""

    timeline: Timeline
    bot_token: str = field(repr=False)
    origin: str
    user: Callable[[], dict[str, Any]] = user_profile

    def call(self, method: str, arguments: Arguments, *, token: str) -> dict[str, Any]:
        """Return the answer to a call; a refusal is an answer with `ok` false, as in Slack."""
        try:
            if method not in METHODS:
                raise SlackError("unknown_method")
            if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self.bot_token.encode()):
                raise SlackError("invalid_auth" if token else "not_authed")
            return {"ok": True, **METHODS[method](self, arguments)}
        except SlackError as error:
            return {"ok": False, "error": str(error)}
        except BadInput:
            return {"ok": False, "error": "invalid_arguments"}


def _auth_test(api: WebApi, _: Arguments) -> dict[str, Any]:
    return bot_identity(origin=api.origin)


def _post_message(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = api.timeline.put(_compose(api, arguments))
    return {"channel": message.channel, "ts": message.ts, "message": message.as_slack(with_metadata=True)}


def _post_ephemeral(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("user") != USER_ID:
        raise SlackError("user_not_in_channel")
    message = api.timeline.put(replace(_compose(api, arguments), private=True))
    return {"message_ts": message.ts}


def _update(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    old, new = _own_message(api, arguments, otherwise="cant_update_message"), _compose(api, arguments)
    metadata = old.metadata if new.metadata is None else new.metadata
    message = api.timeline.put(replace(new, ts=old.ts, thread_ts=old.thread_ts, metadata=metadata))
    shown = message.as_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def _delete(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = _own_message(api, arguments, otherwise="cant_delete_message")
    api.timeline.remove(message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def _open(_: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("users") != USER_ID:
        raise SlackError("user_not_found")
    return {"channel": direct_message_channel(), "already_open": True}


def _history(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel(arguments)
    return _page([m for m in api.timeline.history(channel) if m.thread_ts in {None, m.ts}], arguments)


def _replies(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, root = _channel(arguments), ts_of(arguments, "ts")
    thread = [m for m in reversed(api.timeline.history(channel)) if root and root in {m.ts, m.thread_ts}]
    if not thread:
        raise SlackError("thread_not_found")
    return _page(thread, arguments)


def _user_info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("user") != USER_ID:
        raise SlackError("user_not_found")
    return {"user": api.user()}


METHODS: dict[str, Callable[[WebApi, Arguments], dict[str, Any]]] = {
    "auth.test": _auth_test,
    "chat.postMessage": _post_message,
    "chat.postEphemeral": _post_ephemeral,
    "chat.update": _update,
    "chat.delete": _delete,
    "conversations.open": _open,
    "conversations.history": _history,
    "conversations.replies": _replies,
    "users.info": _user_info,
}


def _channel(arguments: Arguments) -> str:
    channel = resolve_channel(str(arguments.get("channel", "")))
    if channel is None:
        raise SlackError("channel_not_found")
    return channel.id


def _compose(api: WebApi, arguments: Arguments) -> Message:
    """Return a message from the arguments that the posting methods share."""
    channel = _channel(arguments)
    text, blocks = text_of(arguments, "text"), blocks_of(_decode_argument(arguments, "blocks", list))
    if not text and not blocks:
        raise SlackError("no_text")
    return Message(
        channel=channel,
        ts=api.timeline.next_ts(),
        author=Author.APP,
        text=text,
        blocks=blocks,
        thread_ts=ts_of(arguments, "thread_ts"),
        metadata=_decode_argument(arguments, "metadata", dict),
    )


def _own_message(api: WebApi, arguments: Arguments, *, otherwise: str) -> Message:
    """Return a public message of the app; `otherwise` is the error if another author wrote it."""
    message = api.timeline.find(_channel(arguments), str(arguments.get("ts", "")))
    if message is None or message.private:
        raise SlackError("message_not_found")
    if message.author is not Author.APP:
        raise SlackError(otherwise)
    return message


def _page(messages: list[Message], arguments: Arguments) -> dict[str, Any]:
    asked = str(arguments.get("limit") or 100)
    if not re.fullmatch("[0-9]{1,4}", asked) or not (limit := int(asked)):
        raise SlackError("invalid_limit")
    wanted = str(arguments.get("include_all_metadata", "")).lower() in {"true", "1"}
    shown = [message.as_slack(with_metadata=wanted) for message in messages[:limit]]
    return {"messages": shown, "has_more": len(messages) > limit, "response_metadata": {"next_cursor": ""}}


def _decode_argument(arguments: Arguments, name: str, kind: type) -> Any:
    """Return a structured argument, which is JSON in a string if the call is a form."""
    value = arguments.get(name)
    try:
        value = json_value(value) if isinstance(value, str) else value
    except BadInput:
        raise SlackError("invalid_arguments") from None
    if value is not None and not isinstance(value, kind):
        raise SlackError("invalid_arguments")
    return value
