"""The tools of the server: their schemas, their handlers, their progress and their texts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace

from perplexity.citations import drop_dangling
from perplexity.errors import StreamTruncated
from perplexity.fallback import Fallback
from perplexity.filters import RECENCIES, Filters, parse_country, validate
from perplexity.freshness import add_newest_source_line
from perplexity.models import Effort
from perplexity.notes import fallback_notice, no_results_text
from perplexity.sanitize import answer_text, encode_url, one_line, strip_controls
from perplexity.threads import run_in_thread
from perplexity.tools.schemas import object_schema
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
    validate_messages,
)

HEARTBEAT_SECONDS = 10.0
"""The seconds between progress notifications of a long call; many clients give up after a minute without one."""

Report = Callable[[float, str], Awaitable[None]]
"""A function that sends a number, which must increase, and a line of text to a client that requested progress."""


class ProgressReporter:
    """Sends numbered progress notifications: https://modelcontextprotocol.io/specification (utilities, progress)."""

    def __init__(self, report: Report, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._report = report
        self._sleep = sleep
        self._reported = 0

    async def report(self, message: str) -> None:
        """Report the current activity."""
        self._reported += 1
        await self._report(self._reported, message)

    @asynccontextmanager
    async def heartbeat(self) -> AsyncIterator[None]:
        """In the block, report every few seconds that the call is still running."""
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
            await self.report("Still working")


def pages_text(results: SearchResults, *, nothing: str = "No pages were found.") -> str:
    """Return the pages as text, each with its number, title, address, excerpt and date.

    A fallback notice precedes the pages, and notes follow them. `nothing` replaces the pages if there are none.
    """
    pages = [_page(number, source) for number, source in enumerate(results.results, 1)]
    found = [f"Found {len(pages)} pages:", *pages] if pages else [nothing]
    return strip_controls("\n\n".join(filter(None, (fallback_notice(results), *found, *results.notes))))


def response_text(answer: Answer) -> str:
    """Return the answer as text, with notices before it, and its notes and numbered addresses after it."""
    text, _ = drop_dangling(answer_text(answer), answer.sources)
    above = [*filter(None, (fallback_notice(answer), answer.as_of))]
    cut = [f"The answer is incomplete ({answer.incomplete})."] if answer.incomplete else []
    cited = [f"[{source.number}] {encode_url(source.url)}" for source in answer.sources]
    citations = ["\n".join(["Citations:", *cited])] if cited else []
    return strip_controls("\n\n".join([*above, text, *cut, *answer.notes, *citations]))


def _page(number: int, source: Source) -> str:
    lines = [f"{number}. {one_line(source.title)}", f"URL: {encode_url(source.url)}", one_line(source.snippet)]
    return "\n   ".join([*filter(None, lines), *([f"Date: {one_line(source.date)}"] if source.date else [])])


ToolHandler = Callable[[Mapping[str, JSON], Fallback, ProgressReporter], Awaitable[str]]
"""A function that takes valid arguments and returns the text of the result. It raises any PerplexityError."""

CONTINUE = "Please continue."
"""The user message that is added after an assistant's message, because services answer only user messages."""

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
    """Return the handler that answers a conversation with this effort."""

    async def handler(arguments: Mapping[str, JSON], chain: Fallback, progress: ProgressReporter) -> str:
        messages = [Message(role=turn["role"], content=turn["content"]) for turn in arguments["messages"]]
        question = Question(
            messages=validate_messages(end_with_user_turn(messages)),
            model=effort,
            filters=_filters(arguments),
            context=arguments.get("search_context_size"),
            # The client gets no id with which to resume, so a cancelled call cancels its run.
            resumable=False,
        )
        async with progress.heartbeat(), aclosing(chain.stream(question)) as events:
            answer = await _consume(events, progress)
        return response_text(await run_in_thread(add_newest_source_line, answer, question, now=time.time()))

    return handler


def nothing_found_text(arguments: Mapping[str, JSON]) -> str:
    """Return the text for a call with these arguments that found nothing. Raises InvalidRequest."""
    text = arguments["query"] if "query" in arguments else arguments["messages"][-1]["content"]
    return no_results_text(text, _filters(arguments))


def end_with_user_turn(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation with a user message at its end, as services require; an empty conversation is unchanged.

    System messages at the end move to the front. If all messages are system messages, the last one becomes the user's.
    If an assistant's message is then last, the user message `CONTINUE` is added.
    """
    end = next((place for place, message in reversed(list(enumerate(messages))) if message.role != "system"), -1)
    turns, instructions = list(messages[: end + 1]), list(messages[end + 1 :])
    if not turns:
        return [*instructions[:-1], *(replace(message, role="user") for message in instructions[-1:])]
    more = [Message(role="user", content=CONTINUE)] if turns[-1].role == "assistant" else []
    return [*instructions, *turns, *more]


async def _consume(events: AsyncIterator[Event], progress: ProgressReporter) -> Answer:
    reported = ""
    async for event in events:
        if isinstance(event, Done):
            return event.answer
        activity = _describe(event)
        if activity != reported:
            await progress.report(activity)
        reported = activity
    raise StreamTruncated("the stream ended without its last event")


def _describe(event: Event) -> str:
    if isinstance(event, SearchQueries):
        return f"Searching: {' · '.join(event.queries)}"
    if isinstance(event, Sources):
        return f"Reading {len(event.sources)} pages"
    return "Writing the answer" if isinstance(event, TextDelta) else "Started"


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
    "items": object_schema(
        {
            "role": {"type": "string", "enum": ["system", "user", "assistant"], "description": "Who said it"},
            "content": {"type": "string", "description": "What was said"},
        },
        required=["role", "content"],
    ),
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
    """A tool of the server. Its `handler` returns the text of the result.

    The structured result is an object whose only field has the name `field` and contains this text; `returns` is the
    description of the field. A call of a `deep` tool takes minutes and costs dollars. Arguments other than `properties`
    are ignored, because clients of older versions send such arguments.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, JSON]
    required: str
    field: str
    returns: str
    handler: ToolHandler
    deep: bool = False

    @property
    def input_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the arguments."""
        return object_schema(self.properties, required=[self.required])

    def drop_unknown(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the arguments without unknown ones, and their messages without unknown fields."""
        given = {name: value for name, value in arguments.items() if name in self.properties}
        messages = given.get("messages")
        if isinstance(messages, list):
            given["messages"] = [_drop_unknown_fields(message) for message in messages]
        return given

    @property
    def output_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the structured result."""
        return object_schema({self.field: {"type": "string", "description": self.returns}}, required=[self.field])


def _drop_unknown_fields(message: JSON) -> JSON:
    known = _MESSAGES["items"]["properties"]
    return {name: message[name] for name in message if name in known} if isinstance(message, dict) else message


def _answering(effort: Effort, *, name: str, title: str, description: str) -> McpTool:
    deep = effort == "high"
    return McpTool(
        name=name,
        title=title,
        description=description,
        properties={"messages": _MESSAGES} if deep else {"messages": _MESSAGES, **_FILTERS, **_CONTEXT},
        required="messages",
        field="response",
        returns=_RESPONSE,
        handler=answer_with(effort),
        deep=deep,
    )


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
    _answering(
        "fast",
        name="perplexity_ask",
        title="Ask Perplexity",
        description=(
            "Answers a question from the web, with numbered citations; the quickest and cheapest answer. "
            "perplexity_reason thinks longer, perplexity_research looks much further."
        ),
    ),
    _answering(
        "medium",
        name="perplexity_reason",
        title="Advanced Reasoning",
        description=(
            "Thinks a question through step by step, with what the web says about it and numbered citations. For "
            "comparisons, mathematics, logic and arguments; perplexity_ask is quicker."
        ),
    ),
    _answering(
        "high",
        name="perplexity_research",
        title="Deep Research",
        description=(
            "Researches a topic in depth over many sources and reports with numbered citations. It takes minutes; "
            "perplexity_ask takes seconds."
        ),
    ),
)
