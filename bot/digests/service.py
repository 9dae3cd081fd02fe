"""Create, change and start digests for their owners."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from bot.clock import utc_now
from bot.digests.jobs import run_question
from bot.model.digest import (
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
    next_slot,
    zone_of,
)
from bot.storage.digests import DigestStore


@dataclass(frozen=True, kw_only=True)
class StoredDigestService:
    """Keeps digests in the database. `zone` returns a person's time zone, None if it is unknown.

    `call` is how people call the command. `now` is the clock, `new_id` makes the ids of questions.
    """

    command_label: str
    digests: DigestStore
    zone: Callable[[str], Awaitable[str | None]]
    limits: DigestLimits
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], UUID] = uuid4

    async def create(self, spec: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Create a digest that posts to a channel, in the owner's time zone. The same `id` again is the same digest."""
        named = await self.zone(owner.user_id)
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

    async def apply(self, verb: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Apply an action to the owner's digest with this number; `by` identifies the request."""
        digests = await self.digests.of_owner(owner, now=self.now())
        digest = next((one for one in digests if one.number == number), None)
        if digest is None:
            return DigestNotFound(number=number, numbers=[one.number for one in digests])
        return await self._apply(verb, digest, by=by)

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Apply the action of a button to its digest. Only the owner may do so, in the owner's workspace."""
        digest = await self.digests.get(id, now=self.now())
        if digest is None:
            return DigestNotFound()
        owners = digest.owner.user_id == user_id and digest.owner.team_id in teams
        return await self._apply(verb, digest, by=by) if owners else NotOwner()

    async def _apply(self, verb: DigestAction, digest: Digest, *, by: str) -> DigestResult:
        match verb:
            case DigestAction.RUN | DigestAction.RESUME if self.limits.disabled:
                return LimitReached(limit=0, channel=False)
            case DigestAction.RUN:
                return await self._run(digest, by=by)
            case DigestAction.DELETE:
                await self.digests.delete(digest.id)
                return Updated(action=verb, digest=digest)
            case DigestAction.RESUME if digest.state is State.ACTIVE:
                return Updated(action=verb, digest=digest)
            case DigestAction.RESUME:
                return await self._set_state(verb, digest, State.ACTIVE, next_slot(digest.spec.schedule, self.now()))
            case DigestAction.PAUSE:
                return await self._set_state(verb, digest, State.PAUSED, None)

    async def _set_state(self, verb: DigestAction, digest: Digest, state: State, next_at: datetime | None) -> Updated:
        await self.digests.set_state(digest.id, state, next_at=next_at)
        return Updated(action=verb, digest=replace(digest, state=state, next_at=next_at))

    async def _run(self, digest: Digest, *, by: str) -> Updated | AlreadyRunning:
        now = self.now()
        run = DigestRun(digest_id=digest.id, trigger=Trigger.MANUAL, earliest_slot=now, slot=now, title=digest.title)
        begun = await self.digests.start_manual(digest.id, run_question(run, digest, id=self.new_id(), key=by), now=now)
        return Updated(action=DigestAction.RUN, digest=digest) if begun else AlreadyRunning(digest=digest)
