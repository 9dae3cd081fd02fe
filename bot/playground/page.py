"""The page's event stream: the changes of the timeline.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from bot.clock import wait_for_any
from fake_slack.timeline import Timeline, TimelineEvent
from fake_slack.workspace import USER_ID

HEARTBEAT_SECONDS = 15.0

_MAX_DIGITS = 15
"""The most digits of the revision in an event id; the app has issued no id with more digits."""


async def event_stream(
    timeline: Timeline,
    *,
    last_event_id: str,
    hello: Mapping[str, Any],
    closing: asyncio.Event,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[bytes, None]:
    """Yield frames until `closing` is set: a `hello`, the changes missed since the last event, then every change.

    A `change` frame has a message, an `around` frame what the page shows around the messages of a channel, and a
    `views` frame the modal and the home tab. An event id is `<boot>-<revision>`; an id from before a restart is
    ignored.
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
        if not await wait_for_any(timeline.changed(since=seen), closing.wait(), seconds=heartbeat_seconds):
            yield b": still here\n\n"


def _event_data(change: TimelineEvent) -> dict[str, Any]:
    message = None if change.message is None else change.message.as_page()
    return {"channel": change.channel, "ts": change.ts, "message": message}


def _frame(event: str, data: Mapping[str, Any], event_id: str) -> bytes:
    return f"event: {event}\nid: {event_id}\ndata: {json.dumps(data)}\n\n".encode()
