"""Requests that no MCP client would send, over HTTP."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from perplexity.fallback import Fallback
from perplexity.mcp_server.server import PATH, build_server
from tests.fakes.odd_requests import answer_to, drawn, harms_of_answer
from tests.fakes.provider import FakeProvider
from tests.perplexity.mcp_server.connecting import listening

DOORS = (b"/mcp", b"/", b"/mcp/x")


def test_every_route_is_a_door() -> None:
    served = build_server(Fallback([FakeProvider("One")])).streamable_http_app(streamable_http_path=PATH)

    assert [getattr(route, "path", "") for route in served.routes] == ["/mcp"]


async def test_no_request_is_a_failure() -> None:
    async with listening() as address:
        port = urlsplit(address).port or 0
        for door in DOORS:
            requests = drawn(80)
            for start in range(0, len(requests), 8):
                sent = [one.written(door) for one in requests[start : start + 8]]
                answers = await asyncio.gather(*(answer_to(port, one, seconds=1.0) for one in sent))
                assert [answer[:300] for answer in answers if harms_of_answer(answer)] == []
