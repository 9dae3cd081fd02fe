"""perplexity_search: an answer by Perplexity as a structured result, with the pages that it rests on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping

from perplexity.attempts import OnAttempt, attempted, log_attempt
from perplexity.client import PerplexityClient
from perplexity.errors import InvalidRequest, PerplexityError, RunFailed
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.tools.base import Failure, Tool
from perplexity.tools.keyless import keyless
from perplexity.tools.schemas import misfit
from perplexity.tools.search_request import PARAMETERS, question
from perplexity.tools.search_result import OUTPUT, failure, success
from perplexity.transport import Session
from perplexity.types import API, JSON, Answer

NAME = "perplexity_search"
DESCRIPTION = """\
Search the web using Perplexity AI with automatic citations.
Provides real-time information with source attribution.
Use this for research, fact-checking, and finding current information."""
PROVIDER = PerplexityProvider.name
_PARAMETERS = {"prompt": "query", "domain": "search_domain_filter", "recency": "search_recency_filter"}


def create_perplexity_search_tool(
    session: Session,
    *,
    api_key: str | None = None,
    api: API | None = None,
    base_url: str | None = None,
    open_timeout: float | None = None,
    environ: Mapping[str, str] = os.environ,
    on_attempt: OnAttempt = log_attempt,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Tool:
    """Return the tool; its handler takes the arguments of `PARAMETERS` and returns a result as JSON text.

    Unlike the other tools it tries again, as it is specified to: inside the time of the model, and after `sleep`. The
    rest is as for `create_agentic_web_search_tool`.
    """
    client = PerplexityClient.from_env(
        environ,
        api_key=api_key,
        api=api,
        base_url=base_url,
        open_timeout=open_timeout,
        session=session,
        clock=clock,
        sleep=sleep,
    )

    async def handler(query: str, **options: JSON) -> str:
        try:
            asked = question(query, **options)
            # On leaving, a run that was given up is cancelled at the service, while there is a session to do it by.
            async with client:
                with attempted(PROVIDER, "answer", on_attempt=on_attempt, clock=clock) as attempt:
                    answer = attempt.took(await client.answer(asked))
                    if asked.schema is not None:
                        _hold(answer, asked.schema)
            return success(answer, asked, query=query)
        except PerplexityError as error:
            return failure(_renamed(error), query=query)

    return _tool(handler)


def _hold(answer: Answer, schema: Mapping[str, JSON]) -> None:
    """Raise RunFailed unless the answer is JSON of this schema."""
    if answer.incomplete:
        raise RunFailed(f"the JSON broke off ({answer.incomplete}); it may take more max_tokens")
    if wrong := misfit(answer.text, schema):
        raise RunFailed(wrong)


def _renamed(error: PerplexityError) -> PerplexityError:
    """Name the parameter of the tool, where an error names the filter behind it."""
    if isinstance(error, InvalidRequest) and error.field in _PARAMETERS and error.allowed is not None:
        return InvalidRequest.of(_PARAMETERS[error.field], error.value, error.allowed)
    return error


def _refused(wrong: str, arguments: Mapping[str, JSON]) -> Failure:
    return failure(InvalidRequest(wrong), query=arguments.get("query"))


def _tool(handler: Callable[..., Awaitable[str]]) -> Tool:
    return Tool(
        name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler, output=OUTPUT, refused=_refused
    )


TOOL = _tool(
    keyless(create_perplexity_search_tool, failed=lambda error, arguments: failure(error, query=arguments["query"]))
)
"""The tool that looks for its key when it is called."""
