"""How a command that works for minutes shows how far it has come."""

from __future__ import annotations

from typing import Protocol

from bot.blocks.base import OutgoingMessage


class Progress(Protocol):
    """The one message that says how far a question has come, until its answer takes its place.

    A `live` message can be changed every few seconds; any other only at milestones, which are few.
    """

    @property
    def live(self) -> bool:
        """Whether the message can be changed often."""
        ...

    @property
    def shown(self) -> int:
        """How many milestones were shown before: by the announcement, or before a restart."""
        ...

    @property
    def uses(self) -> int:
        """How many uses of the response_url it has taken so far."""
        ...

    async def show(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show how far it has come, and tell whether that arrived: a milestone that did not can be shown once more.

        Raises Withdrawn when the question is not wanted any more, or another worker's.
        """
        ...


class Silent:
    """Shows nothing."""

    live = False
    shown = 0
    uses = 0

    async def show(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show nothing."""
        return True


SILENT = Silent()
