"""What the providers said lately: a key that was refused must not hide behind the provider that answered instead."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import UndefinedTable
from psycopg.rows import dict_row

from bot.doctor.examining import Case
from bot.doctor.report import Finding, warning
from bot.storage.attempts import troubles

ABOUT = "Lately"

_SAID = {
    "AuthenticationError": ("it refused the key", "Set a new key"),
    "BillingError": ("it was out of credit", "Buy credit"),
}


async def check(case: Case) -> Sequence[Finding]:
    """Read what the app wrote down in the last day; nothing where it cannot be read, which the database check tells."""
    if case.settings.database_url is None or "database_url" in case.wrong:
        return []
    conninfo = case.settings.database_url.get_secret_value()
    try:
        async with await AsyncConnection.connect(conninfo, row_factory=dict_row, prepare_threshold=None) as connection:
            found = await troubles(connection)
    except (OperationalError, UndefinedTable):
        return []
    return [_told(provider, error) for provider, error in sorted(found.items())]


def _told(provider: str, error: str) -> Finding:
    said, fix = _SAID.get(error, (error, "Look after it"))
    return warning(
        ABOUT,
        f"{provider}'s last request failed: {said}.",
        fix=f"{fix} for {provider}, unless you did so since.",
    )
