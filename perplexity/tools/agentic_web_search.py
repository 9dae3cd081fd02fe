"""AgenticWebSearch: an answer by Perplexity's own agent, with its sources."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping

from perplexity.citations import format_result
from perplexity.client import PerplexityClient
from perplexity.errors import PerplexityError
from perplexity.models import Timeouts
from perplexity.notes import answer_notes
from perplexity.providers.base import OnAttempt, log_attempt, report_attempts
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.tools.base import Tool, failure_text
from perplexity.tools.environment import lazy_tool
from perplexity.tools.schemas import object_schema
from perplexity.transport import Session
from perplexity.types import API

NAME = "AgenticWebSearch"
DESCRIPTION = """\
This tool allows you to have an agent search the web for information based on a prompt.
This leverages Perplexity's grounded Sonar LLM to search the web and provide a useful answer
grounded in the search results that are also included in the response.

Use `prompt` as a message to the Sonar LLM indicating its task/the answer it needs to provide.

Use `reasoning` to enable a more capable reasoning agent that can search through more sources
and provide more built-in inference on top of the search results. This is suitable for
reasoning, inference and speculation on top of the search results - not for simple factual
queries/information retrieval."""
_REASONING = (
    "Whether to enable a more capable reasoning agent that can search through more sources and provide more built-in "
    "inference on top of the search results"
)
PARAMETERS = object_schema(
    {
        "prompt": {
            "type": "string",
            "description": "The prompt for the agent to use to search the web and provide a useful answer to you",
        },
        "reasoning": {"type": "boolean", "description": _REASONING},
    },
    required=["prompt", "reasoning"],
)
LIMITS = Timeouts(answer=30.0, reasoning=60.0)


def create_agentic_web_search_tool(
    session: Session,
    *,
    api_key: str | None = None,
    api: API | None = None,
    base_url: str | None = None,
    open_timeout: float | None = None,
    environ: Mapping[str, str] = os.environ,
    on_attempt: OnAttempt = log_attempt,
    clock: Callable[[], float] = time.monotonic,
) -> Tool:
    """Return the tool; its handler takes `prompt` and `reasoning` and returns the answer, then its references.

    `api` is the API that answers, by default the one that PERPLEXITY_API names. The other arguments are those of
    `create_web_search_tool`.
    """
    client = PerplexityClient.from_env(
        environ,
        api_key=api_key,
        api=api,
        base_url=base_url,
        open_timeout=open_timeout,
        session=session,
        # No retries: the calling model can decide whether to ask again.
        retry=RetryPolicy(attempts=1),
        limits=LIMITS,
        clock=clock,
    )

    async def handler(prompt: str, reasoning: bool) -> str:
        try:
            # On exit, an abandoned run is cancelled at the service while the session is still open.
            async with client:
                with report_attempts(PerplexityProvider.name, "answer", on_attempt=on_attempt, clock=clock) as attempt:
                    answer = attempt.record(await client.answer(prompt, reasoning=reasoning))
        except PerplexityError as error:
            return failure_text(NAME, error, seconds=LIMITS.reasoning if reasoning else LIMITS.answer)
        return "\n\n".join(filter(None, [format_result(answer), " ".join(answer_notes(answer))]))

    return _tool(handler)


def _tool(handler: Callable[..., Awaitable[str]]) -> Tool:
    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


TOOL = _tool(
    lazy_tool(
        create_agentic_web_search_tool, on_error=lambda error, _: failure_text(NAME, error, seconds=LIMITS.answer)
    )
)
"""The tool, which reads its key from the environment at each call."""
