"""Requests of any shape over a bare socket: odd methods, addresses, headers and bodies, and lengths that are not so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

METHODS = (b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"X")
NAMES = (
    b"Content-Type", b"Content-Encoding", b"Content-Length", b"Transfer-Encoding", b"Expect", b"Cookie", b"Origin",
    b"X-Slack-Request-Timestamp", b"X-Slack-Signature", b"X-Slack-Retry-Num", b"Authorization", b"Accept", b"Range",
    b"Forwarded", b"X-Forwarded-For", b"X-Forwarded-Proto", b"Mcp-Session-Id", b"MCP-Protocol-Version",
    b"Last-Event-ID", b"Sec-Fetch-Site", b"If-None-Match", b"Upgrade", b"Connection", b"X-HTTP-Method-Override",
)  # fmt: skip
VALUES = (
    b"", b"x", b"0", b"-1", b"9" * 30, b"\xff\xfe", b"v0=", b"v0=" + b"0" * 64, b"1795255200", b"\xd9\xa1",
    b"application/json", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"text/plain",
    b"application/json; charset=\xff", b"gzip", b"chunked", b"identity", b"100-continue", b"websocket", b"upgrade",
    b"a=b; __Host-slack-install=x", b"__Host-slack-install=" + b"x" * 3_000, b"null", b"http://[", b"bytes=0-",
    b"for=\"[", b"Bearer \xff", b"<!channel>", b"../../etc/passwd", b"'; DROP TABLE questions; --", b"*/*",
    b"application/json, text/event-stream", b"2025-06-18", b"%00", b"x" * 5_000,
)  # fmt: skip
BODIES = (
    b"", b"x", b"{}", b"[]", b"null", b"{not json", b"a=1", b"payload=", b"payload=%7B%7D", b"\xff\x00", b"[" * 3_000,
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": [], "params": 1}', b'{"type": "event_callback", "event": 1}',
    b'{"type": "url_verification", "challenge": "c"}', b"ssl_check=1",
)  # fmt: skip
TAILS = (
    b"", b"/", b"/x", b"?", b"?code=x&state=x", b"?code=", b"?state=%00&code=%ff", b"?error=access_denied&state=x",
    b"?code=x&code=y&state=z&state=z", b"/..%2f..", b"%00", b"?" + b"a" * 3_000, b"#x", b"?state=" + b"x" * 2_000,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OddRequest:
    """One request; a `length` of None is that of the body."""

    method: bytes
    tail: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    length: int | None

    def written(self, path: bytes) -> bytes:
        """Return the bytes to send for a path, which the request's tail follows."""
        length = len(self.body) if self.length is None else self.length
        lines = [self.method + b" " + path + self.tail + b" HTTP/1.1", b"Host: localhost", b"Connection: close"]
        lines += [name + b": " + value for name, value in self.headers]
        if not any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in self.headers):
            lines.append(b"Content-Length: %d" % length)
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


def _one_line(value: bytes) -> bytes:
    return value.replace(b"\r", b"").replace(b"\n", b"")


odd_requests = st.builds(
    OddRequest,
    method=st.sampled_from(METHODS),
    tail=st.sampled_from(TAILS),
    headers=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.binary(max_size=20).map(_one_line)),
        max_size=5,
    ).map(tuple),
    body=st.sampled_from(BODIES) | st.binary(max_size=40),
    length=st.sampled_from((None, None, None, 0, 1)),
)
"""Requests, whose bodies end: what a peer does that never ends one is in `half_sent`."""


async def answer_to(port: int, sent: bytes, *, seconds: float = 10.0) -> bytes:
    """Send bytes and return what comes back within so many seconds; empty without an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    with suppress(ConnectionError, TimeoutError):
        writer.write(sent)
        writer.write_eof()
        async with asyncio.timeout(seconds):
            while piece := await reader.read(65_536):
                answer += piece
    writer.close()
    return answer


def statuses(answer: bytes) -> Sequence[int]:
    """Return the status of an answer, if there is one."""
    first = answer.partition(b"\r\n")[0].split()
    return [int(first[1])] if len(first) > 1 and first[1].isdigit() else []


def harms_of_answer(answer: bytes) -> list[str]:
    """Return what an answer shows of a failure of ours."""
    failed = [f"status {status}" for status in statuses(answer) if status >= 500]
    return [*failed, *(word.decode() for word in SECRETS_OF_A_FAILURE if word in answer)]


def drawn(count: int) -> list[OddRequest]:
    """Return so many requests, or a few less."""
    requests: list[OddRequest] = []

    @settings(max_examples=count, deadline=None, database=None)
    @given(odd_requests)
    def draw(request: OddRequest) -> None:
        requests.append(request)

    draw()
    return requests


SECRETS_OF_A_FAILURE = (b"Traceback", b'File "', b"site-packages", b"psycopg", b"aiohttp.", b"Exception")
"""What an answer shows only if a failure got out."""
