"""A request that comes twice is answered once, also in two processes and by two events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bot.settings import Settings
from tests.driver import Driver, asked_in
from tests.fakes.person import event_envelope, signed

pytestmark = pytest.mark.trust(4)

TS = "1795255200.000100"


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
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.settle()

    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "which", "why"]
    assert len(harness.slack.thread("C1", TS)) == 1


async def test_the_same_event_in_two_processes_is_one_answer(harness: Driver, settings: Settings) -> None:
    async with harness.beside(settings) as other:
        statuses = await asyncio.gather(*(one.mention("why") for one in (harness, other, harness, other)))
        shown = await asyncio.gather(*(one.ask("/ask which", trigger="t1") for one in (harness, other)))
        await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.settle()

    assert statuses == [200] * 4
    assert all("Searching" in one["text"] for one in shown)
    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "which", "why"]


@pytest.mark.parametrize("first", ["app_mention", "message"])
async def test_both_events_of_a_mention_are_one_answer(harness: Driver, first: str) -> None:
    message: dict[str, Any] = {"channel": "C1", "text": "<@U0APP> why", "ts": TS, "channel_type": "channel"}
    for kind in (first, *({"app_mention", "message"} - {first})):
        assert await harness.event(message | {"type": kind}, id=f"Ev-{kind}") == 200
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.settle()

    assert len(harness.slack.thread("C1", TS)) == 1
    assert sorted(asked_in(request) for request in harness.perplexity.requests) == ["the end", "why"]
