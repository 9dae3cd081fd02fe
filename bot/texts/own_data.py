"""What a person reads of a file with their own data, and of its erasure."""

from __future__ import annotations

FILE_TITLE = "What I keep of you"
MEMBERS_ONLY = "Only members of this workspace can get this file."
ERASED = (
    "Everything that I kept of you is erased. What you spent today still counts until midnight (UTC), without your "
    "name, and a budget that an admin set for you stays."
)
NOT_ERASED = "I couldn’t erase your data just now. Please try again in a minute."


def no_file(user: str) -> str:
    """Return that the file was not sent, and how an admin gets it; `user` is the person's id."""
    return f"I couldn’t send you the file. An admin can get it for you with `python -m bot export --user {user}`."
