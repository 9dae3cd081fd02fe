"""How a run ends: the final answer, passages of what a stopped run found, or an error of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse

from perplexity.agent.results import SourceRegistry
from perplexity.attempts import total_cost
from perplexity.citations import cite, without_orphans, without_strangers
from perplexity.domains import filter_results
from perplexity.errors import ConnectionFailed, MalformedResponse, NothingFound, PerplexityError, RunFailed, TimedOut
from perplexity.passages import passages_answer
from perplexity.providers.openrouter import ERROR_MAP
from perplexity.types import Answer, Question, SearchResults, Usage
from perplexity.validation import shorten_text
from perplexity.wire import json
from perplexity.wire.errors import error_from_status
from perplexity.wire.json import encode

UNSEARCHED = "The agent searched for nothing: it answered from memory, so check the answer elsewhere."
NO_PAGES = "The agent found no pages: it answered from memory, so check the answer elsewhere."
UNCITED = "The agent cites none of the pages that it found, so you can’t check what its answer rests on."


def final_answer(text: str, messages: Sequence[ModelMessage], registry: SourceRegistry, *, provider: str) -> Answer:
    """Return the answer without references to unknown pages, and with a note if it cites no page at all.

    Raises MalformedResponse if no text is left.
    """
    kept, cut = shorten_text(json.as_text(text))
    kept, addresses = without_strangers(kept, registry.sources)
    kept, numbers = without_orphans(kept, registry.sources)
    if not kept.strip():
        raise MalformedResponse("the model's answer is empty", provider=provider)
    return Answer(
        text=kept,
        sources=registry.sources,
        provider=provider,
        model=_model(messages),
        queries=tuple(registry.queries),
        incomplete="length" if any(r.finish_reason == "length" for r in _responses(messages)[-1:]) else None,
        usage=_usage(messages, registry),
        stand_in=" ".join(registry.stand_ins),
        notes=tuple(
            filter(None, (*cut, _source_warning(kept, registry), *_removal_notes(numbers, addresses), *registry.notes))
        ),
    )


def partial_answer(
    error: PerplexityError,
    messages: Sequence[ModelMessage],
    registry: SourceRegistry,
    question: Question,
    *,
    provider: str,
) -> Answer:
    """Return passages of what a stopped run found. Raises the error, with the cost of the run, if there are none."""
    try:
        pages = SearchResults(results=registry.sources, provider=provider)
        found = passages_answer(filter_results(pages, question.filters.domains), question.text)
    except NothingFound:
        error.cost_usd = _usage(messages, registry).cost_usd
        raise error from None
    return replace(
        found,
        model=_model(messages),
        queries=tuple(registry.queries),
        usage=_usage(messages, registry),
        stand_in=" ".join(registry.stand_ins),
        notes=(*found.notes, *registry.notes),
    )


def model_cost(messages: Sequence[ModelMessage]) -> float | None:
    """Return the cost of the model's calls in US dollars, as far as it is known; None if none is."""
    return total_cost(_cost(response) for response in _responses(messages))


def _source_warning(text: str, registry: SourceRegistry) -> str | None:
    if not registry.sources:
        return NO_PAGES if registry.calls else UNSEARCHED
    return None if cite(text, registry.sources).sources else UNCITED


def _removal_notes(numbers: int, addresses: int) -> Iterator[str]:
    if numbers:
        references = "1 reference was" if numbers == 1 else f"{numbers} references were"
        yield f"{references} removed: no page that the agent found has that number."
    if addresses:
        places = "1 address was" if addresses == 1 else f"{addresses} addresses were"
        yield f"{places} removed: no page that the agent found is there."


def _responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    """Return the responses of this run; those of earlier turns have no model name."""
    return [message for message in messages if isinstance(message, ModelResponse) and message.model_name is not None]


def _model(messages: Sequence[ModelMessage]) -> str | None:
    """Return the model that answered, which may differ from the requested one."""
    return next((response.model_name for response in reversed(_responses(messages)) if response.model_name), None)


def _usage(messages: Sequence[ModelMessage], registry: SourceRegistry) -> Usage:
    """Return the usage of the run; its cost is that of the model and of the tools, as far as it is known."""
    made = [response.usage for response in _responses(messages)]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in made),
        output_tokens=sum(usage.output_tokens for usage in made),
        reasoning_tokens=sum(usage.output_reasoning_tokens for usage in made),
        searches=registry.calls,
        cost_usd=total_cost([model_cost(messages), *registry.costs]),
    )


def _cost(response: ModelResponse) -> float | None:
    """Return the cost that the endpoint reports, as OpenRouter does, or that of the model's list price."""
    said = (response.provider_details or {}).get("cost", response.usage.cost)
    return None if said is None else float(said)


_ERRORS: Sequence[tuple[type[Exception], type[PerplexityError], str]] = (
    (ModelTimeoutError, TimedOut, "the model did not answer in time"),
    (ModelRequestTimeout, TimedOut, "the model did not answer in time"),
    (ModelConnectionError, ConnectionFailed, "no connection to the model"),
    (ContentFilterError, RunFailed, "the model's answer was held back"),
    (UnexpectedModelBehavior, MalformedResponse, "the model's answer cannot be read"),
    (UsageLimitExceeded, RunFailed, "the run used all its steps without an answer"),
    (Exception, RunFailed, "the run failed unexpectedly"),
)
"""The first matching class counts; subclasses come before their bases."""


def translate_error(error: Exception, *, provider: str, now: float) -> PerplexityError:
    """Return the failure of a run as an error of ours, without the library's message, which quotes what was sent.

    The library's own failures are AgentRunError. Any other exception, such as an IndexError for a response without a
    choice, or one from a foreign tool, is a RunFailed. `now` is in seconds since 1970.
    """
    if isinstance(error, ModelHTTPError):
        return _from_status(error, provider=provider, now=now)
    kind, message = next((ours, message) for theirs, ours, message in _ERRORS if isinstance(error, theirs))
    return kind(message, provider=provider)


def _from_status(error: ModelHTTPError, *, provider: str, now: float) -> PerplexityError:
    """Classify a status as for any other endpoint; compatible endpoints use the statuses of OpenRouter."""
    message = {"message": error.body} if isinstance(error.body, str) else error.body
    body = encode({"error": message}, default=str).encode(errors="replace") if message else b""
    return error_from_status(
        error.status_code, error.headers or {}, body, provider=provider, error_map=ERROR_MAP, now=now
    )
