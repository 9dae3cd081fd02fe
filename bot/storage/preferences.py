"""The tables of settings: what people and channels have set, checked when read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from bot.model.preferences import ChannelSettings, PersonSettings, Preferences
from bot.preferences.settings import Value, changes, load_channel, load_person
from bot.storage.questions import Pool

_READ = """
    SELECT
        (SELECT settings FROM person_settings WHERE team_id = %(team_id)s AND user_id = %(user_id)s) AS person,
        (SELECT settings FROM channel_settings WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s) AS channel
"""

_CHANGE_PERSON = """
    INSERT INTO person_settings (team_id, user_id, settings)
    VALUES (%(team_id)s, %(user_id)s, jsonb_strip_nulls(%(changes)s::jsonb))
    ON CONFLICT (team_id, user_id) DO UPDATE
    SET settings = jsonb_strip_nulls(person_settings.settings || %(changes)s::jsonb), at = now()
"""
"""Change some settings of a person; null takes one back. Two changes at once both count."""

_CHANGE_CHANNEL = """
    INSERT INTO channel_settings (team_id, channel_id, user_id, settings)
    VALUES (%(team_id)s, %(channel_id)s, %(user_id)s, jsonb_strip_nulls(%(changes)s::jsonb))
    ON CONFLICT (team_id, channel_id) DO UPDATE
    SET settings = jsonb_strip_nulls(channel_settings.settings || %(changes)s::jsonb), user_id = %(user_id)s, at = now()
"""
"""Change some settings of a channel, and note who did."""


class PreferenceStore:
    """The tables' operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, *, team_id: str, user_id: str, channel_id: str) -> Preferences:
        """Return the settings of a person and of a channel."""
        values = {"team_id": team_id, "user_id": user_id, "channel_id": channel_id}
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_READ, values)).fetchone() or {}
        return Preferences(person=load_person(row.get("person")), channel=load_channel(row.get("channel")))

    async def change_person(self, before: PersonSettings, after: PersonSettings, *, team_id: str, user_id: str) -> None:
        """Save what a person has changed."""
        await self._change(_CHANGE_PERSON, changes(before, after), team_id=team_id, user_id=user_id)

    async def change_channel(
        self, before: ChannelSettings, after: ChannelSettings, *, team_id: str, channel_id: str, user_id: str
    ) -> None:
        """Save what a person has changed for a channel, who must be allowed to."""
        await self._change(
            _CHANGE_CHANNEL, changes(before, after), team_id=team_id, channel_id=channel_id, user_id=user_id
        )

    async def _change(self, query: LiteralString, changed: Mapping[str, Value | None], **place: Any) -> None:
        if changed:
            async with self._pool.connection() as connection:
                await connection.execute(query, place | {"changes": Jsonb(dict(changed))})
