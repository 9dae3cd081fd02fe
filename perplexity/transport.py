"""The HTTP client of this package: it sends a request and returns a status, headers and bytes.

Only the agent's model and DuckDuckGo are called through other libraries.

This module finds the proxies itself. If the HTTP library did, it would also read the user's .netrc, and refuse our own
Authorization header if that file has an entry for the service's host.

An address on this machine never has a proxy, whatever the environment says: a proxy elsewhere could not reach it, and
would receive the key.

https://docs.aiohttp.org/en/stable/client_reference.html
"""

from __future__ import annotations

import json
import ssl
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from io import BytesIO
from typing import Any, Literal, NamedTuple, Protocol, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from uuid import uuid4

import aiohttp

from perplexity import scope
from perplexity.errors import ConnectionFailed, InvalidRequest, MalformedResponse, PerplexityError
from perplexity.scope import BeforeSending, RequestLog
from perplexity.threads import run_in_thread
from perplexity.types import JSON, Attachment
from perplexity.urls import hostname, is_https_or_loopback, is_loopback
from perplexity.version import __version__

HTTP = ("http", "https")
"""The kinds of proxy that the HTTP library can use."""

ProxyFor = Callable[[str], str | None]
"""A function that returns the proxy for an address, as `proxy_for` does. It raises ConnectionFailed."""


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for `url`; None if no proxy is set, or if `url` is exempt or on this machine.

    Raises ConnectionFailed, which names the variable, for an unusable kind of proxy.
    """
    return checked_proxy(*named_proxy(url))


def named_proxy(url: str, *, own: tuple[str, str] | None = None, https_by_http: bool = False) -> tuple[str, str]:
    """Return the variable that names the proxy for an address, and its unchanged value; an empty value means no proxy.

    `own` is the name and the value of a variable of the calling program; it takes precedence over the others, and
    NO_PROXY does not apply to it. With `https_by_http`, an https address without a proxy uses the one in HTTP_PROXY.
    """
    parts = urlsplit(url)
    if not parts.hostname or is_loopback(parts.hostname):
        return "", ""
    if own is not None and own[1].strip():
        return own
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return "", ""
    proxies = getproxies()
    names = [parts.scheme, "all", *(["http"] if https_by_http else [])]
    name = next((name for name in names if proxies.get(name, "").strip()), "all")
    return f"{name.upper()}_PROXY", proxies.get(name, "")


def check_proxies() -> None:
    """Raise ConnectionFailed if any proxy in the environment is unusable, since some libraries open all of them.

    Nothing is checked if NO_PROXY exempts all hosts.
    """
    proxies = getproxies()
    if "*" in [host.strip() for host in proxies.get("no", "").split(",")]:
        return
    for name in (*HTTP, "all"):
        checked_proxy(f"{name.upper()}_PROXY", proxies.get(name))


def checked_proxy(variable: str, proxy: str | None) -> str | None:
    """Return a proxy's address; None for an empty one. An address without a scheme gets http.

    Raises ConnectionFailed without any part of the address, since it may contain a password.
    """
    if proxy is None or not proxy.strip():
        return None
    address = proxy.strip() if "://" in proxy else f"http://{proxy.strip()}"
    if not _can_be_used(address):
        allowed = ", ".join(f"{kind}://host:port" for kind in HTTP)
        failed = ConnectionFailed(f"{variable}: its value is not allowed; it takes {allowed}, or nothing")
        failed.sent = False
        raise failed
    return address


def _can_be_used(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme in HTTP and bool(parts.hostname) and parts.port != 0
    except ValueError:  # An invalid port, or a bracket that is not closed.
        return False


def tls_context(ca_bundle: str, *, field: str = "ca_bundle") -> ssl.SSLContext | None:
    """Return a context that trusts the system's authorities and those in the PEM file `ca_bundle`; None if it is empty.

    Raises InvalidRequest, which names `field`, for a file that cannot be used.
    """
    if not ca_bundle:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_bundle)
    except (OSError, ValueError):  # A path with a NUL is a ValueError.
        allowed = "it takes the path of a PEM file with certificates that this user may read"
        raise InvalidRequest.for_field(field, ca_bundle, allowed) from None
    return context


Method = Literal["GET", "POST"]

MOST_BYTES = 32 * 1024 * 1024
"""The most bytes of a decompressed body that are read: 32 MiB. A long answer with its sources needs less than 1 MiB."""

USER_AGENT = f"web-answers/{__version__}"
"""This project's name in its requests to services."""

OPEN_SECONDS = 5.0
"""The default seconds for opening one connection, including TLS."""

_LIBRARY_ERRORS = (aiohttp.ClientError, OSError)
_POOL = 100
MOST_AT_ONCE = 1024 * 1024
"""The most bytes of a body that are written at once."""

_CHUNK = 64 * 1024


class Session(Protocol):
    """The part of `aiohttp.ClientSession` that is used here.

    That class is not completely typed (aiohttp 3.14), so a signature that names it would not be completely typed,
    either.
    """

    @property
    def request(self) -> Callable[..., Awaitable[Any]]:
        """A function of a method, an address and options that returns an awaitable of an `aiohttp.ClientResponse`."""
        ...


class Response(NamedTuple):
    """A whole response. Header names are case-insensitive; the API key is masked in an error's body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StreamingResponse(NamedTuple):
    """The beginning of a response whose bytes are still coming."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


Accept = Literal["application/json", "text/event-stream"]
_JSON_TYPE: Accept = "application/json"
_SLICE = 3 * 128 * 1024
"""The bytes of a file that are encoded at once. Python's other threads wait about 3 ms for each such piece."""


def _encode(body: JSON, write_file: Callable[[Attachment], str]) -> str:
    """Return the body as JSON. Raises InvalidRequest for a number that JSON does not have, or for too deep nesting."""
    try:
        return json.dumps(body, allow_nan=False, default=write_file)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request cannot be written as JSON: NaN, Infinity, or nested too deeply") from None


def _recorded(file: Attachment) -> str:
    return f"({file.media_type}, {len(file.data):,} bytes)"


def _with_files(text: str, files: Mapping[str, bytes]) -> bytes:
    """Return the body with each file's mark replaced by the file in base64.

    `files` maps each mark to the content of its file, in the order of the marks in `text`.
    """
    pieces = []
    for mark, data in files.items():
        before, text = text.split(mark, 1)
        pieces += [before.encode(), *(b64encode(data[at : at + _SLICE]) for at in range(0, len(data), _SLICE))]
    return b"".join([*pieces, text.encode()])


def _payload(content: bytes) -> aiohttp.Payload:
    """Return the bytes as a body; a long body, such as one with files, is written in pieces to let other tasks run."""
    if len(content) <= MOST_AT_ONCE:
        return aiohttp.BytesPayload(content, content_type=_JSON_TYPE)
    return aiohttp.BytesIOPayload(BytesIO(content), content_type=_JSON_TYPE)


def bearer_headers(key: str) -> Mapping[str, str]:
    """Return the header in which most services expect a key (RFC 6750)."""
    return {"Authorization": f"Bearer {key}"}


class Closing(ABC):
    """An object that `async with` closes at the end."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


class Transport:
    """Requests to one service over a pool of connections.

    A session that is passed in is not closed; without one, the first request opens a session, and `close` closes it.
    `auth_headers` returns the headers with the key, `proxy` the proxy for the address. The only time limit is
    `open_timeout`, the seconds for opening a connection: the caller has a deadline. `ca_bundle` is as for
    `PerplexityClient`.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str,
        session: Session | None = None,
        auth_headers: Callable[[str], Mapping[str, str]] = bearer_headers,
        proxy: ProxyFor = proxy_for,
        open_timeout: float = OPEN_SECONDS,
        ca_bundle: str = "",
    ) -> None:
        self._key = checked_key(api_key)
        self._auth_headers = auth_headers
        self.base_url: str = checked_base_url(base_url)
        self._host, self._base_path = hostname(self.base_url), urlsplit(self.base_url).path
        # Nothing else is limited by aiohttp, because the caller has a deadline.
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=checked_open_timeout(open_timeout))
        self._given = session
        self._own: aiohttp.ClientSession | None = None
        self._proxy, self._tls = proxy, tls_context(ca_bundle)

    async def request(
        self, method: Method, path: str, body: JSON = None, *, before_sending: BeforeSending | None = None
    ) -> Response:
        """Return the whole response.

        Raises ConnectionFailed; MalformedResponse if the response is too large or not HTTP; InvalidRequest if the body
        cannot be written as JSON; and the errors of `before_sending`.
        """
        async with self.open(method, path, body, before_sending=before_sending) as opened:
            return await self.read(opened)

    async def read(self, opened: StreamingResponse) -> Response:
        """Return the response with the rest of its bytes. Raises as `request` does."""
        content = b"".join([chunk async for chunk in opened.chunks])
        if opened.status >= 400:
            for key in filter(None, (self._key, self._own_key())):
                content = content.replace(key.encode(), b"***")
        return Response(opened.status, opened.headers, content)

    def _own_key(self) -> str | None:
        """Return the task's own key for this service, if it has one."""
        own = scope.current().keys
        return None if own is None else own.keys.get(self.base_url)

    @asynccontextmanager
    async def open(
        self,
        method: Method,
        path: str,
        body: JSON = None,
        *,
        accept: Accept = _JSON_TYPE,
        before_sending: BeforeSending | None = None,
    ) -> AsyncIterator[StreamingResponse]:
        """Yield the response as soon as its headers have arrived; reading its chunks raises as `request` does."""
        response = await self._send(method, path, body, accept=accept, before_sending=before_sending)
        async with response, aclosing(_chunks(response)) as chunks:
            yield StreamingResponse(response.status, response.headers, chunks)

    async def _send(
        self, method: Method, path: str, body: JSON, *, accept: Accept, before_sending: BeforeSending | None
    ) -> aiohttp.ClientResponse:
        files: dict[str, bytes] = {}

        def mark(file: Attachment) -> str:
            files[word := uuid4().hex] = file.data
            return f"data:{file.media_type};base64,{word}"

        text = None if body is None else _encode(body, mark)
        content = None
        if text is not None:
            content = _payload(await run_in_thread(_with_files, text, files) if files else text.encode())
        own, log, sent = self._own_key(), scope.current().log or RequestLog(), None
        if text is not None or "?" in path or before_sending is not None:
            kept = _encode(body, _recorded) if files else text or ""
            sent = await log.record(self._host, self._base_path + path, kept, before_sending=before_sending)
        try:
            response: aiohttp.ClientResponse = await self._session().request(
                # Redirects are not followed, because they would take the key to any host.
                method,
                f"{self.base_url}{path}",
                data=content,
                headers={**self._auth_headers(self._key if own is None else own), "Accept": accept},
                timeout=self._timeout,
                allow_redirects=False,
                raise_for_status=False,
            )
            return response
        except _LIBRARY_ERRORS as error:
            failure = _translate_error(error)
        except (ValueError, RuntimeError) as error:  # A proxy of an unknown kind, or a closed session.
            failure = _connection_failed(error, sent=False)
        if sent is not None and not getattr(failure, "sent", True):
            log.remove(sent)
        # The error is raised outside of the `except` blocks. Otherwise the library's error would become its context,
        # and that error may contain the request's headers.
        raise failure

    async def close(self) -> None:
        """Close the session if it was opened here."""
        if self._own is not None:
            await self._own.close()
            self._own = None

    def _session(self) -> Session:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = new_session(self.base_url, proxy=self._proxy, tls=self._tls)
        return self._own


def new_session(
    base_url: str, *, proxy: ProxyFor = proxy_for, tls: ssl.SSLContext | None = None
) -> aiohttp.ClientSession:
    """Return a pool of connections to one address, through its proxy; by default, the proxy in the environment.

    Its requests name this project as the User-Agent.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_POOL, ttl_dns_cache=300, ssl=tls or True),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy(base_url),
        headers={"User-Agent": USER_AGENT},
    )


def checked_key(key: str) -> str:
    """Return the key without spaces around it. Raises InvalidRequest, which never contains the key."""
    key = key.strip()
    if not key or not all("!" <= c <= "~" for c in key):
        raise InvalidRequest("api_key: it must be ASCII letters, digits and signs without spaces", field="api_key")
    return key


def checked_base_url(url: str) -> str:
    """Return the address without slashes at its end. Raises InvalidRequest unless `is_https_or_loopback` accepts it."""
    url = url.strip()
    if not is_https_or_loopback(url):
        allowed = "it must be an https address without user name or query; http is for a loopback host only"
        raise InvalidRequest.for_field("base_url", hostname(url), allowed)
    return url.rstrip("/")


def checked_open_timeout(seconds: float) -> float:
    """Return the seconds for opening a connection. Raises InvalidRequest unless they are above 0, at most an hour."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
        raise InvalidRequest.for_field("open_timeout", seconds, "it takes a number of seconds above 0, at most 3600")
    return float(seconds)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a response as they arrive. Raises as `Transport.request` does."""
    left, failure = MOST_BYTES, None
    if (response.content_length or 0) > MOST_BYTES:
        raise _too_large()
    try:
        async for chunk in response.content.iter_chunked(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _too_large()
            yield chunk
    except _LIBRARY_ERRORS as error:
        failure = _translate_error(error)
    if failure is not None:
        raise failure


def _too_large() -> MalformedResponse:
    error = MalformedResponse(f"the response is larger than {MOST_BYTES} bytes")
    error.too_large = True
    return error


def _translate_error(error: Exception) -> PerplexityError:
    """Return the PerplexityError for an error of the HTTP library."""
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)):
        return _connection_failed(error, sent=False)
    if isinstance(error, aiohttp.ClientResponseError):
        return MalformedResponse(f"the response is not HTTP ({type(error).__name__})")
    return _connection_failed(error, sent=True)


def _connection_failed(error: Exception, *, sent: bool) -> ConnectionFailed:
    failed = ConnectionFailed(f"the connection failed ({type(error).__name__})")
    failed.sent = sent
    return failed
