"""WebSearch: the five best pages for a query, as they were found."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping

from perplexity.calls import Calls
from perplexity.errors import PerplexityError
from perplexity.queries import checked_query
from perplexity.retry import Deadline, Retries, RetryPolicy
from perplexity.tools.access import Access
from perplexity.tools.base import Tool
from perplexity.tools.faults import explain
from perplexity.tools.keyless import keyless
from perplexity.transport import Session, Transport
from perplexity.types import JSON, Query
from perplexity.wire import search
from perplexity.wire.reading import text

NAME = "WebSearch"
DESCRIPTION = """\
Use this tool to search information on the web based on a search query.

Prefer to use specific queries. For example, "artificial intelligence medical diagnosis
accuracy" is much better than "AI medical".

You will get up to 1024 tokens worth of content for the top-5 most relevant results."""
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The search query used for the web search"}},
    "required": ["query"],
    "additionalProperties": False,
}
SECONDS = 10.0


def create_web_search_tool(
    session: Session,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
) -> Tool:
    """Return the tool; its handler takes `query` and returns the `results` of the Search API as JSON text.

    The session stays the caller's. The key is PERPLEXITY_API_KEY's or PPLX_API_KEY's and the address
    PERPLEXITY_BASE_URL's, unless they are handed in. `clock` only goes forward. Raises MissingKey without a key,
    InvalidRequest for a key or an address that cannot be right.
    """
    calls = _calls(Access.found(api_key, base_url, environ), session)

    async def handler(query: str) -> str:
        try:
            body = search.build(checked_query(Query(text=query, max_results=5, max_tokens_per_page=1024)))
            found = await calls.json("POST", search.PATH, body, deadline=Deadline.after(SECONDS, clock))
            search.read(found)
        except PerplexityError as error:
            return explain(NAME, error, seconds=SECONDS)
        return text(json.dumps(found["results"], ensure_ascii=False))

    return _tool(handler)


def _calls(access: Access, session: Session) -> Calls:
    """Return calls that are made once: the model that asks knows best whether to ask again."""
    return Calls(
        transport=Transport(access.api_key, base_url=access.base_url, session=session),
        retries=Retries(policy=RetryPolicy(attempts=1), sleep=asyncio.sleep, random=random.random),
        now=time.time,
    )


def _tool(handler: Callable[..., Awaitable[str]]) -> Tool:
    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


TOOL = _tool(keyless(create_web_search_tool, failed=lambda error, _: explain(NAME, error, seconds=SECONDS)))
"""The tool that looks for its key when it is called."""
