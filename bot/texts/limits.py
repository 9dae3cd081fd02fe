"""Limits on questions, for admins: their names, the form that changes them, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence

OPEN_QUESTIONS = "Open questions of a person"
PERSONS_QUESTIONS = "Questions of a person each minute"
CHANNELS_QUESTIONS = "Questions in a channel each minute"
THREAD_QUESTIONS = "Questions in a thread each minute"
AT_ONCE = "Questions in progress"
NO_LIMIT = "no limit"

CHANGE = "Change limits"
TITLE = "Limits"
SAVED = "Saved. It applies from the next question on."
FOR_ADMINS = "Only admins of this workspace can see and change its limits."


def numbers(most: int) -> str:
    """Return which numbers a limit takes that can only be lowered."""
    return f"a whole number from 1 to {most:,}, which is this app’s own limit"


def numbers_or_off(most: int, off: str) -> str:
    """Return which numbers a limit takes; `off` is the word for no limit."""
    return f"a whole number from 1 to {most:,}, or {off} for no limit"


def line(label: str, value: str, *, host: str) -> str:
    """Return a limit as mrkdwn; `host` is that of the settings, if admins have set another one."""
    return f"{label}: *{value}*" + (f" (the app is set up with {host})" if host else "")


def hint(allowed: str, host: str) -> str:
    """Return what the form takes for a limit; `host` is that of the settings."""
    return f"{allowed[0].upper()}{allowed[1:]}. Leave it empty for what the app is set up with: {host}."


def not_taken(text: str, label: str, allowed: str, *, reset: str = "nothing") -> str:
    """Return that a limit cannot be this, and what is allowed; `reset` is what takes it back."""
    return f"“{text}” cannot be the limit “{label}”. It takes {allowed}, or {reset}."


def heading(slash: str) -> str:
    """Return the line above the limits; `slash` is the umbrella command."""
    return f"*Limits*  (`{slash} limits help` shows how to set them)"


def no_such_limit(value: str, *, meant: str | None, names: Sequence[str]) -> str:
    """Return which limits there are; `value` comes as code, `meant` is the one that it resembles."""
    hint = f"Did you mean `{meant}`? " if meant else ""
    listed = [f"`{name}`" for name in names]
    return f"{value} isn’t a limit. {hint}Choose from: {', '.join(listed[:-1])} and {listed[-1]}."


def value_missing(name: str) -> str:
    """Return that the number of a limit is missing."""
    return f"Add a number for `{name}`, `off` or `reset`."


def value_not_allowed(name: str, value: str, *, allowed: str) -> str:
    """Return that a limit cannot be this; `value` comes as code."""
    return f"The limit `{name}` cannot be {value}. It takes {allowed}, or `reset`."
