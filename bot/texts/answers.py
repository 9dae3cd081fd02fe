"""An answer: what is above, below and around its text, its buttons, and the file that it becomes."""

from __future__ import annotations

from perplexity.formatting import pluralize

SHARE = "Share"
GO_DEEPER = "Go deeper"
ASK_ABOUT_THESE = "Ask about these"
MORE_RESULTS = "More results"
REGENERATE = "Regenerate"
SAVE_AS_MARKDOWN = "Save as Markdown"
WHAT_WAS_SENT = "What was sent"
GOOD_ANSWER = "Good answer"
BAD_ANSWER = "Bad answer"

VISIBLE_TO_YOU = "only visible to you"
VISIBLE_TO_EVERYONE = "visible to everyone here"

EMPTY = "The answer came back empty."
UNSOURCED = "This answer has no sources, so nothing in it can be checked here."
SOURCES = "*Sources*"
UNTITLED = "untitled"

FILE_TITLE = "Answer"
"""The title of a file whose question is empty."""
FILE_SOURCES = "Sources:"
FILE_INCOMPLETE = "This answer is incomplete: the model stopped early."


def sources_button(count: int) -> str:
    """Return the label of the button that opens so many sources."""
    return f"Sources ({count})"


def warning(sentence: str) -> str:
    """Return a sentence with a sign that warns of something."""
    return f":warning: {sentence}"


def incomplete(reason: str) -> str:
    """Return that an answer was cut; `reason` is the service's word for why, empty if it gave none."""
    return warning(f"This answer is incomplete: the model stopped early{f' ({reason})' if reason else ''}.")


def passages_only(reason: str) -> str:
    """Return why there are only passages; `reason` is a sentence about the model that is missing."""
    return f"{reason.removesuffix('.')}, so these are the passages that fit best, word for word."


def count_sources(count: int) -> str:
    """Return how many sources an answer has."""
    return pluralize(count, "source")


def more_sources(count: int) -> str:
    """Return how many sources were read and are not listed."""
    return pluralize(count, "more source")


def references_removed(count: int) -> str:
    """Return how many citations led nowhere."""
    return f"{pluralize(count, 'reference')} without a source removed"


def figures_not_found(count: int) -> str:
    """Return how many figures of an answer its sources' excerpts do not have."""
    return f"{pluralize(count, 'figure')} not in the excerpts"


def part_of(part: int, parts: int) -> str:
    """Return which message of an answer in several this is."""
    return f"Part {part} of {parts}"


def spoken_part_of(part: int, parts: int) -> str:
    """Return how a notification of such a message begins."""
    return f"{part_of(part, parts)}: "


def file_more_sources(count: int) -> str:
    """Return below a file's sources how many more were read."""
    return f"({more_sources(count)} read.)"


def file_asked_on(moment: str) -> str:
    """Return the last line of a file."""
    return f"Asked on {moment}"
