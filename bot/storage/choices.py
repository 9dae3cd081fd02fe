"""The table of last choices: each person's latest choices in the modal for questions."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from bot.model.question import Choice
from bot.storage.questions import Pool, storable

_KEEP = """
    INSERT INTO last_choices (team_id, user_id, command, options)
    VALUES (%(team_id)s, %(user_id)s, %(command)s, %(options)s)
    ON CONFLICT (team_id, user_id) DO UPDATE SET command = excluded.command, options = excluded.options, at = now()
"""
_LAST = "SELECT command, options FROM last_choices WHERE team_id = %(team_id)s AND user_id = %(user_id)s"


class ChoiceStore:
    """Saves and reads each person's latest choice. Every method raises database errors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, team_id: str, user_id: str, choice: Choice) -> None:
        """Save a person's choice in place of the previous one."""
        options = Jsonb({name: storable(value) for name, value in choice.options.items()})
        values = {"team_id": team_id, "user_id": user_id, "command": choice.command, "options": options}
        await self._pool.execute(_KEEP, values)

    async def last(self, team_id: str, user_id: str) -> Choice | None:
        """Return a person's latest choice; None if none is saved."""
        row = await self._pool.fetch_one(_LAST, {"team_id": team_id, "user_id": user_id})
        return None if row is None else Choice(command=row["command"], options=row["options"])
