"""What was sent: every text that left for an answer."""

from __future__ import annotations

from perplexity.formatting import pluralize

TITLE = "What was sent"
INTRO = "I sent this for your answer, word for word. Your name, your e-mail address and your id were not sent."
CUT = "The rest is too long for this window. Your admin can export all of it."
NOTHING = "I sent nothing to a search service for this answer, or I no longer know what I sent."


def interrupted(times: int) -> str:
    """Return why requests may be there twice; `times` is how often the work was interrupted."""
    return (
        f"I was interrupted {pluralize(times, 'time')} while I worked on this, and began again. What I had sent before "
        "is listed, too."
    )


def not_kept(count: int) -> str:
    """Return that the texts of some requests in the middle are not kept."""
    return f"{pluralize(count, 'more request')} were sent here. Their text was too long to keep."


def count_requests(count: int) -> str:
    """Return how many requests were sent."""
    return pluralize(count, "request")


def request_title(number: int, service: str, address: str, moment: str) -> str:
    """Return the heading of a request."""
    return f"*{number}. {service}*  {address}\n{moment}"
