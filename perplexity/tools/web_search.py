"""WebSearch: the five best pages for a query, as Perplexity returns them."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from perplexity.api import ApiClient
from perplexity.client import Access
from perplexity.errors import PerplexityError
from perplexity.providers.base import OnAttempt, log_attempt, report_attempts
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import Deadline, Retrier, RetryPolicy
from perplexity.tools.base import Tool, failure_text
from perplexity.tools.environment import lazy_tool
from perplexity.tools.schemas import object_schema
from perplexity.transport import Session, Transport
from perplexity.types import JSON, Query, validate_query
from perplexity.wire import search
from perplexity.wire.json import encodable_text, encode

NAME = "WebSearch"
DESCRIPTION = """\
Use this tool to search information on the web based on a search query.

Prefer to use specific queries. For example, "artificial intelligence medical diagnosis
accuracy" is much better than "AI medical".

You will get up to 1024 tokens worth of content for the top-5 most relevant results."""
PARAMETERS = object_schema(
    {"query": {"type": "string", "description": "The search query used for the web search"}}, required=["query"]
)
SECONDS = 10.0
MAX_RESULTS = 5


def create_web_search_tool(
    session: Session,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    open_timeout: float | None = None,
    environ: Mapping[str, str] = os.environ,
    on_attempt: OnAttempt = log_attempt,
    clock: Callable[[], float] = time.monotonic,
) -> Tool:
    """Return the tool; its handler takes `query` and returns the `results` of the Search API as JSON text.

    The session is not closed. By default, `api_key` is read from PERPLEXITY_API_KEY or PPLX_API_KEY in `environ`,
    `base_url` from PERPLEXITY_BASE_URL, and `open_timeout`, the time in seconds for opening a connection, from
    OPEN_TIMEOUT. `on_attempt` is called after each call. `clock` is monotonic. Raises MissingKey without a key,
    InvalidRequest for an invalid value.
    """
    access = Access.from_environment(environ, api_key=api_key, base_url=base_url, open_timeout=open_timeout)
    api = ApiClient(
        transport=Transport(
            access.api_key, base_url=access.base_url, session=session, open_timeout=access.open_timeout
        ),
        # No retries: the calling model can decide whether to ask again.
        retries=Retrier(policy=RetryPolicy(attempts=1), sleep=asyncio.sleep, random=random.random),
        now=time.time,
    )

    async def handler(query: str) -> str:
        try:
            with report_attempts(PerplexityProvider.name, "search", on_attempt=on_attempt, clock=clock) as attempt:
                request = Query(text=query, max_results=MAX_RESULTS, max_tokens_per_page=1024)
                body = search.build(validate_query(request))
                found = await api.request("POST", search.PATH, body, deadline=Deadline.after(SECONDS, clock))
                attempt.record(replace(search.parse_results(found), provider=PerplexityProvider.name))
        except PerplexityError as error:
            return failure_text(NAME, error, seconds=SECONDS)
        return encodable_text(encode(_limit(found["results"], MAX_RESULTS)))

    return _tool(handler)


def _limit(results: list[JSON], limit: int) -> list[JSON]:
    """Return at most `limit` pages of a list, in which an item may be a group of pages."""
    kept: list[JSON] = []
    for result in results:
        room = limit - sum(len(one) if isinstance(one, list) else 1 for one in kept)
        if room > 0:
            kept.append(result[:room] if isinstance(result, list) else result)
    return kept


def _tool(handler: Callable[..., Awaitable[str]]) -> Tool:
    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


TOOL = _tool(lazy_tool(create_web_search_tool, on_error=lambda error, _: failure_text(NAME, error, seconds=SECONDS)))
"""The tool, which reads its key from the environment at each call."""
