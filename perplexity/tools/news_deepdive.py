"""news_deepdive: the facts of a topic, what people say about it, and an analysis of both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from perplexity.attempts import OnAttempt
from perplexity.citations import format_result
from perplexity.errors import PerplexityError
from perplexity.news.deepdive import SECONDS as OF_STAGES
from perplexity.news.deepdive_report import figures, heading, sections
from perplexity.news.deepdive_types import DeepDive, NoStore, Stage
from perplexity.news.diver import Diver
from perplexity.nothing_found import nothing_found
from perplexity.tools.base import Tool
from perplexity.tools.diving import opened_diver, reporting_diver, usable_diver_setup
from perplexity.tools.faults import explain, explain_chain
from perplexity.types import JSON, Answer

NAME = "news_deepdive"
DESCRIPTION = """\
Investigates a topic in the news for some minutes. Returns a report in three sections: THE SITUATION (the facts, from \
web pages), THE PUBLIC PULSE (what people say in public posts) and MY ANALYSIS (of both), with numbered references.
Use it where depth is wanted; for a quick answer use another tool."""
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"topic": {"type": "string", "description": "What to look into, in a few words"}},
    "required": ["topic"],
    "additionalProperties": False,
}
SECONDS = max(OF_STAGES[Stage.SITUATION], OF_STAGES[Stage.PULSE]) + OF_STAGES[Stage.ANALYSIS]


def create_news_deepdive_tool(diver: Diver, *, on_attempt: OnAttempt | None = None) -> Tool:
    """Return the tool; its handler takes `topic` and returns the report, its references and its figures.

    `on_attempt` hears how each attempt ended; without it each is a line of the log.
    """
    return _tool(reporting_diver(diver, on_attempt))


def _tool(diver: Diver, notes: Sequence[str] = ()) -> Tool:
    """Return the tool; `notes` are said in every result."""

    async def handler(topic: str) -> str:
        try:
            # Nobody knows the run once this call is over.
            report = await diver.dive(topic, store=NoStore(), on_stage=lambda update: None, resumable=False)
        except PerplexityError as error:
            return explain_chain(NAME, error, seconds=SECONDS, nothing=nothing_found(topic), notes=notes)
        return "\n\n".join([format_result(as_answer(report)), *figures(report), *notes])

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def as_answer(report: DeepDive) -> Answer:
    """Return the report as an answer, whose text is the title and the three sections."""
    providers = dict.fromkeys(finding.provider for finding in report.findings if finding.provider)
    text = f"{heading(report)}\n\n{sections(report)}"
    return Answer(text=text, sources=report.sources, provider=", ".join(providers))


async def _dive(topic: str) -> str:
    """Ask the services whose keys the environment holds now, and close every connection at the end."""
    try:
        usable = usable_diver_setup(os.environ)
        async with opened_diver(os.environ, setup=usable.setup) as diver:
            return await _tool(diver, usable.notes).handler(topic)
    except PerplexityError as error:
        return explain(NAME, error, seconds=SECONDS)


TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_dive)
"""The tool over the services whose keys the environment holds when it is called."""
