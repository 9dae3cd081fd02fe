"""What the app knows of its own work, and who may see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.admins import Admins
from bot.digests.base import Watching
from bot.figures import ProviderFigures
from bot.storage.attempts import Attempts


@dataclass(frozen=True, kw_only=True)
class WorkspaceOffice:
    """The office of one workspace."""

    admins: Admins
    attempts: Attempts
    watching: Watching

    async def is_admin(self, user_id: str) -> bool:
        """Tell whether a person is an admin."""
        return await self.admins.is_admin(user_id)

    async def figures(self) -> Sequence[ProviderFigures]:
        """Return how the providers did in the last day. Raises like the database."""
        return await self.attempts.figures(hours=24)
