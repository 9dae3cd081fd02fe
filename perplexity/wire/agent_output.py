"""A finished run of the Agent API → an answer. Pure. Items and fields that are not known here are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perplexity.errors import MalformedResponse, PerplexityError, RunFailed
from perplexity.types import JSON, Answer, Usage
from perplexity.wire.errors import clean, error_of
from perplexity.wire.reading import cost_of, mapping, mappings, text, texts, whole
from perplexity.wire.sources import merge

PROVIDER = "Perplexity"
BETWEEN_MESSAGES = "\n\n"

Items = Sequence[Mapping[str, JSON]]


def read(body: Mapping[str, JSON]) -> Answer:
    """Return the answer of a finished run.

    Raises RunFailed where the status says so, MalformedResponse for one that is not final or has no text.
    """
    output = mappings(body.get("output"))
    return answer_of(body, text=text_of(output), results=results_of(output), queries=queries_of(output))


def answer_of(body: Mapping[str, JSON], *, text: str, results: Items, queries: Sequence[str]) -> Answer:
    """Return the answer out of its parts and what else the response says. Raises as `read` does."""
    incomplete, usage = _incomplete(body), _usage(mapping(body.get("usage")))
    if not text.strip():
        if incomplete:
            why = f"the run stopped before its text ({incomplete})"
            raise RunFailed(why, provider=PROVIDER, cost_usd=usage.cost_usd)
        raise MalformedResponse("the answer has no text", provider=PROVIDER, cost_usd=usage.cost_usd)
    return Answer(
        text=text,
        sources=merge(results),
        provider=PROVIDER,
        model=clean(body.get("model")) or None,
        queries=tuple(dict.fromkeys(queries)),
        incomplete=incomplete,
        usage=usage,
        id=clean(body.get("id")) or None,
    )


def text_of(output: Items) -> str:
    """Return the text of all messages."""
    messages = ["".join(parts_of(item)) for item in output if item.get("type") == "message"]
    return BETWEEN_MESSAGES.join(message for message in messages if message)


def parts_of(message: Mapping[str, JSON]) -> list[str]:
    """Return the text of each part of one message, empty for a part that is no text."""
    parts = mappings(message.get("content"))
    return [text(part.get("text")) if part.get("type") == "output_text" else "" for part in parts]


def results_of(output: Items) -> Items:
    """Return the pages of every `search_results` item, then those that were fetched."""
    found = [page for item in output if item.get("type") == "search_results" for page in mappings(item.get("results"))]
    fetched = [
        page for item in output if item.get("type") == "fetch_url_results" for page in mappings(item.get("contents"))
    ]
    return [*found, *fetched]


def queries_of(output: Items) -> list[str]:
    """Return the searches that the model ran."""
    return [q for item in output if item.get("type") == "search_results" for q in texts(item.get("queries"))]


def failure(error: JSON, *, status: str = "", usage: JSON = None) -> PerplexityError:
    """Return the exception for the `error` object of a run or of a stream, by its type; RunFailed for any other.

    `usage` is the response's own: a failed run may be charged, too.
    """
    otherwise = clean(error) or f"the run ended as {status or 'failed'}"
    failed = error_of(mapping(error), provider=PROVIDER, otherwise=otherwise)
    failed.cost_usd = cost_of(usage)
    return failed


def _incomplete(body: Mapping[str, JSON]) -> str | None:
    """Return why the run stopped early, None when it finished; raise where it did neither."""
    status = clean(body.get("status")).lower()
    if status == "completed":
        return None
    if status == "incomplete":
        return clean(mapping(body.get("incomplete_details")).get("reason")) or "unknown"
    if status in {"failed", "cancelled", "canceled"}:
        raise failure(body.get("error"), status=status, usage=body.get("usage"))
    raise MalformedResponse(f"the run is not finished (status {status[:40]!r})", provider=PROVIDER)


def _usage(usage: Mapping[str, JSON]) -> Usage:
    searches = mapping(mapping(usage.get("tool_calls_details")).get("search_web"))
    return Usage(
        input_tokens=whole(usage.get("input_tokens")),
        output_tokens=whole(usage.get("output_tokens")),
        reasoning_tokens=whole(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
        searches=whole(searches.get("invocation")),
        cost_usd=cost_of(usage),
    )
