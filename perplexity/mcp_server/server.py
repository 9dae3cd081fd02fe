"""The server itself: the list of its tools, and their calls."""

from __future__ import annotations

import logging
import time
from typing import Any

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint

from perplexity import __version__
from perplexity.advice import advise
from perplexity.errors import AllProvidersFailed, InvalidRequest, PerplexityError, TimedOut
from perplexity.fallback import Fallback
from perplexity.mcp_server.answering import without_result
from perplexity.mcp_server.offers import OFFERS, Offer
from perplexity.mcp_server.progress import Progress
from perplexity.mcp_server.settings import TIMEOUT
from perplexity.nothing_found import found_nothing, with_reasons
from perplexity.quoting import harmless
from perplexity.tools.arguments import completed, problems
from perplexity.types import JSON

log: logging.Logger = logging.getLogger(__name__)

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


def build(chain: Fallback) -> Server[Any]:
    """Return a server whose tools ask this chain. Its failures are results that say what is wrong."""

    async def listed(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(offer) for offer in OFFERS])

    async def called(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        offer = next((offer for offer in OFFERS if offer.name == params.name), None)
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


def _tool(offer: Offer) -> types.Tool:
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


async def _called(offer: Offer, arguments: dict[str, JSON], chain: Fallback, context: Context) -> types.CallToolResult:
    async def report(progress: float, message: str) -> None:
        await context.session.report_progress(progress, message=harmless(message))

    given = completed(offer.input_schema, offer.known(arguments))
    if wrong := problems(offer.input_schema, given):
        return _failed(f"Wrong arguments: {wrong}")
    try:
        text = await offer.answering(given, chain, Progress(report))
    except InvalidRequest as error:
        return _failed(_explained(error))
    except PerplexityError as error:
        if found_nothing(error):
            return _failed(with_reasons(without_result(given), error))
        return _failed(f"{advise(error)} {_MORE_TIME}" if _is_late(error) else advise(error))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content={offer.field: text})


def _is_late(error: PerplexityError) -> bool:
    failed = error.attempts if isinstance(error, AllProvidersFailed) else ()
    return isinstance(error, TimedOut) or any(attempt.error_class == TimedOut.__name__ for attempt in failed)


def _explained(error: InvalidRequest) -> str:
    """Return what is wrong, with the name that the argument has here."""
    if error.field in _ARGUMENTS and error.allowed is not None:
        return str(InvalidRequest.of(_ARGUMENTS[error.field], error.value, error.allowed))
    return str(error)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=harmless(text))], is_error=True)
