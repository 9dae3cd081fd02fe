"""perplexity_search: an answer by Perplexity as a structured result, with the pages that it rests on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from jsonschema import Draft202012Validator, SchemaError

from perplexity.client import API, PerplexityClient
from perplexity.errors import InvalidRequest, PerplexityError, RunFailed
from perplexity.filters import MOST_DOMAINS, RECENCIES, Filters, Recency
from perplexity.models import SONAR, WITHOUT_SCHEMA
from perplexity.tools.access import Access
from perplexity.tools.base import Failure, Tool
from perplexity.tools.keyless import keyless
from perplexity.tools.search_result import OUTPUT, failure, success
from perplexity.transport import Session
from perplexity.types import JSON, Message, Question

NAME = "perplexity_search"
DESCRIPTION = """\
Search the web using Perplexity AI with automatic citations.
Provides real-time information with source attribution.
Use this for research, fact-checking, and finding current information."""
_MODELS = "Perplexity model: sonar (fast), sonar-pro (quality+schema), sonar-reasoning (deep thinking)"
SCHEMA_MODELS = tuple(name for name in SONAR if name not in WITHOUT_SCHEMA)
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Search query to find information about"},
        "model": {
            "type": "string",
            "enum": list(SONAR),
            "default": "sonar",
            "description": _MODELS,
        },
        "search_domain_filter": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MOST_DOMAINS,
            "description": "Limit search to specific domains (e.g., ['github.com', 'ruby-lang.org'])",
        },
        "search_recency_filter": {
            "type": "string",
            "enum": list(RECENCIES),
            "description": "Limit results by recency",
        },
        "max_tokens": {
            "type": "integer",
            "minimum": 100,
            "maximum": 4000,
            "default": 1000,
            "description": "Maximum tokens in response",
        },
        "response_format": {
            "type": "object",
            "description": f"JSON schema that the response follows (only {', '.join(SCHEMA_MODELS)})",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
_PARAMETERS = {"prompt": "query", "domain": "search_domain_filter", "recency": "search_recency_filter"}


def create_perplexity_search_tool(
    session: Session,
    *,
    api_key: str | None = None,
    api: API = "agent",
    base_url: str | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Tool:
    """Return the tool; its handler takes the arguments of `PARAMETERS` and returns a result as JSON text.

    Unlike the other tools it tries again, as it is specified to: inside the time of the model, and after `sleep`. The
    rest is as for `create_agentic_web_search_tool`.
    """
    access = Access.found(api_key, base_url, environ)
    client = PerplexityClient(
        access.api_key, api=api, base_url=access.base_url, session=session, clock=clock, sleep=sleep
    )

    async def handler(query: str, **options: JSON) -> str:
        try:
            question = _question(query, **options)
            # On leaving, a run that was given up is cancelled at the service, while there is a session to do it by.
            async with client:
                answer = await client.answer(question)
            if question.schema is not None and answer.incomplete:
                raise RunFailed(f"the JSON broke off ({answer.incomplete}); it may take more max_tokens")
            return success(answer, query=query, model=question.model, as_json=question.schema is not None)
        except PerplexityError as error:
            return failure(_renamed(error), query=query)

    return _tool(handler)


def _question(
    query: str,
    *,
    model: str = "sonar",
    search_domain_filter: Sequence[str] = (),
    search_recency_filter: Recency | None = None,
    max_tokens: int = 1000,
    response_format: Mapping[str, JSON] | None = None,
) -> Question:
    """Return what is asked. Raises InvalidRequest for a schema that is none, or that the model does not take."""
    return Question(
        messages=(Message(role="user", content=query),),
        model=model,
        filters=Filters(domains=tuple(search_domain_filter), recency=search_recency_filter),
        resumable=False,
        # A whole number may be written 1000.0 in JSON.
        max_tokens=int(max_tokens),
        schema=None if response_format is None else _schema(response_format, model),
    )


def _schema(given: Mapping[str, JSON], model: str) -> Mapping[str, JSON]:
    """Return the schema, bare or as a chat completion's `response_format` wraps it. Raises InvalidRequest."""
    if model not in SCHEMA_MODELS:
        only = f"JSON schema (response_format) is only supported on {', '.join(SCHEMA_MODELS)}"
        raise InvalidRequest(f"{only}. Current model: {model}", field="model", value=model)
    schema: JSON = given
    if given.get("type") == "json_schema":
        wrapped = given.get("json_schema")
        schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else None
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise InvalidRequest.of("response_format", error.instance, f"it takes a JSON schema: {error.message}") from None
    except RecursionError:
        raise InvalidRequest("response_format: it is nested too deeply", field="response_format") from None
    return dict(schema)


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
