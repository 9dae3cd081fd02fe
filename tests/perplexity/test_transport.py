from __future__ import annotations

import asyncio
import json
import threading
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout

from perplexity.errors import ConnectionFailed, InvalidRequest, MalformedResponse
from perplexity.scope import SentRequest
from perplexity.transport import MOST_BYTES, Transport, check_proxies, checked_base_url, checked_key, proxy_for
from perplexity.types import Attachment
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, json_reply
from tests.fakes.ports import free_port
from tests.fakes.proxy import VARIABLES, FakeProxy

MIB = 1024 * 1024


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def transport(fake: FakePerplexity) -> AsyncIterator[Transport]:
    transport = Transport(KEY, base_url=fake.base_url)
    yield transport
    await transport.close()


async def test_a_reply_has_status_headers_and_body(fake: FakePerplexity, transport: Transport) -> None:
    fake.fail("/search", status=418, body={"a": 1}, headers={"X-Thing": "yes"})

    reply = await transport.request("POST", "/search", {"query": "ü"})

    assert (reply.status, reply.headers["x-thing"], reply.body) == (418, "yes", b'{"a": 1}')
    assert fake.requests[0].json == {"query": "ü"}
    assert f"Bearer {KEY}" == fake.requests[0].headers["Authorization"]


class WatchedFile(bytes):
    """The contents of a file, which note in which threads and how much at once they are read."""

    threads: set[str]
    most = 0

    def __getitem__(self, part: Any) -> Any:
        read = super().__getitem__(part)
        self.threads.add(threading.current_thread().name.partition("_")[0])
        self.most = max(self.most, len(read))
        return read


async def test_files_are_encoded_piece_by_piece_in_a_thread_and_recorded_by_their_size(
    fake: FakePerplexity, transport: Transport
) -> None:
    data = WatchedFile(b"%PDF-" + bytes(range(256)) * 8_000)
    data.threads = set()
    odd = Attachment(name="b", media_type='image/"odd"', data=b"")
    kept: list[str] = []

    async def keep(sent: SentRequest) -> None:
        kept.append(sent.body)

    pdf = Attachment(name="a.pdf", media_type="application/pdf", data=data)
    body = {"text": "ü", "files": [pdf, {"url": odd}, pdf], "after": [1, None]}
    await transport.request("POST", "/search", body, before_sending=keep)

    url = f"data:application/pdf;base64,{b64encode(bytes(data)).decode()}"
    sent = {"text": "ü", "files": [url, {"url": 'data:image/"odd";base64,'}, url], "after": [1, None]}
    assert fake.requests[0].json == sent
    said = "(application/pdf, 2,048,005 bytes)"
    assert json.loads(kept[0]) == sent | {"files": [said, {"url": '(image/"odd", 0 bytes)'}, said]}
    assert data.threads == {"computing"}
    assert data.most < 512 * 1024


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_a_number_that_json_does_not_have_is_not_sent(
    fake: FakePerplexity, transport: Transport, number: float
) -> None:
    with pytest.raises(InvalidRequest, match="NaN"):
        await transport.request("POST", "/search", {"query": ["ü", {"n": number}]})

    assert fake.requests == []


async def test_a_session_that_is_handed_in_is_used_and_not_closed(fake: FakePerplexity) -> None:
    async with ClientSession(timeout=ClientTimeout(total=0.001), headers={"X-From": "outside"}) as session:
        transport = Transport(KEY, base_url=fake.base_url, session=session)
        fake.script("/search", json_reply({}, seconds=0.05))
        reply = await transport.request("POST", "/search", {})
        await transport.close()

        assert (reply.status, session.closed) == (200, False)
    assert (f"Bearer {KEY}", "outside") == (
        fake.requests[0].headers["Authorization"],
        fake.requests[0].headers["X-From"],
    )


async def test_a_session_of_its_own_is_shared_and_closed(fake: FakePerplexity, transport: Transport) -> None:
    for _ in range(3):
        await transport.request("POST", "/search", {"query": "x"})
    first = transport._session()
    await transport.close()
    second = transport._session()

    assert isinstance(first, ClientSession)
    assert isinstance(second, ClientSession)
    assert (first.closed, second.closed) == (True, False)


def too_long_body() -> Fault:
    return Fault(chunks=(b"x" * MIB,) * 33)


def too_long_by_header() -> Fault:
    return Fault(headers={"Content-Length": str(MOST_BYTES + 1)}, reset=True, chunks=(b"x",))


def gzip_bomb() -> Fault:
    packer = zlib.compressobj(wbits=31)
    packed = b"".join(packer.compress(bytes(MIB)) for _ in range(200)) + packer.flush()
    return Fault(chunks=(packed,), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("fault", [too_long_body, too_long_by_header, gzip_bomb])
async def test_a_body_over_the_cap_is_refused_without_taking_the_memory(
    fake: FakePerplexity, transport: Transport, fault: Callable[[], Fault]
) -> None:
    fake.script("/search", fault())
    tracemalloc.start()

    with pytest.raises(MalformedResponse, match="larger"):
        await transport.request("POST", "/search", {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 3 * MOST_BYTES


@pytest.mark.parametrize(
    "fault",
    [
        Fault(reset=True),
        Fault(chunks=(b'{"half":',), reset=True),
        Fault(chunks=(b"{}",), headers={"Content-Length": "99"}, reset=True),
        Fault(chunks=(b"not gzip",), headers={"Content-Encoding": "gzip"}),
    ],
    ids=["before the headers", "in the body", "short", "not gzip"],
)
async def test_a_broken_connection_may_have_been_seen(fake: FakePerplexity, transport: Transport, fault: Fault) -> None:
    fake.script("/search", fault)

    with pytest.raises(ConnectionFailed) as caught:
        await transport.request("POST", "/search", {})

    assert caught.value.sent


async def test_a_connection_that_was_never_made_was_not_seen() -> None:
    transport = Transport(KEY, base_url=f"http://127.0.0.1:{free_port()}")

    with pytest.raises(ConnectionFailed) as caught:
        await transport.request("POST", "/search", {})
    await transport.close()

    assert not caught.value.sent
    assert KEY not in repr(caught.value)


async def test_a_netrc_entry_for_the_host_changes_nothing(
    fake: FakePerplexity, transport: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    await transport.request("POST", "/search", {})

    assert fake.requests[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_the_environment_s_proxy_is_used_but_never_for_this_machine(
    fake: FakePerplexity, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy() as proxy:
        for name in VARIABLES:
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, "")
        for url, error in (("https://api.perplexity.invalid", ConnectionFailed), (fake.base_url, None)):
            transport = Transport(KEY, base_url=url)
            with pytest.raises(error) if error else nullcontext():
                await transport.request("POST", "/search", {})
            await transport.close()

    assert proxy.requests == ["CONNECT api.perplexity.invalid:443 HTTP/1.1"]
    assert len(fake.requests) == 1


HERE = ("127.0.0.1", "127.255.255.254", "LocalHost", "localhost.", "a.b.localhost", "[::1]", "[::ffff:127.0.0.1]")


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("without", ["", "intranet.example", "*.localhost", "::2", ",", " "])
def test_this_machine_has_no_proxy(name: str, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://proxy:3128")
    monkeypatch.setenv("no_proxy", without)

    addresses = [address for host in HERE for address in (f"http://{host}:9/v1", f"https://{host}")]
    assert [address for address in addresses if proxy_for(address) is not None] == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1.example", "localhost.example", "notlocalhost", "128.0.0.1", "[::2]", "10.0.0.1", "localhost.."]
)
def test_another_machine_has_one(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "")

    assert proxy_for(f"https://{host}") == "http://proxy:3128"


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"https_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"http_proxy": "http://proxy:3128"}, None),
        ({"all_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "perplexity.ai"}, None),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "other.example"}, "http://proxy:3128"),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "*"}, None),
        ({"https_proxy": "", "all_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": " "}, None),
        ({"https_proxy": "user:word@proxy:3128"}, "http://user:word@proxy:3128"),
        ({"https_proxy": "foo://proxy", "no_proxy": "perplexity.ai"}, None),
        ({"http_proxy": "foo://proxy"}, None),
    ],
)
def test_the_proxy_for_an_address(
    environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert proxy_for("https://api.perplexity.ai") == proxy


@pytest.mark.parametrize("name", ["https_proxy", "all_proxy"])
@pytest.mark.parametrize(
    "proxy", ["foo://private", "socks5://user:private@proxy:1", "http://", "http://x:private", "http://x:0", "http://["]
)
def test_a_proxy_that_cannot_be_used_is_an_error_that_names_the_variable_and_what_is_allowed(
    name: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(known, raising=False)
        monkeypatch.delenv(known.upper(), raising=False)
    monkeypatch.setenv(name, proxy)

    with pytest.raises(ConnectionFailed, match=rf"^{name.upper()}: .* it takes http://host:port") as caught:
        proxy_for("https://api.perplexity.ai")
    with pytest.raises(ConnectionFailed, match=name.upper()):
        check_proxies()

    assert not caught.value.sent
    assert "private" not in str(caught.value)
    monkeypatch.setenv("no_proxy", "*")
    check_proxies()


async def test_a_proxy_of_an_unknown_kind_is_a_failed_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    transport = Transport(KEY, base_url="https://api.perplexity.invalid")

    with pytest.raises(ConnectionFailed) as caught:
        await transport.request("POST", "/search", {})
    await transport.close()

    assert not caught.value.sent


async def test_a_failure_keeps_nothing_of_the_request(fake: FakePerplexity, transport: Transport) -> None:
    fake.script("/search", Fault(status=200, chunks=(b"{}",), headers={"Content-Length": "99"}, reset=True))

    with pytest.raises(ConnectionFailed) as caught:
        await transport.request("POST", "/search", {})

    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


async def test_what_is_not_http_is_malformed() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    transport = Transport(KEY, base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server:
        with pytest.raises(MalformedResponse, match="not HTTP"):
            await transport.request("POST", "/search", {})
        await transport.close()


async def test_a_redirect_is_not_followed(fake: FakePerplexity, transport: Transport) -> None:
    fake.script("/search", Fault(status=307, headers={"Location": f"{fake.base_url}/v1/agent"}))

    reply = await transport.request("POST", "/search", {})

    assert (reply.status, [request.path for request in fake.requests]) == (307, ["/search"])


async def test_an_error_that_repeats_the_key_does_not_show_it(fake: FakePerplexity, transport: Transport) -> None:
    fake.fail("/search", status=401, body={"error": {"message": f"bad key {KEY}"}})

    reply = await transport.request("POST", "/search", {})

    assert KEY.encode() not in reply.body


@pytest.mark.parametrize("key", [" pplx-abc\n", "pplx-abc"])
def test_a_key_loses_the_spaces_around_it(key: str) -> None:
    assert checked_key(key) == "pplx-abc"


@pytest.mark.parametrize("key", ["", " \n", "pplx-ü", "pplx-a b", "pplx-a\r\nX-Evil: 1", "pplx-\x00", "pplx-\u200b"])
def test_a_key_that_cannot_be_right_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked_key(key)

    assert caught.value.field == "api_key"
    assert "pplx" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.perplexity.ai", "https://api.perplexity.ai"),
        (" https://proxy.example/px/ ", "https://proxy.example/px"),
        ("http://127.0.0.1:8900/", "http://127.0.0.1:8900"),
        ("http://[::1]:8900", "http://[::1]:8900"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_an_address_is_https_or_on_loopback(url: str, expected: str) -> None:
    assert expected == checked_base_url(url)


@pytest.mark.parametrize(
    "url",
    [
        *("http://api.perplexity.ai", "http://10.0.0.1", "http://localhost.evil.example", "ftp://a", "", "api.example"),
        *("https://", "https://user:secret@a.example", "https://a.example?x=1", "https://a.example#x", "http://[::"),
        *("https://a.example:https", "https://a.example:99999"),
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked_base_url(url)

    assert caught.value.field == "base_url"
    assert "secret" not in str(caught.value)
