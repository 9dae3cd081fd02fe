"""Three examples to press, and the reply to small talk, which shows them."""

from __future__ import annotations

from bot.blocks.elements import secondary_button, section
from bot.blocks.spoken import spoken
from bot.model.message import Block, OutgoingMessage

EXAMPLES = "examples"
"""The id of the buttons' action; their value is the example."""

LINES = {
    "Why is the sky blue?": "Why is the sky blue?",
    "How do the planets compare?": "How do the planets compare?",
    "What’s new in science?": "news science --recency week",
}
"""The examples by their labels, as they are typed in a direct message; the playground has recordings of them."""


def example_buttons() -> tuple[Block, ...]:
    """Return a row for each example, since Slack accepts an action's id once per row."""
    return tuple(secondary_button(label, action_id=EXAMPLES, value=line) for label, line in LINES.items())


_REPLIES = {
    "thanks": "You’re welcome!",
    "goodbye": "Goodbye, until next time!",
    "greeting": "Hello! Ask me anything, and I’ll answer from the web, with sources.",
    "": "Happy to help: ask me anything, and I’ll answer from the web, with sources.",
}


def greeting_message(kind: str = "") -> OutgoingMessage:
    """Render the reply to small talk of this kind, by default of any."""
    return spoken(section(_REPLIES[kind]), *example_buttons())
