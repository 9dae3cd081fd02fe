"""websearch: an answer by the first of the configured services that gives one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from perplexity.citations import format_result
from perplexity.deadlines import Deadlines
from perplexity.errors import AllProvidersFailed, PerplexityError
from perplexity.fallback import Fallback
from perplexity.providers import opened
from perplexity.providers.base import Provider
from perplexity.queries import parse_query
from perplexity.tools.access import setup_from
from perplexity.tools.base import Failure, Tool
from perplexity.tools.faults import explain
from perplexity.types import JSON, Answer, AnswerKind, Attempt, Message, Question

NAME = "websearch"
DESCRIPTION = """\
Searches the web and answers a question from what it finds, with numbered references.
It asks Perplexity, and other search services where Perplexity cannot answer, and says which one served."""
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The question to answer, or what to search for"}},
    "required": ["query"],
    "additionalProperties": False,
}
SECONDS = 60.0


def create_websearch_tool(provider: Provider) -> Tool:
    """Return the tool; its handler takes `query` and returns an answer, its references and who served it.

    `provider` answers: a `Fallback`, whose own deadlines hold too, or any single one.
    """

    async def handler(query: str) -> str:
        try:
            message = Message(role="user", content=parse_query(query))
            answer = await provider.answer(Question(messages=(message,), seconds=SECONDS))
        except AllProvidersFailed as error:
            why = reasons(error.attempts) or "no service is configured"
            return Failure(f"[{NAME} failed: {why}]", cost_usd=error.cost_usd)
        except PerplexityError as error:
            return explain(NAME, error, seconds=SECONDS)
        return "\n\n".join([format_result(answer), " ".join([served(answer), *answer.notes])])

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def chain(providers: Sequence[Provider]) -> Fallback:
    """Return the providers as one, which has the tool's whole time for an answer."""
    return Fallback(providers, deadlines=Deadlines(answer=SECONDS))


async def _search(query: str) -> str:
    """Ask the services whose keys the environment holds now, and close every connection at the end."""
    try:
        async with opened(setup_from(os.environ)) as providers:
            return await create_websearch_tool(chain(providers)).handler(query)
    except PerplexityError as error:
        return explain(NAME, error, seconds=SECONDS)


def served(answer: Answer) -> str:
    """Return who served, whether a model wrote the text, and why it was not the first choice."""
    what = "Answered by" if answer.kind is AnswerKind.MODEL else "Passages, word for word and by no model, found by"
    why = reasons(answer.failed)
    return f"{what} {answer.provider}, because {why}." if why else f"{what} {answer.provider}."


def reasons(failed: tuple[Attempt, ...]) -> str:
    """Return what became of each provider that was asked before."""
    return "; ".join(f"{attempt.provider} {attempt.summary or 'failed'}" for attempt in failed)


TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_search)
"""The tool over the services whose keys the environment holds when it is called."""
