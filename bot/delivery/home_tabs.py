"""Tells the home tabs what happened; nothing if no feature shows any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Shows(Protocol):
    """Shows home tabs, in the background; a `notice`, escaped, is the result of a click."""

    def opened(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Show the home tab to a person who has it open, and keep it up to date from now on."""
        ...

    def changed(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Update the home tab if the person has it open."""
        ...


@dataclass(kw_only=True)
class HomeTabs:
    """The home tabs of people; `shown_by` is set when the app is composed."""

    shown_by: Shows | None = None

    def opened(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Show the home tab to a person who has it open, and keep it up to date from now on."""
        if self.shown_by is not None:
            self.shown_by.opened(team_id, user_id, notice)

    def changed(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Update the home tab if the person has it open."""
        if self.shown_by is not None:
            self.shown_by.changed(team_id, user_id, notice)
