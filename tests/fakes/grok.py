"""An xAI on loopback: it answers as Grok does after a search of X, and refuses and fails as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.service import FakeService, Fault, json_reply

DATA = Path(__file__).parent.parent / "data" / "xai"
KEY = "xai-test-key"
PATH = "/v1/responses"
KEY_PATH = "/v1/api-key"


def _names(fields: str) -> frozenset[str]:
    return frozenset(fields.split())


FIELDS = _names(
    "model input instructions tools tool_choice max_turns max_tool_calls include text store stream temperature top_p "
    "max_output_tokens parallel_tool_calls previous_response_id reasoning user metadata"
)
TOOL_FIELDS = _names(
    "type allowed_x_handles excluded_x_handles from_date to_date enable_image_understanding enable_video_understanding"
)
POSTS = (
    {"url": "https://x.com/ada/status/1111?s=20", "mood": "positive", "about": "Ada welcomes it"},
    {"url": "https://x.com/i/status/2222", "mood": "negative", "about": "Bob fears the cost"},
    {"url": "https://x.com/eve/status/3333", "mood": "positive", "about": "Eve is glad"},
)
SUMMARY = "Most people are glad.[1][3] Some fear the cost.[2]"


def fixture() -> dict[str, Any]:
    """Return the recorded body."""
    recorded: dict[str, Any] = json.loads((DATA / "xai.200.json").read_bytes())
    return recorded


def reply_body(written: str | Mapping[str, Any], *, fetched: int | None = 12, **more: Any) -> dict[str, Any]:
    """Return the recorded body with another text, JSON by default, whose posts the service names as come across.

    `more` is next to the output.
    """
    body = fixture()
    text = written if isinstance(written, str) else json.dumps(written)
    body["output"][-1]["content"] = [{"type": "output_text", "text": text, "logprobs": [], "annotations": []}]
    body["usage"]["server_side_tool_usage_details"]["x_posts_fetched"] = fetched
    named = [] if isinstance(written, str) else [post["url"] for post in written["posts"]]
    return body | {"citations": named} | more


def sentiment(*posts: Mapping[str, str], summary: str = SUMMARY) -> dict[str, Any]:
    """Return what the model is asked to write."""
    return {"posts": list(posts or POSTS), "summary": summary}


def about_key(**more: Any) -> dict[str, Any]:
    """Return what xAI tells of a key."""
    well = {"api_key_blocked": False, "api_key_disabled": False, "team_blocked": False}
    return {"redacted_api_key": "xai-...test", "name": "A key", "acls": ["api-key:endpoint:*"]} | well | more


def error_reply(status: int, message: str = "Something is wrong.", code: str = "some code", **options: Any) -> Fault:
    """Answer with an error as xAI writes it: its `error` is a text."""
    return json_reply({"code": code, "error": message}, status=status, **options)


class FakeGrok(FakeService):
    """The server. `key` is the only key it takes; every answer waits `delay` seconds."""

    def __init__(self, *, key: str = KEY, delay: float = 0.0) -> None:
        super().__init__(delay=delay)
        self._key = key

    @property
    def api_url(self) -> str:
        """What XAI_BASE_URL is set to."""
        return f"{self.base_url}/v1"

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        return [web.post(PATH, self._respond), web.get(KEY_PATH, self._about_key)]

    async def _about_key(self, request: web.Request) -> web.StreamResponse:
        await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            return _error(400, "Incorrect API key provided.")
        return web.json_response(about_key())

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            return _error(401, "Incorrect API key provided.")
        if "search_parameters" in body:
            return _error(410, "Live search is deprecated. Please switch to the Agent Tools API")
        unknown = sorted({*body} - FIELDS) or sorted({*body["tools"][0]} - TOOL_FIELDS)
        if unknown:
            return _error(422, f"unknown field {unknown[0]}")
        self.charge(request, str(Decimal(fixture()["usage"]["cost_in_usd_ticks"]) / 10**10))
        return web.json_response(reply_body(sentiment()))


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"code": "some code", "error": message}, status=status)
