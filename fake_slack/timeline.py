"""The messages of all channels, in memory, and their changes."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from fake_slack.files import File, Files
from fake_slack.request_parsing import Block
from fake_slack.streams import Ending, Stream
from fake_slack.thread_status import ThreadStatuses
from fake_slack.views import OpenViews
from fake_slack.workspace import APP_ID, BOT_ID, BOT_USER_ID, TEAM_ID, USER_ID

MAX_MESSAGES = 1000
"""The most messages that are kept, unless a `Timeline` is given another number."""

MAX_MEMORY = 16 * 1024 * 1024
"""The most bytes of memory that the messages may need, approximately."""

_BYTES_PER_VALUE = 64
"""The bytes that Python needs for a value in addition to its characters, approximately."""


class Author(StrEnum):
    """The author of a message."""

    APP = "app"
    YOU = "you"
    SLACKBOT = "slackbot"


@dataclass(frozen=True, kw_only=True)
class SlackMessage:
    """One message. A `private` message is ephemeral: only one person sees it, and no history contains it.

    `stream` is the stream that writes the message; None for a message that was posted as a whole.
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

    def streaming(self, stream: Stream) -> SlackMessage:
        """Return the message as the stream has written it so far."""
        return replace(self, text=stream.text, blocks=stream.blocks(), stream=stream)

    def as_page(self) -> dict[str, Any]:
        """Return the data from which the page shows the message."""
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
    """A change of a message; `message` is None if the change deleted it. `revision` counts changes from 1."""

    revision: int
    channel: str
    ts: str
    message: SlackMessage | None

    def as_page(self) -> dict[str, Any]:
        """Return the change as the page shows it."""
        message = None if self.message is None else self.message.as_page()
        return {"channel": self.channel, "ts": self.ts, "message": message}


class Timeline:
    """The messages of all channels. `clock` returns seconds since 1970; `boot` identifies this process.

    `around` is the display around the messages, `views` are the modals and home tabs, `files` the uploads.

    If there are more than `max_messages` messages, or they need more than `max_memory` bytes, the oldest are dropped.
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
        self.around = ThreadStatuses(clock=clock, on_change=self._touch)
        self.views = OpenViews(clock=clock, on_change=self._touch_views)
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

    def put(self, message: SlackMessage) -> SlackMessage:
        """Add a message, or replace the one with the same channel and `ts`; return it with an id for each block."""
        message = replace(message, blocks=tuple(_with_block_ids(message.blocks)))
        if message.thread_ts is not None and self.find(message.channel, message.ts) is None:
            self.around.set_status(message.channel, message.thread_ts, "")  # Any new reply ends the status.
        self._record(message.channel, message.ts, message)
        return message

    def remove(self, channel: str, ts: str) -> None:
        """Delete a message.

        The deletion of an unknown message is recorded, too, since a page may still show it after a restart.
        """
        self._record(channel, ts, None)

    def find(self, channel: str, ts: str) -> SlackMessage | None:
        """Return a message, None if it does not exist."""
        change = self._changes.get((channel, ts))
        return None if change is None else change.message

    def history(self, channel: str) -> list[SlackMessage]:
        """Return the public messages of a channel, newest first."""
        shown = [c.message for c in self._changes.values() if c.channel == channel and c.message is not None]
        return sorted((m for m in shown if not m.private), key=lambda message: message.ts, reverse=True)

    def messages(self) -> list[SlackMessage]:
        """Return the messages of all channels, oldest first."""
        shown = (change.message for change in self._changes.values() if change.message is not None)
        return sorted(shown, key=lambda message: message.ts)

    def seen_by(self, user: str, channel: str) -> list[SlackMessage]:
        """Return the public messages of a channel as a person now sees them, oldest first.

        While a stream in a channel is live, people other than its recipient see only its beginning.
        """
        return [self._as_seen(message, user) for message in reversed(self.history(channel))]

    def _as_seen(self, message: SlackMessage, user: str) -> SlackMessage:
        stream = message.stream
        if stream is None or stream.recipient in {None, user} or not stream.is_live(self._clock()):
            return message
        return message.streaming(stream.opened())

    def expire_streams(self) -> None:
        """End the streams whose lifetime is over."""
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
        """Return the channels whose prompts or statuses changed after a revision, in order, each with its revision."""
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

    def _record(self, channel: str, ts: str, message: SlackMessage | None) -> None:
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


def _size(message: SlackMessage | None) -> int:
    """Return the approximate number of bytes that a message takes in memory."""
    if message is None:
        return _BYTES_PER_VALUE
    chunks = () if message.stream is None else message.stream.content.chunks
    written = json.dumps([message.text, message.blocks, message.metadata, chunks])
    return len(written) + _BYTES_PER_VALUE * sum(map(written.count, ",:[{"))


def _with_block_ids(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the blocks, each with an id, since clicks name the block's id; Slack adds missing ids, too."""
    for block in blocks:
        yield block if block.get("block_id") else {**block, "block_id": secrets.token_hex(8)}
