"""Says to people how long their questions wait, and what is before them."""

from __future__ import annotations

from math import ceil

from bot.model.question import Waits

TOLD_AFTER_SECONDS = 5.0
"""Who waits no longer is told nothing: they see their answer soon."""

MANY_PEOPLE = 10
"""So many people ahead are mentioned if how long that takes is not known."""


def waits_long(place: Waits, *, waited: float = 0.0) -> bool:
    """Return whether to say how a question waits, which has `waited` for so many seconds."""
    if place.waiting or place.seconds is None:
        return place.waiting or place.people >= MANY_PEOPLE
    return waited + place.seconds > TOLD_AFTER_SECONDS


def place_sentence(place: Waits) -> str:
    """Return who is ahead of a question and about how long it waits."""
    seconds = place.seconds or 0.0
    return f"{_ahead(place)}: about {_rounded(seconds)}." if seconds >= 1 else f"{_ahead(place)}."


def _ahead(place: Waits) -> str:
    if place.people == 1:
        return "1 person is ahead of you"
    if place.people:
        most = "Up to " if place.waiting else ""
        return f"{most}{place.people:,} people are ahead of you"
    return "Your earlier questions are ahead of your last one" if place.ahead else "No one is ahead of you"


def _rounded(seconds: float) -> str:
    return f"{5 * ceil(seconds / 5)} s" if seconds <= 90 else f"{ceil(seconds / 60)} min"
