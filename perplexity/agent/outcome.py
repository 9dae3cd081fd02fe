"""How a run ends: the model's answer with the pages it rests on, or, where it was stopped, what it had found. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelResponse

from perplexity.agent.notebook import Notebook
from perplexity.citations import cite, without_orphans, without_strangers
from perplexity.costs import total
from perplexity.domains import keep_results
from perplexity.errors import MalformedResponse, NothingFound, PerplexityError
from perplexity.lengths import within
from perplexity.passages import passages_answer
from perplexity.types import Answer, Question, SearchResults, Usage
from perplexity.wire import reading

UNSEARCHED = "The agent looked nothing up for this: it answered from memory, so check it elsewhere."
EMPTY_HANDED = "The agent found no page for this: it answered from memory, so check it elsewhere."
UNCITED = "The agent cites none of the pages that it found, so it does not say what its answer rests on."


def answered(text: str, messages: Sequence[ModelMessage], notebook: Notebook, *, provider: str) -> Answer:
    """Return the answer; what refers to no page of this run is removed, and what is left without a page is labelled.

    Raises MalformedResponse where no text is left.
    """
    kept, cut = within(reading.text(text))
    kept, addresses = without_strangers(kept, notebook.sources)
    kept, numbers = without_orphans(kept, notebook.sources)
    if not kept.strip():
        raise MalformedResponse("the model's answer is empty", provider=provider)
    return Answer(
        text=kept,
        sources=notebook.sources,
        provider=provider,
        model=_model(messages),
        queries=tuple(notebook.queries),
        incomplete="length" if any(r.finish_reason == "length" for r in _responses(messages)[-1:]) else None,
        usage=_usage(messages, notebook),
        stand_in=" ".join(notebook.stand_ins),
        notes=tuple(filter(None, (*cut, _label(kept, notebook), *_removed(numbers, addresses), *notebook.notes))),
    )


def stopped(
    error: PerplexityError, messages: Sequence[ModelMessage], notebook: Notebook, question: Question, *, provider: str
) -> Answer:
    """Return passages of what a stopped run found. Raises the error, with the run's cost, if there are none."""
    try:
        pages = SearchResults(results=notebook.sources, provider=provider)
        found = passages_answer(keep_results(pages, question.filters.domains), question.text)
    except NothingFound:
        error.cost_usd = _usage(messages, notebook).cost_usd
        raise error from None
    return replace(
        found,
        model=_model(messages),
        queries=tuple(notebook.queries),
        usage=_usage(messages, notebook),
        stand_in=" ".join(notebook.stand_ins),
        notes=(*found.notes, *notebook.notes),
    )


def model_cost(messages: Sequence[ModelMessage]) -> float | None:
    """Return what the model's part of a run cost, in US dollars, as far as its responses tell; None if none does."""
    return total(_cost(response) for response in _responses(messages))


def _label(text: str, notebook: Notebook) -> str | None:
    if not notebook.sources:
        return EMPTY_HANDED if notebook.calls else UNSEARCHED
    return None if cite(text, notebook.sources).sources else UNCITED


def _removed(numbers: int, addresses: int) -> Iterator[str]:
    if numbers:
        references = "1 reference was" if numbers == 1 else f"{numbers} references were"
        yield f"{references} removed: no page that the agent found has that number."
    if addresses:
        places = "1 address was" if addresses == 1 else f"{addresses} addresses were"
        yield f"{places} removed: no page that the agent found is there."


def _responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    """Return what the model said in this run; earlier turns of the conversation name no model."""
    return [message for message in messages if isinstance(message, ModelResponse) and message.model_name is not None]


def _model(messages: Sequence[ModelMessage]) -> str | None:
    """Return the model that answered, which may be another than the one that was asked for."""
    return next((response.model_name for response in reversed(_responses(messages)) if response.model_name), None)


def _usage(messages: Sequence[ModelMessage], notebook: Notebook) -> Usage:
    """Sum up the run; its cost is that of the model and of the tools, as far as they tell it."""
    made = [response.usage for response in _responses(messages)]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in made),
        output_tokens=sum(usage.output_tokens for usage in made),
        reasoning_tokens=sum(usage.output_reasoning_tokens for usage in made),
        searches=notebook.calls,
        cost_usd=total([model_cost(messages), *notebook.costs]),
    )


def _cost(response: ModelResponse) -> float | None:
    """Return what the endpoint says (OpenRouter's does), or what the model's list price makes it."""
    said = (response.provider_details or {}).get("cost", response.usage.cost)
    return None if said is None else float(said)
