"""What a command may use, without a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.commands.context import CommandContext
from bot.model.provider_stats import ProviderStats
from perplexity.providers.base import Provider
from tests.fakes.digest_service import FakeDigests


class NoAdmins:
    """A workspace without admins."""

    async def is_admin(self, user_id: str) -> bool:
        """Return False."""
        return False

    async def check_admin(self, user_id: str) -> bool | None:
        """Return False."""
        return False


async def no_stats() -> Sequence[ProviderStats]:
    """Return no statistics."""
    return ()


def command_context(provider: Provider, **fields: Any) -> CommandContext:
    """Return the context of a question of U1."""
    base: dict[str, Any] = {
        "admins": NoAdmins(),
        "provider_stats": no_stats,
        "digests": FakeDigests(),
        "user_id": "U1",
    }
    return CommandContext(provider=provider, **base | fields)
