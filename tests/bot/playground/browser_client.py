"""What the page does over HTTP, without a browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from fake_slack.workspace import GENERAL


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One server-sent event."""

    event: str
    id: str
    data: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class BrowserClient:
    """A person's browser at the playground."""

    session: aiohttp.ClientSession
    origin: str

    @classmethod
    async def enter(cls, session: aiohttp.ClientSession, address: str) -> BrowserClient:
        """Open the address that the app prints, and keep the cookie: aiohttp's own jar keeps none of an IP address."""
        async with session.get(address, allow_redirects=False) as response:
            (cookie,) = response.cookies.values()
        session.headers["Cookie"] = f"{cookie.key}={cookie.value}"
        return cls(session=session, origin=address.partition("/playground")[0])

    async def say(self, text: str, *, channel: str = GENERAL.id) -> int:
        """Send a line as the page does; returns the status."""
        return await self.post("say", {"channel": channel, "text": text})

    async def post(self, what: str, body: object, **headers: str) -> int:
        """Post to the page's own endpoints, from the page's own origin unless headers say otherwise."""
        sent = {"Origin": self.origin, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.session.post(f"{self.origin}/playground/{what}", json=body, headers=sent) as response:
            return response.status

    async def respond(self, url: str, **payload: object) -> tuple[int, str]:
        """Post to a response_url as an app does."""
        async with self.session.post(url, json=payload) as response:
            return response.status, await response.text()

    async def frames(self, *, last_event_id: str = "", seconds: float = 0.1) -> list[Frame]:
        """Return what the stream sends before it has been quiet for a moment."""
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        found: list[Frame] = []
        async with self.session.get(f"{self.origin}/playground/events", headers=headers) as response:
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        found.append(await _frame(response))
                except TimeoutError:
                    return found

    async def shown(self) -> list[dict[str, Any]]:
        """Return every message that the page shows, oldest first."""
        changes = [frame.data["message"] for frame in await self.frames() if frame.event == "change"]
        return sorted((message for message in changes if message), key=lambda message: str(message["ts"]))

    async def wait_for(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message of the page that holds, as soon as there is one."""
        async with asyncio.timeout(60):
            while True:
                if found := [message for message in await self.shown() if holds(message)]:
                    return found[0]

    async def texts(self) -> list[tuple[str, str, bool]]:
        """Return author, text and privacy of every message."""
        return [(m["author"], m["text"], m["private"]) for m in await self.shown()]


async def _frame(response: aiohttp.ClientResponse) -> Frame:
    lines = (await response.content.readuntil(b"\n\n")).decode().strip().split("\n")
    fields = dict(line.split(": ", 1) for line in lines)
    return Frame(event=fields["event"], id=fields["id"], data=json.loads(fields["data"]))
