"""The playground's workspace: its people, its channels with their messages in memory, and the stream of their changes.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from bot.model.message import Block
from bot.playground.files import File, Files
from bot.playground.streams import Ending, Stream
from bot.playground.surroundings import Surroundings
from bot.playground.views import Views
from bot.slack.scopes import CHANNEL_SCOPES, FILE_SCOPES, HISTORIES, SCOPES

TEAM_ID = "T0PLAYGROUND"
TEAM_DOMAIN = "playground"
TEAM_NAME = "Playground"
APP_ID = "A0PLAYGROUND"
APP_NAME = "Web Answers"
BOT_ID = "B0PLAYGROUND"
BOT_USER_ID = "U0PLAYGROUNDBOT"
USER_ID = "U0PLAYGROUNDYOU"
USER_NAME = "you"
USER_REAL_NAME = "You"
TIME_ZONE = "Etc/UTC"


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A conversation of the workspace; `name` is for Slack's payloads, `label` for the page."""

    id: str
    name: str
    label: str
    is_im: bool = False


GENERAL = Channel(id="C0PLAYGROUND", name="general", label="general")
DIRECT = Channel(id="D0PLAYGROUND", name="directmessage", label="Direct message", is_im=True)
CHANNELS = {channel.id: channel for channel in (GENERAL, DIRECT)}


class Workspace:
    """The people, the channels and the app as the Web API knows them; a test's workspace overrides the methods.

    `zone` is the name of the person's time zone, `scopes` are those of the bot token. `refused` are the methods that
    the workspace does not have, with Slack's error, such as `feature_not_enabled`. `groups` are its user groups.
    `clock` returns seconds since 1970.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.zone = TIME_ZONE
        self.scopes = [*(scope.name for scope in (*SCOPES, *FILE_SCOPES, *CHANNEL_SCOPES)), *HISTORIES]
        self.refused: dict[str, str] = {}
        self.groups: dict[str, list[str]] = {}

    def identity(self, *, origin: str) -> dict[str, Any]:
        """Return who a bot token belongs to, as `auth.test` does."""
        return {
            "url": f"{origin}/playground",
            "team": TEAM_NAME,
            "user": "perplexity",
            "team_id": TEAM_ID,
            "user_id": BOT_USER_ID,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def channel(self, channel_or_user: str) -> Channel | None:
        """Return the conversation for a channel's id, or the direct message for a person's id."""
        return DIRECT if channel_or_user == USER_ID else CHANNELS.get(channel_or_user)

    def members(self, channel_id: str) -> list[str]:
        """Return the ids of a channel's members."""
        return [USER_ID, BOT_USER_ID]

    def details(self, channel: Channel) -> dict[str, Any]:
        """Return a conversation as `conversations.info` does.

        https://docs.slack.dev/reference/objects/conversation-object
        """
        kind = {"is_channel": not channel.is_im, "is_group": False, "is_im": channel.is_im, "is_mpim": False}
        own = {"user": USER_ID} if channel.is_im else {"name": channel.name, "creator": USER_ID, "is_member": True}
        state = {"is_private": channel.is_im, "is_archived": False, "is_shared": False, "is_ext_shared": False}
        return {"id": channel.id, "context_team_id": TEAM_ID, **kind, **state, **own}

    def owner(self) -> dict[str, Any]:
        """Return the ids of the app and its workspace, as views contain them."""
        return {"team_id": TEAM_ID, "app_id": APP_ID, "app_installed_team_id": TEAM_ID, "bot_id": BOT_ID}

    def user(self, user_id: str) -> dict[str, Any] | None:
        """Return a person as `users.info` does."""
        return _user(zone=self.zone, now=self._clock()) if user_id == USER_ID else None

    def users(self) -> list[dict[str, Any]]:
        """Return everyone as `users.list` does."""
        return [_user(zone=self.zone, now=self._clock())]


def _user(*, zone: str, now: float) -> dict[str, Any]:
    """Return the one person of the playground: an owner, since it is this person's own machine."""
    offset = datetime.fromtimestamp(now, ZoneInfo(zone)).utcoffset() or timedelta()
    return {
        "id": USER_ID,
        "team_id": TEAM_ID,
        "name": USER_NAME,
        "real_name": USER_REAL_NAME,
        "deleted": False,
        "is_bot": False,
        "is_admin": True,
        "is_owner": True,
        "is_restricted": False,
        "tz": zone,
        "tz_offset": int(offset.total_seconds()),
        "locale": "en-US",
        "profile": {"real_name": USER_REAL_NAME, "display_name": USER_NAME},
    }


MAX_MESSAGES = 1000
"""How many messages the playground keeps."""

MAX_MEMORY = 16 * 1024 * 1024
"""About how many bytes of memory they may need."""

_BYTES_PER_VALUE = 64
"""About how many bytes Python needs for a value in addition to its characters."""


class Author(StrEnum):
    """Who a message is from."""

    APP = "app"
    YOU = "you"
    SLACKBOT = "slackbot"


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message. `private` means ephemeral: only the asker sees it, and it is in no history.

    `stream` is how it was streamed, None if it was posted.
    """

    channel: str
    ts: str
    author: Author
    text: str
    blocks: tuple[Block, ...] = ()
    private: bool = False
    thread_ts: str | None = None
    metadata: dict[str, Any] | None = None
    stream: Stream | None = None
    files: tuple[File, ...] = ()

    def streaming(self, stream: Stream) -> Message:
        """Return the message as the stream has written it so far."""
        return replace(self, text=stream.text, blocks=stream.blocks(), stream=stream)

    def as_page(self) -> dict[str, Any]:
        """Return what the page needs to show it."""
        live_until = None if self.stream is None or self.stream.ending else self.stream.ends
        fields = asdict(replace(self, stream=None, files=())) | {"live_until": live_until}
        del fields["stream"]
        return fields | {"files": [file.as_slack() for file in self.files]}

    def as_slack(self, *, with_metadata: bool = False) -> dict[str, Any]:
        """Return the message object of the Web API."""
        message: dict[str, Any] = {"type": "message", "ts": self.ts, "text": self.text, "team": TEAM_ID}
        if self.author is Author.APP:
            message |= {"user": BOT_USER_ID, "bot_id": BOT_ID, "app_id": APP_ID}
        else:
            message["user"] = USER_ID
        if self.blocks:
            message["blocks"] = list(self.blocks)
        if self.thread_ts is not None:
            message["thread_ts"] = self.thread_ts
        if self.files:
            message["files"] = [file.as_slack() for file in self.files]
        if self.stream is not None:
            message["streaming_state"] = "completed" if self.stream.ending else "in_progress"
        if with_metadata and self.metadata is not None:
            message["metadata"] = self.metadata
        return message


@dataclass(frozen=True, kw_only=True)
class TimelineEvent:
    """A message after a change, None if it was deleted. `revision` counts changes from 1."""

    revision: int
    channel: str
    ts: str
    message: Message | None


class Timeline:
    """The messages of all channels. `clock` returns seconds since 1970; `boot` identifies this process.

    `around` is what is shown next to them, `views` are the modals and home tabs, `files` what was uploaded.

    When there are more than `max_messages`, or they need more than `max_memory` bytes, the oldest are dropped.
    """

    def __init__(
        self, *, clock: Callable[[], float], max_messages: int = MAX_MESSAGES, max_memory: int = MAX_MEMORY
    ) -> None:
        self._clock = clock
        self._max_messages = max_messages
        self._max_memory = max_memory
        self._changes: dict[tuple[str, str], TimelineEvent] = {}
        self._sizes: dict[tuple[str, str], int] = {}
        self._size = 0
        self._live: set[tuple[str, str]] = set()
        self._touched: dict[str, int] = {}
        self.around = Surroundings(clock=clock, on_change=self._touch)
        self.views = Views(clock=clock, on_change=self._touch_views)
        self.files = Files()
        self._changed = asyncio.Event()
        self._last_microseconds = 0
        self.revision = 0
        self.views_revision = 0
        self.boot = secrets.token_hex(4)

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._clock()

    def next_ts(self) -> str:
        """Return a new `ts`: seconds with six decimals, each later than the last."""
        self._last_microseconds = max(int(self._clock() * 1e6), self._last_microseconds + 1)
        return f"{self._last_microseconds // 1_000_000}.{self._last_microseconds % 1_000_000:06d}"

    def put(self, message: Message) -> Message:
        """Add a message, or replace the one with the same channel and `ts`."""
        message = replace(message, blocks=tuple(_with_block_ids(message.blocks)))
        if message.thread_ts is not None and self.find(message.channel, message.ts) is None:
            self.around.set_status(message.channel, message.thread_ts, "")  # any new reply ends it
        self._record(message.channel, message.ts, message)
        return message

    def remove(self, channel: str, ts: str) -> None:
        """Delete a message, also one that only a page from before a restart still shows."""
        self._record(channel, ts, None)

    def find(self, channel: str, ts: str) -> Message | None:
        """Return a message, None if it is not there."""
        change = self._changes.get((channel, ts))
        return None if change is None else change.message

    def history(self, channel: str) -> list[Message]:
        """Return the public messages of a channel, newest first."""
        shown = [c.message for c in self._changes.values() if c.channel == channel and c.message is not None]
        return sorted((m for m in shown if not m.private), key=lambda message: message.ts, reverse=True)

    def messages(self) -> list[Message]:
        """Return the messages of all channels, oldest first."""
        shown = (change.message for change in self._changes.values() if change.message is not None)
        return sorted(shown, key=lambda message: message.ts)

    def seen_by(self, user: str, channel: str) -> list[Message]:
        """Return the public messages of a channel as a person sees them now, oldest first.

        While a stream in a channel is live, people other than its recipient see what it began with.
        """
        return [self._as_seen(message, user) for message in reversed(self.history(channel))]

    def _as_seen(self, message: Message, user: str) -> Message:
        stream = message.stream
        if stream is None or stream.recipient in {None, user} or not stream.is_live(self._clock()):
            return message
        return message.streaming(stream.opened())

    def expire_streams(self) -> None:
        """End the streams whose life is over."""
        for channel, ts in list(self._live):
            message = self.find(channel, ts)
            if message is not None and message.stream and not message.stream.is_live(self._clock()):
                self.put(message.streaming(replace(message.stream, ending=Ending.EXPIRED)))

    def press_stop(self, channel: str, thread_ts: str) -> list[str]:
        """End the live streams of a thread as Slack's own stop button does; return their `ts`."""
        self.expire_streams()
        streaming = sorted(ts for place, ts in self._live if place == channel)
        live = [m for ts in streaming if (m := self.find(channel, ts)) is not None and m.thread_ts == thread_ts]
        for message in live:
            if message.stream is not None:
                self.put(message.streaming(replace(message.stream, ending=Ending.STOPPED_BY_USER)))
        return [message.ts for message in live]

    def since(self, revision: int) -> list[TimelineEvent]:
        """Return the latest change of every message that changed after a revision, in order."""
        later = (change for change in self._changes.values() if change.revision > revision)
        return sorted(later, key=lambda change: change.revision)

    def touched(self, revision: int) -> list[tuple[int, str]]:
        """Return the channels whose surroundings changed after a revision, in order, each with its revision."""
        return sorted((at, channel) for channel, at in self._touched.items() if at > revision)

    async def changed(self, *, since: int) -> None:
        """Wait until there is a change after a revision."""
        while self.revision <= since:
            await self._changed.wait()

    def _touch(self, channel: str) -> None:
        self.revision += 1
        self._touched[channel] = self.revision
        self._wake()

    def _touch_views(self) -> None:
        self.revision += 1
        self.views_revision = self.revision
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _record(self, channel: str, ts: str, message: Message | None) -> None:
        self.revision += 1
        self._forget((channel, ts))
        if message is not None and message.stream is not None and message.stream.ending is None:
            self._live.add((channel, ts))
        self._changes[channel, ts] = TimelineEvent(revision=self.revision, channel=channel, ts=ts, message=message)
        self._sizes[channel, ts] = _size(message)
        self._size += self._sizes[channel, ts]
        while len(self._changes) > self._max_messages or (self._size > self._max_memory and len(self._changes) > 1):
            self._forget(next(iter(self._changes)))
        self._wake()

    def _forget(self, place: tuple[str, str]) -> None:
        self._changes.pop(place, None)
        self._live.discard(place)
        self._size -= self._sizes.pop(place, 0)


def _size(message: Message | None) -> int:
    """Return about how many bytes a message takes in memory."""
    if message is None:
        return _BYTES_PER_VALUE
    chunks = () if message.stream is None else message.stream.content.chunks
    written = json.dumps([message.text, message.blocks, message.metadata, chunks])
    return len(written) + _BYTES_PER_VALUE * sum(map(written.count, ",:[{"))


def _with_block_ids(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the blocks, each with an id, as Slack does; a click contains it."""
    for block in blocks:
        yield block if block.get("block_id") else {**block, "block_id": secrets.token_hex(8)}


HEARTBEAT_SECONDS = 15.0

_MAX_DIGITS = 15
"""The most digits of a revision that can have been sent."""


async def event_stream(
    timeline: Timeline,
    *,
    last_event_id: str,
    hello: Mapping[str, Any],
    closing: asyncio.Event,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[bytes, None]:
    """Yield frames until `closing` is set: a `hello`, what was missed since the last event, then every change.

    A `change` is that of a message, `around` says what is shown around those of a channel, `views` are the modal and
    the home tab. An event id is `<boot>-<revision>`; one from before a restart is ignored.
    """
    boot, _, number = last_event_id.partition("-")
    known = boot == timeline.boot and number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS
    seen = int(number) if known else 0
    yield _frame("hello", {**hello, "boot": timeline.boot}, f"{timeline.boot}-{seen}")
    while not closing.is_set():
        changes = [(change.revision, "change", _event_data(change)) for change in timeline.since(seen)]
        around = [(at, "around", timeline.around.as_page(channel)) for at, channel in timeline.touched(seen)]
        views = [(timeline.views_revision, "views", timeline.views.as_page(USER_ID))]
        shown = views if timeline.views_revision > seen else []
        for seen, event, data in sorted([*changes, *around, *shown], key=lambda frame: frame[0]):
            yield _frame(event, data, f"{timeline.boot}-{seen}")
        if not await _wait_for_any(timeline.changed(since=seen), closing.wait(), seconds=heartbeat_seconds):
            yield b": still here\n\n"


async def _wait_for_any(*events: Coroutine[Any, Any, object], seconds: float) -> bool:
    """Wait for the first of the events; return False if none came in time."""
    tasks = [asyncio.ensure_future(event) for event in events]
    done, pending = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return bool(done)


def _event_data(change: TimelineEvent) -> dict[str, Any]:
    message = None if change.message is None else change.message.as_page()
    return {"channel": change.channel, "ts": change.ts, "message": message}


def _frame(event: str, data: Mapping[str, Any], event_id: str) -> bytes:
    return f"event: {event}\nid: {event_id}\ndata: {json.dumps(data)}\n\n".encode()
