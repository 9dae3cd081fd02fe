"""What the app knows of itself, written down beforehand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.model.digest import DigestService
from bot.model.provider_stats import ProviderStats
from tests.fakes.digest_service import FakeDigests


class FakeOffice:
    """Has these admins and these figures, and keeps digests in memory."""

    def __init__(self, *, admins: Collection[str] = (), figures: Sequence[ProviderStats] = ()) -> None:
        self._admins = admins
        self._figures = figures
        self.watching: DigestService = FakeDigests()

    async def is_admin(self, user_id: str) -> bool:
        """Tell by the list."""
        return user_id in self._admins

    async def figures(self) -> Sequence[ProviderStats]:
        """Return what was written down."""
        return self._figures
