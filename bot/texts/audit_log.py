"""What admins read of the audit log: that it is not written, and what does not fit in it."""

from __future__ import annotations

from datetime import datetime

UNREADABLE = "The audit log cannot be read."
LOG_MISSING = "There are no entries, although people of this workspace have asked questions."
BEGINS_LATE = "The first entries are missing: this workspace has questions or settings from before the first one."
ENDS_EARLY = "The last entries are missing: this workspace has questions or settings from after the last one."
HEAD_MISSING = "The head is missing, and entries at the end may be missing, too."
HEAD_NOT_SIGNED = "The head is not signed with the key in use: it was changed, or AUDIT_KEY was."


def lost(at: datetime) -> str:
    """Return that something was not recorded at all; the moment is in UTC."""
    return f"Something was not recorded in the audit log ({at:%Y-%m-%d %H:%M} UTC)."


def waiting(seconds: float) -> str:
    """Return how long entries have waited."""
    return f"The audit log has not been written for {seconds / 60:.0f} min."


def entry_changed(number: int) -> str:
    """Return that an entry does not have the hash that it should have."""
    return f"Entry {number} was changed, is not this workspace’s, or does not follow the one before it."


def entry_replaced(number: int) -> str:
    """Return that an entry does not have the hash that was named for it."""
    return f"Entry {number} is not the one whose hash you named."


def named_entry_missing(number: int) -> str:
    """Return that an entry is not there whose hash was named."""
    return f"Entry {number}, whose hash you named, is missing."


def entry_twice(number: int) -> str:
    """Return that two entries have a number."""
    return f"Entry {number} appears twice."


def entries_missing(first: int, last: int) -> str:
    """Return which entries between others are not there."""
    return f"Entry {first} is missing." if first == last else f"The entries {first} to {last} are missing."


def pseudonym_of_other(who: str) -> str:
    """Return that a pseudonym is listed for a person whose it is not."""
    return f"The pseudonym {who} is not that of the person it is listed for."


def end_missing(last: int, *, count: int) -> str:
    """Return that entries at the end are not there; the head counts so many."""
    return f"The last entries are missing: only {last} of {count} are there."


def head_of_other(count: int, *, last: int) -> str:
    """Return that the head and the last entry do not belong together."""
    return f"The head names entry {count}, but the last entry is {last}."
