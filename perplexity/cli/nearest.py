"""What somebody may have meant by an option, a command or a value that does not exist. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import takewhile

_ALIKE = 0.6
_LONGEST = 40
"""Of a word that is compared; comparing takes time in proportion to the square of the length."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like this one, or that begins with it; None if none is."""
    candidates = sorted(known)
    begun = [candidate for candidate in candidates if len(word) > 1 and candidate.startswith(word)]
    if begun:
        return begun[0]
    near = get_close_matches(word.lower(), candidates, n=1, cutoff=_ALIKE) if len(word) <= _LONGEST else []
    return near[0] if near else None


def about_options(words: Iterable[str], known: Iterable[str], others: Mapping[str, Iterable[str]]) -> str:
    """Return a sentence on the first of the words that is an option and not known; an empty text if there is none.

    `others` are the options of each other command.
    """
    options = set(known)
    for word in takewhile(lambda word: word != "--", words):
        option = word.split("=", 1)[0]
        if not option.startswith("-") or option == "-" or option in options:
            continue
        if commands := [command for command, has in others.items() if option in has]:
            return f"{option} goes with {' and '.join(commands)}"
        near = nearest(option, [known for known in options if known.startswith("--")])
        return f"did you mean {near}?" if near else ""
    return ""
