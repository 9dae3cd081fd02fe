"""Requests that never end, and more connections than the limit."""

from __future__ import annotations

import asyncio
import math
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession, web
from slack_bolt.async_app import AsyncApp

from bot.web.connections import MAX_CONNECTIONS, connection_limit
from bot.web.metrics import Metrics
from bot.web.server import Server
from bot.web.signature import RequestVerifier
from tests.fakes.half_sent import BODY, HEAD, Peer, peers
from tests.fakes.person import SIGNING_SECRET, signed
from tests.fakes.ports import free_port

MAX_SECONDS = 0.25
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
WORK = b"GET /work HTTP/1.1\r\nHost: a\r\n\r\n"


@dataclass(kw_only=True)
class Served:
    """A running server; `GET /work` waits until `finish` is set."""

    port: int
    finish: asyncio.Event = field(default_factory=asyncio.Event)

    async def slowest_healthz(self, *, seconds: float) -> float:
        """Request `/healthz` repeatedly, each time over a new connection, and return the time of the slowest.

        The best of three rounds counts, for a busy machine.
        """
        best = math.inf
        for _ in range(3):
            slowest, end = 0.0, time.monotonic() + seconds
            while time.monotonic() < end:
                started = time.monotonic()
                async with ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/healthz") as response:
                    assert response.status == 200
                slowest = max(slowest, time.monotonic() - started)
                await asyncio.sleep(0.01)
            best = min(best, slowest)
            if best < MAX_SECONDS:
                break
        return best


@asynccontextmanager
async def serving(*, most: int | None = None) -> AsyncIterator[Served]:
    served = Served(port=free_port())

    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def work(request: web.Request) -> web.Response:
        await served.finish.wait()
        return web.Response(text="done")

    app = AsyncApp(signing_secret=SIGNING_SECRET, token="xoxb-1", request_verification_enabled=False)
    verifier = RequestVerifier(app, signing_secret=SIGNING_SECRET, metrics=Metrics())
    routes = [web.get("/healthz", healthz), web.get("/work", work), web.post("/slack/events", verifier.handle)]
    server = Server(routes, host="127.0.0.1", port=served.port, most=most)
    await server.start()
    try:
        yield served
    finally:
        served.finish.set()
        await server.stop()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as running:
        yield running


async def silent(peer: Peer) -> None:
    pass


async def half_a_head(peer: Peer) -> None:
    await peer.send(HEAD)


async def half_a_body(peer: Peer) -> None:
    await peer.send(BODY)


async def half_a_chunked_body(peer: Peer) -> None:
    await peer.send(HEAD.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked") + b"\r\n5\r\nabc")


async def an_unread_body(peer: Peer) -> None:
    await peer.send(HEAD.replace(b"POST /slack/events", b"POST /nowhere") + b"\r\n{")


async def a_dripping_head(peer: Peer) -> None:
    await peer.send_slowly(HEAD, seconds=0.3)


async def a_dripping_body(peer: Peer) -> None:
    await peer.send(BODY)
    await peer.send_slowly(b"{" * 50, seconds=0.3)


async def half_a_second_request(peer: Peer) -> None:
    await peer.send(HEALTHZ)
    assert b"200 OK" in await peer.reads_answer()
    await peer.send(HEAD)


INCOMPLETE: dict[Callable[[Peer], Awaitable[None]], bytes] = {
    silent: b"",
    half_a_head: b"408",
    half_a_body: b"408",
    half_a_chunked_body: b"408",
    an_unread_body: b"404",
    a_dripping_head: b"408",
    a_dripping_body: b"408",
    half_a_second_request: b"408",
}
"""Requests that stay incomplete, and the answers to them."""


async def test_a_request_has_five_seconds_to_arrive(served: Served) -> None:
    async def ended(send: Callable[[Peer], Awaitable[None]], answer: bytes) -> str:
        async with peers(served.port) as [peer]:
            started = time.monotonic()
            sending = asyncio.ensure_future(send(peer))
            if send is half_a_second_request:
                await sending
            said = await peer.read()
            took = time.monotonic() - started
            sending.cancel()
        right = 4.5 < took < 6.5 and said[9:12] == answer and said.count(b"HTTP/1.1") == bool(answer)
        return "" if right else f"{getattr(send, '__name__', send)}: {said[:80]!r} after {took:.1f} s"

    assert not any(wrong := await asyncio.gather(*(ended(send, answer) for send, answer in INCOMPLETE.items()))), wrong


async def test_a_used_connection_may_be_idle(served: Served) -> None:
    async with peers(served.port) as [peer]:
        for pause in (6.0, 0.0):
            await peer.send(HEALTHZ)
            assert b"200 OK" in await peer.reads_answer()
            await asyncio.sleep(pause)


async def test_a_long_answer_is_not_a_slow_request(served: Served) -> None:
    async with peers(served.port) as [peer]:
        await peer.send(WORK)
        await asyncio.sleep(6)
        served.finish.set()

        assert (await peer.reads_answer()).endswith(b"done")


async def test_requests_that_arrive_together_are_answered_in_order(served: Served) -> None:
    async with peers(served.port) as [peer]:
        await peer.send(HEALTHZ + HEALTHZ + HEALTHZ + HEAD)
        for _ in range(3):
            assert b"200 OK" in await peer.reads_answer()


async def test_half_a_request_after_one_in_progress_has_five_seconds_after_it() -> None:
    async with serving() as served, peers(served.port) as [peer]:
        await peer.send(WORK)
        await asyncio.sleep(0.1)
        await peer.send(HEAD)
        await asyncio.sleep(0.1)
        served.finish.set()
        assert (await peer.reads_answer()).endswith(b"done")

        assert 4.5 < await peer.seconds_until_closed() < 6.5


async def test_the_connection_that_waits_longest_is_closed_for_a_new_one() -> None:
    async with serving(most=3) as served, peers(served.port, 3) as [busy, idle, halfway]:
        await busy.send(WORK)
        await idle.send(HEALTHZ)
        assert b"200 OK" in await idle.reads_answer()
        await halfway.send(HEAD)

        async with peers(served.port) as [first]:
            await first.send(HEALTHZ)
            assert b"200 OK" in await first.reads_answer()
            assert await halfway.read() == b""
            assert idle.is_open
            async with peers(served.port) as [second]:
                await second.send(HEALTHZ)
                assert b"200 OK" in await second.reads_answer()
                assert await idle.read() == b""

        served.finish.set()
        assert (await busy.reads_answer()).endswith(b"done")


async def test_requests_in_progress_are_never_closed_for_others_and_leave_room_for_a_health_check() -> None:
    async with serving(most=4) as served, peers(served.port, 4) as busy:
        for peer in busy:
            await peer.send(WORK)

        assert await served.slowest_healthz(seconds=0.5) < MAX_SECONDS

        served.finish.set()
        for peer in busy:
            assert (await peer.reads_answer()).endswith(b"done")


@pytest.mark.parametrize("send", [silent, half_a_head, half_a_body, a_dripping_head])
async def test_the_health_check_is_answered_during_600_half_sent_requests(
    send: Callable[[Peer], Awaitable[None]],
) -> None:
    async with serving(most=64) as served, peers(served.port, 600) as many:
        sending = [asyncio.ensure_future(send(peer)) for peer in many]

        assert await served.slowest_healthz(seconds=2) < MAX_SECONDS

        for task in sending:
            task.cancel()


async def test_a_compressed_body_is_refused_unread(served: Served) -> None:
    bomb = zlib.compress(bytes(500_000_000), 9)
    assert 480_000 < len(bomb) < 490_000

    async def post(encoding: str) -> int:
        headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
        async with (
            ClientSession(auto_decompress=False) as session,
            session.post(f"http://127.0.0.1:{served.port}/slack/events", data=bomb, headers=headers) as response,
        ):
            return response.status

    slowest, *statuses = await asyncio.gather(
        served.slowest_healthz(seconds=0.5), *map(post, ("deflate", "gzip", "zstd", "br"))
    )

    assert statuses == [415, 415, 415, 415]
    assert slowest < MAX_SECONDS


@pytest.mark.parametrize("encoding", ["", "Content-Encoding: deflate\r\n"])
async def test_the_health_check_is_answered_during_unsigned_bodies_without_an_end(
    served: Served, encoding: str
) -> None:
    deflated = zlib.compressobj(9)
    piece = deflated.compress(bytes(20_000_000)) + deflated.flush(zlib.Z_SYNC_FLUSH)
    head = HEAD.replace(b"Content-Length: 100\r\n", f"{encoding}Transfer-Encoding: chunked\r\n".encode())

    async def sends_for_ever(peer: Peer) -> None:
        await peer.send(head + b"\r\n")
        while peer.is_open:
            await peer.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await asyncio.sleep(0.01)

    async with peers(served.port, 13) as many:
        sending = [asyncio.ensure_future(sends_for_ever(peer)) for peer in many]

        assert await served.slowest_healthz(seconds=1.5) < MAX_SECONDS

        for task in sending:
            task.cancel()


async def test_a_signed_body_with_a_content_encoding_is_refused(served: Served) -> None:
    body = b'{"type": "url_verification", "challenge": "c"}'
    async with ClientSession() as session:
        for encoding in ("gzip", "identity", "wild", "gzip, br", ""):
            headers = signed(body) | {"Content-Type": "application/json", "Content-Encoding": encoding}
            async with session.post(
                f"http://127.0.0.1:{served.port}/slack/events", data=body, headers=headers
            ) as response:
                assert response.status == 415, encoding


async def test_a_malformed_chunked_body_is_400(served: Served) -> None:
    async with peers(served.port) as [broken]:
        await broken.send(HEAD.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked") + b"\r\nno number\r\n")

        assert (await broken.read())[9:12] == b"400"


async def test_an_interrupted_body_leaves_no_traceback(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with peers(served.port) as [gone]:
        await gone.send(BODY)
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.1)

    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("files", "most"),
    [(1024, 256), (128, 32), (16, 8), (1_000_000, MAX_CONNECTIONS), (-1, MAX_CONNECTIONS), (None, None)],
)
def test_the_limit_leaves_most_files_to_the_rest_of_the_process(files: int | None, most: int | None) -> None:
    assert connection_limit(files) == (most or connection_limit())
