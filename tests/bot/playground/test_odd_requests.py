"""Requests that no browser would send, at every door of the playground."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.fakes.odd_requests import answer_to, drawn, harms_of_answer
from tests.fakes.playground_app import Site
from tests.rare import one_in

DOORS = {
    "/playground/say": "/playground/say",
    "/playground/click": "/playground/click",
    "/playground/open": "/playground/open",
    "/playground/stop": "/playground/stop",
    "/playground/shortcut": "/playground/shortcut",
    "/playground/press": "/playground/press",
    "/playground/submit": "/playground/submit",
    "/playground/close": "/playground/close",
    "/playground/events": "/playground/events",
    "/playground/response/{token}": "/playground/response/x",
    "/playground/api/{method}": "/playground/api/chat.postMessage",
    "/playground/static/{name}": "/playground/static/page.js",
    "/playground/files/{id}": "/playground/files/F1",
    "/playground/docs/{team}/{id}": "/playground/docs/T0PLAYGROUND/F1",
    "/playground/upload/{id}": "/playground/upload/F1",
    "/playground/archives/{channel}/{message}": "/playground/archives/C0PLAYGROUND/p1700000000000100",
    "/playground": "/playground",
    "/": "/",
}
"""Each route, with an address that it serves."""


def test_every_route_is_a_door(site: Site) -> None:
    assert {route.path for route in site.playground.routes()} == set(DOORS)


@pytest.mark.parametrize("door", one_in(3, DOORS.values()))
async def test_no_request_is_a_failure(site: Site, caplog: pytest.LogCaptureFixture, door: str) -> None:
    port = int(site.origin.rpartition(":")[2])
    # How the app's server answers the header is in tests/end_to_end; this one is aiohttp's.
    requests = [one for one in drawn(50) if all(name != b"Expect" for name, _ in one.headers)]
    with caplog.at_level(logging.WARNING):
        for start in range(0, len(requests), 8):
            sent = [one.written(door.encode()) for one in requests[start : start + 8]]
            answers = await asyncio.gather(*(answer_to(port, one, seconds=1.0) for one in sent))
            assert [harms_of_answer(answer) for answer in answers if harms_of_answer(answer)] == []

    # What is no HTTP is refused, and told, by aiohttp itself; `bot.web.server` logs it without a trace.
    ours = [record for record in caplog.records if record.exc_info and record.name != "aiohttp.server"]
    assert [record.getMessage() for record in ours] == []
