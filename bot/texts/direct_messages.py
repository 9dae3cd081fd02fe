"""The conversation with the app: questions to choose from, its greeting, a new conversation.

A prompt has a title, and the message that is sent when it is chosen.
"""

from __future__ import annotations

WHAT_CHANGED = "What changed this week?"
WHAT_CHANGED_IN_DATABASES = "What changed this week in open source databases?"
COMPARE = "Compare two things"
COMPARE_DATABASES = "Compare PostgreSQL and MySQL for full-text search."
READ_NEWS = "Read the news"
READ_TECHNOLOGY_NEWS = "news technology"

NEW_CONVERSATION = "This is a new conversation. What would you like to know?"
EXAMPLE = "what changed in Python 3.14?"


def greeting(example: str, *, more: str) -> str:
    """Return the reply to a message without a question; both are what a person types, `more` for the help."""
    return f"What would you like to know? Ask me in one message, for example “{example}”. “{more}” shows all options."
