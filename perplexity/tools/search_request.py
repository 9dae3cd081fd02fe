"""What perplexity_search is asked: its parameters, and the question that its arguments make. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jsonschema import SchemaError
from referencing.exceptions import Unresolvable

from perplexity.errors import InvalidRequest
from perplexity.filters import MOST_DOMAINS, RECENCIES, Filters, Recency
from perplexity.models import SONAR, WITHOUT_SCHEMA
from perplexity.tools.remarks import DEFAULT
from perplexity.tools.schemas import check
from perplexity.types import JSON, Message, Question

_MODELS = "Perplexity model: sonar (fast), sonar-pro (quality+schema), sonar-reasoning (deep thinking)"
SCHEMA_MODELS = tuple(name for name in SONAR if name not in WITHOUT_SCHEMA)
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Search query to find information about"},
        "model": {
            "type": "string",
            "enum": list(SONAR),
            "default": DEFAULT,
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


def question(
    query: str,
    *,
    model: str = DEFAULT,
    search_domain_filter: Sequence[str] | None = None,
    search_recency_filter: Recency | None = None,
    max_tokens: int = 1000,
    response_format: Mapping[str, JSON] | None = None,
) -> Question:
    """Return what is asked. Raises InvalidRequest for a schema that is none, or that the model does not take."""
    return Question(
        messages=(Message(role="user", content=query),),
        model=model,
        filters=Filters(domains=tuple(search_domain_filter or ()), recency=search_recency_filter),
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
        check(schema)
    except SchemaError as error:
        raise InvalidRequest.of("response_format", error.instance, f"it takes a JSON schema: {error.message}") from None
    except Unresolvable as error:
        allowed = "it takes a JSON schema that refers to nothing outside"
        raise InvalidRequest.of("response_format", error.ref, allowed) from None
    except RecursionError:
        raise InvalidRequest("response_format: it is nested too deeply", field="response_format") from None
    return dict(schema)
