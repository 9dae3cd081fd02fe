"""Creates, changes and starts digests: at their owners' requests, and once a minute those that are due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from bot.clock import utc_now
from bot.features.digests.jobs import plan_run, run_question
from bot.features.digests.model import (
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestLimits,
    DigestList,
    DigestNotFound,
    DigestResult,
    DigestRun,
    DigestSpec,
    LimitReached,
    NotOwner,
    Owner,
    State,
    Trigger,
    Updated,
)
from bot.features.digests.store import DigestStore
from bot.model.admin import Problem
from bot.model.schedule import next_slot, zone_of
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import gettext as _
from bot.translation import ngettext

log = logging.getLogger(__name__)

MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class DigestService:
    """Creates, lists and changes the digests in the database. Every method raises database errors.

    `command_label` is what people type for the command. `timezone` returns a person's time zone, None if it is unknown.
    `now` returns the current time.
    """

    command_label: str
    digests: DigestStore
    timezone: Callable[[str], Awaitable[str | None]]
    limits: DigestLimits
    now: Callable[[], datetime] = utc_now

    async def create(self, spec: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Create a digest that posts to a channel. If `spec` names no time zone, use the owner's.

        A second call with the same `id` creates no other digest.
        """
        named = spec.schedule.zone or await self.timezone(owner.user_id)
        zone = zone_of(named or "").key
        spec = replace(spec, schedule=replace(spec.schedule, zone=zone))
        next_at = next_slot(spec.schedule, self.now())
        full = await self.digests.create(
            spec, id=id, owner=owner, channel_id=channel_id, next_at=next_at, limits=self.limits
        )
        digest = await self.digests.get(id, now=self.now())
        if full is not None or digest is None:
            return full or LimitReached(limit=self.limits.per_user, channel=False)
        return Created(digest=digest, zone_known=zone == named)

    async def list_digests(self, owner: Owner) -> DigestList:
        """Return the digests of an owner."""
        digests = await self.digests.of_owner(owner, now=self.now())
        return DigestList(digests=[replace(one, next_at=None) for one in digests] if self.limits.disabled else digests)

    async def list_all(self, team_id: str) -> Sequence[Digest]:
        """Return the digests of a workspace, the most expensive first. Raises database errors."""
        return await self.digests.of_team(team_id, now=self.now())

    async def problems(self, team_id: str) -> Sequence[Problem]:
        """Return a problem if the last runs of several active digests failed. Raises database errors."""
        failed = sum(one.failed and one.state is State.ACTIVE for one in await self.list_all(team_id))
        text = ngettext("{count} digest failed at its last run.", "{count} digests failed at their last run.", failed)
        told = Problem(text=text, fix=_("Their owners were told why."))
        return [told] if failed > 1 else []

    async def apply(self, action: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Apply an action to the owner's digest with this number; `by` identifies the request."""
        digests = await self.digests.of_owner(owner, now=self.now())
        digest = next((one for one in digests if one.number == number), None)
        if digest is None:
            return DigestNotFound(number=number, numbers=[one.number for one in digests])
        return await self._apply(action, digest, by=by)

    async def apply_button(
        self, action: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Apply the action of a button to its digest. Only the owner may do so, in the owner's workspace."""
        digest = await self.digests.get(id, now=self.now())
        if digest is None:
            return DigestNotFound()
        owners = digest.owner.user_id == user_id and digest.owner.team_id in teams
        return await self._apply(action, digest, by=by) if owners else NotOwner()

    async def _apply(self, action: DigestAction, digest: Digest, *, by: str) -> DigestResult:
        match action:
            case DigestAction.RUN | DigestAction.RESUME if self.limits.disabled:
                return LimitReached(limit=0, channel=False)
            case DigestAction.RUN:
                return await self._run(digest, by=by)
            case DigestAction.DELETE:
                await self.digests.delete(digest.id)
                return Updated(action=action, digest=digest)
            case DigestAction.RESUME if digest.state is State.ACTIVE:
                return Updated(action=action, digest=digest)
            case DigestAction.RESUME:
                return await self._set_state(action, digest, State.ACTIVE, next_slot(digest.spec.schedule, self.now()))
            case DigestAction.PAUSE:
                return await self._set_state(action, digest, State.PAUSED, None)

    async def _set_state(self, action: DigestAction, digest: Digest, state: State, next_at: datetime | None) -> Updated:
        await self.digests.set_state(digest.id, state, next_at=next_at)
        return Updated(action=action, digest=replace(digest, state=state, next_at=next_at))

    async def _run(self, digest: Digest, *, by: str) -> Updated | AlreadyRunning:
        now = self.now()
        run = DigestRun(digest_id=digest.id, trigger=Trigger.MANUAL, earliest_slot=now, slot=now, title=digest.title)
        begun = await self.digests.start_manual(digest.id, run_question(run, digest, id=uuid4(), key=by), now=now)
        return Updated(action=DigestAction.RUN, digest=digest) if begun else AlreadyRunning(digest=digest)


@dataclass(frozen=True, kw_only=True)
class DigestScheduler:
    """Checks for due digests at the start of each minute.

    `installed` returns the id of the installation that the process works for, None while unknown.

    If the database is unavailable, the next check starts the digests that are due by then. If `disabled`, no run
    starts.
    """

    digests: DigestStore
    disabled: bool = False
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    installed: Callable[[], str | None] = lambda: None

    async def run(self) -> None:
        """Check every minute until cancelled."""
        while True:
            try:
                await self.run_once()
            except DATABASE_UNAVAILABLE as error:
                log.warning("tick.skipped", extra={"error": type(error).__name__})
            await self.sleep(seconds_to_next_minute(self.now()))

    async def run_once(self) -> int:
        """Start every run that is due; return the number of due digests that this process handled."""
        if self.disabled:
            return 0
        now = self.now()
        while (digest := await self.digests.reschedule_stray(now=now)) is not None:
            log.warning("digest.set_right", extra={"digest": str(digest)})
        begun, plan = 0, partial(plan_run, now=now)
        while (digest := await self.digests.start_due(plan, now=now, installation=self.installed())) is not None:
            log.info("digest.due", extra={"digest": str(digest)})
            begun += 1
        return begun


def seconds_to_next_minute(now: datetime) -> float:
    """Return the seconds until the next full minute."""
    return MINUTE - now.second - now.microsecond / 1e6
