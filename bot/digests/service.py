"""Create, change and start digests for their owners, and wire up the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID, uuid4

from slack_sdk.web.async_client import AsyncWebClient

from bot.clock import utc_now
from bot.commands.base import Command
from bot.commands.routing import ROOT_COMMAND
from bot.commands.watch import WATCH
from bot.delivery.routes import ChatRoute, digest_route
from bot.digests.jobs import DigestRun, DigestStopper, StopNoticeCommand, run_question
from bot.digests.runner import DigestRunner, StorySelector
from bot.digests.scheduler import DigestScheduler
from bot.model.digest import (
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestList,
    DigestNotFound,
    DigestResult,
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
from bot.slack.messages import Chat
from bot.slack.users import Profiles, SlackUsers
from bot.storage.database import DatabaseRetry
from bot.storage.digests import DigestLimits, DigestStore

if TYPE_CHECKING:
    from bot.settings import Settings


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


@dataclass(frozen=True, kw_only=True)
class DigestComponents:
    """The parts that the app needs: the service, the route to a channel and the scheduler.

    `commands` are what workers run for digests, by name: make a digest, and say that one cannot be posted.
    """

    service: StoredDigestService
    commands: dict[str, Command[Any, Any]]
    channel_route: ChatRoute
    scheduler: DigestScheduler

    @classmethod
    def of(
        cls,
        settings: Settings,
        digests: DigestStore,
        *,
        client: AsyncWebClient,
        chat: Chat,
        database_retry: DatabaseRetry,
        profiles: Profiles,
    ) -> Self:
        """Build the parts from the settings."""
        people = SlackUsers(client, profiles=profiles)
        limits = DigestLimits(per_user=settings.digests_per_user, per_channel=settings.digests_per_channel)
        desk = StoredDigestService(
            digests=digests,
            zone=people.timezone,
            command_label=f"/{settings.command_prefix}{ROOT_COMMAND} {WATCH.name}",
            limits=limits,
        )
        leaving = DigestStopper(digests=digests, database_retry=database_retry)
        running = DigestRunner(
            digests=digests,
            presence=people.membership,
            stopper=leaving,
            selector=StorySelector(posted=digests.posted, database_retry=database_retry),
            database_retry=database_retry,
        )
        noticing = StopNoticeCommand(digests=digests, database_retry=database_retry, command_label=desk.command_label)
        return cls(
            service=desk,
            commands={command.name: command for command in (running.command(), noticing.command())},
            channel_route=digest_route(chat, on_closed=leaving.on_channel_closed),
            scheduler=DigestScheduler(digests=digests, disabled=limits.disabled),
        )
