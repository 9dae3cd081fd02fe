"""websearch: an answer from the first configured service that can answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from perplexity.citations import format_result
from perplexity.errors import PerplexityError
from perplexity.freshness import add_newest_source_line
from perplexity.notes import answer_notes, fallback_notice, no_results_text
from perplexity.providers.base import OnAttempt, Provider
from perplexity.threads import run_in_thread
from perplexity.tools.base import Tool, chain_failure_text
from perplexity.tools.environment import chain_handler, with_reporting
from perplexity.tools.schemas import object_schema
from perplexity.types import Answer, AnswerKind, Message, Question, parse_query

NAME = "websearch"
DESCRIPTION = """\
Searches the web and answers a question from what it finds, with numbered references.
It asks Perplexity, and other search services if Perplexity cannot answer, and says which one served."""
PARAMETERS = object_schema(
    {"query": {"type": "string", "description": "The question to answer, or what to search for"}}, required=["query"]
)
SECONDS = 60.0


def create_websearch_tool(
    provider: Provider, *, now: Callable[[], float] = time.time, on_attempt: OnAttempt | None = None
) -> Tool:
    """Return the tool; its handler takes `query` and returns an answer, its references and the provider.

    `provider` is a `Fallback`, whose own deadlines apply too, or a single provider. `now` returns seconds since
    1970. `on_attempt` is called after each attempt; the default logs it.
    """
    return _tool(with_reporting(provider, on_attempt), now=now)


def _tool(provider: Provider, *, now: Callable[[], float] = time.time, notes: Sequence[str] = ()) -> Tool:
    """Return the tool; `notes` are part of every result."""

    async def handler(query: str) -> str:
        try:
            message = Message(role="user", content=parse_query(query))
            question = Question(messages=(message,), seconds=SECONDS)
            answer = await run_in_thread(add_newest_source_line, await provider.answer(question), question, now=now())
        except PerplexityError as error:
            return chain_failure_text(NAME, error, seconds=SECONDS, nothing=no_results_text(query), notes=notes)
        above = " ".join(filter(None, (fallback_notice(answer), answer.as_of)))
        parts = (above, format_result(answer), " ".join([provenance(answer), *answer_notes(answer), *notes]))
        return "\n\n".join(filter(None, parts))

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def provenance(answer: Answer) -> str:
    """Return a sentence on the provider, and on whether a model wrote the text."""
    what = "Answered by" if answer.kind is AnswerKind.MODEL else "Passages, word for word and by no model, found by"
    return f"{what} {answer.provider}."


_search = chain_handler(_tool, name=NAME, seconds=SECONDS)
TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_search)
"""The tool, which uses the services whose keys are set in the environment at each call."""
