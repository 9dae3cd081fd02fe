"""DuckDuckGo's HTML page on loopback, in the form in which the `ddgs` library reads it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from html import escape
from types import TracebackType
from typing import Self

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One result as the page shows it."""

    title: str
    url: str
    body: str = "What the page says."


class FakeDuckDuckGo:
    """Serves `pages` one after another to the same query; `forms` keeps what was posted.

    `html` is served instead when given (a captcha); `hangs` never answers.
    """

    def __init__(self, *pages: list[Hit], html: str | None = None, status: int = 200, hangs: bool = False) -> None:
        self.forms: list[dict[str, str]] = []
        self.url = ""
        self._pages = pages
        self._html = html
        self._status = status
        self._hangs = hangs
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        app = web.Application()
        app.router.add_post("/html/", self._page)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/html/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._closing.set()
        await self._runner.cleanup()

    async def _page(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.forms.append(form)
        if self._hangs:
            await self._closing.wait()
        number = 0 if "s" not in form else 1
        hits = self._pages[number] if number < len(self._pages) else []
        html = self._html if self._html is not None else "".join(_item(hit) for hit in hits)
        return web.Response(text=f"<html><body>{html}</body></html>", content_type="text/html", status=self._status)


def _item(hit: Hit) -> str:
    address = escape(hit.url, quote=True)
    return (
        f'<div class="links_main links_deep result__body"><h2 class="result__title"><a href="{address}">{hit.title}</a>'
        f'</h2><a class="result__snippet" href="{address}">{hit.body}</a></div>'
    )
