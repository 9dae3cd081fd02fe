"""Two tools for an agent: one searches with a provider, one asks it, both within the question's filters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from perplexity import scope
from perplexity.agent.agent import ToolFactory
from perplexity.errors import PerplexityError, cost_with_failures
from perplexity.filters import Filters
from perplexity.notes import agent_fallback_notice, is_empty_result, no_results_text, with_reasons
from perplexity.providers.base import Provider
from perplexity.sanitize import answer_text
from perplexity.tools.base import Failure, Tool
from perplexity.tools.schemas import object_schema
from perplexity.types import JSON, Answer, Message, Query, Question, SearchResults
from perplexity.wire.json import encode

SEARCH = "search_pages"
ASK = "ask_web"
_SEARCH_DESCRIPTION = """\
Searches the web and returns the best pages with what they say, in a second or two. Use specific queries: "artificial \
intelligence medical diagnosis accuracy" is much better than "AI medical"."""
_ASK_DESCRIPTION = """\
Has a search service read the web and write an answer, with the pages that it rests on. Takes several seconds, with \
`reasoning` a minute. Use it if several pages must be compared or explained, not for a single fact."""
_SEARCH_PARAMETERS = object_schema(
    {"query": {"type": "string", "description": "The search query, in the words that the pages would use"}},
    required=["query"],
)
_ASK_PARAMETERS = object_schema(
    {
        "prompt": {"type": "string", "description": "The question, complete in itself"},
        "reasoning": {"type": "boolean", "description": "Whether to think longer, for inference and speculation"},
    },
    required=["prompt", "reasoning"],
)


def provider_tools(provider: Provider) -> ToolFactory:
    """Return a factory of the tools that search and ask this provider."""

    def tools_for(question: Question) -> tuple[Tool, ...]:
        filters = question.filters

        async def search_pages(query: str) -> SearchResults:
            return await provider.search(Query(text=query, filters=filters))

        async def ask_web(prompt: str, reasoning: bool) -> Answer:
            messages = (Message(role="user", content=prompt),)
            return await provider.answer(Question(messages=messages, reasoning=reasoning, filters=filters))

        return (
            Tool(
                name=SEARCH,
                description=_SEARCH_DESCRIPTION,
                parameters=_SEARCH_PARAMETERS,
                handler=_encoded(SEARCH, search_pages, filters),
            ),
            Tool(
                name=ASK,
                description=_ASK_DESCRIPTION,
                parameters=_ASK_PARAMETERS,
                handler=_encoded(ASK, ask_web, filters),
            ),
        )

    return tools_for


def _encoded(
    name: str, ask: Callable[..., Awaitable[SearchResults | Answer]], filters: Filters
) -> Callable[..., Awaitable[str]]:
    """Return a handler that encodes the reply, and reports a PerplexityError to the model instead of raising it."""

    async def handler(**arguments: JSON) -> str:
        try:
            return _encode_reply(await ask(**arguments))
        except PerplexityError as error:
            if is_empty_result(error):
                query = arguments.get("query") or arguments.get("prompt") or ""
                with scope.within(replace(scope.current(), say=str)):
                    nothing = with_reasons(no_results_text(query, filters), error)
                return Failure(f"[{name}: {nothing}]", cost_usd=error.cost_usd)
            return Failure(f"[{name} failed: {error.message}]", cost_usd=error.cost_usd)

    return handler


def _encode_reply(reply: SearchResults | Answer) -> str:
    """Encode a reply for `parse_tool_result`; markers in `content` are the numbers of the pages."""
    content, pages = (answer_text(reply), reply.sources) if isinstance(reply, Answer) else ("", reply.results)
    results = [{"id": s.number, "title": s.title, "url": s.url, "snippet": s.snippet, "date": s.date} for s in pages]
    cost_usd, stand_in = cost_with_failures(reply.cost_usd, reply.failed), agent_fallback_notice(reply)
    result = {"content": content, "results": results, "notes": reply.notes, "stand_in": stand_in, "cost_usd": cost_usd}
    return encode(result)
