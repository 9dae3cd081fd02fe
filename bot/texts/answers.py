"""An answer: what is above and below its text, its buttons, and what is shown while it is made."""

from __future__ import annotations

SHARE = "Share"
GO_DEEPER = "Go deeper"
ASK_ABOUT_THESE = "Ask about these"
MORE_RESULTS = "More results"
REGENERATE = "Regenerate"
SAVE_AS_MARKDOWN = "Save as Markdown"
WHAT_WAS_SENT = "What was sent"
GOOD_ANSWER = "Good answer"
BAD_ANSWER = "Bad answer"


def sources_button(count: int) -> str:
    """Return the label of the button that opens so many sources."""
    return f"Sources ({count})"
