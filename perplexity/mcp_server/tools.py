"""Progress notifications of one call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace

from perplexity.citations import without_orphans
from perplexity.errors import StreamTruncated
from perplexity.fallback import Fallback
from perplexity.filters import RECENCIES, Filters, parse_country, validate
from perplexity.freshness import add_newest_source_line
from perplexity.models import Effort
from perplexity.notes import fallback_notice, no_results_text
from perplexity.sanitize import answer_text, encode_url, one_line, strip_controls
from perplexity.threads import run_in_thread
from perplexity.types import (
    JSON,
    Answer,
    Done,
    Event,
    Message,
    Query,
    Question,
    SearchQueries,
    SearchResults,
    Source,
    Sources,
    TextDelta,
)
from perplexity.validation import validate_messages

HEARTBEAT_SECONDS = 10.0
"""How often a call that takes minutes says that it is still at work; many clients give up after a silent minute."""

Report = Callable[[float, str], Awaitable[None]]
"""Sends a number, which only grows, and a line for people; nothing where the client asked for no progress."""


class ProgressReporter:
    """Counts what is told: https://modelcontextprotocol.io/specification (utilities, progress)."""

    def __init__(self, report: Report, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._report = report
        self._sleep = sleep
        self._told = 0

    async def report(self, message: str) -> None:
        """Tell what is being done now."""
        self._told += 1
        await self._report(self._told, message)

    @asynccontextmanager
    async def heartbeat(self) -> AsyncIterator[None]:
        """Say every few seconds that the call is still at work."""
        beat = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _beat(self) -> None:
        while True:
            await self._sleep(HEARTBEAT_SECONDS)
            await self.report("Still at work")


def pages_text(results: SearchResults, *, nothing: str = "No pages were found.") -> str:
    """Return who stands in, if anyone does, and the pages, each with its number, title, address, text and date.

    `nothing` stands in for the pages if there are none.
    """
    pages = [_page(number, source) for number, source in enumerate(results.results, 1)]
    found = [f"Found {len(pages)} pages:", *pages] if pages else [nothing]
    return strip_controls("\n\n".join(filter(None, (fallback_notice(results), *found, *results.notes))))


def response_text(answer: Answer) -> str:
    """Return the answer, remarks on how it came about, and at its end the addresses that its numbers stand for.

    Who stands in, and that no source is as new as was asked for, comes first.
    """
    text, _ = without_orphans(answer_text(answer), answer.sources)
    above = [*filter(None, (fallback_notice(answer), answer.as_of))]
    cut = [f"The answer is incomplete ({answer.incomplete})."] if answer.incomplete else []
    cited = [f"[{source.number}] {encode_url(source.url)}" for source in answer.sources]
    citations = ["\n".join(["Citations:", *cited])] if cited else []
    return strip_controls("\n\n".join([*above, text, *cut, *answer.notes, *citations]))


def _page(number: int, source: Source) -> str:
    lines = [f"{number}. {one_line(source.title)}", f"URL: {encode_url(source.url)}", one_line(source.snippet)]
    return "\n   ".join([*filter(None, lines), *([f"Date: {one_line(source.date)}"] if source.date else [])])


ToolHandler = Callable[[Mapping[str, JSON], Fallback, ProgressReporter], Awaitable[str]]
"""Takes arguments that fit the schema and returns the text. Raises any PerplexityError."""

CONTINUE = "Please continue."
"""The user's turn after an assistant's: the services answer nothing else."""

_DEFAULT_RESULTS = 10
_TOKENS_PER_PAGE = 1024


async def search(arguments: Mapping[str, JSON], chain: Fallback, progress: ProgressReporter) -> str:
    """Return the pages for a query."""
    country = arguments.get("country")
    query = Query(
        text=arguments["query"],
        filters=_filters(arguments, country=None if country is None else parse_country(country)),
        max_results=int(arguments.get("max_results", _DEFAULT_RESULTS)),
        max_tokens_per_page=int(arguments.get("max_tokens_per_page", _TOKENS_PER_PAGE)),
        fast=arguments.get("search_type") == "fast",
    )
    return pages_text(await chain.search(query), nothing=no_results_text(query.text, query.filters))


def answer_with(effort: Effort) -> ToolHandler:
    """Return what answers a conversation with this effort."""

    async def answering(arguments: Mapping[str, JSON], chain: Fallback, progress: ProgressReporter) -> str:
        messages = [Message(role=told["role"], content=told["content"]) for told in arguments["messages"]]
        question = Question(
            messages=validate_messages(end_with_user_turn(messages)),
            model=effort,
            filters=_filters(arguments),
            context=arguments.get("search_context_size"),
            # Who called gets no id to come back with: a call that is cancelled cancels its run.
            resumable=False,
        )
        async with progress.heartbeat(), aclosing(chain.stream(question)) as events:
            answer = await _watched(events, progress)
        return response_text(await run_in_thread(add_newest_source_line, answer, question, now=time.time()))

    return answering


def nothing_found_text(arguments: Mapping[str, JSON]) -> str:
    """Return what to say when nothing was found for a call with these arguments. Raises InvalidRequest."""
    asked = arguments["query"] if "query" in arguments else arguments["messages"][-1]["content"]
    return no_results_text(asked, _filters(arguments))


def end_with_user_turn(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation that ends with the user's turn, as the services want it; one without messages as it is.

    System messages at its end go before the other messages, and if there are no others the last one is the question.
    After an assistant's turn the user asks to go on.
    """
    end = next((place for place, message in reversed(list(enumerate(messages))) if message.role != "system"), -1)
    turns, instructions = list(messages[: end + 1]), list(messages[end + 1 :])
    if not turns:
        return [*instructions[:-1], *(replace(message, role="user") for message in instructions[-1:])]
    more = [Message(role="user", content=CONTINUE)] if turns[-1].role == "assistant" else []
    return [*instructions, *turns, *more]


async def _watched(events: AsyncIterator[Event], progress: ProgressReporter) -> Answer:
    told = ""
    async for event in events:
        if isinstance(event, Done):
            return event.answer
        doing = _doing(event)
        if doing != told:
            await progress.report(doing)
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


_MESSAGES: Mapping[str, JSON] = {
    "type": "array",
    "description": "The conversation so far; its last message is usually the user's",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {
            "role": {"type": "string", "enum": ["system", "user", "assistant"], "description": "Who said it"},
            "content": {"type": "string", "description": "What was said"},
        },
        "required": ["role", "content"],
        "additionalProperties": False,
    },
}
_FILTERS: Mapping[str, JSON] = {
    "search_recency_filter": {
        "type": "string",
        "enum": list(RECENCIES),
        "description": "Only pages as new as this",
    },
    "search_domain_filter": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these sites, such as ['wikipedia.org'] or, with a '-' each, all but these; at most 20",
    },
}
_CONTEXT: Mapping[str, JSON] = {
    "search_context_size": {
        "type": "string",
        "enum": ["low", "medium", "high"],
        "description": "How much of the pages is read: 'low' is fastest, 'high' the most thorough",
    },
}
_SEARCH: Mapping[str, JSON] = {
    "query": {"type": "string", "description": "What to search for"},
    "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many pages; 10 by default"},
    "max_tokens_per_page": {
        "type": "integer",
        "minimum": 256,
        "maximum": 2048,
        "description": "How many tokens of each page; 1024 by default",
    },
    "country": {"type": "string", "description": "Pages that matter in this country, two letters such as 'US'"},
    **_FILTERS,
    "search_type": {
        "type": "string",
        "enum": ["web", "fast"],
        "description": "'web', the default, or 'fast': quicker and cheaper, for routine look-ups",
    },
}


_RESULTS = "The pages, numbered, each with its title, address, text and date"
_RESPONSE = "The answer; its numbers such as [1] refer to the list of citations at its end"


@dataclass(frozen=True, kw_only=True)
class McpTool:
    """One tool: its `handler` makes the text, which is also the `field` of the structured result.

    `returns` describes that field. Arguments beyond `properties` are not announced, but ignored, as clients of older
    versions send some.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, JSON]
    required: str
    field: str
    returns: str
    handler: ToolHandler

    @property
    def input_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the arguments."""
        return _object(self.properties, required=self.required)

    def drop_unknown(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the arguments without those that the schema does not have, in messages too."""
        given = {name: value for name, value in arguments.items() if name in self.properties}
        messages = given.get("messages")
        if isinstance(messages, list) and "messages" in self.properties:
            given["messages"] = [_without_strangers(message) for message in messages]
        return given

    @property
    def output_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the structured result."""
        return _object({self.field: {"type": "string", "description": self.returns}}, required=self.field)


def _object(properties: Mapping[str, JSON], *, required: str) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [required],
        "additionalProperties": False,
    }


def _without_strangers(message: JSON) -> JSON:
    known = _MESSAGES["items"]["properties"]
    return {name: message[name] for name in message if name in known} if isinstance(message, dict) else message


MCP_TOOLS: tuple[McpTool, ...] = (
    McpTool(
        name="perplexity_search",
        title="Search the Web",
        description=(
            "Searches the web and lists the best pages: title, address, date and what they say. No model writes "
            "anything. For finding pages, checking facts and recent news; perplexity_ask gives a written answer."
        ),
        properties=_SEARCH,
        required="query",
        field="results",
        returns=_RESULTS,
        handler=search,
    ),
    McpTool(
        name="perplexity_ask",
        title="Ask Perplexity",
        description=(
            "Answers a question from the web, with numbered citations; the quickest and cheapest answer. "
            "perplexity_reason thinks longer, perplexity_research looks much further."
        ),
        properties={"messages": _MESSAGES, **_FILTERS, **_CONTEXT},
        required="messages",
        field="response",
        returns=_RESPONSE,
        handler=answer_with("fast"),
    ),
    McpTool(
        name="perplexity_reason",
        title="Advanced Reasoning",
        description=(
            "Thinks a question through step by step, with what the web says about it and numbered citations. For "
            "comparisons, mathematics, logic and arguments; perplexity_ask is quicker."
        ),
        properties={"messages": _MESSAGES, **_FILTERS, **_CONTEXT},
        required="messages",
        field="response",
        returns=_RESPONSE,
        handler=answer_with("medium"),
    ),
    McpTool(
        name="perplexity_research",
        title="Deep Research",
        description=(
            "Researches a topic in depth over many sources and reports with numbered citations. It takes minutes; "
            "perplexity_ask takes seconds."
        ),
        properties={"messages": _MESSAGES},
        required="messages",
        field="response",
        returns=_RESPONSE,
        handler=answer_with("high"),
    ),
)
