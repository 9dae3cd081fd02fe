"""The workspace of each request or question, its token, and the clean-up when an installation ends.

Installations are cached for `CACHE_SECONDS`; every process notices the end of an installation within seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from bot.clock import wait_for_any
from bot.errors import Undecryptable
from bot.model.membership import (
    EVENT_SECONDS,
    FOREIGN,
    AccessChange,
    ActiveWorkspace,
    Identity,
    RequestOrigin,
    act_for,
    current_scope,
    ended_installation,
    event_time,
    is_in_same_second,
    is_lifecycle,
    of_organization,
    team_of,
)
from bot.slack.messages import NoToken
from bot.slack.users import fetch_once, put_in_cache
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.installation import UNINSTALLED, WorkspaceRow, WorkspaceStore
from bot.workspaces.installations import Installations, Installed, OAuthGrant, RefreshFailed
from bot.workspaces.provider_keys import own_keys
from perplexity.scope import OwnKeys, using_keys

log = logging.getLogger(__name__)

CACHE_SECONDS = 30.0
"""How long an installation is used before it is read again.

A revoked installation is used no longer than this, unless the database is unavailable.
"""

ABSENT_SECONDS = 2.0
"""How long an installation counts as missing before it is read again: short, so that a new one soon serves requests."""

MAX_CACHED = 2_000

WATCH_SECONDS = 2.0
"""The pause between two checks for installations that another process has closed."""

CLEAN_UP_SECONDS = 60.0
"""The time between two clean-ups after the same closed workspace; the later ones are for questions that arrived late.

Tokens that end soon are looked for at the same interval.
"""

CLOSED_LATELY_SECONDS = 86_400.0
"""The clean-up is repeated until the workspace has been closed for this long.

When a process starts, it cleans up once after every closed workspace, even one that was closed long ago.
"""

REFRESH_SECONDS = 7_200.0
"""A token, which Slack makes valid for twelve hours, is replaced this long before its end, as Bolt does."""

STOP_SECONDS = 2.0
"""How long a stopping process waits for Slack's reply to a refresh token."""

URGENT_SECONDS = 60.0
"""A token that ends sooner than this is replaced before it is used."""

NOT_INSTALLED = "the app is not installed here"


@dataclass(kw_only=True)
class _Kept:
    installed: Installed | None
    at: float


@dataclass(kw_only=True)
class Workspaces:
    """The installations of this app. `clock` is monotonic.

    `allowed` are the ids of the workspaces and organizations that may have the app. `exchange` sends a refresh token to
    Slack; `takes` returns whether Slack still accepts a token, and raises TokenUnchecked if Slack does not say.
    `cancel_runs` cancels background runs. `services` are the addresses of the search services that accept a workspace's
    own key, by name.
    """

    installations: Installations
    store: WorkspaceStore
    allowed: Collection[str]
    exchange: Callable[[str], Awaitable[OAuthGrant]]
    takes: Callable[[str], Awaitable[bool]]
    services: Mapping[str, str] = field(default_factory=dict)
    cancel_runs: Callable[[Sequence[str]], None] = lambda run_ids: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _kept: OrderedDict[tuple[str, ...], _Kept] = field(default_factory=OrderedDict)
    _reading: dict[tuple[str, ...], asyncio.Task[Installed | None]] = field(default_factory=dict)
    _teams: dict[tuple[str, str], float] = field(default_factory=dict)
    _forgotten: int = 0
    _cleaned: dict[str, tuple[WorkspaceRow, float]] = field(default_factory=dict)
    _refreshed_at: float | None = None
    _refresh_failed: dict[str, float] = field(default_factory=dict)
    _refreshing: set[asyncio.Task[RefreshFailed | None]] = field(default_factory=set)
    _swept: bool = False
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def identity(self) -> Identity | None:
        """Return the installation that the current task acts for."""
        return current_scope().workspace

    async def of_request(self, body: Mapping[str, Any]) -> ActiveWorkspace | None:
        """Return the installation that a verified request names; None if there is none.

        Raises database errors, and Undecryptable unless the installation is cached.
        """
        named = RequestOrigin.from_body(body)
        wanted = (named.enterprise_id, named.team_id) if of_organization(body) else (named.team_id, named.enterprise_id)
        ids, team = tuple(filter(None, wanted)), team_of(body)
        if not ids:
            return None
        installed = await self._get(("ids", *ids, team), lambda: self.installations.find(ids, team_id=team))
        if installed is None:
            return None
        await self._remember_team(named, installed.identity)
        return self._active(installed)

    async def enter_team(self, team_id: str) -> bool:
        """Make the current task act for the installation that serves a workspace; return False if there is none.

        Raises database errors and Undecryptable, unless the installation is cached.
        """
        installed = await self._get(("team", team_id), lambda: self.installations.find_by_team(team_id))
        act_for(self._active(installed) if installed is not None else None)
        return installed is not None

    def _active(self, installed: Installed) -> ActiveWorkspace:
        keys = own_keys(installed.identity.id, installed.provider_keys, services=self.services)
        return ActiveWorkspace(identity=installed.identity, own_keys=keys)

    def refusal(self, body: Mapping[str, Any]) -> str | None:
        """Return why a verified request is refused, None if it is not; the task must already act for its workspace."""
        ours = current_scope().workspace
        if ours is None:
            return None if is_lifecycle(body) else NOT_INSTALLED
        # The ids in the request led to this installation. The organization may differ, since a workspace can join one.
        kept = self._kept.get(("id", ours.id))
        app_id = kept.installed.app_id if kept is not None and kept.installed is not None else None
        named = RequestOrigin.from_body(body).app_id
        return FOREIGN if named and app_id and named != app_id else None

    async def token(self) -> str:
        """Return the token of the task's workspace. Raises NoToken; never returns another workspace's token."""
        ours = current_scope().workspace
        if ours is None:
            raise NoToken(None)
        installed = await self._by_id(ours.id)
        if installed is not None and installed.seconds_left is not None:
            kept = self._kept.get(("id", ours.id))
            if kept is None or installed.seconds_left - (self.clock() - kept.at) < URGENT_SECONDS:
                await self._refresh(ours.id, seconds=URGENT_SECONDS)
                installed = await self._by_id(ours.id)
        if installed is None:
            raise NoToken("token_revoked")
        return installed.token

    async def end(self, state: str, body: Mapping[str, Any]) -> None:
        """Record that the app was uninstalled or its token revoked, before Slack's event is acknowledged.

        `run` then cleans up. An event for an organization closes the organization; any other event closes only the
        workspace that it names. An event from the same second as the installation counts only if Slack no longer
        accepts the token. Raises database errors, and TokenUnchecked if Slack does not say whether it accepts a token.
        """
        workspace, at = ended_installation(body), event_time(body)
        known = await self.store.get(workspace) if workspace else None
        installed_at = await self.installations.installed_at(workspace) if workspace else None
        if is_in_same_second(at, installed_at) and not await self._takes_token_of(workspace):
            at += timedelta(seconds=EVENT_SECONDS)
        closed = None
        if known is not None and (installed_at is None or at >= installed_at):
            token_hash = known.token_hash or ""
            closed = await self.store.close(known.identity, state=state, token_hash=token_hash, event_at=at)
        if closed is None:
            log.info("workspace.late_event", extra={"state": state})
            return
        log.warning("workspace.closed", extra={"state": closed.state})
        await self.installations.delete_closed()
        self.forget(workspace)
        self._ended.set()

    async def _takes_token_of(self, workspace: str) -> bool:
        """Return whether Slack still accepts the stored token; False for a token that cannot be read."""
        try:
            installed = await self.installations.find((workspace,))
        except Undecryptable:
            return False
        return installed is not None and await self.takes(installed.token)

    async def change_access(self, body: Mapping[str, Any]) -> None:
        """Record which workspaces got or lost an organization's app, before Slack's event is acknowledged.

        `run` cleans up after workspaces that have lost the app. Raises database errors.
        """
        change = AccessChange.from_body(body)
        teams = await self.store.change_access(change) if change is not None else []
        if change is None or not teams:
            log.info("workspace.late_event", extra={"state": "granted" if change and change.granted else "revoked"})
            return
        for team in teams:
            log.warning("workspace.granted" if change.granted else "workspace.closed", extra={"team": team})
            self.forget(team)
        self._ended.set()

    def forget(self, id: str) -> None:
        """Drop a workspace or organization from the cache, and every record that an installation is missing."""
        self._forgotten += 1
        for key, kept in list(self._kept.items()):
            if kept.installed is None or id in key or kept.installed.identity.id == id:
                del self._kept[key]
        for pair in [pair for pair in self._teams if id in pair]:
            del self._teams[pair]

    async def start(self) -> None:
        """Do nothing: an installation is read when it is needed."""

    async def run(self) -> None:
        """Until cancelled, clean up after installations that any process has ended, and refresh tokens in time."""
        try:
            await self._follow()
        finally:
            await self._finish_refreshing()

    async def _follow(self) -> None:
        while True:
            self._ended.clear()
            try:
                await self.sweep()
            except DATABASE_UNAVAILABLE as error:
                log.warning("workspace.unread", extra={"error": type(error).__name__})
            await wait_for_any(self.sleep(WATCH_SECONDS), self._ended.wait())

    async def sweep(self) -> None:
        """Clean up after installations that have ended, and once a minute refresh the tokens that end soon."""
        closed = await self.store.closed(seconds=CLOSED_LATELY_SECONDS if self._swept else None)
        self._swept = True
        due = [row for row in closed if self._is_due(row)]
        if due:
            for workspace in await self.installations.delete_closed():
                log.warning("workspace.tokens_deleted", extra={"team": workspace})
        for row in due:
            self.forget(row.identity.id)
            await self._clean_up(row)
        if self._refreshed_at is None or self.clock() - self._refreshed_at >= CLEAN_UP_SECONDS:
            self._refreshed_at = self.clock()
            for workspace in await self.installations.expiring(seconds=REFRESH_SECONDS):
                await self._refresh(workspace, seconds=REFRESH_SECONDS)

    def _is_due(self, row: WorkspaceRow) -> bool:
        before, at = self._cleaned.get(row.identity.id, (None, 0.0))
        return before != row or self.clock() - at >= CLEAN_UP_SECONDS

    async def _clean_up(self, row: WorkspaceRow) -> None:
        """Stop the work of a closed installation, and delete its texts if the app was uninstalled.

        The installation's own keys are used to cancel its background runs, and then deleted.
        """
        keys = await self._last_keys(row.identity)
        if runs := await self.store.stop_work(row.identity):
            with using_keys(keys):
                self.cancel_runs(runs)
        await self.installations.delete_provider_keys(row.identity.id)
        if row.state == UNINSTALLED and (deleted := await self.store.delete_texts(row.identity)):
            log.warning("workspace.deleted", extra={"count": deleted})
        else:  # After a deletion it is due again: what was locked is deleted the next time.
            self._cleaned[row.identity.id] = (row, self.clock())

    async def _last_keys(self, identity: Identity) -> OwnKeys | None:
        """Return the keys of an installation that has ended, or else those of its organization."""
        for owner in filter(None, (identity.id, identity.enterprise_id)):
            if secrets := await self.installations.provider_keys(owner):
                return own_keys(owner, secrets, services=self.services)
        return None

    async def _refresh(self, id: str, *, seconds: float) -> None:
        """Replace a token that ends within `seconds`, unless this failed in the last `CACHE_SECONDS`."""
        if self.clock() - self._refresh_failed.get(id, -CACHE_SECONDS) < CACHE_SECONDS:
            return
        try:
            failed = await self._exchange(id, seconds)
        except DATABASE_UNAVAILABLE as error:
            log.warning("token.not_refreshed", extra={"team": id, "error": type(error).__name__})
            return
        self.forget(id)
        self._refresh_failed.pop(id, None)
        if failed is not None:
            self._refresh_failed[id] = self.clock()
            log.error("token.not_refreshed", extra={"team": id, "error": failed.error or "unreachable"})

    async def _exchange(self, id: str, seconds: float) -> RefreshFailed | None:
        """Replace a token at Slack, even if the caller is cancelled, since the new token would otherwise be lost."""
        work = asyncio.create_task(self.installations.refresh(id, seconds=seconds, exchange=self.exchange))
        self._refreshing.add(work)
        work.add_done_callback(self._refreshing.discard)
        return await asyncio.shield(work)

    async def _finish_refreshing(self) -> None:
        """Wait for Slack's replies, despite cancellations, but not longer than a shutdown may take."""
        end = time.monotonic() + STOP_SECONDS
        while self._refreshing and (left := end - time.monotonic()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(set(self._refreshing), timeout=left)

    async def _by_id(self, id: str) -> Installed | None:
        try:
            return await self._get(("id", id), lambda: self.installations.find([id]))
        except (*DATABASE_UNAVAILABLE, Undecryptable):
            raise NoToken(None) from None

    async def _get(self, key: tuple[str, ...], read: Callable[[], Awaitable[Installed | None]]) -> Installed | None:
        """Return the cached installation under a key, or read it; simultaneous callers share one read.

        If the installation cannot be read or decrypted, return the cached one, even if it is old. This happens while
        the database is unavailable, and after another process encrypted the installation with a key that this process
        lacks. Raises database errors and Undecryptable if none is cached.
        """
        kept = self._kept.get(key)
        if kept is not None:
            seconds = CACHE_SECONDS if kept.installed is not None else ABSENT_SECONDS
            if self.clock() - kept.at < seconds:
                return kept.installed
        try:
            return await fetch_once(self._reading, key, partial(self._read, key, read))
        except (*DATABASE_UNAVAILABLE, Undecryptable):
            if kept is None or kept.installed is None:
                raise
            return kept.installed

    async def _read(self, key: tuple[str, ...], read: Callable[[], Awaitable[Installed | None]]) -> Installed | None:
        at, forgotten = self.clock(), self._forgotten
        try:
            installed = await read()
        except Undecryptable:
            log.error("token.undecryptable", extra={"team": key[-1]})
            raise
        if installed is not None and not is_allowed(installed.identity, self.allowed):
            log.warning("workspace.not_allowed", extra={"team": installed.identity.id})
            installed = None
        if forgotten != self._forgotten:
            return installed  # It is not cached, since it may have ended after it was read.
        kept = _Kept(installed=installed, at=at)
        put_in_cache(self._kept, key, kept, most=MAX_CACHED)
        if installed is not None:
            put_in_cache(self._kept, ("id", installed.identity.id), kept, most=MAX_CACHED)
        return installed

    async def _remember_team(self, named: RequestOrigin, ours: Identity) -> None:
        """Save the organization of a request's workspace, since the workers know only the workspace."""
        pair, now = (named.team_id, ours.id), self.clock()
        if not ours.is_enterprise_install or not named.team_id or named.team_id == ours.id:
            return
        # Save it again after a while: an installation of the workspace itself deletes the row, and when that
        # installation has ended, the row is needed again.
        if now - self._teams.get(pair, -CACHE_SECONDS) < CACHE_SECONDS:
            return
        await self.installations.remember_team(*pair)
        if len(self._teams) >= MAX_CACHED:
            self._teams.clear()
        self._teams[pair] = now
        self._kept.pop(("team", named.team_id), None)


def is_allowed(identity: Identity, allowed: Collection[str]) -> bool:
    """Return whether an installation's workspace, or the workspace's organization, is in `allowed`.

    For an installation of a whole organization, only the organization's id counts, not the workspace it was made from.
    """
    ids = {identity.id, identity.enterprise_id} if not identity.is_enterprise_install else {identity.id}
    return bool(ids & set(allowed))
