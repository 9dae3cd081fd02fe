"""Three examples to press, and the reply to small talk, which shows them."""

from __future__ import annotations

from bot.blocks.elements import secondary_button, section, spoken
from bot.model.membership import current_scope
from bot.model.message import Block, OutgoingMessage, SuggestedPrompt
from bot.translation import LANGUAGES, N_, speaking
from bot.translation import gettext as _

EXAMPLES = "examples"
"""The id of the buttons' action; their value is the example."""

LINES = {
    N_("Why is the sky blue?"): "Why is the sky blue?",
    N_("How do the planets compare?"): "How do the planets compare?",
    N_("What’s new in science?"): "news science --recency week",
}
"""The examples by their labels, as they are typed in a direct message; the playground has recordings of them."""

PROMPTS = tuple(SuggestedPrompt(*one) for one in LINES.items())


def examples() -> dict[str, str]:
    """Return the examples by their labels; both are in the current language."""
    return {_(label): _(line) for label, line in LINES.items()}


def label_of(line: str) -> str | None:
    """Return the label of the example with this line; None if no language has such an example."""
    for language in (current_scope().language, *LANGUAGES):
        with speaking(language):
            found = next((label for label, typed in examples().items() if typed == line), None)
        if found is not None:
            return found
    return None


def example_buttons() -> tuple[Block, ...]:
    """Return a row for each example, since Slack accepts an action's id once per row."""
    return tuple(secondary_button(label, action_id=EXAMPLES, value=line) for label, line in examples().items())


_REPLIES = {
    "thanks": N_("You’re welcome!"),
    "goodbye": N_("Goodbye, until next time!"),
    "greeting": N_("Hello! Ask me anything, and I’ll answer from the web, with sources."),
    "": N_("Happy to help: ask me anything, and I’ll answer from the web, with sources."),
}


def greeting_message(kind: str = "") -> OutgoingMessage:
    """Render the reply to small talk; `kind` is "thanks", "goodbye" or "greeting", and empty for other small talk."""
    return spoken(section(_(_REPLIES[kind])), *example_buttons())
