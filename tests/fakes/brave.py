"""A Brave Search on loopback: it serves recorded pages, refuses what Brave would refuse, and fails as it is told."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from aiohttp import web

from perplexity.wire.brave import COUNTRIES, LANGUAGES
from tests.fakes.service import FakeService, whole

DATA = Path(__file__).parent.parent / "data" / "brave"
KEY = "BSA-test-key"

_COMMON = frozenset({"q", "country", "search_lang", "freshness", "count", "safesearch", "goggles"})
_PAGED = _COMMON | {"ui_lang", "offset", "text_decorations", "spellcheck", "extra_snippets", "operators"}
PARAMETERS = {
    "/web/search": _PAGED | {"result_filter", "units"},
    "/news/search": _PAGED,
    "/llm/context": _COMMON
    | {
        "maximum_number_of_urls",
        "maximum_number_of_tokens",
        "maximum_number_of_snippets",
        "maximum_number_of_tokens_per_url",
        "maximum_number_of_snippets_per_url",
        "context_threshold_mode",
        "enable_local",
    },
}
_RECORDED = {
    "/web/search": "brave.web.200.json",
    "/news/search": "brave.news.200.json",
    "/llm/context": "brave.context.200.json",
}
_RANGES = {
    "maximum_number_of_urls": (1, 50),
    "maximum_number_of_tokens": (1024, 32768),
    "maximum_number_of_snippets": (1, 100),
    "maximum_number_of_tokens_per_url": (512, 8192),
    "offset": (0, 9),
}
_FRESHNESS = re.compile(r"p[dwmy]|(\d{4}-\d{2}-\d{2})to(\d{4}-\d{2}-\d{2})", re.ASCII)


def fixture(name: str) -> bytes:
    """Return a recorded body."""
    return (DATA / name).read_bytes()


def error(status: int, code: str, detail: str = "Something is wrong.") -> dict[str, object]:
    """Return an error's body as Brave writes it."""
    told = {"id": "e-1", "status": status, "code": code, "detail": detail, "meta": {"component": "search"}}
    return {"type": "ErrorResponse", "error": told, "time": 1795255200}


class FakeBrave(FakeService):
    """The server; `key` is the only key it takes, None takes any; every answer waits `delay` seconds."""

    def __init__(self, *, key: str | None = KEY, delay: float | Callable[[], float] = 0.0) -> None:
        super().__init__(delay=delay)
        self._key = key

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        return [web.get(path, self._serving(path)) for path in PARAMETERS]

    def _serving(self, path: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            await self.received(request)
            if (fault := await self.fault(request)) is not None:
                return fault
            if self._key is not None and request.headers.get("X-Subscription-Token") != self._key:
                refused = error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")
                return web.json_response(refused, status=422)
            if wrong := _wrong(path, dict(request.query)):
                return web.json_response(error(422, "VALIDATION", wrong), status=422)
            self.charge(request, "0.005")
            return whole(fixture(_RECORDED[path]))

        return serve


def _wrong(path: str, query: dict[str, str]) -> str:
    """Return what Brave would refuse the parameters for; empty if it takes them."""
    ranges = _RANGES | {"count": (1, 20 if path == "/web/search" else 50)}
    words = query.get("q", "")
    spans = _FRESHNESS.fullmatch(query.get("freshness", "pd"))
    reasons = {
        "unknown parameter": bool(set(query) - PARAMETERS[path]),
        "q": not words.strip() or len(words) > 400 or len(words.split()) > 50,
        "country": query.get("country", "US") not in COUNTRIES | {"ALL"},
        "search_lang": query.get("search_lang", "en") not in LANGUAGES,
        "freshness": spans is None or (spans[1] or "") > (spans[2] or ""),
        **{name: name in query and not low <= int(query[name]) <= high for name, (low, high) in ranges.items()},
    }
    return ", ".join(f"{name} is not allowed" for name, applies in reasons.items() if applies)
