"""A Perplexity on loopback: it serves recorded answers, refuses what the service would refuse, and fails as it is told.

By hand: `python -m tests.fakes.perplexity --port 8900 --delay 1`, then `PERPLEXITY_BASE_URL=http://127.0.0.1:8900`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.service import (
    SERVED,
    FakeService,
    Fault,
    RateWindow,
    Served,
    json_reply,
    send,
    sse,
    stream_reply,
    whole,
)

# What a test of Perplexity wants comes from here, the ways in which any service fails included.
__all__ = [
    "KEY",
    "MODELS",
    "OPTION_FIELDS",
    "SEARCH_FIELDS",
    "SONAR_FIELDS",
    "FakePerplexity",
    "Fault",
    "RateWindow",
    "fixture",
    "json_reply",
    "sse",
    "stream_reply",
]

DATA = Path(__file__).parent.parent / "data" / "perplexity"
KEY = "pplx-test-key"


def _names(fields: str) -> frozenset[str]:
    return frozenset(fields.split())


SEARCH_FIELDS = _names(
    "query max_results max_tokens max_tokens_per_page search_context_size country search_domain_filter "
    "search_language_filter search_recency_filter search_after_date_filter search_before_date_filter "
    "last_updated_after_filter last_updated_before_filter search_mode search_type display_server_time"
)
AGENT_FIELDS = _names(
    "input model models effort preset profile instructions language_preference max_output_tokens max_steps "
    "max_tool_calls reasoning response_format temperature top_p stream store background previous_response_id "
    "prompt_cache_key service_tier skills step_budget_reminder tools tool_choice parallel_tool_calls metadata "
    "truncation"
)
TOOL_FIELDS = _names(
    "type filters search_context_size search_type max_tokens max_tokens_per_page max_results user_location"
)
FILTER_FIELDS = _names(
    "search_domain_filter search_recency_filter search_after_date_filter search_before_date_filter "
    "last_updated_after_filter last_updated_before_filter"
)
SONAR_FIELDS = _names(
    "model messages max_tokens temperature top_p stop stream stream_mode response_format web_search_options "
    "search_mode disable_search enable_search_classifier search_domain_filter search_language_filter "
    "search_recency_filter search_after_date_filter search_before_date_filter last_updated_after_filter "
    "last_updated_before_filter return_images image_format_filter image_domain_filter return_related_questions "
    "reasoning_effort language_preference num_search_results num_images media_response tools tool_choice "
    "parallel_tool_calls"
)
OPTION_FIELDS = _names("search_context_size search_type user_location image_results_enhanced_relevance")
MODELS = ("perplexity/sonar", "anthropic/claude-sonnet-5")


def fixture(name: str) -> bytes:
    """Return a recorded body."""
    return (DATA / name).read_bytes()


SEARCH_DOLLARS = "0.005"
FAST_SEARCH_DOLLARS = "0.001"


def cost_of(recorded: bytes) -> str:
    """Return what a recorded answer cost, in dollars, digit by digit."""
    usage = json.loads(recorded, parse_float=str)["usage"]
    return str(usage["cost"]["total_cost"])


_FOUND = ("results", "search_results", "citations")


def without_results(recorded: bytes) -> bytes:
    """Return a recorded body, or a stream, as it is without a search: nothing was found."""
    if not recorded.startswith(b"data:"):
        return _emptied(recorded)
    events = (line for line in recorded.splitlines() if line.startswith(b"data: "))
    return b"".join(b"data: " + _emptied(event.removeprefix(b"data: ")) + b"\n\n" for event in events)


def _emptied(recorded: bytes) -> bytes:
    told = json.loads(recorded, object_hook=lambda told: told | {name: [] for name in _FOUND if name in told})
    return json.dumps(told).encode()


class FakePerplexity(FakeService):
    """The server. `runs` are the states of background runs by id, `begun` the requests that began them.

    `key` is the only key it takes, None takes any; every answer waits `delay` seconds. A background run is told to be
    in progress `polls` times before it is finished. The events of a stream come `pause` seconds
    apart. `retired` takes the chat completions out of service. `rate` is how many answers a minute the key may ask for.
    """

    def __init__(
        self,
        *,
        key: str | None = KEY,
        port: int = 0,
        delay: float | Callable[[], float] = 0.0,
        polls: int = 0,
        pause: float = 0.0,
        retired: bool = False,
        rate: RateWindow | None = None,
    ) -> None:
        super().__init__(port=port, delay=delay)
        self.runs: dict[str, list[dict[str, Any]]] = {}
        self.begun: dict[str, Served] = {}
        self.cancelled: list[str] = []
        self.cancel_requested = asyncio.Event()
        self._key, self._polls, self._pause, self.retired = key, polls, pause, retired
        self.rate = rate

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        yield web.post("/search", self._search)
        yield web.get("/v1/models", self._models)
        yield web.post("/chat/completions", self._sonar)
        for path in ("/v1/agent", "/v1/responses"):
            yield web.post(path, self._agent)
            yield web.get(path + "/{id}", self._run)
            yield web.post(path + "/{id}/cancel", self._cancel)

    async def _search(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        refused = self._unauthorized(request) or _unknown(body, SEARCH_FIELDS)
        if (instead := await self.fault(request) or refused) is not None:
            return instead
        self.charge(request, FAST_SEARCH_DOLLARS if body.get("search_type") == "fast" else SEARCH_DOLLARS)
        return whole(fixture("search.200.json"))

    async def _sonar(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        refused = self._unauthorized(request) or _unknown(body, SONAR_FIELDS)
        refused = refused or _unknown(body.get("web_search_options", {}), OPTION_FIELDS)
        if (fault := await self.fault(request)) is not None:
            return fault
        if self.retired:
            gone = json_reply(json.loads(fixture("err.403.chat_completions_not_available.json")), status=403)
            return await send(request, gone)
        if refused:
            return refused
        self.charge(request, cost_of(fixture("sonar.200.json")))
        recorded = without_results if body.get("disable_search") else bytes
        if body.get("stream"):
            return await send(request, stream_reply(recorded(fixture("sonar.stream.sse"))))
        return whole(recorded(fixture("sonar.200.json")))

    async def _models(self, request: web.Request) -> web.StreamResponse:
        await self.received(request)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": name.split("/")[0]} for name in MODELS]
        listed = web.json_response({"object": "list", "data": models})
        return await self.fault(request) or self._unauthorized(request) or listed

    async def _agent(self, request: web.Request) -> web.StreamResponse:
        if self.rate is not None and (wait := self.rate.take()) > 0:
            request[SERVED].failed = True
            headers = {"Retry-After": str(math.ceil(wait))}
            return await send(request, json_reply(json.loads(fixture("err.429.json")), status=429, headers=headers))
        body = await self.received(request)
        refused = self._unauthorized(request) or _refusal(body)
        if (fault := await self.fault(request)) is not None:
            return fault
        if refused:
            return refused
        self.charge(request, cost_of(fixture("agent.200.json")))
        recorded = without_results if body.get("tool_choice") == "none" else bytes
        if body.get("background"):
            return self._begun(json.loads(recorded(fixture("agent.200.json"))), request[SERVED])
        if body.get("stream"):
            stream = recorded(fixture("agent.stream.completed.sse"))
            events = re.split(rb"(?<=\n\n)", stream) if self._pause else [stream]
            return await send(request, stream_reply(*events, pause=self._pause))
        return whole(recorded(fixture("agent.200.json")))

    def _begun(self, finished: dict[str, Any], served: Served) -> web.Response:
        run_id = f"resp_{len(self.runs) + 1}"
        self.begun[run_id] = served
        queued = {"id": run_id, "object": "response", "status": "queued", "output": []}
        self.runs[run_id] = [*[queued | {"status": "in_progress"}] * self._polls, finished | {"id": run_id}]
        return web.json_response(queued)

    async def _run(self, request: web.Request) -> web.StreamResponse:
        await self.received(request)
        if (answer := await self.fault(request) or self._unauthorized(request)) is not None:
            return answer
        states = self.runs.get(request.match_info["id"])
        if not states:
            return _error(404, "not_found", "no such response")
        return web.json_response(states.pop(0) if len(states) > 1 else states[0])

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        await self.received(request)
        run_id = request.match_info["id"]
        if (answer := await self.fault(request) or self._unauthorized(request)) is not None:
            return answer
        self.cancelled.append(run_id)
        self.cancel_requested.set()
        return web.json_response({"response_id": run_id, "status": "cancelling"})

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        await super()._prepare(request, response)
        if self.rate is not None and request.method == "POST":
            response.headers["x-ratelimit-limit"] = str(self.rate.per_minute)
            response.headers["x-ratelimit-remaining"] = str(self.rate.per_minute - len(self.rate.taken))

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        if self._key is None or request.headers.get("Authorization") == f"Bearer {self._key}":
            return None
        return _error(401, "invalid_api_key", "Invalid API key provided.")


def _refusal(body: Mapping[str, Any]) -> web.Response | None:
    """Refuse as the Agent API does: a field it does not know, no one to answer, a model without what it needs."""
    tools = [tool for tool in body.get("tools", []) if tool.get("type") == "web_search"]
    nested = [_unknown(tool, TOOL_FIELDS) or _unknown(tool.get("filters", {}), FILTER_FIELDS) for tool in tools]
    if refused := next((refusal for refusal in [_unknown(body, AGENT_FIELDS), *nested] if refusal), None):
        return refused
    if not any(name in body for name in ("effort", "model", "models", "preset")):
        return _error(400, "invalid_request", "model, models, effort or preset is required")
    if str(body.get("model", "")).startswith("anthropic/") and "max_output_tokens" not in body:
        return _error(400, "invalid_request", "max_output_tokens is required for this model")
    return None


def _unknown(body: Mapping[str, Any], known: frozenset[str]) -> web.Response | None:
    unknown = sorted(set(body) - known)
    if not unknown:
        return None
    return _error(400, "invalid_request", f'invalid request body: json: unknown field "{unknown[0]}"', param=unknown[0])


def _error(status: int, kind: str, message: str, **more: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": kind, "code": status, **more}}, status=status)


async def _serve(port: int, delay: float) -> None:
    async with FakePerplexity(key=None, port=port, delay=delay) as fake:
        print(fake.base_url, flush=True)  # noqa: T201 - a program of its own when run by hand
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve recorded answers of Perplexity on loopback.")
    parser.add_argument("--port", type=int, default=8900)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.delay))
