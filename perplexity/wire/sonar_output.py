"""A chat completion → an answer. Pure. Fields that are not known here are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perplexity.errors import MalformedResponse, PerplexityError, RunFailed
from perplexity.types import JSON, Answer, Source, Usage
from perplexity.wire.errors import PERPLEXITY, Dialect, clean, error_for, error_of, status_of
from perplexity.wire.reading import cost_of, mapping, mappings, text, whole
from perplexity.wire.sources import merge
from perplexity.wire.writing import encode


def read(body: Mapping[str, JSON], *, provider: str, dialect: Dialect = PERPLEXITY) -> Answer:
    """Return the answer of a whole response. Raises as `failure` and `answer_of` say."""
    if body.get("error"):
        raise failure(body["error"], provider=provider, dialect=dialect, usage=body.get("usage"))
    choice = choice_of(body)
    message = mapping(choice.get("message"))
    return answer_of(
        body,
        text=text(message.get("content")),
        sources=sources_of(body, mappings(message.get("annotations"))),
        finish=text(choice.get("finish_reason")),
        provider=provider,
    )


def answer_of(
    body: Mapping[str, JSON], *, text: str, sources: tuple[Source, ...], finish: str, provider: str
) -> Answer:
    """Return the answer out of its parts and what else the response says.

    Raises RunFailed for one that was broken off, MalformedResponse for one without text.
    """
    incomplete, usage = None if finish in {"", "stop"} else clean(finish), _usage(mapping(body.get("usage")))
    if finish == "error" or (incomplete and not text.strip()):
        why = f"the answer was broken off ({incomplete})"
        raise RunFailed(why, provider=provider, cost_usd=usage.cost_usd)
    if not text.strip():
        raise MalformedResponse("the answer has no text", provider=provider, cost_usd=usage.cost_usd)
    return Answer(
        text=text,
        sources=sources,
        provider=provider,
        model=clean(body.get("model")) or None,
        incomplete=incomplete,
        usage=usage,
        id=clean(body.get("id")) or None,
    )


def choice_of(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the first choice, empty where there is none: more are never asked for."""
    return next(iter(mappings(body.get("choices"))), {})


def sources_of(body: Mapping[str, JSON], annotations: Sequence[Mapping[str, JSON]]) -> tuple[Source, ...]:
    """Return the sources: the `search_results`, else the bare `citations`, else the annotations.

    The markers in the text are places in these lists, from 1. What annotations tell of a cited address is added.
    """
    if found := _numbered(body.get("search_results")):
        return merge(found)
    cited = {text(page.get("url")): page for page in map(_cited, annotations)}
    citations = body.get("citations")
    listed = citations if isinstance(citations, list) and citations else list(cited)
    return merge(_numbered([{**cited.get(url, {}), "url": url} for url in map(text, listed)]))


def cited_address(annotation: Mapping[str, JSON]) -> str:
    """Return the address that an annotation is about, empty if it names none."""
    return text(_cited(annotation).get("url"))


def failure(error: JSON, *, provider: str, dialect: Dialect = PERPLEXITY, usage: JSON = None) -> PerplexityError:
    """Return the exception for the `error` object inside an HTTP 200; its `code` may be what the status should be.

    `usage` is the response's own: a failed answer may be charged, too.
    https://openrouter.ai/docs/api-reference/errors
    """
    told = mapping(error)
    code = status_of(told)
    if code is not None:
        body = encode({"error": error}).encode(errors="replace")
        failed = error_for(code, {}, body, provider=provider, dialect=dialect, now=0.0)
    else:
        otherwise = clean(error) or "the answer failed"
        failed = error_of(told, provider=provider, otherwise=otherwise)
    failed.cost_usd = cost_of(usage)
    return failed


def _numbered(pages: JSON) -> list[Mapping[str, JSON]]:
    """Return the pages of a list with their places as ids, so that one that is left out moves no other."""
    listed = pages if isinstance(pages, list) else []
    return [{**page, "id": place} for place, page in enumerate(listed, start=1) if isinstance(page, dict)]


def _cited(annotation: Mapping[str, JSON]) -> Mapping[str, JSON]:
    cited = mapping(annotation.get("url_citation"))
    return {"url": cited.get("url"), "title": cited.get("title"), "snippet": cited.get("content")}


def _usage(usage: Mapping[str, JSON]) -> Usage:
    """Return tokens and dollars; OpenRouter's `cost` is the number itself."""
    details = mapping(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=whole(usage.get("prompt_tokens")),
        output_tokens=whole(usage.get("completion_tokens")),
        reasoning_tokens=whole(usage.get("reasoning_tokens", details.get("reasoning_tokens"))),
        searches=whole(usage.get("num_search_queries")),
        cost_usd=cost_of(usage),
    )
