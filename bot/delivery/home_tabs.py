"""Passes changes on to the home tabs; does nothing if no feature shows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.delivery.withdrawal import AnswerWithdrawal
from bot.slack.views import Views


class HomeDisplay:
    """Shows home tabs in the background; this base class shows none.

    A `notice` tells the person the result of a click; it is escaped already.
    """

    def opened(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Show the home tab to a person who has opened it, and keep it up to date from now on."""

    def changed(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Update the home tab if the person has it open."""

    async def tell(self, team_id: str, user_id: str, notice: str) -> None:
        """Update a home tab with a notice, even if it is not known to be open."""


@dataclass(kw_only=True)
class HomeTabs:
    """The home tabs of people. `views` publishes them; `withdrawal` deletes the answers that people delete there.

    `language` returns the language of a person. The feature that shows the tabs sets `shown_by`.
    """

    views: Views
    withdrawal: AnswerWithdrawal
    language: Callable[[str], Awaitable[str]]
    shown_by: HomeDisplay = field(default_factory=HomeDisplay)

    def opened(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Show the home tab to a person who has opened it, and keep it up to date from now on."""
        self.shown_by.opened(team_id, user_id, notice)

    def changed(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Update the home tab if the person has it open."""
        self.shown_by.changed(team_id, user_id, notice)

    async def tell(self, team_id: str, user_id: str, notice: str) -> None:
        """Update a home tab with a notice, even if it is not known to be open."""
        await self.shown_by.tell(team_id, user_id, notice)
