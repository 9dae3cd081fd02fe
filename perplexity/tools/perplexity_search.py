"""perplexity_search: an answer by Perplexity as a structured result, with its sources."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from jsonschema import SchemaError
from referencing.exceptions import Unresolvable

from perplexity.citations import drop_dangling, number_citations
from perplexity.client import PerplexityClient
from perplexity.errors import (
    AuthenticationError,
    InvalidRequest,
    MissingKey,
    PerplexityError,
    RateLimitError,
    RunFailed,
)
from perplexity.filters import MAX_DOMAINS, RECENCIES, Filters, Recency
from perplexity.models import SONAR, WITHOUT_SCHEMA
from perplexity.notes import DEFAULT_MODEL, answer_notes
from perplexity.providers.base import OnAttempt, log_attempt, report_attempts
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.tools.base import Failure, Tool, with_argument_name
from perplexity.tools.environment import lazy_tool
from perplexity.tools.schemas import object_schema, schema_mismatch, validate_schema
from perplexity.transport import Session
from perplexity.types import API, JSON, Answer, Message, Question, Source
from perplexity.wire.json import encodable_text, encode

_MODELS = "Perplexity model: sonar (fast), sonar-pro (quality+schema), sonar-reasoning (deep thinking)"
SCHEMA_MODELS = tuple(name for name in SONAR if name not in WITHOUT_SCHEMA)
PARAMETERS = object_schema(
    {
        "query": {"type": "string", "description": "Search query to find information about"},
        "model": {
            "type": "string",
            "enum": list(SONAR),
            "default": DEFAULT_MODEL,
            "description": _MODELS,
        },
        "search_domain_filter": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_DOMAINS,
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
    required=["query"],
)


def _schema(given: Mapping[str, JSON], model: str) -> Mapping[str, JSON]:
    """Return the schema in `given`: `given` itself, or the schema inside the `response_format` of a chat completion.

    Raises InvalidRequest for an invalid schema, or if the model does not support schemas.
    """
    if model not in SCHEMA_MODELS:
        only = f"JSON schema (response_format) is only supported on {', '.join(SCHEMA_MODELS)}"
        raise InvalidRequest(f"{only}. Current model: {model}", field="model", value=model)
    schema: JSON = given
    if given.get("type") == "json_schema":
        wrapped = given.get("json_schema")
        schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else None
    try:
        validate_schema(schema)
    except SchemaError as error:
        raise InvalidRequest.for_field(
            "response_format", error.instance, f"it takes a JSON schema: {error.message}"
        ) from None
    except Unresolvable as error:
        allowed = "it takes a JSON schema that refers to nothing outside"
        raise InvalidRequest.for_field("response_format", error.ref, allowed) from None
    except RecursionError:
        raise InvalidRequest("response_format: it is nested too deeply", field="response_format") from None
    return dict(schema)


_TEXT: Mapping[str, JSON] = {"type": "string"}
_PAGE: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"title": _TEXT, "url": _TEXT, "snippet": _TEXT},
    "required": ["title", "url", "snippet"],
}
OUTPUT: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "content": _TEXT,
        "citations": {"type": "array", "items": _TEXT},
        "web_results": {"type": "array", "items": _PAGE},
        "model": _TEXT,
        "query": {"type": ["string", "null"]},
        "notes": {"type": "array", "items": _TEXT},
        "error": _TEXT,
        "results": {"type": "array", "items": _PAGE},
    },
    "required": ["success", "query"],
}
"""A result has `content`, `citations`, `web_results`, `model`, and `notes` if there are any.

A failure has `error`, and an empty list of `results`. Both have `success` and `query`.
"""


def encode_answer(answer: Answer, question: Question, *, query: str) -> str:
    """Return the answer as JSON, in which `[n]` refers to the nth citation.

    If the answer names no model, the requested model is named. If a schema was requested, the answer is not renumbered,
    since a list such as `[1]` in its JSON looks like a marker.
    """
    content, sources = _renumbered(answer) if question.schema is None else (answer.text, answer.sources)
    notes = answer_notes(answer, question)
    return _encode(
        success=True,
        content=content,
        citations=[source.url for source in sources],
        web_results=[{"title": s.title, "url": s.url, "snippet": s.snippet} for s in sources],
        model=answer.model or question.model,
        query=query,
        **({"notes": list(notes)} if notes else {}),
    )


def encode_failure(error: PerplexityError, *, query: JSON) -> Failure:
    """Return a failure as JSON; its message begins with the kind of failure and a colon."""
    message = f"{_error_prefix(error)}: {error.message}"
    text = _encode(success=False, error=message, query=query if isinstance(query, str) else None, results=[])
    return Failure(text, cost_usd=error.cost_usd)


def _error_prefix(error: PerplexityError) -> str:
    if isinstance(error, (AuthenticationError, MissingKey)):
        return "Authentication failed"
    return "Rate limit exceeded" if isinstance(error, RateLimitError) else "Search failed"


def _renumbered(answer: Answer) -> tuple[str, tuple[Source, ...]]:
    """Return the text and its sources, numbered from 1 without gaps; a service may leave gaps."""
    if [source.number for source in answer.sources] == list(range(1, len(answer.sources) + 1)):
        return drop_dangling(answer.text, answer.sources)[0], answer.sources
    cited = number_citations(answer.text, answer.sources)
    return cited.text, (*cited.sources, *cited.others)


def _encode(**result: JSON) -> str:
    return encodable_text(encode(result))


NAME = "perplexity_search"
DESCRIPTION = """\
Search the web using Perplexity AI with automatic citations.
Provides real-time information with source attribution.
Use this for research, fact-checking, and finding current information."""
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

    Unlike the other tools, this one retries, within the time limit of the model; `sleep` pauses between two attempts.
    The other arguments are those of `create_agentic_web_search_tool`.
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

    async def handler(
        query: str,
        *,
        model: str = DEFAULT_MODEL,
        search_domain_filter: Sequence[str] | None = None,
        search_recency_filter: Recency | None = None,
        max_tokens: int = 1000,
        response_format: Mapping[str, JSON] | None = None,
    ) -> str:
        try:
            question = Question(
                messages=(Message(role="user", content=query),),
                model=model,
                filters=Filters(domains=tuple(search_domain_filter or ()), recency=search_recency_filter),
                resumable=False,
                # In JSON, a whole number can be written as 1000.0.
                max_tokens=int(max_tokens),
                schema=None if response_format is None else _schema(response_format, model),
            )
            # On exit, an abandoned run is cancelled at the service while the session is still open.
            async with client:
                with report_attempts(PerplexityProvider.name, "answer", on_attempt=on_attempt, clock=clock) as attempt:
                    answer = attempt.record(await client.answer(question))
                    if question.schema is not None:
                        _require_schema(answer, question.schema)
            return encode_answer(answer, question, query=query)
        except PerplexityError as error:
            return encode_failure(with_argument_name(error, _PARAMETERS), query=query)

    return _tool(handler)


def _require_schema(answer: Answer, schema: Mapping[str, JSON]) -> None:
    """Raise RunFailed unless the answer is JSON of this schema."""
    if answer.incomplete:
        raise RunFailed(f"the JSON was cut off ({answer.incomplete}); it may need more max_tokens")
    if wrong := schema_mismatch(answer.text, schema):
        raise RunFailed(wrong)


def _argument_failure(wrong: str, arguments: Mapping[str, JSON]) -> Failure:
    return encode_failure(InvalidRequest(wrong), query=arguments.get("query"))


def _tool(handler: Callable[..., Awaitable[str]]) -> Tool:
    return Tool(
        name=NAME,
        description=DESCRIPTION,
        parameters=PARAMETERS,
        handler=handler,
        output=OUTPUT,
        on_argument_error=_argument_failure,
    )


TOOL = _tool(
    lazy_tool(
        create_perplexity_search_tool, on_error=lambda error, arguments: encode_failure(error, query=arguments["query"])
    )
)
"""The tool, which reads its key from the environment at each call."""
