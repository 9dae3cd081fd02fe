"""The line that says, above a reply, which provider stands in for which, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perplexity.types import Answer, AnswerKind, Attempt, SearchResults

NO_MODEL = "No answer model is configured."
BY_NO_MODEL = "No model wrote this."


def stand_in(reply: Answer | SearchResults, *, unset: str = "") -> str:
    """Return the line for a reply of another provider than the first choice, or an empty string.

    `unset` is the variable whose lack kept the first choice from being asked.
    """
    own = reply.stand_in if isinstance(reply, Answer) else ""
    return " ".join(filter(None, (own, _stand_in(reply, unset=unset))))


def agent_stand_in(read: Answer | SearchResults) -> str:
    """Return the line for an agent's answer if one of its tools had to read another provider's pages or answer."""
    what = "an answer" if isinstance(read, Answer) and read.kind is AnswerKind.MODEL else "pages"
    return stand_in_for(read.failed, f"the agent read {what} from {read.provider}")


def _stand_in(reply: Answer | SearchResults, *, unset: str) -> str:
    if isinstance(reply, SearchResults):
        return stand_in_for(reply.failed, _source("these are pages", reply.provider, reply.failed), unset=unset)
    if reply.kind is AnswerKind.MODEL:
        return stand_in_for(reply.failed, _source("this answer is", reply.provider, reply.failed), unset=unset)
    pages = f"{_source('these are pages', reply.provider, reply.failed)}, quoted word for word"
    line = stand_in_for(reply.failed, pages, unset=unset)
    return f"{line} {NO_MODEL if _only_searched(reply.failed) else BY_NO_MODEL}" if line else ""


def stand_in_for(failed: Sequence[Attempt], what: str, *, unset: str = "") -> str:
    """Return "Perplexity could not be reached; these are pages from DuckDuckGo." for what was found instead."""
    why = [f"{unset} is not set"] if unset else []
    why += reasons_of(failed)
    return f"{joined(why)}; {what}." if why else ""


def reasons_of(failed: Iterable[Attempt]) -> list[str]:
    """Return the reason of each failed attempt once: "Perplexity could not be reached"."""
    return list(dict.fromkeys(f"{attempt.provider} {attempt.summary or 'failed'}" for attempt in failed))


def joined(clauses: Sequence[str]) -> str:
    """Return clauses as one: "a, b and c"."""
    return f"{', '.join(clauses[:-1])} and {clauses[-1]}" if len(clauses) > 1 else "".join(clauses)


def _source(what: str, provider: str, failed: Sequence[Attempt]) -> str:
    """Return where a reply is from; an agent that failed leaves the pages that it had found."""
    own = any(attempt.provider == provider for attempt in failed)
    return f"{what} that it had found" if own else f"{what} from {provider}"


def _only_searched(failed: Sequence[Attempt]) -> bool:
    return all(attempt.search_only for attempt in failed)
