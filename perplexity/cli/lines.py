"""The lines around an answer or results, in either form: above, who stands in and how old it is; below, who served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perplexity.cli.printable import on_one_line
from perplexity.costs import charged
from perplexity.stand_in import stand_in
from perplexity.tools.access import VARIABLES
from perplexity.types import Answer, AnswerKind, SearchResults

PASSAGES = "No model wrote this: these are passages of the pages, word for word."
"""Said of an answer by a provider that can only search."""


def above(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return what changes how a reply is to be read; `unset` is the variable whose lack kept the first provider out."""
    as_of = reply.as_of if isinstance(reply, Answer) else ""
    return [on_one_line(line) for line in (stand_in(reply, unset=unset), as_of) if line]


def remarks(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return what else whoever asked should know."""
    passages = isinstance(reply, Answer) and reply.kind is AnswerKind.PASSAGES and not (reply.failed or unset)
    cut = [f"The answer is incomplete ({reply.incomplete})."] if isinstance(reply, Answer) and reply.incomplete else []
    return [on_one_line(line) for line in (*([PASSAGES] if passages else []), *cut, *reply.notes)]


def last_line(reply: Answer | SearchResults) -> str:
    """Return who served, by which model, in how many seconds, and for how many dollars of all who were asked."""
    model = reply.model if isinstance(reply, Answer) else None
    own = reply.usage.cost_usd if isinstance(reply, Answer) else reply.cost_usd
    parts = [reply.provider, model or "", f"{reply.seconds:.1f} s", _dollars(charged(own, reply.failed))]
    return on_one_line(" · ".join(filter(None, parts)))


def unset_variable(order: Sequence[str], keys: Mapping[str, str]) -> str:
    """Return the variable of the first choice's key where it is not set; empty where it is, or needs none."""
    first = order[0]
    return "" if first in keys or first not in VARIABLES else VARIABLES[first][0][0]


def _dollars(cost: float | None) -> str:
    return "" if cost is None else "free" if cost == 0 else f"${cost:.4f}"
