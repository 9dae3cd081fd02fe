"""Limits on questions, for admins: their names, the form that changes them, and what it takes."""

from __future__ import annotations

OPEN_QUESTIONS = "Open questions of a person"
PERSONS_QUESTIONS = "Questions of a person each minute"
CHANNELS_QUESTIONS = "Questions in a channel each minute"
THREAD_QUESTIONS = "Questions in a thread each minute"
AT_ONCE = "Questions in progress"
NO_LIMIT = "no limit"

CHANGE = "Change limits"
TITLE = "Limits"
SAVED = "The limits are saved. They count from the next question on."


def numbers(most: int) -> str:
    """Return which numbers a limit takes that can only be lowered."""
    return f"a whole number from 1 to {most:,}, which is this app’s own limit"


def numbers_or_off(most: int, off: str) -> str:
    """Return which numbers a limit takes; `off` is the word for no limit."""
    return f"a whole number from 1 to {most:,}, or {off} for no limit"


def line(label: str, value: str, *, host: str) -> str:
    """Return a limit as mrkdwn; `host` is that of the settings, if admins have set another one."""
    return f"{label}: *{value}*" + (f" (without your change: {host})" if host else "")


def hint(allowed: str, host: str) -> str:
    """Return what the form takes for a limit; `host` is that of the settings."""
    return f"{allowed[0].upper()}{allowed[1:]}. Leave it empty for what the app is set up with: {host}."


def not_taken(text: str, label: str, allowed: str) -> str:
    """Return that a limit cannot be this, and what is allowed."""
    return f"“{text}” cannot be the limit “{label}”. It takes {allowed}, or nothing."
