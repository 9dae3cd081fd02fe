"""A service on loopback that fails as it is told: what the fakes of the HTTP services are made of."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from tests.fakes.loopback import Handler, LoopbackServer


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request that arrived; `json` is its decoded body, None without one."""

    method: str
    path: str
    headers: Mapping[str, str]
    json: Any
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What to answer instead of the recorded answer, after `seconds`.

    `reset` cuts the connection behind the chunks (or before the headers, without any); `hang` never ends. `chunks` are
    sent one by one, `pause` seconds apart.
    """

    status: int = 200
    chunks: tuple[bytes, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    seconds: float = 0.0
    pause: float = 0.0
    reset: bool = False
    hang: bool = False


@dataclass(kw_only=True)
class Served:
    """How one request went, on the clock that only goes forward; `ended` is None while it waits for its answer.

    `content` is all that was asked, undecoded. `failed`: the service did not give what was asked for. `left`: the
    asker was gone before the answer went out. `charged` is what the service charges for it, in micro-dollars.
    """

    path: str
    headers: Mapping[str, str]
    content: str
    began: float
    ended: float | None = None
    failed: bool = False
    left: bool = False
    charged: int = 0


SERVED = web.RequestKey("served", Served)


@dataclass(kw_only=True)
class RateWindow:
    """What a key may ask: so many requests in any second, and in any minute. A refused request does not count.

    Both numbers may be changed at any time.
    """

    per_second: int
    per_minute: int
    clock: Callable[[], float] = time.monotonic
    taken: deque[float] = field(default_factory=deque)
    refused: int = 0

    def take(self) -> float:
        """Count a request; return 0, or the seconds to wait if it is one too many, which is not counted."""
        now = self.clock()
        while self.taken and now - self.taken[0] >= 60:
            self.taken.popleft()
        ends = [
            self.taken[-most] + seconds
            for most, seconds in ((self.per_second, 1.0), (self.per_minute, 60.0))
            if len(self.taken) >= most
        ]
        wait = max([0.0, *(end - now for end in ends)])
        if wait > 0:
            self.refused += 1
        else:
            self.taken.append(now)
        return wait


def sse(*events: object) -> bytes:
    """Write events as the services stream them."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def json_reply(body: object, **options: Any) -> Fault:
    """Answer with this JSON."""
    return Fault(chunks=(json.dumps(body).encode(),), **options)


def stream_reply(*chunks: bytes, **options: Any) -> Fault:
    """Answer with this stream."""
    return Fault(chunks=chunks, content_type="text/event-stream", **options)


class FakeService(LoopbackServer):
    """The server. `base_url` is its address, `requests` what arrived; every answer waits `delay` seconds.

    `served` says how the requests went. `lasting` faults, by path or for every path by "*", hold until they are taken
    out again; `closing` connections serve one request each. A handler first awaits `received`, then answers with the
    `fault` that was scripted for its path, if there is one.
    """

    def __init__(self, *, port: int = 0, delay: float | Callable[[], float] = 0.0) -> None:
        self.requests: list[Received] = []
        self.served: list[Served] = []
        self.lasting: dict[str, Fault] = {}
        self.port, self._delay = port, delay
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._changed = asyncio.Condition()
        self._free = asyncio.Event()
        self._free.set()
        self._stopping = asyncio.Event()

    def middlewares(self) -> Iterable[Middleware]:
        return (self._noted,)

    async def release_all(self) -> None:
        self._stopping.set()
        self._free.set()

    def script(self, path: str, *faults: Fault) -> None:
        """Answer the next requests for the path with these, one each."""
        self._faults[path].extend(faults)

    def fail(self, path: str, *, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """Answer the next request for the path with an error."""
        self.script(path, json_reply(body, status=status, headers=headers or {}))

    def hold(self) -> None:
        """Let answers wait until `release`."""
        self._free.clear()

    def release(self) -> None:
        """Let go of the answers that wait, and of those to come."""
        self._free.set()

    async def wait_for(self, count: int, *, seconds: float = 60) -> list[Received]:
        """Return the requests as soon as there are that many."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    def charge(self, request: web.Request, dollars: str) -> None:
        """Put a request on the invoice, rounded up to a micro-dollar."""
        request[SERVED].charged += int((Decimal(dollars) * 1_000_000).to_integral_value(rounding=ROUND_CEILING))

    @property
    def invoice(self) -> int:
        """What all requests come to, in micro-dollars."""
        return sum(one.charged for one in self.served)

    async def received(self, request: web.Request) -> Any:
        """Note a request and return its decoded body, once answers may go out."""
        content = await request.read() if request.content_type == "application/json" else b""
        body = json.loads(content) if content else None
        received = Received(
            method=request.method,
            path=request.path,
            headers=dict(request.headers),
            json=body,
            query=dict(request.query),
        )
        async with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        await self._free.wait()
        await asyncio.sleep(self._delay() if callable(self._delay) else self._delay)
        return body

    async def fault(self, request: web.Request) -> web.StreamResponse | None:
        """Answer as it was scripted for the request's path; None where nothing was."""
        faults = self._faults[request.path]
        fault = faults.popleft() if faults else self.lasting.get(request.path) or self.lasting.get("*")
        if fault is None:
            return None
        request[SERVED].failed = True
        await asyncio.sleep(fault.seconds)
        if fault.hang and not fault.chunks:
            await self._stopping.wait()
        if fault.reset and not fault.chunks:
            return _reset(request)
        return await send(request, fault, stopping=self._stopping)

    @web.middleware
    async def _noted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        content = (await request.read()).decode(errors="replace") + request.query_string
        served = Served(path=request.path, headers=dict(request.headers), content=content, began=time.monotonic())
        self.served.append(served)
        request[SERVED] = served
        try:
            return await handler(request)
        finally:
            served.ended = time.monotonic()
            served.left = request.transport is None or request.transport.is_closing()


async def send(request: web.Request, fault: Fault, *, stopping: asyncio.Event | None = None) -> web.StreamResponse:
    """Answer with the chunks, and end, cut or hang."""
    headers = {"Content-Type": fault.content_type, "x-request-id": "req-1", **fault.headers}
    response = web.StreamResponse(status=fault.status, headers=headers)
    await response.prepare(request)
    for chunk in fault.chunks:
        await response.write(chunk)
        await asyncio.sleep(fault.pause)
    if fault.hang and stopping is not None:
        await stopping.wait()
    if fault.reset:
        return _reset(request)
    await response.write_eof()
    return response


def whole(body: bytes) -> web.Response:
    """Answer with a recorded body."""
    return web.Response(body=body, content_type="application/json", headers={"x-request-id": "req-1"})


def _reset(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
