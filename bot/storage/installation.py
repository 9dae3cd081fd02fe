"""The tables about installations: whether an installation is open, and which work and data end with it.

Small tables are here, too: the workspaces of people, the reads of threads, and the requests for files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from bot.model.audit import APP, Change
from bot.model.membership import AccessChange, Identity, workspace_key
from bot.privacy.tables import TABLES
from bot.storage.audit import record_change
from bot.storage.personal_data import erase_workspaces
from bot.storage.queries import stop_all
from bot.storage.questions import Pool

OPEN = "open"
REVOKED = "revoked"
UNINSTALLED = "uninstalled"

_SAVE = """
    INSERT INTO workspaces AS w (id, team_id, enterprise_id, is_enterprise_install, bot_user_id, token_hash)
    VALUES (%(id)s, %(team_id)s, %(enterprise_id)s, %(is_enterprise_install)s, %(bot_user_id)s, %(token_hash)s)
    ON CONFLICT (id) DO UPDATE SET team_id = excluded.team_id, enterprise_id = excluded.enterprise_id,
        is_enterprise_install = excluded.is_enterprise_install, bot_user_id = excluded.bot_user_id,
        app_id = CASE WHEN w.bot_user_id IS NOT DISTINCT FROM excluded.bot_user_id THEN w.app_id END,
        token_hash = excluded.token_hash,
        state = CASE WHEN w.closed_token_hash = excluded.token_hash THEN w.state ELSE 'open' END,
        opened_at = CASE WHEN w.state <> 'open' AND w.closed_token_hash IS DISTINCT FROM excluded.token_hash
            THEN now() ELSE w.opened_at END
    RETURNING *
"""
_RESUME = """
    UPDATE digests d SET state = 'active', next_at = d.held_next_at, held_next_at = NULL
    FROM workspaces w
    WHERE w.id = %(id)s AND w.state = 'open' AND d.state = 'paused' AND d.held_next_at IS NOT NULL
      AND (d.team_id IN (w.team_id, w.enterprise_id) OR w.is_enterprise_install)
"""
_BY_ID = "SELECT * FROM workspaces WHERE id = %(id)s"
_LOCK = "SELECT state FROM workspaces WHERE id = %(id)s FOR UPDATE"
_BY_HASH = "SELECT * FROM workspaces WHERE token_hash = %(token_hash)s"
_CLOSED = "SELECT state FROM workspaces WHERE closed_token_hash = %(token_hash)s AND state <> 'open'"
_OTHER = "SELECT id FROM workspaces WHERE id <> %(id)s ORDER BY id LIMIT 1"
_BIND = "UPDATE workspaces SET app_id = coalesce(app_id, %(app_id)s) WHERE id = %(id)s RETURNING *"
_CLOSE = """
    INSERT INTO workspaces AS w (id, team_id, enterprise_id, is_enterprise_install, token_hash, state,
        closed_token_hash, closed_at)
    VALUES (%(id)s, %(team_id)s, %(enterprise_id)s, %(is_enterprise_install)s, %(token_hash)s, %(state)s,
        %(token_hash)s, now())
    ON CONFLICT (id) DO UPDATE
    SET state = CASE WHEN w.state = 'uninstalled' THEN w.state ELSE excluded.state END,
        closed_token_hash = excluded.closed_token_hash, closed_at = now()
    WHERE w.opened_at IS NULL OR w.opened_at < %(event_at)s
    RETURNING *
"""

_TEAMS = SQL("({}) EXCEPT SELECT team_id FROM workspaces WHERE id <> %(id)s").format(
    SQL(" UNION ").join(
        SQL("SELECT team_id FROM {}").format(Identifier(name))
        for name, table in TABLES.items()
        if table.of_workspace is not None and "team_id" in table.columns
    )
)
"""Select the workspaces that any table names, except those with an installation of their own.

Every table is searched, since an interrupted erasure may have left rows in only one of them.
"""

_IS_CLOSED = "SELECT FROM workspaces WHERE id = %(id)s AND state = ANY(%(states)s) FOR SHARE"
_RESUME_OWN = """
    UPDATE digests SET state = 'active', next_at = held_next_at, held_next_at = NULL
    WHERE state = 'paused' AND held_next_at IS NOT NULL AND team_id = ANY(%(teams)s)
        AND EXISTS (SELECT 1 FROM workspaces WHERE id = %(id)s AND state = 'open')
"""
_OWN_TEAMS = """
    (SELECT team_id FROM organization_teams WHERE enterprise_id = %(id)s UNION SELECT %(id)s)
    EXCEPT SELECT team_id FROM workspaces WHERE id <> %(id)s AND state = 'open'
"""
_STILL_SERVED = """
    SELECT 1 FROM organization_teams o JOIN workspaces w ON w.id = o.enterprise_id
    WHERE o.team_id = %(id)s AND NOT o.revoked AND w.is_enterprise_install AND w.state = 'open'
"""
_CHANGE_ACCESS = """
    INSERT INTO organization_teams AS o (team_id, enterprise_id, revoked, changed_at)
    SELECT t, %(id)s, %(revoked)s, %(at)s FROM unnest(%(teams)s::text[]) t
    WHERE EXISTS (
        SELECT 1 FROM workspaces w
        WHERE w.id = %(id)s AND w.is_enterprise_install AND w.state = 'open'
            AND (w.opened_at IS NULL OR w.opened_at < %(at)s))
    ORDER BY 1
    ON CONFLICT (team_id) DO UPDATE
    SET enterprise_id = excluded.enterprise_id, revoked = excluded.revoked, changed_at = excluded.changed_at
    WHERE (o.changed_at IS NULL OR o.changed_at <= excluded.changed_at)
        AND (o.enterprise_id = excluded.enterprise_id OR NOT excluded.revoked)
    RETURNING team_id
"""
_CLOSE_TEAMS = """
    WITH before AS (SELECT id, state FROM workspaces WHERE id = ANY(%(teams)s)),
    closed AS (
        INSERT INTO workspaces AS w (id, team_id, enterprise_id, state, closed_at)
        SELECT t, t, %(id)s, 'uninstalled', now() FROM unnest(%(teams)s::text[]) t
        WHERE NOT EXISTS (SELECT 1 FROM installations i WHERE i.id = t)
        ORDER BY 1
        ON CONFLICT (id) DO UPDATE SET enterprise_id = excluded.enterprise_id, state = excluded.state,
            closed_at = excluded.closed_at
        RETURNING *)
    SELECT c.*, b.state AS before FROM closed c LEFT JOIN before b USING (id)
"""
_OPEN_TEAMS = """
    DELETE FROM workspaces w
    WHERE id = ANY(%(teams)s) AND state <> 'open' AND NOT EXISTS (SELECT 1 FROM installations i WHERE i.id = w.id)
    RETURNING *
"""
_FORGET_REVOKED = "DELETE FROM organization_teams WHERE enterprise_id = %(id)s AND revoked"
_ALL_CLOSED = """
    SELECT * FROM workspaces
    WHERE state <> 'open'
        AND (%(seconds)s::float8 IS NULL OR closed_at > now() - %(seconds)s::float8 * interval '1 second')
"""
_PAUSE = """
    UPDATE digests SET state = 'paused', held_next_at = next_at, next_at = NULL
    WHERE state = 'active' AND team_id = ANY(%(teams)s)
"""
_STOP = stop_all("state = 'stopped', response_url = NULL", "team_id = ANY(%(teams)s)")
_SAVE_USER_TEAM = """
    WITH old AS (DELETE FROM user_teams WHERE at < now() - interval '1 day')
    INSERT INTO user_teams (user_id, user_team) VALUES (%(user_id)s, %(user_team)s)
    ON CONFLICT (user_id) DO UPDATE SET user_team = excluded.user_team, at = now()
"""
_USER_TEAM = """
    SELECT user_team FROM user_teams WHERE user_id = %(user_id)s AND at > now() - %(seconds)s * interval '1 second'
"""
_RECORD_THREAD_READ = """
    INSERT INTO thread_reads AS r (method) VALUES (%(method)s)
    ON CONFLICT (method) DO UPDATE SET at = now() WHERE r.at <= now() - interval '61 seconds'
    RETURNING at
"""
_BEGINS_THREAD = """
    SELECT right(delivery_key, length(thread_ts) + 1) = ':' || thread_ts AS begins FROM questions WHERE id = %(id)s
"""
_REQUEST_FILE = """
    INSERT INTO file_requests AS f (question_id, user_id) VALUES (%(question_id)s, %(user_id)s)
    ON CONFLICT (question_id, user_id) DO UPDATE SET asked_at = now()
    WHERE f.asked_at < now() - %(seconds)s * interval '1 second'
    RETURNING question_id
"""
_CANCEL_FILE_REQUEST = "DELETE FROM file_requests WHERE question_id = %(question_id)s AND user_id = %(user_id)s"


@dataclass(frozen=True, kw_only=True)
class WorkspaceRow:
    """One installation. `state` is `OPEN`, `REVOKED` or `UNINSTALLED`.

    `opened_at` is when it was last opened again after it had been closed; None if it was never opened again.
    """

    identity: Identity
    app_id: str | None
    state: str
    token_hash: str | None = None
    opened_at: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> WorkspaceRow:
        """Read a row of the table."""
        names = ("app_id", "state", "token_hash", "opened_at")
        return cls(identity=Identity.from_row(row), **{name: row[name] for name in names})


class WorkspaceStore:
    """Reads and writes the tables, in short transactions that may be repeated.

    With `many`, the process may serve many installations. An installation then has only the work and data of the
    workspaces that are known to belong to it.
    """

    def __init__(self, pool: Pool, *, many: bool = False) -> None:
        self._pool = pool
        self._many = many

    async def save(self, identity: Identity, *, token_hash: str) -> WorkspaceRow:
        """Save the installation of a token; if it was closed with another token, it opens again.

        Digests that were paused when the installation was closed then continue. Their missed runs are treated as after
        any other downtime of the app.
        """
        async with self._pool.transaction() as connection:
            values = vars(identity) | {"id": identity.id, "token_hash": token_hash}
            before = await (await connection.execute(_LOCK, values)).fetchone()
            row = await (await connection.execute(_SAVE, values)).fetchone()
            if self._many:
                await connection.execute(_RESUME_OWN, values | {"teams": await self._own_teams(connection, identity)})
            else:
                await connection.execute(_RESUME, values)
            if row is None:
                raise LookupError("the row that was just written is not there")
            await _record_state(connection, "workspace.install", before, row)
            if before is not None and before["state"] != row["state"] == OPEN:
                # Forget which workspaces had lost the app: after reopening, Slack reports access anew.
                await connection.execute(_FORGET_REVOKED, values)
        return WorkspaceRow.of(row)

    async def get(self, id: str) -> WorkspaceRow | None:
        """Return the installation with this id; None if there is none."""
        return await self._workspace(_BY_ID, {"id": id})

    async def get_by_token(self, token_hash: str) -> WorkspaceRow | None:
        """Return the installation for which the token with this hash was last saved; None if there is none."""
        return await self._workspace(_BY_HASH, {"token_hash": token_hash})

    async def bind(self, id: str, app_id: str) -> WorkspaceRow | None:
        """Save the app's id unless one is saved already; return the installation, None if it is unknown."""
        return await self._workspace(_BIND, {"id": id, "app_id": app_id})

    async def close(
        self, identity: Identity, *, state: str, token_hash: str, event_at: datetime
    ) -> WorkspaceRow | None:
        """Close the installation; change nothing and return None if it was opened again since the event."""
        values: dict[str, Any] = vars(identity) | {"id": identity.id, "state": state}
        values |= {"token_hash": token_hash, "event_at": event_at}
        async with self._pool.transaction() as connection:
            before = await (await connection.execute(_LOCK, values)).fetchone()
            row = await (await connection.execute(_CLOSE, values)).fetchone()
            if row is not None:
                await _record_state(connection, "workspace.close", before, row)
        return WorkspaceRow.of(row) if row else None

    async def change_access(self, change: AccessChange) -> list[str]:
        """Record that workspaces got or lost their organization's app; return the ids of the recorded workspaces.

        Nothing is recorded if the organization does not have the app, if it got the app back after the event, or if a
        later event is recorded already. An organization cannot remove a workspace that now belongs to another
        organization. A removed workspace counts as one that has uninstalled the app, unless it has an installation of
        its own.
        """
        values: dict[str, Any] = {"id": change.enterprise_id, "revoked": not change.granted, "at": change.at}
        async with self._pool.transaction() as connection:
            rows = await (
                await connection.execute(_CHANGE_ACCESS, values | {"teams": list(change.team_ids)})
            ).fetchall()
            values["teams"] = [row["team_id"] for row in rows]
            if change.granted:
                for row in await (await connection.execute(_OPEN_TEAMS, values)).fetchall():
                    await _record_state(connection, "workspace.install", row, row | {"state": OPEN})
                await connection.execute(_RESUME_OWN, values)
            else:
                for row in await (await connection.execute(_CLOSE_TEAMS, values)).fetchall():
                    await _record_state(connection, "workspace.close", {"state": row["before"]}, row)
        return list(values["teams"])

    async def stop_work(self, identity: Identity) -> list[str]:
        """Pause the digests and close the open questions of an installation; return the ids of their background runs.

        If the installation is open again, do nothing.
        """
        values = {"teams": await self._teams(identity)}
        async with self._pool.transaction() as connection:
            if not await _is_closed(connection, id=identity.id, states=[REVOKED, UNINSTALLED]):
                return []
            await connection.execute(_PAUSE, values)
            rows = await (await connection.execute(_STOP, values)).fetchall()
        return [str(row["run_id"]) for row in rows]

    async def delete_texts(self, identity: Identity) -> int:
        """Delete the rows of an installation, as `bot.privacy.tables` lists them; return the number of questions.

        The deletion stops if the app is installed again. The new installation waits for the current batch only.
        """
        goes_on = partial(_is_closed, id=identity.id, states=[UNINSTALLED])
        return await erase_workspaces(self._pool, await self._teams(identity), goes_on=goes_on)

    async def _teams(self, identity: Identity) -> list[str]:
        """Return the ids of the workspaces whose work and data end with an installation.

        Without `many`, those of an organization are all workspaces in the database that have no installation of their
        own. With `many`, only workspaces known to belong to the installation are returned, and none if a workspace's
        organization still has the app.
        """
        if self._many:
            async with self._pool.connection() as connection:
                served = await (await connection.execute(_STILL_SERVED, {"id": identity.id})).fetchone()
                return await self._own_teams(connection, identity) if served is None else []
        if not identity.is_enterprise_install:
            return sorted(identity.ids)
        rows = await self._pool.fetch_all(_TEAMS, {"id": identity.id})
        return [str(row["team_id"]) for row in rows]

    async def _own_teams(self, connection: AsyncConnection[DictRow], identity: Identity) -> list[str]:
        """Return the ids of the workspaces that are known to belong to an installation; used with `many`."""
        if not identity.is_enterprise_install:
            return [identity.team_id]
        rows = await (await connection.execute(_OWN_TEAMS, {"id": identity.id})).fetchall()
        return [str(row["team_id"]) for row in rows]

    async def closed(self, *, seconds: float | None) -> list[WorkspaceRow]:
        """Return the closed installations; with `seconds`, only those closed within that time."""
        rows = await self._pool.fetch_all(_ALL_CLOSED, {"seconds": seconds})
        return [WorkspaceRow.of(row) for row in rows]

    async def save_user_team(self, user_id: str, user_team: str, *, team_id: str = "") -> None:
        """Save `user_team`, the workspace that an event named as a person's; with `many`, one is kept per `team_id`."""
        user_id = self._person(team_id, user_id)
        await self._pool.execute(_SAVE_USER_TEAM, {"user_id": user_id, "user_team": user_team})

    async def user_team(self, user_id: str, *, seconds: float, team_id: str = "") -> str:
        """Return the workspace that an event of the last `seconds` named as a person's; empty if none did."""
        user_id = self._person(team_id, user_id)
        row = await self._pool.fetch_one(_USER_TEAM, {"user_id": user_id, "seconds": seconds})
        return str(row["user_team"]) if row else ""

    def _person(self, team_id: str, user_id: str) -> str:
        return f"{team_id}:{user_id}" if self._many else user_id

    async def record_thread_read(self) -> bool:
        """Record that a thread is being read; return False if any process read one in the last minute."""
        workspace = workspace_key()
        method = f"conversations.replies {workspace}" if workspace else "conversations.replies"
        return await self._pool.fetch_one(_RECORD_THREAD_READ, {"method": method}) is not None

    async def begins_thread(self, question_id: UUID) -> bool:
        """Return whether a mention starts a thread, rather than being a reply in one."""
        row = await self._pool.fetch_one(_BEGINS_THREAD, {"id": question_id})
        return bool(row and row["begins"])

    async def request_file(self, question_id: UUID, user_id: str, *, seconds: float) -> bool:
        """Record that a person wants a report as a file; return False if they asked for it in the last `seconds`."""
        values = {"question_id": question_id, "user_id": user_id, "seconds": seconds}
        return await self._pool.fetch_one(_REQUEST_FILE, values) is not None

    async def cancel_file_request(self, question_id: UUID, user_id: str) -> None:
        """Allow a person to ask for a report as a file again at once, after the file was not sent."""
        await self._pool.execute(_CANCEL_FILE_REQUEST, {"question_id": question_id, "user_id": user_id})

    async def _workspace(self, query: LiteralString, values: Mapping[str, Any]) -> WorkspaceRow | None:
        row = await self._pool.fetch_one(query, values)
        return WorkspaceRow.of(row) if row else None


async def other_installation(connection: AsyncConnection[DictRow], id: str) -> str | None:
    """Return the id of an installation other than `id`; None if there is none."""
    row = await (await connection.execute(_OTHER, {"id": id})).fetchone()
    return str(row["id"]) if row else None


async def closed_state(connection: AsyncConnection[DictRow], token_hash: str) -> str | None:
    """Return the state of the installation that was closed with this token; None if there is none, or it is open."""
    row = await (await connection.execute(_CLOSED, {"token_hash": token_hash})).fetchone()
    return str(row["state"]) if row else None


async def _is_closed(connection: AsyncConnection[DictRow], *, id: str, states: Sequence[str]) -> bool:
    """Return whether an installation is in one of `states`; it cannot leave that state until the transaction ends."""
    return await (await connection.execute(_IS_CLOSED, {"id": id, "states": list(states)})).fetchone() is not None


async def _record_state(
    connection: AsyncConnection[DictRow], what: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> None:
    """Record in the audit log that the app was installed or closed, if its state has changed."""
    was = before["state"] if before is not None else None
    if was != after["state"]:
        change = Change(team_id=after["team_id"], user_id=APP, what=what, before=was, after=after["state"])
        await record_change(connection, change)
