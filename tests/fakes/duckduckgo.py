"""DuckDuckGo's HTML page on loopback, in the form in which the `ddgs` library reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape

from aiohttp import web

from tests.fakes.service import FakeService

PATH = "/html/"

PointDdgsAt = Callable[[str], None]
"""Has the `ddgs` library fetch its results from a URL."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One result as the page shows it."""

    title: str
    url: str
    body: str = "What the page says."


class FakeDuckDuckGo(FakeService):
    """Serves `pages` one after another to the same query; `forms` keeps what was posted.

    `html` is served instead when given (a captcha); `hangs` never answers.
    """

    def __init__(self, *pages: list[Hit], html: str | None = None, status: int = 200, hangs: bool = False) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self._pages = pages
        self._html = html
        self._status = status
        if hangs:
            self.hold()

    @property
    def url(self) -> str:
        """The page's address."""
        return f"{self.base_url}{PATH}"

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        return [web.post(PATH, self._page)]

    async def _page(self, request: web.Request) -> web.StreamResponse:
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.forms.append(form)
        await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
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
