"""The settings of people, channels and workspaces, and each person's latest choices in the modal for questions.

Settings are validated when they are read and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from bot.model.audit import Change
from bot.model.question import NO_PREFERENCES, ChannelSettings, Choice, PersonSettings, Preferences, WorkspaceSettings
from bot.preferences import SettingsOfPart, changes, load_channel, load_person, load_workspace
from bot.settings import Settings
from bot.storage.audit import record_change
from bot.storage.questions import Pool, storable

_READ = """
    SELECT
        (SELECT settings FROM person_settings WHERE team_id = %(team_id)s AND user_id = %(user_id)s) AS person,
        (SELECT settings FROM channel_settings WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s) AS channel,
        (SELECT settings FROM workspace_settings WHERE team_id = %(team_id)s) AS workspace
"""


def _statements(
    table: LiteralString, *key: LiteralString, by: LiteralString = ""
) -> tuple[LiteralString, LiteralString]:
    """Return the statements that read and change the settings in a table with this `key`.

    The statement that reads the settings also blocks other changes of them until the end of the transaction. A setting
    whose new value is null is removed. `by` is the column that names who has changed the settings, empty if the table
    has no such column.
    """
    columns = (*key, by) if by else key
    values = ", ".join(f"%({column})s" for column in columns)
    names_person = f", {by} = %({by})s" if by else ""
    found = " AND ".join(f"{column} = %({column})s" for column in key)
    read = f"""
        INSERT INTO {table} ({", ".join(columns)}, settings) VALUES ({values}, '{{}}')
        ON CONFLICT ({", ".join(key)}) DO UPDATE SET settings = {table}.settings
        RETURNING settings
    """
    change = f"""
        UPDATE {table}
        SET settings = jsonb_strip_nulls(settings || %(changes)s::jsonb), at = now(){names_person}
        WHERE {found}
        RETURNING settings
    """
    return read, change


_PARTS: Mapping[type, tuple[tuple[LiteralString, LiteralString], Callable[[object], object]]] = {
    PersonSettings: (_statements("person_settings", "team_id", "user_id"), load_person),
    ChannelSettings: (_statements("channel_settings", "team_id", "channel_id", by="user_id"), load_channel),
    WorkspaceSettings: (_statements("workspace_settings", "team_id"), load_workspace),
}


def app_defaults(settings: Settings) -> dict[str, str]:
    """Return the app's own "on" or "off" for the switches that a person or a channel can set, by field."""
    switches = {
        "follow_ups": settings.follow_ups == "always",
        "history": settings.thread_history != "off",
        "external": settings.allow_external_users,
    }
    return {name: "on" if on else "off" for name, on in switches.items()}


class PreferenceStore:
    """Reads and changes settings. `defaults` are as in `Preferences`."""

    def __init__(self, pool: Pool, defaults: Mapping[str, str] = NO_PREFERENCES.defaults) -> None:
        self._pool = pool
        self._defaults = defaults

    async def get(self, *, team_id: str, user_id: str, channel_id: str) -> Preferences:
        """Return the settings of a person, a channel and the workspace."""
        values = {"team_id": team_id, "user_id": user_id, "channel_id": channel_id}
        row = await self._pool.fetch_one(_READ, values) or {}
        return Preferences(
            person=load_person(row.get("person")),
            channel=load_channel(row.get("channel")),
            workspace=load_workspace(row.get("workspace")),
            defaults=self._defaults,
        )

    async def change(
        self, before: Preferences, after: Preferences, *, team_id: str, user_id: str, channel_id: str
    ) -> bool:
        """Save the changes of the workspace, the channel and the person, in this order, each with `change_part`.

        Return False at the first part that is not saved, because a value was changed meanwhile; the parts before it
        stay saved. The caller checks whether the person may make the changes.
        """
        place = {"team_id": team_id, "user_id": user_id}
        return (
            await self.change_part(before.workspace, after.workspace, **place)
            and await self.change_part(before.channel, after.channel, **place, channel_id=channel_id)
            and await self.change_part(before.person, after.person, **place)
        )

    async def change_part(
        self, before: SettingsOfPart, after: SettingsOfPart, *, team_id: str, user_id: str, channel_id: str = ""
    ) -> bool:
        """Save the changes from `before` to `after` in the settings of a person, a channel or the workspace.

        Return False, and save nothing, if a value to change is no longer as in `before`. The caller checks whether the
        person may make the changes. The audit log records changes to a channel or the workspace.
        """
        (read, change), load = _PARTS[type(before)]
        place = {"team_id": team_id, "channel_id": channel_id, "user_id": user_id}
        changed = changes(before, after)
        if not changed:
            return True
        async with self._pool.transaction() as connection:
            was = await (await connection.execute(read, place)).fetchone()
            stored = load(was and was["settings"])
            if any(getattr(before, name) != getattr(stored, name) for name in changed):
                return False
            becomes = await (await connection.execute(change, {**place, "changes": Jsonb(dict(changed))})).fetchone()
            if not isinstance(before, PersonSettings):
                await record_change(
                    connection,
                    Change(
                        **place,
                        what=f"{before.place}.settings",
                        before=_without_text(was["settings"] if was else {}),
                        after=_without_text(becomes["settings"] if becomes else {}),
                    ),
                )
        return True


def _without_text(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings for the audit log, with the length of the instructions in place of their text."""
    texts = {name: f"{len(settings[name])} characters" for name in ("instructions",) if name in settings}
    return settings | texts


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
