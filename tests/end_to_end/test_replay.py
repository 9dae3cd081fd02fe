"""A request that comes twice is answered once, also in two processes and by two events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bot.app import compose
from bot.settings import Settings
from tests.driver import Driver, asked_in
from tests.fakes.person import event_envelope, signed
from tests.fakes.ports import free_port

pytestmark = pytest.mark.trust(4)

TS = "1795255200.000100"


@asynccontextmanager
async def another_process(harness: Driver, settings: Settings) -> AsyncIterator[Driver]:
    """Serve the same database from another port, as a second process does."""
    port = free_port()
    stop, ready = asyncio.Event(), asyncio.Event()
    async with compose(settings.model_copy(update={"port": port}), conninfo=harness.database, http=True) as app:
        serving = asyncio.create_task(app.serve(stop, work=True, ready=ready.set))
        await ready.wait()
        url = f"http://127.0.0.1:{port}"
        yield replace(harness, url=url, person=replace(harness.person, app_url=url))
        stop.set()
        await serving


async def settled(harness: Driver) -> None:
    """Wait until all that came is answered, and a question of its own that follows it."""
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.settle()


async def test_the_same_signed_request_twice_is_200_twice_and_one_answer(harness: Driver) -> None:
    body = json.dumps(
        event_envelope({"type": "app_mention", "channel": "C1", "text": "<@U0APP> why", "ts": TS}, user="U1", id="Ev1")
    ).encode()
    headers = signed(body) | {"Content-Type": "application/json"}
    for _ in range(3):
        async with harness.session.post(f"{harness.url}/slack/events", data=body, headers=headers) as response:
            assert response.status == 200
    for _ in range(2):
        await harness.ask("/ask which", trigger="t1")
    await settled(harness)

    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "which", "why"]
    assert len(harness.slack.thread("C1", TS)) == 1


async def test_the_same_event_in_two_processes_is_one_answer(harness: Driver, settings: Settings) -> None:
    async with another_process(harness, settings) as other:
        statuses = await asyncio.gather(*(one.mention("why") for one in (harness, other, harness, other)))
        shown = await asyncio.gather(*(one.ask("/ask which", trigger="t1") for one in (harness, other)))
        await settled(harness)

    assert statuses == [200] * 4
    assert all("Searching" in one["text"] for one in shown)
    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "which", "why"]


@pytest.mark.parametrize("first", ["app_mention", "message"])
async def test_both_events_of_a_mention_are_one_answer(harness: Driver, first: str) -> None:
    message: dict[str, Any] = {"channel": "C1", "text": "<@U0APP> why", "ts": TS, "channel_type": "channel"}
    for kind in (first, *({"app_mention", "message"} - {first})):
        assert await harness.event(message | {"type": kind}, id=f"Ev-{kind}") == 200
    await settled(harness)

    assert len(harness.slack.thread("C1", TS)) == 1
    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "why"]
