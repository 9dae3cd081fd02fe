"""The arguments of a call → a question to a provider → the text of the result."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from perplexity.computing import computed
from perplexity.errors import StreamTruncated
from perplexity.fallback import Fallback
from perplexity.filters import Filters, parse_country, validate
from perplexity.freshness import with_as_of
from perplexity.mcp_server.progress import Progress
from perplexity.mcp_server.texts import pages_text, response_text
from perplexity.models import Effort
from perplexity.nothing_found import nothing_found
from perplexity.queries import checked_messages
from perplexity.types import JSON, Answer, Done, Event, Message, Query, Question, SearchQueries, Sources, TextDelta

Answering = Callable[[Mapping[str, JSON], Fallback, Progress], Awaitable[str]]
"""Takes arguments that fit the schema and returns the text. Raises any PerplexityError."""

GO_ON = "Please continue."
"""The user's turn after an assistant's: the services answer nothing else."""

_RESULTS = 10
_TOKENS_PER_PAGE = 1024


async def found(arguments: Mapping[str, JSON], chain: Fallback, progress: Progress) -> str:
    """Return the pages for a query."""
    country = arguments.get("country")
    query = Query(
        text=arguments["query"],
        filters=_filters(arguments, country=None if country is None else parse_country(country)),
        max_results=int(arguments.get("max_results", _RESULTS)),
        max_tokens_per_page=int(arguments.get("max_tokens_per_page", _TOKENS_PER_PAGE)),
        fast=arguments.get("search_type") == "fast",
    )
    return pages_text(await chain.search(query), nothing=nothing_found(query.text, query.filters))


def responded(effort: Effort) -> Answering:
    """Return what answers a conversation with this effort."""

    async def answering(arguments: Mapping[str, JSON], chain: Fallback, progress: Progress) -> str:
        messages = [Message(role=told["role"], content=told["content"]) for told in arguments["messages"]]
        question = Question(
            messages=checked_messages(asking(messages)),
            model=effort,
            filters=_filters(arguments),
            context=arguments.get("search_context_size"),
            # Who called gets no id to come back with: a call that is cancelled cancels its run.
            resumable=False,
        )
        async with progress.beating(), aclosing(chain.stream(question)) as events:
            answer = await _watched(events, progress)
        return response_text(await computed(with_as_of, answer, question, now=time.time()))

    return answering


def without_result(arguments: Mapping[str, JSON]) -> str:
    """Return what to say when nothing was found for a call with these arguments. Raises InvalidRequest."""
    asked = arguments["query"] if "query" in arguments else arguments["messages"][-1]["content"]
    return nothing_found(asked, _filters(arguments))


def asking(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation that ends with the user's turn, as the services want it; one without messages as it is.

    System messages at its end go before the other messages, and if there are no others the last one is the question.
    After an assistant's turn the user asks to go on.
    """
    end = next((place for place, message in reversed(list(enumerate(messages))) if message.role != "system"), -1)
    turns, instructions = list(messages[: end + 1]), list(messages[end + 1 :])
    if not turns:
        return [*instructions[:-1], *(replace(message, role="user") for message in instructions[-1:])]
    more = [Message(role="user", content=GO_ON)] if turns[-1].role == "assistant" else []
    return [*instructions, *turns, *more]


async def _watched(events: AsyncIterator[Event], progress: Progress) -> Answer:
    told = ""
    async for event in events:
        if isinstance(event, Done):
            return event.answer
        doing = _doing(event)
        if doing != told:
            await progress.tell(doing)
        told = doing
    raise StreamTruncated("the stream ended without its last event")


def _doing(event: Event) -> str:
    if isinstance(event, SearchQueries):
        return f"Searching: {' · '.join(event.queries)}"
    if isinstance(event, Sources):
        return f"Reading {len(event.sources)} pages"
    return "Writing the answer" if isinstance(event, TextDelta) else "Begun"


def _filters(arguments: Mapping[str, JSON], *, country: str | None = None) -> Filters:
    return validate(
        Filters(
            recency=arguments.get("search_recency_filter"),
            domains=tuple(arguments.get("search_domain_filter", ())),
            country=country,
        )
    )
