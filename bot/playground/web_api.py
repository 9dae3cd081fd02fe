"""The few Web API methods that the app calls, answered as Slack answers them.

A new method is one function and one line in `METHODS`. https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.playground import workspace
from bot.playground.bodies import BadInput, blocks_of, json_value, text_of, ts_of
from bot.playground.timeline import Author, Message, Timeline

Arguments = Mapping[str, Any]


class SlackError(Exception):
    """A refusal; the message is Slack's `error`."""


@dataclass(frozen=True, kw_only=True)
class WebApi:
    """Answers method calls out of the timeline; `user` returns the person, as `users.info` does."""

    timeline: Timeline
    bot_token: str = field(repr=False)
    origin: str
    user: Callable[[], dict[str, Any]] = workspace.user

    def call(self, method: str, arguments: Arguments, *, token: str) -> dict[str, Any]:
        """Answer one call; a refusal is an answer too, with `ok` false, as in Slack's HTTP 200."""
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
    return workspace.identity(origin=api.origin)


def _post_message(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = api.timeline.put(_composed(api, arguments))
    return {"channel": message.channel, "ts": message.ts, "message": message.as_slack(with_metadata=True)}


def _post_ephemeral(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("user") != workspace.USER_ID:
        raise SlackError("user_not_in_channel")
    message = api.timeline.put(replace(_composed(api, arguments), private=True))
    return {"message_ts": message.ts}


def _update(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    old, new = _own_message(api, arguments, otherwise="cant_update_message"), _composed(api, arguments)
    metadata = old.metadata if new.metadata is None else new.metadata
    message = api.timeline.put(replace(new, ts=old.ts, thread_ts=old.thread_ts, metadata=metadata))
    shown = message.as_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def _delete(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = _own_message(api, arguments, otherwise="cant_delete_message")
    api.timeline.remove(message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def _open(_: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("users") != workspace.USER_ID:
        raise SlackError("user_not_found")
    return {"channel": workspace.direct_message(), "already_open": True}


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
    if arguments.get("user") != workspace.USER_ID:
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
    channel = workspace.resolve(str(arguments.get("channel", "")))
    if channel is None:
        raise SlackError("channel_not_found")
    return channel.id


def _composed(api: WebApi, arguments: Arguments) -> Message:
    """Make a message of the arguments that the posting methods share."""
    channel = _channel(arguments)
    text, blocks = text_of(arguments, "text"), blocks_of(_decoded(arguments, "blocks", list))
    if not text and not blocks:
        raise SlackError("no_text")
    return Message(
        channel=channel,
        ts=api.timeline.next_ts(),
        author=Author.APP,
        text=text,
        blocks=blocks,
        thread_ts=ts_of(arguments, "thread_ts"),
        metadata=_decoded(arguments, "metadata", dict),
    )


def _own_message(api: WebApi, arguments: Arguments, *, otherwise: str) -> Message:
    """Find the app's own message that everybody sees; `otherwise` is the refusal for somebody else's."""
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


def _decoded(arguments: Arguments, name: str, kind: type) -> Any:
    """Return a structured argument, which a form carries as JSON in a string."""
    value = arguments.get(name)
    try:
        value = json_value(value) if isinstance(value, str) else value
    except BadInput:
        raise SlackError("invalid_arguments") from None
    if value is not None and not isinstance(value, kind):
        raise SlackError("invalid_arguments")
    return value
