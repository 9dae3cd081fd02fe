"""Slack's end of Socket Mode on loopback: it says hello, sends envelopes, wants each acknowledged, and recycles.

https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from aiohttp import WSMsgType, web

from tests.fakes.loopback import LoopbackServer

ACK_SECONDS = 3.0


class FakeSlackSocket(LoopbackServer):
    """The server. `url` is what apps.connections.open is to answer; `connections` are those that were ever made."""

    def __init__(self) -> None:
        self.connections: list[web.WebSocketResponse] = []
        self.acks: dict[str, dict[str, Any]] = {}
        self._changed = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"{self.base_url.replace('http', 'ws')}/link"

    def routes(self) -> Iterable[web.RouteDef]:
        return [web.get("/link", self._link)]

    async def release_all(self) -> None:
        for connection in self.connections:
            await connection.close()

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
