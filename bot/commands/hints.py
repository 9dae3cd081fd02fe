"""How a wrong word is shown to the asker, and what it probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def quoted(value: str) -> str:
    """Return a value as code in mrkdwn: on one line, at most 40 characters, no backtick of its own."""
    return f"`{brief(value)}`"


def brief(value: str) -> str:
    """Return a value on one line, at most 40 characters, without backticks."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in value).split()).replace("`", "'")
    return shown[:39] + "…" if len(shown) > 40 else shown


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a misspelt word probably means: one that it begins, or the most similar."""
    bare = {choice.removeprefix("--"): choice for choice in choices}
    typed = word.removeprefix("--")
    begun = [choice for choice in bare if len(typed) > 1 and choice.startswith(typed)]
    return next((bare[near] for near in begun or get_close_matches(typed, bare, n=1, cutoff=0.65)), None)
