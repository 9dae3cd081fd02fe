"""The home tab, and the windows that it opens: an answer again, and the deletion of a question."""

from __future__ import annotations

from perplexity.formatting import pluralize

TITLE = "Ask the web, with sources"
ASK_QUESTION = "Ask a question"
SET_UP_DIGEST = "Set up a digest"
SETTINGS = "Settings"

RUNNING = "Running"
STOP = "Stop"
WAITING = "Waiting"
WORKING = "Working on it"
DELIVERING = "Being posted"

RECENT = "Your recent questions"
NOTHING_YET = "Nothing yet. Try one of these:"
FAILED = "failed"
EXPIRED = "could not be posted"
OPEN = "Open"
ASK_AGAIN = "Ask again"
WHAT_HAS_CHANGED = "What has changed since?"
WHAT_WAS_SENT = "What was sent"
DELETE = "Delete"

DIGESTS = "Your digests"
IN_DIRECT_MESSAGES = "in our direct messages"
IN_CHANNEL = "in "
"""Comes before a channel's name, which Slack fills in."""

THIS_MONTH = "This month"
COMMAND = "Command"
QUESTIONS = "Questions"
DOLLARS = "Dollars"
ALL = "All"

SEND_DATA = "Send me my data"
ERASE_DATA = "Erase my data"

ASKED = "I’ll answer in our direct messages."
STILL_OPEN = "This question is still being answered. Stop it first."
CHANGED_SINCE = "What has changed since:"
ASKED_AGAIN = "You asked again:"

ANSWER_TITLE = "Answer"
OPEN_IN_SLACK = "Open it in Slack"
REST_IN_MESSAGE = "The rest is in the answer’s message."
NO_ANSWER = "There is no answer."

DELETE_TITLE = "Delete this question"
DELETE_WARNING = (
    "The question and its answer are deleted for good, and my messages in its thread if no one has replied. "
    "What I posted elsewhere stays."
)
DELETE_IT = "Delete it"
KEEP = "Keep"

NOT_DELETED_YET = (
    "Slack didn’t delete my messages just now, so I kept the question. Please delete it again in a minute."
)
MESSAGES_STAY = (
    "I deleted the question, but my messages in its thread stay: Slack doesn’t let me read the thread, or delete them."
)
DELETION_DATABASE_DOWN = (
    "I can’t reach my database just now, so I kept the question. Please delete it again in a minute."
)


def intro(slash: str) -> str:
    """Return what the app is for; `slash` goes before the name of a command."""
    return (
        f"Mention me in a channel, write to me, or type `/{slash}ask`. "
        "Answers to commands are yours alone until you share them."
    )


def kept(days: int) -> str:
    """Return what is kept of a person; texts are kept for so many days."""
    if not days:
        return "I keep no text of questions and answers after an answer is posted; your digests and settings stay."
    return (
        f"What I keep: your questions and answers for {pluralize(days, 'day')}, which only you see here, your digests "
        "and settings. “Delete” removes a question for good."
    )
