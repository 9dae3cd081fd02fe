"""An OpenRouter on loopback: it serves recorded answers, refuses what it would refuse, and fails as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.grok import POSTS, sentiment
from tests.fakes.service import FakeService, send, sse, stream_reply, whole

DATA = Path(__file__).parent.parent / "data" / "openrouter"
KEY = "sk-or-test-key"
MODELS = (
    "perplexity/sonar",
    "perplexity/sonar-pro",
    "perplexity/sonar-pro-search",
    "perplexity/sonar-reasoning-pro",
    "perplexity/sonar-deep-research",
    "openai/gpt-6-luna",
    "x-ai/grok-4.3",
)
OF_X_SEARCH = frozenset({
    "allowed_x_handles", "excluded_x_handles", "from_date", "to_date", "enable_image_understanding",
    "enable_video_understanding",
})  # fmt: skip
MET = tuple(post["url"] for post in POSTS)

COMMENT = b": OPENROUTER PROCESSING\n\n"
END = b"data: [DONE]\n\n"


def fixture(name: str) -> bytes:
    """Return a recorded body."""
    return (DATA / name).read_bytes()


def error(code: int, message: str = "Something is wrong.") -> dict[str, object]:
    """Return an error's body as OpenRouter writes it."""
    return {"error": {"code": code, "message": message}}


def chunk(content: str = "", *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of a stream; `more` is next to the choices, `annotations` inside the delta."""
    delta = {"role": "assistant", "content": content, **{k: more.pop(k) for k in ("annotations",) if k in more}}
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "native_finish_reason": finish}
    return {"id": "gen-1", "object": "chat.completion.chunk", "model": "perplexity/sonar", "choices": [choice], **more}


def pulse_of(written: str | Mapping[str, Any], *, annotated: Sequence[str] = MET, **more: Any) -> dict[str, Any]:
    """Return Grok's answer after a search of X, JSON by default; `annotated` are the addresses that it came across.

    `more` is next to the choices.
    """
    body: dict[str, Any] = json.loads(fixture("openrouter.200.json"))
    text = written if isinstance(written, str) else json.dumps(written)
    cited = [{"url": url, "title": "", "start_index": 0, "end_index": 0} for url in annotated]
    notes = [{"type": "url_citation", "url_citation": page} for page in cited]
    body["choices"][0]["message"] |= {"content": text, "annotations": notes}
    return body | {"model": "x-ai/grok-4.3", "provider": "xAI"} | more


def stream_of(model: str, *, searched: bool = True) -> bytes:
    """Return the recorded answer as a stream: a comment, two pieces, the sources, why it ended, the usage, the end."""
    answer = json.loads(fixture("openrouter.200.json"))
    message = answer["choices"][0]["message"]
    half = len(message["content"]) // 2
    return (
        COMMENT
        + sse(
            chunk(message["content"][:half], model=model),
            chunk(message["content"][half:], model=model, annotations=message["annotations"] if searched else []),
            chunk(finish="stop", model=model),
            chunk(model=model, usage=answer["usage"]),
        )
        + COMMENT
        + END
    )


class FakeOpenRouter(FakeService):
    """The server. `key` is the only key it takes; `models` are those that it serves, with the day they expire on."""

    def __init__(self, *, key: str = KEY, models: dict[str, str | None] | None = None) -> None:
        super().__init__()
        self.models = dict.fromkeys(MODELS, None) if models is None else models
        self._key = key

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        return [web.get("/models", self._models), web.post("/chat/completions", self._chat)]

    async def _models(self, request: web.Request) -> web.StreamResponse:
        await self.received(request)
        listed = [{"id": name, "name": name, "expiration_date": day} for name, day in self.models.items()]
        return await self.fault(request) or web.json_response({"data": listed})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            return web.json_response(error(401, "User not found."), status=401)
        if body["model"] not in self.models:
            return web.json_response(error(400, f"{body['model']} is not a valid model ID"), status=400)
        if body["model"].startswith("x-ai/") and body.get("tools"):
            return _searched_x(body)
        # Perplexity's models search whatever they are asked; others where they are given options of a search.
        searches = body["model"].startswith("perplexity/") or "web_search_options" in body
        if body.get("stream"):
            return await send(request, stream_reply(stream_of(body["model"], searched=searches)))
        recorded = json.loads(fixture("openrouter.200.json"))
        if not searches:
            recorded["choices"][0]["message"]["annotations"] = []
        return whole(json.dumps(recorded | {"model": body["model"]}).encode())


def _searched_x(body: Mapping[str, Any]) -> web.Response:
    """Answer as Grok; other endpoints than xAI's have no search of X, nor have other engines than their own."""
    (tool,) = body["tools"]
    asked = tool["parameters"]
    if body["provider"]["only"] != ["xai"]:
        return web.json_response(error(404, "No endpoints found."), status=404)
    if tool["type"] != "openrouter:web_search" or asked["engine"] != "native" or {*asked["x_search"]} - OF_X_SEARCH:
        return web.json_response(error(400, "Invalid input"), status=400)
    return web.json_response(pulse_of(sentiment()))
