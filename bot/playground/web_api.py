"""Slack's Web API methods that the app calls, and the signed tokens of response_urls.

A new method is one function and one line in `METHODS`. https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bot.playground.bodies import BadInput, blocks_of, json_value, text_of, ts_of
from bot.playground.limits import MAX_TEXT_BYTES, check_message
from bot.playground.timeline import Author, Channel, Message, Timeline, Workspace

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
Method = Callable[["WebApi", Arguments], Awaitable[dict[str, Any]]]


class SlackError(Exception):
    """A call was refused; the message is Slack's `error`, `details` are the other fields of the answer."""

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.details = details


async def check(message: Mapping[str, Any]) -> None:
    """Raise `SlackError` for a message that exceeds one of Slack's limits."""
    # It renders the message; the app, which may run on the same event loop, does not wait for it.
    if problems := await asyncio.to_thread(check_message, message):
        raise SlackError(problems[0].partition(":")[0], response_metadata={"messages": problems})


@dataclass(frozen=True, kw_only=True)
class WebApi:
    """Answers method calls from the workspace and the timeline."""

    timeline: Timeline
    workspace: Workspace
    bot_token: str = field(repr=False)
    origin: str
    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)

    async def call(self, method: str, arguments: Arguments, *, token: str) -> dict[str, Any]:
        """Return the answer to a call; a refusal is an answer with `ok` false, as in Slack."""
        try:
            if method not in self.methods:
                raise SlackError("unknown_method")
            if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self.bot_token.encode()):
                raise SlackError("invalid_auth" if token else "not_authed")
            self.require(SCOPES.get(method))
            return {"ok": True, **await self.methods[method](self, arguments)}
        except SlackError as error:
            return {"ok": False, "error": str(error), **error.details}
        except BadInput:
            return {"ok": False, "error": "invalid_arguments"}

    def require(self, scope: str | None) -> None:
        """Raise `SlackError` if the token does not have a scope."""
        granted = self.workspace.scopes
        if scope is not None and scope not in granted:
            raise SlackError("missing_scope", needed=scope, provided=",".join(granted))


async def _auth_test(api: WebApi, _: Arguments) -> dict[str, Any]:
    return api.workspace.identity(origin=api.origin)


async def _post_message(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = api.timeline.put(await _compose(api, arguments))
    return {"channel": message.channel, "ts": message.ts, "message": message.as_slack(with_metadata=True)}


async def _post_ephemeral(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("user") not in api.workspace.members(_channel(api, arguments).id):
        raise SlackError("user_not_in_channel")
    message = api.timeline.put(replace(await _compose(api, arguments), private=True))
    return {"message_ts": message.ts}


async def _update(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    old = _own_message(api, arguments, otherwise="cant_update_message")
    if len(text_of(arguments, "text").encode()) > MAX_TEXT_BYTES:
        raise SlackError("msg_too_long")
    new = await _compose(api, arguments)
    metadata = old.metadata if new.metadata is None else new.metadata
    message = api.timeline.put(replace(new, ts=old.ts, thread_ts=old.thread_ts, metadata=metadata))
    shown = message.as_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


async def _delete(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = _own_message(api, arguments, otherwise="cant_delete_message")
    api.timeline.remove(message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


async def _open(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    user = api.workspace.user(str(arguments.get("users", "")))
    channel = None if user is None else api.workspace.channel(user["id"])
    if user is None or channel is None:
        raise SlackError("user_not_found")
    opened = {"id": channel.id, "is_im": True, "is_open": True, "user": user["id"], "context_team_id": user["team_id"]}
    return {"channel": opened, "already_open": True}


async def _history(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _readable_channel(api, arguments)
    return _messages([m for m in api.timeline.history(channel) if m.thread_ts in {None, m.ts}], arguments)


async def _replies(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, root = _readable_channel(api, arguments), ts_of(arguments, "ts")
    thread = [m for m in reversed(api.timeline.history(channel)) if root and root in {m.ts, m.thread_ts}]
    if not thread:
        raise SlackError("thread_not_found")
    return _messages(thread, arguments)


async def _members(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel(api, arguments)
    api.require(f"{_KINDS[channel.id[0]]}:read")
    return _page("members", api.workspace.members(channel.id), arguments)


async def _user_info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    user = api.workspace.user(str(arguments.get("user", "")))
    if user is None:
        raise SlackError("user_not_found")
    return {"user": user}


METHODS: dict[str, Method] = {
    "auth.test": _auth_test,
    "chat.postMessage": _post_message,
    "chat.postEphemeral": _post_ephemeral,
    "chat.update": _update,
    "chat.delete": _delete,
    "conversations.open": _open,
    "conversations.history": _history,
    "conversations.replies": _replies,
    "conversations.members": _members,
    "users.info": _user_info,
}

SCOPES = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "conversations.open": "im:write",
    "users.info": "users:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}
"""The scope that a method needs; those of the other `conversations` methods depend on the channel."""

_KINDS = {"C": "channels", "G": "groups", "D": "im"}
"""What the scopes call a channel, by the first letter of its id."""


def _channel(api: WebApi, arguments: Arguments) -> Channel:
    channel = api.workspace.channel(str(arguments.get("channel", "")))
    if channel is None:
        raise SlackError("channel_not_found")
    return channel


def _readable_channel(api: WebApi, arguments: Arguments) -> str:
    """Return the id of a channel whose messages the token may read."""
    channel = _channel(api, arguments)
    api.require(f"{_KINDS[channel.id[0]]}:history")
    return channel.id


async def _compose(api: WebApi, arguments: Arguments) -> Message:
    """Return a message from the arguments that the posting methods share."""
    channel = _channel(api, arguments).id
    text, blocks = text_of(arguments, "text"), blocks_of(_decode_argument(arguments, "blocks", list))
    await check({"text": text, "blocks": blocks})
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
    message = api.timeline.find(_channel(api, arguments).id, str(arguments.get("ts", "")))
    if message is None or message.private:
        raise SlackError("message_not_found")
    if message.author is not Author.APP:
        raise SlackError(otherwise)
    return message


def _messages(messages: list[Message], arguments: Arguments) -> dict[str, Any]:
    """Return one page of messages."""
    with_metadata = str(arguments.get("include_all_metadata", "")).lower() in {"true", "1"}
    page = _page("messages", [message.as_slack(with_metadata=with_metadata) for message in messages], arguments)
    return {**page, "has_more": bool(page["response_metadata"]["next_cursor"])}


def _page(name: str, items: Sequence[Any], arguments: Arguments) -> dict[str, Any]:
    """Return one page of a list.

    https://docs.slack.dev/apis/web-api/pagination
    """
    wanted, cursor = str(arguments.get("limit") or 100), str(arguments.get("cursor") or 0)
    if not re.fullmatch("[1-9][0-9]{0,2}", wanted):
        raise SlackError("invalid_limit")
    if not re.fullmatch("[0-9]{1,9}", cursor):
        raise SlackError("invalid_cursor")
    start, end = int(cursor), int(cursor) + int(wanted)
    next_cursor = str(end) if end < len(items) else ""
    return {name: items[start:end], "response_metadata": {"next_cursor": next_cursor}}


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
