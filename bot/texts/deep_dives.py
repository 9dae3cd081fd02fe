"""A deep dive: its progress, and what is around its report."""

from __future__ import annotations

from perplexity.formatting import pluralize

NAME = "Deep dive"
GET_AS_FILE = "Get as a file"
POSTS_BY_MOOD = "Posts by mood"
POSTS = "Posts"

DURATION = "This takes a few minutes and survives a restart."

RESEARCHING = "researching the facts"
LISTENING = "listening to what people say"
WRITING = "writing"
WAITING = "waiting for the first two"
NO_RESULT_YET = "no result yet"
NO_RESULT = "no result"
DONE = "done"


def contents(*, public: bool) -> str:
    """Return what the report will have, and who will see it if everyone will."""
    parts = "The report has three parts: the facts, what people say, and an analysis of both."
    return f"{parts} It is for everyone here." if public else parts


def title(topic: str) -> str:
    """Return the first line of the progress."""
    return f"*Deep dive*  “{topic}”"


def title_as_of(topic: str, moment: str) -> str:
    """Return the first line of a progress that may not be changed soon."""
    return f"{title(topic)} · as of {moment}"


def as_of(moment: str) -> str:
    """Return when the report was finished."""
    return f"As of {moment}"


def voice(persona: str) -> str:
    """Return in whose voice the analysis is."""
    return f"as {persona}"


def more_sources_read(count: int) -> str:
    """Return how many sources were read and are not listed."""
    return f"{pluralize(count, 'more source')} read"
