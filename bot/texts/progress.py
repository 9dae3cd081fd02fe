"""What is shown while an answer is made, and when it is stopped or breaks off."""

from __future__ import annotations

from collections.abc import Sequence

from bot.texts.times import full_seconds
from perplexity.formatting import format_dollars, pluralize

STOP = "Stop"
ONE_MOMENT = "*One moment…*"
START_AGAIN = "Start again"
TRY_AGAIN = "Try again"
WRITING = "Writing the answer"


def pending(label: str, question: str) -> str:
    """Return what is done for a quoted question, such as "Searching the web for “why”"."""
    return f"{label} for “{question}”"


def started(text: str) -> str:
    """Return that an answer for everyone has begun; `text` is what `pending` returns."""
    return f"{text} has started. The answer is for everyone here."


def searching_web(seconds: float) -> str:
    """Return that nothing is known yet but the time so far."""
    return f"Searching the web · {full_seconds(seconds)}"


def answering(seconds: float) -> str:
    """Return the title above the searches and the pages."""
    return f"Answering for {full_seconds(seconds)}"


def searched(queries: Sequence[str], *, done: bool) -> str:
    """Return what is or was searched for."""
    shown = ", ".join(f"“{query}”" for query in queries)
    return f"{'Searched' if done else 'Searching'} {shown}"


def reading(count: int, sites: Sequence[str] = ()) -> str:
    """Return how many pages are being read, and on which sites."""
    where = f": {', '.join(sites)}" if sites else ""
    return f"Reading {pluralize(count, 'page')}{where}"


def read(count: int) -> str:
    """Return how many pages were read."""
    return f"Read {pluralize(count, 'page')}"


def stopped(seconds: float) -> str:
    """Return the line below the text of an answer that was stopped after so many seconds."""
    return f"You stopped this answer after {full_seconds(seconds)} · the service doesn’t say what it cost"


def broken_off(cost_usd: float | None) -> str:
    """Return the line below the text of an answer that broke off, with what it cost in dollars if that is known."""
    cost = f", and cost {format_dollars(cost_usd)}" if cost_usd else ""
    return f":warning: You have only a part of this answer: it broke off{cost}."


def refused_midway(why: str) -> str:
    """Return the line below the text of an answer that was ended while it was written; `why` is a sentence."""
    return f":warning: You have only a part of this answer. {why}"


def reference(shown: str) -> str:
    """Return the last line below such an answer: by what it is found in the log."""
    return f"Reference {shown}"


def question_stopped(question: str) -> str:
    """Return that a question was stopped before it had an answer; `question` may be empty."""
    return f"*Stopped{f' “{question}”' if question else ''}.*  I’ve cancelled the research."


def in_queue(place: int, *, about: bool) -> str:
    """Return the status of a thread whose question waits; Slack shows it behind the app's name."""
    return f"is busy. You are {'about ' if about else ''}number {place:,} in the queue."
