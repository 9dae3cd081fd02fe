"""news_summary: the stories of a category, from the first configured service that has any."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from perplexity.citations import format_result
from perplexity.errors import PerplexityError
from perplexity.filters import Filters
from perplexity.news.summary import CATEGORIES, as_answer, default_to_past_day, format_time, news_stand_in, news_summary
from perplexity.notes import no_news_text
from perplexity.providers.base import OnAttempt, Provider
from perplexity.tools.base import Tool, chain_failure_text
from perplexity.tools.environment import chain_handler, with_reporting
from perplexity.tools.schemas import object_schema

NAME = "news_summary"
DESCRIPTION = """\
Returns today's 5 to 8 most important news stories of a category, each with its headline, date, one sentence and
numbered references. A story that several sites tell is listed once. Name a topic to narrow them."""
PARAMETERS = object_schema(
    {
        "category": {"type": "string", "enum": list(CATEGORIES), "description": "The kind of news"},
        "topic": {
            "type": "string",
            "default": "",
            "description": "What the news shall be about, in a few words; empty for anything",
        },
    },
    required=["category"],
)
SECONDS = 60.0


def create_news_summary_tool(
    provider: Provider, *, now: Callable[[], float] = time.time, on_attempt: OnAttempt | None = None
) -> Tool:
    """Return the tool; its handler takes `category` and `topic` and returns stories, their references and the provider.

    `provider` is a `Fallback`, whose own deadlines apply too, or a single provider. `now` returns seconds since
    1970. `on_attempt` is called after each attempt; the default logs it.
    """
    return _tool(with_reporting(provider, on_attempt), now=now)


def _tool(provider: Provider, *, now: Callable[[], float] = time.time, notes: Sequence[str] = ()) -> Tool:
    """Return the tool; `notes` are part of every result."""

    async def handler(category: str, topic: str = "") -> str:
        try:
            moment = datetime.fromtimestamp(now(), UTC)
            summary = await news_summary(provider, category=category, topic=topic, now=moment, seconds=SECONDS)
        except PerplexityError as error:
            nothing = no_news_text(category, topic, default_to_past_day(Filters()))
            return chain_failure_text(NAME, error, seconds=SECONDS, nothing=nothing, notes=notes)
        served = f"Found by {summary.provider}. As of {format_time(summary)}."
        below = " ".join([served, *summary.notes, *notes])
        parts = (news_stand_in(summary), format_result(as_answer(summary)), below)
        return "\n\n".join(filter(None, parts))

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


_summarize = chain_handler(_tool, name=NAME, seconds=SECONDS)
TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_summarize)
"""The tool, which uses the services whose keys are set in the environment at each call."""
