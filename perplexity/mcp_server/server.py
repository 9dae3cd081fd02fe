"""The MCP server: its tools, their calls, and its transports, stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import uvicorn
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from perplexity.errors import AllProvidersFailed, InvalidRequest, PerplexityError, TimedOut
from perplexity.fallback import Fallback
from perplexity.mcp_server.settings import ANY, TIMEOUT, HTTPSettings, ServerSettings, bracket_ipv6
from perplexity.mcp_server.tools import MCP_TOOLS, McpTool, ProgressReporter, nothing_found_text
from perplexity.notes import is_empty_result, with_reasons
from perplexity.sanitize import strip_controls
from perplexity.tools.base import with_argument_name
from perplexity.tools.environment import explain_error
from perplexity.tools.formats import ANNOTATIONS
from perplexity.tools.schemas import validation_errors, with_defaults
from perplexity.types import JSON
from perplexity.version import __version__

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)


_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class LineFormatter(logging.Formatter):
    """Formats a record as time, level, event and fields: `2026-11-22T08:00:00Z INFO call.ended {…}`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. It includes only the class of an exception, because messages can quote user input."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = record.exc_info[0].__qualname__
        level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return " ".join(
            filter(None, (moment, level, str(record.msg), json.dumps(fields, default=str) if fields else ""))
        )


@contextmanager
def log_to(stream: TextIO, *, level: int) -> Iterator[None]:
    """In the block, write the log records of this package that have at least this level to the stream."""
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
_ARGUMENTS = {"prompt": "messages", "domain": "search_domain_filter", "recency": "search_recency_filter"}
"""Maps the field that an InvalidRequest names to the name of the argument in these tools."""

Context = ServerRequestContext[Any]


def build_server(chain: Fallback, *, at_once: int = ServerSettings.at_once) -> Server[Any]:
    """Return a server whose tools ask this fallback chain. The result of a failed call explains the failure.

    At most `at_once` calls of deep tools (see `McpTool`) run at the same time; the others wait.
    """
    deep_runs = asyncio.Semaphore(at_once)

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in MCP_TOOLS])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = next((tool for tool in MCP_TOOLS if tool.name == params.name), None)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name}")
        started = time.monotonic()
        async with deep_runs if tool.deep else nullcontext():
            result = await _call_tool(tool, params.arguments or {}, chain, context)
        fields = {"tool": tool.name, "seconds": round(time.monotonic() - started, 3)}
        log.log(logging.WARNING if result.is_error else logging.INFO, "call.ended", extra=fields)
        return result

    return Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Any client or proxy may cache the list: the tools are the same for all, and do not change at run time.
        cache_hints={"tools/list": CacheHint(ttl_ms=_HOUR_MS, scope="public")},
    )


def _tool(tool: McpTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(ANNOTATIONS),
    )


async def _call_tool(
    tool: McpTool, arguments: dict[str, JSON], chain: Fallback, context: Context
) -> types.CallToolResult:
    async def report(progress: float, message: str) -> None:
        await context.session.report_progress(progress, message=strip_controls(message))

    given = with_defaults(tool.input_schema, tool.drop_unknown(arguments))
    if wrong := validation_errors(tool.input_schema, given):
        return _error_result(f"Wrong arguments: {wrong}")
    try:
        text = await tool.handler(given, chain, ProgressReporter(report))
    except InvalidRequest as error:
        return _error_result(str(with_argument_name(error, _ARGUMENTS)))
    except PerplexityError as error:
        if is_empty_result(error):
            return _error_result(with_reasons(nothing_found_text(given), error))
        return _error_result(f"{explain_error(error)} {_MORE_TIME}" if _is_late(error) else explain_error(error))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content={tool.field: text})


def _is_late(error: PerplexityError) -> bool:
    failed = error.attempts if isinstance(error, AllProvidersFailed) else ()
    return isinstance(error, TimedOut) or any(attempt.error_class == TimedOut.__name__ for attempt in failed)


def _error_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=strip_controls(text))], is_error=True)


PATH = "/mcp"
_CALL_GRACE_SECONDS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOSTS = (b"host", b"origin")
_HTTP_PORT = 80
_MAX_LOGGED_HEADER = 200
_METHODS = ("GET", "POST", "DELETE")
_CORS_REQUEST_HEADERS = ("Content-Type", "Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID")
_CORS_RESPONSE_HEADERS = ("Mcp-Session-Id", "Mcp-Protocol-Version")


async def serve_stdio(
    opening: AbstractAsyncContextManager[Fallback],
    *,
    stopped: Callable[[], NoReturn],
    at_once: int = ServerSettings.at_once,
) -> None:
    """Serve one client on stdin and stdout until the client closes them; only protocol messages are written to stdout.

    If this coroutine is cancelled, it calls `stopped`, which must end the process, because the thread that reads stdin
    cannot be cancelled.
    """
    async with stdio_server() as (incoming, outgoing):
        try:
            async with opening as chain:
                server = build_server(chain, at_once=at_once)
                await server.run(incoming, outgoing, server.create_initialization_options())
        except asyncio.CancelledError:
            stopped()


async def serve_http(
    opening: AbstractAsyncContextManager[Fallback],
    *,
    settings: HTTPSettings,
    ready: Callable[[str], None],
    at_once: int = ServerSettings.at_once,
) -> None:
    """Serve HTTP until a signal stops the server; once it listens, call `ready` with its address. Raises CannotListen.

    Requests whose Host or Origin is not allowed are refused, because otherwise any page in a browser could reach a
    server on loopback (https://modelcontextprotocol.io/specification, transports, security).
    """
    host, port = settings.host, settings.port
    # Uvicorn need not log a failed start, because CannotListen is raised then.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    async with opening as chain:
        app = build_server(chain, at_once=at_once).streamable_http_app(
            streamable_http_path=PATH,
            host=host,
            # The app's own check is off, because `_check_requests` checks every request before the app gets it.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        config = uvicorn.Config(
            _check_requests(app, settings),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        await _serve_until_stopped(_AnnouncingServer(config, ready))


async def _serve_until_stopped(server: uvicorn.Server) -> None:
    """Serve until a signal stops the server; if this coroutine is cancelled, shut down as after a signal."""
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
    finally:
        # When Uvicorn stopped, it cancelled the calls. A cancelled call still has to cancel its run at the service.
        if rest := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(rest, timeout=_CALL_GRACE_SECONDS)


class CannotListen(Exception):
    """The port is in use, or the host is not an address of this machine."""


class _AnnouncingServer(uvicorn.Server):
    """A server that calls `ready` with its address once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            raise CannotListen from None
        if not self.should_exit:
            self._ready(f"http://{bracket_ipv6(self.config.host)}:{self.config.port}{PATH}")


def transport_security(
    host: str, port: int, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()
) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, in lower case: the server's own, and `hosts` and `origins`.

    A host that `hosts` has with a port is allowed only with that port. Any other host is allowed with the server's port
    and without a port: a client omits a default port, such as the port of a proxy in front of the server.
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


def _check_requests(app: ASGIApp, settings: HTTPSettings) -> ASGIApp:
    """Wrap the app so that it gets only requests with an allowed host and origin.

    Pages of ALLOWED_ORIGINS may read the responses. The SDK compares hosts and origins case-sensitively, so they are
    converted to lower case first: https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3
    """
    origins = settings.allowed_origins
    check = TransportSecurityMiddleware(
        transport_security(settings.host, settings.port, hosts=settings.allowed_hosts, origins=origins)
    )
    served = app
    if origins:
        # Browsers require these headers: https://fetch.spec.whatwg.org/#http-cors-protocol.
        served = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=_METHODS,
            allow_headers=_CORS_REQUEST_HEADERS,
            expose_headers=_CORS_RESPONSE_HEADERS,
        )

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = [(name, value.lower() if name in _HOSTS else value) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers}
        named = [h for h in headers if h[0] != b"origin" or h[1] == b"null"] if ANY in origins else headers
        # An empty Host or Origin is not allowed, but the SDK would accept it.
        empty = any(name in _HOSTS and not value.strip() for name, value in headers)
        refused = (
            Response("Empty Host or Origin", 403)
            if empty
            else await check.validate_request(Request({**scope, "headers": named}))
        )
        if refused is not None:
            fields = {
                name.decode(): value.decode("latin-1")[:_MAX_LOGGED_HEADER] for name, value in headers if name in _HOSTS
            }
            log.warning("request.refused", extra={**fields, "status": refused.status_code})
        await (refused or served)(scope, receive, send)

    return guarded
