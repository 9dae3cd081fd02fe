"""The requests a second of the client, next to aiohttp alone that sends the same and reads the same JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession

from perplexity import PerplexityClient
from tests.benchmarks.measure import Figure, Measurement, compare

BARS = {"search": 0.8, "answer": 0.6, "stream": 0.8}
REQUESTS = {"search": 200, "answer": 200, "stream": 50}
"""How many each measurement sends."""
TOGETHER = 8
"""Requests at a time, so that the client is never waiting for the server, whose process is its own."""

KEY = "pplx-benchmark"
QUERY = {"query": "wheels", "max_results": 5, "max_tokens_per_page": 1024}
QUESTION = {"effort": "fast", "input": "wheels", "store": False}


async def figures(rounds: int, *, requests: Mapping[str, int] = REQUESTS) -> list[Figure]:
    """Measure searches, answers and streams."""
    async with _server() as base_url, PerplexityClient(KEY, base_url=base_url) as client, ClientSession() as session:
        ours = _Client(client)
        plain = _Plain(session, base_url)
        return [
            await _figure("search", ours.search, plain.search, rounds, requests["search"]),
            await _figure("answer", ours.answer, plain.answer, rounds, requests["answer"]),
            await _figure("stream", ours.stream, plain.stream, rounds, requests["stream"]),
        ]


class _Client:
    """Our client."""

    def __init__(self, client: PerplexityClient) -> None:
        self._client = client

    async def search(self) -> None:
        found = await self._client.search("wheels")
        assert len(found.results) == 5

    async def answer(self) -> None:
        answer = await self._client.answer("wheels")
        assert answer.sources

    async def stream(self) -> None:
        events = [event async for event in self._client.stream("wheels")]
        assert len(events) > 100


class _Plain:
    """The same requests by aiohttp, written as in its documentation."""

    def __init__(self, session: ClientSession, base_url: str) -> None:
        self._session, self._base_url = session, base_url
        self._headers = {"Authorization": f"Bearer {KEY}"}

    async def search(self) -> None:
        body = await self._json("/search", QUERY)
        assert len(body["results"]) == 5

    async def answer(self) -> None:
        body = await self._json("/v1/agent", QUESTION)
        assert body["output"]

    async def stream(self) -> None:
        url, events = f"{self._base_url}/v1/agent", []
        async with self._session.post(url, json=QUESTION | {"stream": True}, headers=self._headers) as response:
            async for line in response.content:
                if line.startswith(b"data: "):
                    events.append(json.loads(line[6:]))  # noqa: PERF401 - as someone would write it
        assert len(events) > 100

    async def _json(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with self._session.post(f"{self._base_url}{path}", json=body, headers=self._headers) as response:
            received: dict[str, Any] = await response.json()
            return received


async def _figure(
    name: str, ours: Callable[[], Awaitable[None]], plain: Callable[[], Awaitable[None]], rounds: int, requests: int
) -> Figure:
    found = await compare(_rate(ours, requests), _rate(plain, requests), rounds=rounds)
    detail = f"{found.ours:.0f} requests a second, aiohttp {found.reference:.0f}"
    return Figure(name=f"client {name}", measured=found.ratio, bar=BARS[name], at_least=True, detail=detail)


def _rate(call: Callable[[], Awaitable[None]], requests: int) -> Measurement:
    async def several() -> None:
        for _ in range(requests // TOGETHER):
            await call()

    async def measured(number: int) -> float:
        began = time.perf_counter()
        await asyncio.gather(*(several() for _ in range(TOGETHER)))
        return requests // TOGETHER * TOGETHER / (time.perf_counter() - began)

    return measured


@asynccontextmanager
async def _server() -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.loopback", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()
