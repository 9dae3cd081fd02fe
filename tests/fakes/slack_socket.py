"""Slack's end of Socket Mode on loopback: it says hello, sends envelopes, wants each acknowledged, and recycles.

https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from aiohttp import WSMsgType, web

ACK_SECONDS = 3.0


@dataclass(kw_only=True)
class FakeSlackSocket:
    """The server. `url` is what apps.connections.open is to answer; `connections` are those that were ever made."""

    url: str = ""
    connections: list[web.WebSocketResponse] = field(default_factory=list)
    acks: dict[str, dict[str, Any]] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get("/link", self._link)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}/link"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        for connection in self.connections:
            await connection.close()
        await self._runner.cleanup()

    async def connected(self, count: int, *, seconds: float = 60) -> None:
        """Wait until that many connections were made."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.connections) >= count)

    async def deliver(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Send one envelope on the latest connection and return its ack, which must come within three seconds."""
        envelope_id = str(uuid4())
        envelope = {"envelope_id": envelope_id, "type": kind, "payload": payload, "accepts_response_payload": True}
        await self.connections[-1].send_json(envelope)
        async with asyncio.timeout(ACK_SECONDS), self._changed:
            await self._changed.wait_for(lambda: envelope_id in self.acks)
        return self.acks[envelope_id]

    async def recycle(self) -> None:
        """Announce the end of the latest connection, as Slack does every few hours."""
        await self.connections[-1].send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})

    async def cut(self) -> None:
        """End the latest connection without a word."""
        await self.connections[-1].close()

    async def _link(self, request: web.Request) -> web.StreamResponse:
        connection = web.WebSocketResponse()
        await connection.prepare(request)
        await connection.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        async with self._changed:
            self.connections.append(connection)
            self._changed.notify_all()
        async for message in connection:
            if message.type is WSMsgType.TEXT:
                await self._acknowledged(json.loads(message.data))
        return connection

    async def _acknowledged(self, ack: dict[str, Any]) -> None:
        async with self._changed:
            self.acks[ack["envelope_id"]] = ack
            self._changed.notify_all()
