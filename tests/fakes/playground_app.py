"""Stands in for the app behind the playground: takes signed requests, answers by ack and by response_url."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from slack_sdk.signature import Clock as VerifierClock
from slack_sdk.signature import SignatureVerifier

from bot.commands.routing import SlashCommand
from bot.playground.server import Playground

SIGNING_SECRET = "playground-signing-secret"
BOT_TOKEN = "xoxb-playground"
COMMANDS = (
    SlashCommand(name="/search", usage_hint="[--n 1-20] QUERY", description="Search the web"),
    SlashCommand(name="/ask", usage_hint="[--reasoning] QUESTION", description="Ask the web, with sources"),
)

SHORTCUTS = (
    {"type": "global", "name": "Ask the web", "callback_id": "ask", "description": "Ask a question"},
    {"type": "global", "name": "Set up a digest", "callback_id": "digest", "description": "News on a schedule"},
    {"type": "message", "name": "Check this", "callback_id": "check", "description": "Check the claims"},
)

Fields = dict[str, Any]
Reply = Callable[[Fields], Awaitable[web.Response]]


@dataclass
class Clock(VerifierClock):
    """A clock that a test moves: called by the playground, asked for `now()` by the signature verifier."""

    seconds: float = field(default_factory=time.time)

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> float:
        return self.seconds


async def quiet(_: Fields) -> web.Response:
    """Acknowledge and say nothing."""
    return web.Response()


@dataclass
class PlaygroundApp:
    """Keeps every request it verified, in order; `reply` decides the ack."""

    reply: Reply = quiet
    clock: Clock | None = None
    requests: list[Fields] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        """Answer `POST /slack/events`; an unsigned request gets 401 and is not kept."""
        body = await request.read()
        clock = self.clock or Clock()
        if not SignatureVerifier(SIGNING_SECRET, clock=clock).is_valid_request(body, dict(request.headers)):
            return web.Response(status=401)
        fields = _fields(body.decode(), content_type=request.content_type)
        self.requests.append(fields)
        return await self.reply(fields)


def _fields(body: str, *, content_type: str) -> Fields:
    if content_type == "application/json":
        event: Fields = json.loads(body)
        return event
    form = dict(parse_qsl(body, keep_blank_values=True, strict_parsing=True))
    return json.loads(form["payload"]) if "payload" in form else dict(form)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A playground and the app behind it, served together as the real ones are."""

    origin: str
    app: PlaygroundApp
    playground: Playground

    @property
    def address(self) -> str:
        """The address that lets a browser in."""
        return self.playground.address


@asynccontextmanager
async def serve(
    *,
    app: PlaygroundApp | None = None,
    allow_any_host: bool = False,
    port: int = 0,
    saved: Path | None = None,
) -> AsyncIterator[Site]:
    """Serve both on a loopback port of the system's choice, or on a given one; `saved` is for messages."""
    app = app or PlaygroundApp()
    listener = socket.create_server(("127.0.0.1", port))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    playground = Playground(
        signing_secret=SIGNING_SECRET,
        bot_token=BOT_TOKEN,
        origin=origin,
        commands=COMMANDS,
        shortcuts=SHORTCUTS,
        home_tab=True,
        allow_any_host=allow_any_host,
        clock=app.clock or time.time,
        saved=saved,
    )
    server = web.Application()
    server.add_routes([*playground.routes(), web.post("/slack/events", app.handle)])
    runner = web.AppRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    try:
        yield Site(origin=origin, app=app, playground=playground)
    finally:
        await playground.close()
        await runner.cleanup()
