"""Limits in the settings file: whole numbers, 0 for no limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bot.blocks.words import NO_LIMIT
from bot.commands.parsing import unknown_name
from bot.features.limits.model import NAMES, OFF, LimitName, parse_limit
from bot.features.limits.store import LimitStore
from bot.settings import Settings
from bot.storage.questions import Pool, fair_share


class LimitTable:
    """The table of limits in one database."""

    name = "limits"

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool = pool
        self._store = LimitStore(pool, share=fair_share(settings))

    async def read(self) -> Mapping[tuple[str, str], object]:
        """Return the values set by admins, by workspace and name."""
        rows = await self._pool.fetch_all("SELECT team_id FROM workspace_limits")
        teams = [row["team_id"] for row in rows]
        limits = [(team, limit) for team in teams for limit in (await self._store.of(team)).values()]
        return {(team, limit.name): limit.own for team, limit in limits if limit.own is not None}

    async def check(self, name: str, value: object) -> tuple[str, object]:
        """Return a name and a value in the form of `read`. Raises UsageError or ValueError."""
        known = next((one for one in NAMES if one == name), None)
        if known is None:
            raise ValueError(unknown_name(name, NAMES))
        bound = (await self._store.of(""))[known].bound
        try:
            return name, parse_limit(OFF if value == 0 and not isinstance(value, bool) else str(value), bound=bound)
        except ValueError as error:
            raise ValueError(f"the limit {name} cannot be {value!r}: it takes {error} (0 is no limit)") from None

    async def change(self, team_id: str, values: Mapping[str, object]) -> None:
        """Set values, and remove those that are None."""
        await self._store.change(team_id=team_id, user_id="", values=cast("Mapping[LimitName, int | None]", values))

    async def explain(self, team_id: str, user_id: str, channel_id: str) -> list[tuple[str, str, str]]:
        """Return the limits of a person in a channel, each with the level that set it."""
        limits = (await self._store.of(team_id)).values()
        return [
            (
                f"limit {one.name}",
                str(one.value or NO_LIMIT),
                "the environment" if one.own is None else "the workspace",
            )
            for one in limits
        ]
