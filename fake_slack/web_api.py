"""The methods of Slack's Web API that the app calls.

To add a method, write one function and register it with `_method`, by its name and its scope.
https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fake_slack.limits import MAX_TEXT_BYTES, SlackError, check_message, check_view, refuse
from fake_slack.request_parsing import BadInput, blocks_of, json_value, text_of, ts_of
from fake_slack.streams import DISPLAY_MODES, Ending, Stream, check_text, read_content, replaces_rich_text
from fake_slack.thread_status import SuggestedPrompt
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.views import View
from fake_slack.workspace import Channel, Workspace

Arguments = Mapping[str, Any]
Method = Callable[["WebApi", Arguments], Awaitable[dict[str, Any]]]


METHODS: dict[str, Method] = {}

SCOPES: dict[str, str | None] = {}
"""The scope that each method needs; None if the method needs no scope, or one that depends on the channel."""

WITHOUT_TOKEN = {"blocks.validate"}


def _method(name: str, *, scope: str | None = None) -> Callable[[Method], Method]:
    """Return a decorator that registers a function as the method `name`."""

    def register(method: Method) -> Method:
        METHODS[name], SCOPES[name] = method, scope
        return method

    return register


async def check(message: Mapping[str, Any]) -> None:
    """Raise `SlackError` for a message that exceeds one of Slack's limits."""
    # The check renders the message, so it runs in a thread: the app may run on the same event loop.
    refuse(await asyncio.to_thread(check_message, message))


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
            if refusal := self.workspace.refused.get(method):
                raise SlackError(refusal)
            if method not in WITHOUT_TOKEN and not hmac.compare_digest(
                token.encode("utf-8", "surrogateescape"), self.bot_token.encode()
            ):
                raise SlackError("invalid_auth" if token else "not_authed")
            self.require(SCOPES.get(method))
            self.timeline.expire_streams()
            return {"ok": True, **await self.methods[method](self, arguments)}
        except SlackError as error:
            return {"ok": False, "error": str(error), **error.details}
        except BadInput as bad:
            return {"ok": False, "error": "invalid_arguments", "response_metadata": {"messages": [str(bad)]}}

    def require(self, scope: str | None) -> None:
        """Raise `SlackError` if the token does not have a scope."""
        granted = self.workspace.scopes
        if scope is not None and scope not in granted:
            raise SlackError("missing_scope", needed=scope, provided=",".join(granted))


@_method("assistant.threads.setSuggestedPrompts", scope="assistant:write")
async def _suggest_prompts(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel(api, arguments, name="channel_id")
    prompts = _decode_argument(arguments, "prompts", list) or []
    if len(prompts) > MAX_PROMPTS or not all(isinstance(one, dict) for one in prompts):
        raise SlackError("invalid_arguments")
    suggested = tuple(SuggestedPrompt(title=text_of(p, "title"), message=text_of(p, "message")) for p in prompts)
    if not all(prompt.title and prompt.message for prompt in suggested):
        raise SlackError("invalid_arguments")
    if ts_of(arguments, "thread_ts") is None:  # With a thread, the call of an agent app has no effect.
        api.timeline.around.suggest(channel.id, suggested, title=text_of(arguments, "title"))
    return {}


@_method("assistant.threads.setStatus", scope="chat:write")
async def _set_status(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, thread_ts = _channel(api, arguments, name="channel_id"), _thread(arguments)
    if len(_decode_argument(arguments, "loading_messages", list) or []) > MAX_LOADING_MESSAGES:
        raise SlackError("invalid_arguments")
    api.timeline.around.set_status(channel.id, thread_ts, text_of(arguments, "status"))
    return {}


@_method("agents.sessions.setStatus", scope="chat:write")
async def _set_session_status(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, thread_ts = _channel(api, arguments, name="channel_id"), _thread(arguments)
    api.timeline.around.set_session(channel.id, thread_ts, _one_of(arguments, "status", SESSION_STATUSES) or "active")
    return {}


@_method("auth.test")
async def _auth_test(api: WebApi, _: Arguments) -> dict[str, Any]:
    return api.workspace.identity(origin=api.origin)


@_method("canvases.create", scope="canvases:write")
async def _create_canvas(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    content = _decode_argument(arguments, "document_content", dict) or {}
    canvas = api.timeline.files.create_canvas(text_of(arguments, "title"), text_of(content, "markdown"))
    return {"canvas_id": canvas.id}


@_method("canvases.access.set", scope="canvases:write")
async def _share_canvas(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    users, channels = (text_of(arguments, name) for name in ("user_ids", "channel_ids"))
    if bool(users) == bool(channels):
        raise SlackError("invalid_parameters")
    _one_of(arguments, "access_level", {"read", "write", "owner"})
    canvas = api.timeline.files.find(text_of(arguments, "canvas_id"))
    if canvas is None:
        raise SlackError("canvas_not_found")
    for one in (users or channels).split(","):
        sent = api.timeline.history(_channel(api, {"channel": one}).id)
        if not any(canvas.id in message.text for message in sent):
            raise SlackError("failed_to_update_user_ids" if users else "failed_to_update_channel_ids")
    return {}


@_method("chat.postMessage", scope="chat:write")
async def _post_message(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = api.timeline.put(await _compose(api, arguments))
    return {"channel": message.channel, "ts": message.ts, "message": message.as_slack(with_metadata=True)}


@_method("chat.postEphemeral", scope="chat:write")
async def _post_ephemeral(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("user") not in api.workspace.members(_channel(api, arguments).id):
        raise SlackError("user_not_in_channel")
    message = api.timeline.put(replace(await _compose(api, arguments), private=True))
    return {"message_ts": message.ts}


@_method("chat.startStream", scope="chat:write")
async def _start_stream(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, thread_ts = _joined(_channel(api, arguments)), _thread(arguments)
    stream = Stream(
        started=api.timeline.now(),
        recipient=None if channel.is_im else _recipient(api, arguments),
        display=_one_of(arguments, "task_display_mode", DISPLAY_MODES) or "timeline",
    ).grown(read_content(arguments))
    await asyncio.to_thread(stream.check)
    ts = api.timeline.next_ts()
    message = SlackMessage(channel=channel.id, ts=ts, author=Author.APP, text="", thread_ts=thread_ts)
    api.timeline.put(message.streaming(stream))
    api.timeline.around.set_session(message.channel, thread_ts, "processing")
    return {"channel": message.channel, "ts": message.ts}


@_method("chat.appendStream", scope="chat:write")
async def _append_stream(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    content = read_content(arguments)
    if content.mode is None:
        raise SlackError("no_text")
    message = await _grow(api, arguments, lambda stream: stream.grown(content))
    return {"channel": message.channel, "ts": message.ts}


@_method("chat.stopStream", scope="chat:write")
async def _stop_stream(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    content, closing = read_content(arguments), blocks_of(_decode_argument(arguments, "blocks", list))
    metadata = _decode_argument(arguments, "metadata", dict)
    status = _one_of(arguments, "session_status", SESSION_STATUSES) or "active"
    message = await _grow(
        api, arguments, lambda stream: replace(stream.grown(content), closing=closing, ending=Ending.STOPPED), last=True
    )
    api.timeline.put(replace(message, metadata=metadata))
    api.timeline.around.set_session(message.channel, message.thread_ts or "", status)
    return {"channel": message.channel, "ts": message.ts}


async def _grow(
    api: WebApi, arguments: Arguments, change: Callable[[Stream], Stream], *, last: bool = False
) -> SlackMessage:
    """Change a live stream of the app.

    `last` is whether the call ends the stream; such a call is accepted even after the person pressed stop.
    """
    while True:
        message = _own_message(api, arguments, otherwise="message_not_owned_by_app")
        stream = message.stream
        if stream is not None and stream.ending is Ending.STOPPED_BY_USER and not last:
            raise SlackError("stopped_by_user")
        stoppable = stream is not None and last and stream.ending is Ending.STOPPED_BY_USER
        if stream is None or not (stoppable or stream.is_live(api.timeline.now())):
            raise SlackError("message_not_in_streaming_state")
        changed = change(stream)
        await asyncio.to_thread(changed.check)
        if api.timeline.find(message.channel, message.ts) is message:  # No other call has changed it.
            return api.timeline.put(message.streaming(changed))


@_method("chat.update", scope="chat:write")
async def _update(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    old = _own_message(api, arguments, otherwise="cant_update_message")
    _refuse_streaming(api, old, error="streaming_state_conflict")
    if len(text_of(arguments, "text").encode()) > MAX_TEXT_BYTES:
        raise SlackError("msg_too_long")
    new = await _compose(api, arguments)
    if old.stream is not None and replaces_rich_text(old.stream, new.blocks):
        raise SlackError("block_mismatch")
    metadata = old.metadata if new.metadata is None else new.metadata
    message = api.timeline.put(replace(new, ts=old.ts, thread_ts=old.thread_ts, metadata=metadata, stream=old.stream))
    shown = message.as_slack(with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


@_method("chat.delete", scope="chat:write")
async def _delete(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    message = _own_message(api, arguments, otherwise="cant_delete_message")
    _refuse_streaming(api, message, error="cant_delete_message")
    api.timeline.remove(message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


@_method("conversations.open", scope="im:write")
async def _open(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    user = _user(api, arguments, name="users")
    channel = api.workspace.channel(user["id"])
    if channel is None:
        raise SlackError("user_not_found")
    opened = {"id": channel.id, "is_im": True, "is_open": True, "user": user["id"], "context_team_id": user["team_id"]}
    return {"channel": opened, "already_open": True}


@_method("conversations.history")
async def _history(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel_for(api, arguments, "history").id
    return _messages([m for m in api.timeline.history(channel) if m.thread_ts in {None, m.ts}], arguments)


@_method("conversations.replies")
async def _replies(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, root = _channel_for(api, arguments, "history").id, ts_of(arguments, "ts")
    thread = [m for m in reversed(api.timeline.history(channel)) if root and root in {m.ts, m.thread_ts}]
    if not thread:
        raise SlackError("thread_not_found")
    # The first message of the thread is always included, even if it is older than `oldest`.
    oldest = ts_of(arguments, "oldest") or ""
    return _messages([m for m in thread if m.ts == root or m.ts > oldest], arguments)


@_method("conversations.info")
async def _info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel_for(api, arguments, "read")
    return {"channel": api.workspace.details(channel)}


@_method("chat.getPermalink")
async def _permalink(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel, ts = _channel(api, arguments).id, text_of(arguments, "message_ts")
    message = api.timeline.find(channel, ts)
    if message is None:
        raise SlackError("message_not_found")
    in_thread = f"?thread_ts={message.thread_ts}&cid={channel}" if message.thread_ts else ""
    address = api.workspace.identity(origin=api.origin)["url"].rstrip("/")
    return {"channel": channel, "permalink": f"{address}/archives/{channel}/p{ts.replace('.', '')}{in_thread}"}


@_method("views.open")
async def _open_view(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    content = await _content(arguments)
    return _shown(api, api.timeline.views.open(text_of(arguments, "trigger_id"), content))


@_method("views.push")
async def _push_view(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    content = await _content(arguments)
    return _shown(api, api.timeline.views.push(text_of(arguments, "trigger_id"), content))


@_method("views.update")
async def _update_view(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    view_id, external_id = text_of(arguments, "view_id"), text_of(arguments, "external_id")
    if bool(view_id) == bool(external_id):
        raise SlackError("invalid_arguments")
    content, version = await _content(arguments), text_of(arguments, "hash")
    view = api.timeline.views.update(content, view_id=view_id, external_id=external_id, hash=version)
    return _shown(api, view)


@_method("views.publish")
async def _publish_view(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    user = _user(api, arguments, name="user_id")
    content, version = await _content(arguments), text_of(arguments, "hash")
    return _shown(api, api.timeline.views.publish(user["id"], content, hash=version))


@_method("conversations.members")
async def _members(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    channel = _channel_for(api, arguments, "read")
    return _page("members", api.workspace.members(channel.id), arguments)


@_method("files.getUploadURLExternal", scope="files:write")
async def _upload_url(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    file = api.timeline.files.announce(name=arguments.get("filename"), length=arguments.get("length"))
    return {"file_id": file.id, "upload_url": f"{api.origin}{UPLOAD}{file.id}"}


@_method("files.completeUploadExternal", scope="files:write")
async def _complete_upload(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    named = _decode_argument(arguments, "files", list) or []
    channel = _channel(api, arguments, name="channel_id").id if arguments.get("channel_id") else None
    text, thread_ts = text_of(arguments, "initial_comment"), ts_of(arguments, "thread_ts")
    files = api.timeline.files.complete(named)
    if channel is not None:  # Without a channel, only the app has the files.
        message = SlackMessage(channel=channel, ts=api.timeline.next_ts(), author=Author.APP, text=text, files=files)
        api.timeline.put(replace(message, thread_ts=thread_ts))
    return {"files": [file.as_slack() for file in files]}


@_method("files.info", scope="files:read")
async def _file_info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    if (file := api.timeline.files.find(text_of(arguments, "file"))) is None:
        raise SlackError("file_not_found")
    return {"file": file.as_slack() | {"file_access": "visible", "url_private": f"{api.origin}{DOWNLOAD}{file.id}"}}


@_method("users.info", scope="users:read")
async def _user_info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    return {"user": _user(api, arguments)}


@_method("usergroups.users.list", scope="usergroups:read")
async def _group_members(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    users = api.workspace.groups.get(str(arguments.get("usergroup", "")))
    if users is None:
        raise SlackError("no_such_subteam")
    return {"users": users}


@_method("blocks.validate")
async def _validate(_: WebApi, arguments: Arguments) -> dict[str, Any]:
    view, message = (_decode_argument(arguments, name, dict) for name in ("view", "message"))
    if (view is None) == (message is None):
        raise SlackError("invalid_arguments")
    problems = await asyncio.to_thread(check_view, view) if view else await asyncio.to_thread(check_message, message)
    return {"errors": [{"code": one.partition(":")[0], "message": one} for one in problems]}


UPLOAD = "/playground/upload/"
DOWNLOAD = "/files-pri/"
"""The beginnings of the paths for uploads and downloads; a file's id follows."""


@_method("users.list", scope="users:read")
async def _users(api: WebApi, arguments: Arguments) -> dict[str, Any]:
    return _page("members", api.workspace.users(), arguments)


SESSION_STATUSES = {"active", "processing", "suspended", "closed"}

MAX_PROMPTS = 4
MAX_LOADING_MESSAGES = 10

KINDS = {"C": "channels", "G": "groups", "D": "im"}
"""The words for kinds of channels in scopes, by the first letter of a channel's id."""


def _user(api: WebApi, arguments: Arguments, *, name: str = "user") -> dict[str, Any]:
    user = api.workspace.user(str(arguments.get(name, "")))
    if user is None:
        raise SlackError("user_not_found")
    return user


def _channel(api: WebApi, arguments: Arguments, *, name: str = "channel") -> Channel:
    channel = api.workspace.channel(str(arguments.get(name, "")))
    if channel is None:
        raise SlackError("channel_not_found")
    return channel


def _channel_for(api: WebApi, arguments: Arguments, what: str) -> Channel:
    """Return the channel of a call that needs a scope such as `channels:read`; `what` is `read` or `history`.

    Raises `SlackError` if the token lacks the scope, or if the app wants the history of a channel that it is not in.
    """
    channel = _channel(api, arguments)
    api.require(f"{KINDS[channel.id[0]]}:{what}")
    return _joined(channel) if what == "history" else channel


def _joined(channel: Channel) -> Channel:
    """Return the channel if the app is in it. Raises `SlackError` if it is not."""
    if not channel.is_member:
        raise SlackError("not_in_channel")
    return channel


async def _content(arguments: Arguments) -> dict[str, Any]:
    """Return the view of a call. Raises `SlackError` for a view that exceeds one of Slack's limits."""
    content = _decode_argument(arguments, "view", dict)
    if content is None:
        raise SlackError("invalid_arguments")
    refuse(await asyncio.to_thread(check_view, content))
    return dict(content)


def _shown(api: WebApi, view: View) -> dict[str, Any]:
    return {"view": view.as_slack(api.workspace.owner())}


async def _compose(api: WebApi, arguments: Arguments) -> SlackMessage:
    """Return a message from the arguments that the posting methods share."""
    channel = _joined(_channel(api, arguments)).id
    text, blocks = text_of(arguments, "text"), blocks_of(_decode_argument(arguments, "blocks", list))
    if markdown := text_of(arguments, "markdown_text"):
        if text or blocks:
            raise SlackError("markdown_text_conflict")
        check_text(markdown)
        text, blocks = markdown[: MAX_TEXT_BYTES // 4], ({"type": "markdown", "text": markdown},)
    await check({"text": text, "blocks": blocks})
    return SlackMessage(
        channel=channel,
        ts=api.timeline.next_ts(),
        author=Author.APP,
        text=text,
        blocks=blocks,
        thread_ts=ts_of(arguments, "thread_ts"),
        metadata=_decode_argument(arguments, "metadata", dict),
    )


def _own_message(api: WebApi, arguments: Arguments, *, otherwise: str) -> SlackMessage:
    """Return the public message of the app that a call names; `otherwise` is the error if another author wrote it."""
    message = api.timeline.find(_channel(api, arguments).id, str(arguments.get("ts", "")))
    if message is None or message.private:
        raise SlackError("message_not_found")
    if message.author is not Author.APP:
        raise SlackError(otherwise)
    return message


def _refuse_streaming(api: WebApi, message: SlackMessage, *, error: str) -> None:
    """Raise `SlackError` if a message is a live stream."""
    if message.stream is not None and message.stream.is_live(api.timeline.now()):
        raise SlackError(error)


def _recipient(api: WebApi, arguments: Arguments) -> str:
    """Return the id of a channel stream's recipient. Raises `SlackError` if it is missing or unknown."""
    for name in ("recipient_user_id", "recipient_team_id"):
        if not text_of(arguments, name):
            raise SlackError(f"missing_{name}")
    recipient = text_of(arguments, "recipient_user_id")
    if api.workspace.user(recipient) is None:
        raise SlackError("user_not_found")
    return recipient


def _thread(arguments: Arguments) -> str:
    """Return the thread that a call names. Raises `SlackError` if it names none."""
    try:
        thread_ts = ts_of(arguments, "thread_ts")
    except BadInput:
        thread_ts = None
    if thread_ts is None:
        raise SlackError("invalid_thread_ts")
    return thread_ts


def _one_of(arguments: Arguments, name: str, choices: set[str]) -> str:
    """Return an argument that must be one of `choices`; empty if it is missing. Raises `SlackError` for others."""
    value = text_of(arguments, name)
    if value and value not in choices:
        raise SlackError("invalid_arguments")
    return value


def _messages(messages: list[SlackMessage], arguments: Arguments) -> dict[str, Any]:
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
    """Return an argument of type `kind`, or None; decode it if the call is a form, which has JSON in a string."""
    value = arguments.get(name)
    try:
        value = json_value(value) if isinstance(value, str) else value
    except BadInput:
        raise SlackError("invalid_arguments") from None
    if value is not None and not isinstance(value, kind):
        raise SlackError("invalid_arguments")
    return value
