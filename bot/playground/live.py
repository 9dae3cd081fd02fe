"""The stream that keeps the page up to date: server-sent events that survive a lost connection.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Mapping
from typing import Any

from bot.playground.timeline import Change, Timeline

HEARTBEAT_SECONDS = 15.0

_LONGEST_REVISION = 15
"""Digits; what is longer was never sent."""


async def stream(
    timeline: Timeline,
    *,
    last_event_id: str,
    hello: Mapping[str, Any],
    closing: asyncio.Event,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[bytes, None]:
    """Yield frames until `closing` is set: a `hello`, what was missed since the last event, then every change.

    An id is `<boot>-<revision>`; one from an earlier life of the process counts as none.
    """
    boot, _, number = last_event_id.partition("-")
    known = boot == timeline.boot and number.isascii() and number.isdecimal() and len(number) <= _LONGEST_REVISION
    seen = int(number) if known else 0
    yield _frame("hello", {**hello, "boot": timeline.boot}, f"{timeline.boot}-{seen}")
    while not closing.is_set():
        for change in timeline.since(seen):
            seen = change.revision
            yield _frame("change", _page(change), f"{timeline.boot}-{seen}")
        if not await _happens(timeline.changed(since=seen), closing.wait(), seconds=heartbeat_seconds):
            yield b": still here\n\n"


async def _happens(*events: Coroutine[Any, Any, object], seconds: float) -> bool:
    """Wait for whichever event comes first; False when none came in time."""
    tasks = [asyncio.ensure_future(event) for event in events]
    done, pending = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return bool(done)


def _page(change: Change) -> dict[str, Any]:
    message = None if change.message is None else change.message.as_page()
    return {"channel": change.channel, "ts": change.ts, "message": message}


def _frame(event: str, data: Mapping[str, Any], event_id: str) -> bytes:
    return f"event: {event}\nid: {event_id}\ndata: {json.dumps(data)}\n\n".encode()
