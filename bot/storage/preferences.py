"""The tables of settings: what people and channels have set, checked when read and written."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from bot.model.audit import Change
from bot.model.preferences import ChannelSettings, PersonSettings, Preferences
from bot.preferences.settings import changes, load_channel, load_person
from bot.storage.audit import record_change
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
    RETURNING settings
"""
"""Change some settings of a channel, and note who did."""

_LOCK_CHANNEL = """
    SELECT settings FROM channel_settings WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s FOR UPDATE
"""
"""Read the settings of a channel and keep others from changing them meanwhile."""


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
        if changed := changes(before, after):
            values = {"team_id": team_id, "user_id": user_id, "changes": Jsonb(dict(changed))}
            async with self._pool.connection() as connection:
                await connection.execute(_CHANGE_PERSON, values)

    async def change_channel(
        self, before: ChannelSettings, after: ChannelSettings, *, team_id: str, channel_id: str, user_id: str
    ) -> None:
        """Save what a person has changed for a channel, who must be allowed to, and record it in the audit log."""
        changed = changes(before, after)
        if not changed:
            return
        place = {"team_id": team_id, "channel_id": channel_id}
        async with self._pool.transaction() as connection:
            was = await (await connection.execute(_LOCK_CHANNEL, place)).fetchone()
            values = place | {"user_id": user_id, "changes": Jsonb(dict(changed))}
            becomes = await (await connection.execute(_CHANGE_CHANNEL, values)).fetchone()
            await record_change(
                connection,
                Change(
                    **place,
                    user_id=user_id,
                    what="channel.settings",
                    before=was["settings"] if was else {},
                    after=becomes["settings"] if becomes else {},
                ),
            )
