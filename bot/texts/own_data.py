"""A person's own data: the file with it, and its erasure."""

from __future__ import annotations

SENDING = "I’ll send you a file with everything that I keep about you in this workspace, in our direct messages."
FILE_TITLE = "What I keep about you"
MEMBERS_ONLY = "Only members of this workspace can get this file."
ERASE_TITLE = "Erase my data"
ERASE_WARNING = (
    "This erases your questions with their answers, your digests, settings and ratings in this workspace for good, and "
    "stops what is being answered. Messages in Slack stay. Today’s spending still counts until midnight (UTC)."
)
ERASE_IT = "Erase it"
ERASE = "Erase"
KEEP = "Keep"
NOT_CHOSEN = "Choose “Erase it” first."
ERASED = (
    "I’ve erased everything that I kept about you in this workspace. What you spent today still counts until midnight "
    "(UTC), without your name, and a budget that an admin set for you stays."
)
NOT_ERASED = "I couldn’t erase your data just now. Please try again in a minute."


def no_file(user: str) -> str:
    """Return that the file was not sent, and how an admin gets it; `user` is the person's id."""
    return f"I couldn’t send you the file. An admin can get it for you with `python -m bot export --user {user}`."
