"""Check this: the claims of a message in a form, and what the pages say of each."""

from __future__ import annotations

TITLE = "Check this"
CHECK = "Check"
CANCEL = "Cancel"

READING = "I’m reading the message. Its claims appear here in a few seconds."
CLAIMS = "I’ll look for pages that support or contradict each claim. You can change or clear any of them first."
OWN_SENTENCES = "These are sentences of the message, because no model could read it."
ONE_AT_A_TIME = "I’m still reading another message for you. Try again in a few seconds."
MAY_BE_MORE = "I read at most 12,000 characters and eight claims of a message: this one may have more."
NO_TEXT = "This message has no text that I can check."

SUPPORTED = "Supported"
CONTRADICTED = "Contradicted"
DISAGREE = "The pages disagree"
SEE_PAGE = "See what the page says"
UNCLEAR = "Unclear"
VERBATIM = "Quotations are word for word from the pages’ excerpts"
PRIVATE = "only you see this"

MESSAGE = "a message"


def claim_label(number: int) -> str:
    """Return the label of a claim's input."""
    return f"Claim {number}"


def finding_cost(cost: str) -> str:
    """Return what it cost to find the claims."""
    return f"Finding the claims cost {cost}."


def checked(message: str, *, author: str, channel: str, moment: str) -> str:
    """Return which message was checked; what is not known of it is empty, `message` may be a link."""
    whose = f" of {author}" if author else ""
    place = f" in #{channel}" if channel else ""
    return f"*Checked:* {message}{whose}{place}{f', {moment}' if moment else ''}"


def checked_with(provider: str) -> str:
    """Return the end of the sentence that says which service checked the claims instead of another."""
    return f"this was checked with {provider}"
