"""A process whose Slack and providers hang when it is asked to stop: it ends within the grace that hosts give."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from tests.driver import KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import slash_command
from tests.fakes.process import DEVELOPMENT, Process
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_socket import FakeSlackSocket


class HangingSocket(FakeSlackSocket):
    """A Slack whose end of the connection no longer reads, so that no closing is ever agreed to."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def _link(self, request: web.Request) -> web.StreamResponse:
        connection = web.WebSocketResponse(autoclose=False)
        await connection.prepare(request)
        await connection.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        async with self._changed:
            self.connections.append(connection)
            self._changed.notify_all()
        await self.released.wait()
        return connection


async def test_socket_mode_with_slack_and_the_provider_hung_ends_within_25_seconds(
    slack: FakeSlack, perplexity: FakePerplexity, database: str
) -> None:
    # The better of two, for a busy machine.
    if await seconds_to_stop(slack, perplexity, database, trigger="t1") >= 25:
        assert await seconds_to_stop(slack, perplexity, database, trigger="t2") < 25


async def seconds_to_stop(slack: FakeSlack, perplexity: FakePerplexity, database: str, *, trigger: str) -> float:
    """Ask a question in Socket Mode, have the process stop while all hangs, and return how long that takes."""
    perplexity.hold()
    asked = len(perplexity.requests)
    async with HangingSocket() as socket:
        slack.socket_url = socket.url
        process = await Process.start(
            "run",
            options=DEVELOPMENT,
            SLACK_BOT_TOKEN=BOT_TOKEN,
            SLACK_APP_TOKEN=APP_TOKEN,
            SLACK_API_URL=slack.api_url,
            PERPLEXITY_API_KEY=KEY,
            PERPLEXITY_BASE_URL=perplexity.base_url,
            DATABASE_URL=database,
        )
        await socket.connected(1)
        payload = slash_command("/ask why", trigger=trigger, user="U1", url=slack.response_url(trigger))
        envelope = {"envelope_id": trigger, "type": "slash_commands", "payload": payload}
        await socket.connections[-1].send_json(envelope | {"accepts_response_payload": True})
        await perplexity.wait_for(asked + 1)

        started = time.monotonic()
        code = await process.terminate(seconds=40)
        seconds = time.monotonic() - started
        socket.released.set()

    assert code == 0, process.log[-5:]
    return seconds
