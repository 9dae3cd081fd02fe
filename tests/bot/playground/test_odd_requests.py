"""Requests that no browser would send, at every door of the playground."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.fakes.odd_requests import answer_to, drawn, harms_of_answer
from tests.fakes.playground_app import Site

DOORS = (
    "say", "click", "open", "stop", "shortcut", "press", "submit", "close", "response/x", "api/chat.postMessage",
    "api/auth.test", "static/x", "events",
)  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
async def test_no_request_is_a_failure(site: Site, caplog: pytest.LogCaptureFixture, door: str) -> None:
    port = int(site.origin.rpartition(":")[2])
    # How the app's server answers the header is in tests/end_to_end; this one is aiohttp's.
    requests = [one for one in drawn(50) if all(name != b"Expect" for name, _ in one.headers)]
    with caplog.at_level(logging.WARNING):
        for start in range(0, len(requests), 8):
            sent = [one.written(f"/playground/{door}".encode()) for one in requests[start : start + 8]]
            answers = await asyncio.gather(*(answer_to(port, one, seconds=1.0) for one in sent))
            assert [harms_of_answer(answer) for answer in answers if harms_of_answer(answer)] == []

    # What is no HTTP is refused, and told, by aiohttp itself; `bot.web.server` logs it without a trace.
    ours = [record for record in caplog.records if record.exc_info and record.name != "aiohttp.server"]
    assert [record.getMessage() for record in ours] == []
