"""Two tools for an agent: one searches with a provider, one asks it, both within the question's filters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
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
from perplexity.types import JSON, Message, Query, Question, Source
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
    {
        "query": {"type": "string", "description": "The search query, in the words that the pages would use"},
    },
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
        return (_search(provider, question.filters), _ask(provider, question.filters))

    return tools_for


def _search(provider: Provider, filters: Filters) -> Tool:
    async def search_pages(query: str) -> str:
        results = await provider.search(Query(text=query, filters=filters))
        return _encode_result(
            sources=results.results,
            notes=results.notes,
            stand_in=agent_fallback_notice(results),
            cost_usd=cost_with_failures(results.cost_usd, results.failed),
        )

    return Tool(
        name=SEARCH,
        description=_SEARCH_DESCRIPTION,
        parameters=_SEARCH_PARAMETERS,
        handler=_with_failures(SEARCH, search_pages, filters),
    )


def _ask(provider: Provider, filters: Filters) -> Tool:
    async def answer_prompt(prompt: str, reasoning: bool) -> str:
        messages = (Message(role="user", content=prompt),)
        answer = await provider.answer(Question(messages=messages, reasoning=reasoning, filters=filters))
        cost_usd = cost_with_failures(answer.usage.cost_usd, answer.failed)
        return _encode_result(
            content=answer_text(answer),
            sources=answer.sources,
            notes=answer.notes,
            stand_in=agent_fallback_notice(answer),
            cost_usd=cost_usd,
        )

    return Tool(
        name=ASK,
        description=_ASK_DESCRIPTION,
        parameters=_ASK_PARAMETERS,
        handler=_with_failures(ASK, answer_prompt, filters),
    )


def _with_failures(
    name: str, handler: Callable[..., Awaitable[str]], filters: Filters
) -> Callable[..., Awaitable[str]]:
    """Return a handler that reports a PerplexityError to the model instead of raising it."""

    async def safe(**arguments: JSON) -> str:
        try:
            return await handler(**arguments)
        except PerplexityError as error:
            if is_empty_result(error):
                query = arguments.get("query") or arguments.get("prompt") or ""
                with scope.within(replace(scope.current(), say=str)):
                    nothing = with_reasons(no_results_text(query, filters), error)
                return Failure(f"[{name}: {nothing}]", cost_usd=error.cost_usd)
            return Failure(f"[{name} failed: {error.message}]", cost_usd=error.cost_usd)

    return safe


def _encode_result(
    *, content: str = "", sources: Iterable[Source], notes: tuple[str, ...], stand_in: str, cost_usd: float | None
) -> str:
    """Encode a result for `parse_tool_result`; markers in `content` are the numbers of the sources."""
    results = [{"id": s.number, "title": s.title, "url": s.url, "snippet": s.snippet, "date": s.date} for s in sources]
    result = {"content": content, "results": results, "notes": notes, "stand_in": stand_in, "cost_usd": cost_usd}
    return encode(result)
