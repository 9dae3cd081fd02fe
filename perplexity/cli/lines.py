"""The lines around an answer or results, in either form: above, who stands in and how old it is; below, who served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perplexity.addresses import site
from perplexity.citations import cite
from perplexity.cli.printable import on_one_line
from perplexity.costs import charged
from perplexity.footer import counted, day, dollars, duration
from perplexity.stand_in import stand_in
from perplexity.tools.access import VARIABLES
from perplexity.types import Answer, AnswerKind, SearchResults, Source

PASSAGES = "No model wrote this: these are passages of the pages, word for word."
"""Said of an answer by a provider that can only search."""

UNSOURCED = "This answer came without sources, so nothing in it can be checked here."


def above(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return what changes how a reply is to be read; `unset` is the variable whose lack kept the first provider out."""
    as_of = reply.as_of if isinstance(reply, Answer) else ""
    return [on_one_line(line) for line in (stand_in(reply, unset=unset), as_of) if line]


def remarks(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return what else whoever asked should know."""
    passages = isinstance(reply, Answer) and reply.kind is AnswerKind.PASSAGES and not (reply.failed or unset)
    cut = [f"The answer is incomplete ({reply.incomplete})."] if isinstance(reply, Answer) and reply.incomplete else []
    unsourced = [UNSOURCED] if isinstance(reply, Answer) and not reply.sources and reply.text.strip() else []
    return [on_one_line(line) for line in (*([PASSAGES] if passages else []), *cut, *unsourced, *reply.notes)]


def last_line(reply: Answer | SearchResults) -> str:
    """Return the footer, as Slack has it: who answered, with which effort or model, the seconds, the price of all.

    At its end the references to no source are counted, which were removed.
    """
    if isinstance(reply, Answer):
        own, effort, removed = reply.usage.cost_usd, reply.effort or reply.model, _removed(reply)
    else:
        own, effort, removed = reply.cost_usd, None, ""
    parts = [reply.provider, effort, duration(reply.seconds), dollars(charged(own, reply.failed)), removed]
    return on_one_line(" · ".join(part for part in parts if part))


def _removed(answer: Answer) -> str:
    orphans = cite(answer.text, answer.sources).orphans if answer.kind is AnswerKind.MODEL else 0
    return f"{counted(orphans, 'reference')} without a source removed" if orphans else ""


def heading(source: Source) -> tuple[str, str]:
    """Return a source's title, and its site and day as far as they are known, as Slack shows them."""
    title = on_one_line(source.title) or site(source.url) or on_one_line(source.url) or "Untitled"
    return title, " · ".join(filter(None, (site(source.url), day(source.date))))


def unset_variable(order: Sequence[str], keys: Mapping[str, str]) -> str:
    """Return the variable of the first choice's key where it is not set; empty where it is, or needs none."""
    first = order[0]
    return "" if first in keys or first not in VARIABLES else VARIABLES[first][0][0]
