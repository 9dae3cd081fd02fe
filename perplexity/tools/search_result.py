"""What perplexity_search returns, as JSON text: an answer, or why there is none. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.citations import cite, without_orphans
from perplexity.errors import AuthenticationError, MissingKey, PerplexityError, RateLimitError
from perplexity.tools.base import Failure
from perplexity.tools.remarks import remarks
from perplexity.types import JSON, Answer, Question, Source
from perplexity.wire.reading import text
from perplexity.wire.writing import encode

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
"""A result has `content`, `citations`, `web_results` and `model`, and `notes` if there are any on how it came about.

A failure has `error`, and `results` without any.
"""


def success(answer: Answer, asked: Question, *, query: str) -> str:
    """Return an answer: `[n]` in its content is the nth citation. The model is the one asked for if none is named.

    Content that is JSON stays as it came: what looks like a marker there may be a list.
    """
    content, sources = _numbered(answer) if asked.schema is None else (answer.text, answer.sources)
    notes = remarks(answer, asked)
    return _written(
        success=True,
        content=content,
        citations=[source.url for source in sources],
        web_results=[{"title": s.title, "url": s.url, "snippet": s.snippet} for s in sources],
        model=answer.model or asked.model,
        query=query,
        **({"notes": list(notes)} if notes else {}),
    )


def failure(error: PerplexityError, *, query: JSON) -> Failure:
    """Return a failure, whose kind stands before the colon."""
    told = f"{_kind(error)}: {error.message}"
    return Failure(_written(success=False, error=told, query=query if isinstance(query, str) else None, results=[]))


def _kind(error: PerplexityError) -> str:
    if isinstance(error, (AuthenticationError, MissingKey)):
        return "Authentication failed"
    return "Rate limit exceeded" if isinstance(error, RateLimitError) else "Search failed"


def _numbered(answer: Answer) -> tuple[str, tuple[Source, ...]]:
    """Return the text and its sources as a list counts them; a service may have left out numbers."""
    if [source.number for source in answer.sources] == list(range(1, len(answer.sources) + 1)):
        return without_orphans(answer.text, answer.sources)[0], answer.sources
    cited = cite(answer.text, answer.sources)
    return cited.text, (*cited.sources, *cited.others)


def _written(**result: JSON) -> str:
    return text(encode(result))
