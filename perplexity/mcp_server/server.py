"""The server itself: the list of its tools, and their calls."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO

import uvicorn
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request

from perplexity.errors import AllProvidersFailed, InvalidRequest, PerplexityError, TimedOut
from perplexity.fallback import Fallback
from perplexity.mcp_server.settings import ANY, TIMEOUT, HTTPSettings, bracket_ipv6
from perplexity.mcp_server.tools import MCP_TOOLS, McpTool, ProgressReporter, nothing_found_text
from perplexity.notes import is_empty_result, with_reasons
from perplexity.sanitize import strip_controls
from perplexity.tools.environment import explain_error
from perplexity.tools.schemas import validation_errors, with_defaults
from perplexity.types import JSON
from perplexity.version import __version__

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)


_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class LineFormatter(logging.Formatter):
    """Formats a record as its time, its level, the event and its fields: `2026-11-22T08:00:00Z INFO call.ended {…}`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. Of an exception it has the class alone: messages quote what was handed in."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        fields = {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = record.exc_info[0].__qualname__
        level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return " ".join(
            filter(None, (moment, level, str(record.msg), json.dumps(fields, default=str) if fields else ""))
        )


@contextmanager
def log_to(stream: TextIO, *, level: int) -> Iterator[None]:
    """Write what this package logs to the stream, from this level on."""
    logger, handler = logging.getLogger("perplexity"), logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


NAME = "web-answers"

INSTRUCTIONS = (
    "Web search and answers with sources. perplexity_search lists pages; perplexity_ask answers in seconds; "
    "perplexity_reason thinks a question through; perplexity_research takes minutes and looks much further. "
    "Everything is read-only."
)
_HOUR_MS = 3_600_000
_MORE_TIME = f"{TIMEOUT} sets how many milliseconds a call may take."
_ARGUMENTS = {
    "prompt": "messages",
    "domain": "search_domain_filter",
    "recency": "search_recency_filter",
    "n": "max_results",
}
"""What the arguments are called behind which errors name fields of our own."""

Context = ServerRequestContext[Any]


def build_server(chain: Fallback) -> Server[Any]:
    """Return a server whose tools ask this chain. Its failures are results that say what is wrong."""

    async def listed(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(offer) for offer in MCP_TOOLS])

    async def called(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        offer = next((offer for offer in MCP_TOOLS if offer.name == params.name), None)
        if offer is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name}")
        started = time.monotonic()
        result = await _called(offer, params.arguments or {}, chain, context)
        told = {"tool": offer.name, "seconds": round(time.monotonic() - started, 3)}
        log.log(logging.WARNING if result.is_error else logging.INFO, "call.ended", extra=told)
        return result

    return Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
        # The tools are the same for everyone and for as long as this runs.
        cache_hints={"tools/list": CacheHint(ttl_ms=_HOUR_MS, scope="public")},
    )


def _tool(offer: McpTool) -> types.Tool:
    return types.Tool(
        name=offer.name,
        title=offer.title,
        description=offer.description,
        input_schema=offer.input_schema,
        output_schema=offer.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=True
        ),
    )


async def _called(
    offer: McpTool, arguments: dict[str, JSON], chain: Fallback, context: Context
) -> types.CallToolResult:
    async def report(progress: float, message: str) -> None:
        await context.session.report_progress(progress, message=strip_controls(message))

    given = with_defaults(offer.input_schema, offer.drop_unknown(arguments))
    if wrong := validation_errors(offer.input_schema, given):
        return _failed(f"Wrong arguments: {wrong}")
    try:
        text = await offer.handler(given, chain, ProgressReporter(report))
    except InvalidRequest as error:
        return _failed(_explained(error))
    except PerplexityError as error:
        if is_empty_result(error):
            return _failed(with_reasons(nothing_found_text(given), error))
        return _failed(f"{explain_error(error)} {_MORE_TIME}" if _is_late(error) else explain_error(error))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content={offer.field: text})


def _is_late(error: PerplexityError) -> bool:
    failed = error.attempts if isinstance(error, AllProvidersFailed) else ()
    return isinstance(error, TimedOut) or any(attempt.error_class == TimedOut.__name__ for attempt in failed)


def _explained(error: InvalidRequest) -> str:
    """Return what is wrong, with the name that the argument has here."""
    if error.field in _ARGUMENTS and error.allowed is not None:
        return str(InvalidRequest.for_field(_ARGUMENTS[error.field], error.value, error.allowed))
    return str(error)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=strip_controls(text))], is_error=True)


PATH = "/mcp"
_OVER_SECONDS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOSTS = (b"host", b"origin")
_HTTP_PORT = 80
_LONGEST_HEADER = 200
_METHODS = ("GET", "POST", "DELETE")
_SENT = ("Content-Type", "Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID")
_READ = ("Mcp-Session-Id", "Mcp-Protocol-Version")


class Ready(Protocol):
    """Hears that the server listens at an address, which only this machine can reach if it is there `alone`."""

    def __call__(self, address: str, *, alone: bool) -> None:
        """Take note."""
        ...


async def serve_stdio(opening: AbstractAsyncContextManager[Fallback], *, stopped: Callable[[], NoReturn]) -> None:
    """Serve the client at the other end of stdin and stdout until it closes them; nothing else is written there.

    `stopped` ends the process when this is cancelled: a thread is reading stdin then, and nothing can call it off.
    """
    async with stdio_server() as (incoming, outgoing):
        try:
            async with opening as chain:
                server = build_server(chain)
                await server.run(incoming, outgoing, server.create_initialization_options())
        except asyncio.CancelledError:
            stopped()


async def serve_http(opening: AbstractAsyncContextManager[Fallback], *, settings: HTTPSettings, ready: Ready) -> None:
    """Serve HTTP until a signal ends it; `ready` is told the address once it listens. Raises CannotListen.

    Requests whose Host or Origin is neither this host's nor allowed are refused: a page in a browser could otherwise
    reach a server on loopback (https://modelcontextprotocol.io/specification, transports, security).
    """
    host, port = settings.host, settings.port
    # What it would log of a failed start is raised.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    async with opening as chain:
        app = build_server(chain).streamable_http_app(
            streamable_http_path=PATH,
            host=host,
            # `_guarded` checks every request before it gets there.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        config = uvicorn.Config(
            _guarded(app, settings),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        await _served(_Announced(config, ready))


async def _served(server: uvicorn.Server) -> None:
    """Serve until a signal ends it; when this is cancelled it ends as well as by a signal that uvicorn knows."""
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
    finally:
        await _calls_over()


async def _calls_over() -> None:
    """Wait for the calls that uvicorn cancelled when it stopped, which it does not; each cancels its run."""
    if rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest, timeout=_OVER_SECONDS)


class CannotListen(Exception):
    """The port is taken, or the host is none of this machine's."""


class _Announced(uvicorn.Server):
    """Tells its address once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Ready) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            raise CannotListen from None
        if not self.should_exit:
            host = self.config.host
            self._ready(f"http://{bracket_ipv6(host)}:{self.config.port}{PATH}", alone=is_loopback(host))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def transport_security(
    host: str, port: int, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()
) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, in lower case; `hosts` and `origins` are further ones.

    A client leaves out a port that is HTTP's own, or a proxy's before us.
    """
    names = dict.fromkeys((*_LOOPBACK, bracket_ipv6(host).lower()))
    own = [f"{name}:{port}" for name in names]
    further = [name for host in hosts for name in ((host,) if _has_port(host) else (host, f"{host}:{port}"))]
    return TransportSecuritySettings(
        allowed_hosts=[*names, *own, *further],
        allowed_origins=[f"http://{place}" for place in (*own, *(names if port == _HTTP_PORT else ()))] + [*origins],
    )


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _guarded(app: ASGIApp, settings: HTTPSettings) -> ASGIApp:
    """Return the app for requests that name an allowed host and origin; pages of ALLOWED_ORIGINS may read its replies.

    The SDK compares names letter by letter, so they are in lower case from here on:
    https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3
    """
    origins = settings.allowed_origins
    check = TransportSecurityMiddleware(
        transport_security(settings.host, settings.port, hosts=settings.allowed_hosts, origins=origins)
    )
    served = _with_cors(app, origins) if origins else app

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = [(name, value.lower() if name in _HOSTS else value) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers}
        named = [h for h in headers if h[0] != b"origin" or h[1] == b"null"] if ANY in origins else headers
        refused = await check.validate_request(Request({**scope, "headers": named}))
        if refused is not None:
            told = {
                name.decode(): value.decode("latin-1")[:_LONGEST_HEADER] for name, value in headers if name in _HOSTS
            }
            log.warning("request.refused", extra={**told, "status": refused.status_code})
        await (refused or served)(scope, receive, send)

    return guarded


def _with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return the app with what a browser wants to be told: https://fetch.spec.whatwg.org/#http-cors-protocol."""
    return CORSMiddleware(app, allow_origins=origins, allow_methods=_METHODS, allow_headers=_SENT, expose_headers=_READ)
