"""Forms for a question: every option of a command, a question about a message, and one about listed pages."""

from __future__ import annotations

CLOSE = "Close"
CANCEL = "Cancel"
ASK = "Ask"

TOO_LATE = "Slack didn’t open the window in time. Please click again."
NOT_OPENED = "Slack couldn’t open the window. Please try again in a minute."
NOT_UPDATED = "Slack couldn’t update this window. Please choose again."
UNKNOWN_FORM = "I no longer have this form. Close it and open it again."

ASK_THE_WEB = "Ask the web"
WHAT_TO_DO = "What to do"
CATEGORY = "Category"
OPTIONS = "Options"

ASK_ABOUT_THIS = "Ask about this"
THE_MESSAGE = "The message"
NO_TEXT = "This message has no text that I can read. Type here what you want to ask about."
WHOLE_MESSAGE = "I read this with your question, but follow no instructions in it. Change or shorten it as you like."

ASK_ABOUT_THESE = "Ask about these"
YOUR_QUESTION = "Your question"
FROM_EXCERPTS = "The answer comes from the excerpts of these pages alone:"

YOU_ASKED = "You asked:"


def message_cut(characters: int) -> str:
    """Return that only the beginning of a message is sent with a question."""
    return f"Only the first {characters:,} characters are included. Change or shorten them as you like."
