"""The limits that a workspace's admins have set instead of those in the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import AsyncConnection

from bot.features.limits.model import Limit, LimitName
from bot.model.audit import Change
from bot.storage import queries
from bot.storage.audit import record_change
from bot.storage.questions import FairShare, Pool

_COLUMNS: Mapping[LimitName, LiteralString] = {
    "open": "open_per_person",
    "user": "user_per_minute",
    "channel": "channel_per_minute",
    "thread": "thread_per_minute",
    "workspace": "per_workspace",
}
"""The columns of the table, which are also fields of `FairShare`."""

_ADD = "INSERT INTO workspace_limits (team_id) VALUES (%(team_id)s) ON CONFLICT DO NOTHING"
_LOCK = "SELECT FROM workspace_limits WHERE team_id = %(team_id)s FOR UPDATE"
_SET = "UPDATE workspace_limits SET {} WHERE team_id = %(team_id)s"


class LimitStore:
    """`share` are the limits in the settings."""

    def __init__(self, pool: Pool, *, share: FairShare) -> None:
        self._pool = pool
        self._share = share

    async def of(self, team_id: str) -> dict[LimitName, Limit]:
        """Return the limits of a workspace, in the order in which they are shown."""
        async with self._pool.connection() as connection:
            return await self._read(connection, team_id)

    async def change(
        self, *, team_id: str, user_id: str, values: Mapping[LimitName, int | None]
    ) -> dict[LimitName, Limit]:
        """Set limits (0 for no limit, None to remove one), and return all. Unchanged limits are not recorded.

        Every change of a limit is made here, and takes effect with the next question. The person must be an admin.
        """
        async with self._pool.transaction() as connection:
            await connection.execute(_ADD, {"team_id": team_id})
            await connection.execute(_LOCK, {"team_id": team_id})
            before = await self._read(connection, team_id)
            changed = {name: value for name, value in values.items() if before[name].own != value}
            if not changed:
                return before
            columns = ", ".join(f"{_COLUMNS[name]} = %({name})s" for name in changed)
            parameters: dict[str, Any] = {"team_id": team_id} | {str(name): value for name, value in changed.items()}
            await connection.execute(_SET.format(columns).encode(), parameters)
            after = await self._read(connection, team_id)
            for name in changed:
                change = Change(
                    team_id=team_id,
                    user_id=user_id,
                    what=f"limit.{name}",
                    before=_recorded(before[name]),
                    after=_recorded(after[name]),
                )
                await record_change(connection, change)
        return after

    async def _read(self, connection: AsyncConnection[Any], team_id: str) -> dict[LimitName, Limit]:
        hosts = vars(self._share)
        row = await (await connection.execute(queries.LIMITS, hosts | {"team_id": team_id})).fetchone() or {}
        return {
            name: Limit(
                name=name, value=row[column], own=row[f"own_{column}"], host=hosts[column], bounded=self._share.bounded
            )
            for name, column in _COLUMNS.items()
        }


def _recorded(limit: Limit) -> dict[str, int | bool]:
    """Return a limit for the audit log: the number in force, and whether admins have set it."""
    return {"limit": limit.value, "set": limit.own is not None}
