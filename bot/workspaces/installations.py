"""The tables of installations by OAuth, whose tokens are encrypted when saved and decrypted when read."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, LiteralString

from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.installation_store.models.installation import Installation

from bot.errors import Undecryptable
from bot.model.membership import Identity
from bot.slack.messages import error_name
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import DatabaseRetry, Pool
from bot.workspaces.encryption import KeyRing, place_of

log = logging.getLogger(__name__)

SAVE_SECONDS = 600.0
"""How long to try to save a replaced token while the database is unavailable."""

BOT_TOKEN, REFRESH_TOKEN = "bot_token", "refresh_token"

_FIND = """
    SELECT i.*, extract(epoch FROM i.expires_at - now())::float8 AS seconds_left,
        (SELECT jsonb_object_agg(k.provider, k.secret) FROM provider_keys k WHERE k.id = i.id) AS provider_keys
    FROM installations i
    WHERE i.id = ANY(%(ids)s) AND NOT EXISTS (
        SELECT 1 FROM organization_teams o WHERE o.team_id = %(team_id)s AND o.enterprise_id = i.id AND o.revoked)
    ORDER BY array_position(%(ids)s::text[], i.id) LIMIT 1
"""
_FIND_BY_TEAM = """
    SELECT i.*, extract(epoch FROM i.expires_at - now())::float8 AS seconds_left,
        (SELECT jsonb_object_agg(k.provider, k.secret) FROM provider_keys k WHERE k.id = i.id) AS provider_keys
    FROM installations i
    WHERE i.id = %(team_id)s
        OR i.is_enterprise_install
            AND i.id = (
                SELECT o.enterprise_id FROM organization_teams o WHERE o.team_id = %(team_id)s AND NOT o.revoked)
    ORDER BY i.is_enterprise_install DESC LIMIT 1
"""
_SAVE = """
    WITH own AS (DELETE FROM organization_teams WHERE team_id = %(id)s AND NOT revoked)
    INSERT INTO installations AS i (id, team_id, enterprise_id, is_enterprise_install, bot_user_id, app_id, bot_token,
        refresh_token, expires_at)
    VALUES (%(id)s, %(team_id)s, %(enterprise_id)s, %(is_enterprise_install)s, %(bot_user_id)s, %(app_id)s,
        %(bot_token)s, %(refresh_token)s, now() + %(expires_in)s * interval '1 second')
    ON CONFLICT (id) DO UPDATE SET team_id = excluded.team_id, enterprise_id = excluded.enterprise_id,
        is_enterprise_install = excluded.is_enterprise_install, bot_user_id = excluded.bot_user_id,
        app_id = excluded.app_id, bot_token = excluded.bot_token, refresh_token = excluded.refresh_token,
        expires_at = excluded.expires_at, refresh_error = NULL, installed_at = now()
"""
_INSTALLED_AT = "SELECT installed_at FROM installations WHERE id = %(id)s"
_REMEMBER_TEAM = """
    INSERT INTO organization_teams AS o (team_id, enterprise_id) VALUES (%(team_id)s, %(enterprise_id)s)
    ON CONFLICT (team_id) DO UPDATE SET enterprise_id = excluded.enterprise_id, revoked = false, changed_at = NULL
    WHERE o.enterprise_id <> excluded.enterprise_id
"""
_DELETE_CLOSED = """
    DELETE FROM installations WHERE id IN (SELECT id FROM workspaces WHERE state <> 'open') RETURNING id
"""
_PROVIDER_KEYS = "SELECT provider, secret FROM provider_keys WHERE id = %(id)s"
_DELETE_PROVIDER_KEYS = """
    DELETE FROM provider_keys WHERE id IN (SELECT id FROM workspaces WHERE id = %(id)s AND state <> 'open')
"""
_EXPIRING = """
    SELECT id FROM installations
    WHERE refresh_token IS NOT NULL AND expires_at < now() + %(seconds)s * interval '1 second' ORDER BY expires_at
"""
_LOCK_EXPIRING = """
    SELECT refresh_token FROM installations
    WHERE id = %(id)s AND refresh_token IS NOT NULL AND expires_at < now() + %(seconds)s * interval '1 second'
    FOR UPDATE
"""
_REFRESHED = """
    UPDATE installations SET bot_token = %(bot_token)s, refresh_token = %(refresh_token)s, refresh_error = NULL,
        expires_at = now() + %(expires_in)s * interval '1 second'
    WHERE id = %(id)s
"""
_LOCK = "SELECT refresh_token FROM installations WHERE id = %(id)s FOR UPDATE"
_SLACK_MAY_TAKE = "SET LOCAL idle_in_transaction_session_timeout = '30s'"
"""Allow the transaction to be idle for 30 seconds, the time that the call to Slack within it may take."""

_NOT_REFRESHED = "UPDATE installations SET refresh_error = %(error)s WHERE id = %(id)s"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One installation, decrypted.

    `seconds_left` is how many seconds the token was still valid when it was read; None if it does not expire.
    `provider_keys` are the workspace's own keys for search services, by the service's name.
    """

    identity: Identity
    app_id: str | None
    token: str = field(repr=False)
    seconds_left: float | None = None
    provider_keys: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class OAuthGrant:
    """Slack's reply to a code or a refresh token. `expires_in` is in seconds, None without token rotation."""

    token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_in: int | None = None

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> OAuthGrant | None:
        """Parse the reply of oauth.v2.access; None if it contains no bot token."""
        token, refresh, seconds = answer.get("access_token"), answer.get("refresh_token"), answer.get("expires_in")
        if not isinstance(token, str) or not token:
            return None
        if isinstance(refresh, str) and refresh and isinstance(seconds, int) and seconds > 0:
            return cls(token=token, refresh_token=refresh, expires_in=seconds)
        return cls(token=token)


class RefreshFailed(Exception):
    """A token could not be replaced; `error` names the reason, None if Slack was not reached."""

    def __init__(self, error: str | None) -> None:
        super().__init__(error)
        self.error = error


class Installations(AsyncInstallationStore):
    """Reads and writes the tables. Raises database errors, and Undecryptable for a row that `keys` cannot decrypt.

    `calls` is the pool for connections that are held during a call to Slack.
    """

    def __init__(self, pool: Pool, *, calls: Pool, keys: KeyRing, workspaces: WorkspaceStore) -> None:
        self._pool = pool
        self._calls = calls
        self._keys = keys
        self._workspaces = workspaces

    async def find(self, ids: Sequence[str], *, team_id: str = "") -> Installed | None:
        """Return the first of these installations that exists and has not lost access to the workspace `team_id`."""
        return await self._installed(_FIND, {"ids": list(filter(None, ids)), "team_id": team_id})

    async def find_by_team(self, team_id: str) -> Installed | None:
        """Return the installation for a workspace's questions: that of its organization, or else its own."""
        return await self._installed(_FIND_BY_TEAM, {"team_id": team_id})

    async def installed_at(self, id: str) -> datetime | None:
        """Return when the app was installed, None if it was not. Works even if the token cannot be decrypted."""
        row = await self._pool.fetch_one(_INSTALLED_AT, {"id": id})
        return None if row is None else row["installed_at"]

    async def async_save(self, installation: Installation) -> None:
        """Save the installation of a completed OAuth flow.

        If the workspace was closed, first delete its own keys for services, and open it again.
        """
        identity = identity_of(installation)
        await self.delete_provider_keys(identity.id)
        token = installation.bot_token or ""
        # The workspace is opened first, since the tokens of a closed workspace may be deleted at any time.
        await self._workspaces.save(identity, token_hash=hashlib.sha256(token.encode()).hexdigest())
        granted = OAuthGrant(
            token=token,
            refresh_token=installation.bot_refresh_token,
            expires_in=_seconds_left(installation),
        )
        values = self._encrypted(identity.id, granted) | vars(identity) | {"app_id": installation.app_id}
        await self._pool.execute(_SAVE, values)

    async def remember_team(self, team_id: str, enterprise_id: str) -> None:
        """Save that a workspace belongs to an organization that installed the app for all its workspaces."""
        await self._pool.execute(_REMEMBER_TEAM, {"team_id": team_id, "enterprise_id": enterprise_id})

    async def provider_keys(self, id: str) -> dict[str, str]:
        """Read a workspace's or organization's own keys, without those that cannot be decrypted."""
        rows = await self._pool.fetch_all(_PROVIDER_KEYS, {"id": id})
        found = {}
        for row in rows:
            with suppress(Undecryptable):
                found[row["provider"]] = self._keys.decrypt(row["secret"], place=place_of(id, row["provider"]))
        return found

    async def delete_provider_keys(self, id: str) -> None:
        """Delete a workspace's own keys, if it is closed."""
        await self._pool.execute(_DELETE_PROVIDER_KEYS, {"id": id})

    async def delete_closed(self) -> list[str]:
        """Delete the tokens of closed workspaces; return the ids of those that still had one.

        The workspaces' own keys for services are deleted later, since they are still needed to cancel background runs.
        """
        rows = await self._pool.fetch_all(_DELETE_CLOSED)
        return [str(row["id"]) for row in rows]

    async def expiring(self, *, seconds: float) -> list[str]:
        """Return the ids of the installations whose tokens end within `seconds`."""
        rows = await self._pool.fetch_all(_EXPIRING, {"seconds": seconds})
        return [str(row["id"]) for row in rows]

    async def refresh(
        self, id: str, *, seconds: float, exchange: Callable[[str], Awaitable[OAuthGrant]]
    ) -> RefreshFailed | None:
        """Replace a token that ends within `seconds`; return the error if that fails.

        The row is locked meanwhile, so that only one process does this; if another process was faster, return None.
        `exchange` sends a refresh token to Slack, and raises RefreshFailed if that fails. Since Slack accepts each
        refresh token only once, the task must not be cancelled before the new token is saved; if the database
        connection is lost during the call, the new token is saved on another connection.
        """
        new: dict[str, Any] | None = None
        try:
            async with self._calls.transaction() as connection:
                await connection.execute(_SLACK_MAY_TAKE)
                row = await (await connection.execute(_LOCK_EXPIRING, {"id": id, "seconds": seconds})).fetchone()
                if row is None:
                    return None
                try:
                    old = self._keys.decrypt(row[REFRESH_TOKEN], place=place_of(id, REFRESH_TOKEN))
                    new = self._encrypted(id, await exchange(old))
                except (RefreshFailed, Undecryptable) as error:
                    failed = error if isinstance(error, RefreshFailed) else RefreshFailed("undecryptable")
                    if failed.error is not None:
                        values = {"id": id, "error": error_name(failed.error) or "unknown"}
                        await connection.execute(_NOT_REFRESHED, values)
                    return failed
                await connection.execute(_REFRESHED, new)
        except DATABASE_UNAVAILABLE:
            if new is None:
                raise
            await DatabaseRetry(seconds=SAVE_SECONDS)(partial(self._save_late, new, old))
        return None

    async def _save_late(self, new: Mapping[str, Any], old: str) -> None:
        """Save new tokens if the database still has the refresh token `old`, whichever key encrypts it by now."""
        async with self._pool.transaction() as connection:
            row = await (await connection.execute(_LOCK, new)).fetchone()
            with suppress(Undecryptable):
                if row and self._keys.decrypt(row[REFRESH_TOKEN], place=place_of(new["id"], REFRESH_TOKEN)) == old:
                    await connection.execute(_REFRESHED, new)
                    return
        log.error("token.dropped", extra={"team": new["id"]})

    def _encrypted(self, id: str, granted: OAuthGrant) -> dict[str, Any]:
        refresh = granted.refresh_token
        return {
            "id": id,
            BOT_TOKEN: self._keys.encrypt(granted.token, place=place_of(id, BOT_TOKEN)),
            REFRESH_TOKEN: None if refresh is None else self._keys.encrypt(refresh, place=place_of(id, REFRESH_TOKEN)),
            "expires_in": granted.expires_in,
        }

    async def _installed(self, query: LiteralString, values: Mapping[str, Any]) -> Installed | None:
        row = await self._pool.fetch_one(query, values)
        if row is None:
            return None
        identity = Identity.from_row(row)
        return Installed(
            identity=identity,
            app_id=row["app_id"],
            token=self._keys.decrypt(row[BOT_TOKEN], place=place_of(identity.id, BOT_TOKEN)),
            seconds_left=row["seconds_left"],
            provider_keys={
                name: self._keys.decrypt(secret, place=place_of(identity.id, name))
                for name, secret in (row["provider_keys"] or {}).items()
            },
        )


def identity_of(installation: Installation) -> Identity:
    """Return the workspace or organization of a completed OAuth flow."""
    return Identity(
        team_id=installation.team_id or installation.enterprise_id or "",
        enterprise_id=installation.enterprise_id,
        is_enterprise_install=bool(installation.is_enterprise_install),
        bot_user_id=installation.bot_user_id,
    )


def _seconds_left(installation: Installation) -> int | None:
    """Return how many seconds a new token is valid; None if it does not expire."""
    at = installation.bot_token_expires_at
    return None if at is None else max(0, int(at - installation.installed_at))
