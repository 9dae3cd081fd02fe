"""Does what owners want of their digests, whether they typed it or clicked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID, uuid4

from slack_sdk.web.async_client import AsyncWebClient

from bot.clock import utc_now
from bot.commands.base import Command
from bot.commands.routing import ROOT_COMMAND
from bot.commands.watch import WATCH
from bot.delivery.routes import DigestChannelRoute
from bot.digests.jobs import SURFACE, Leaving, Noticing, Run, run_question
from bot.digests.runner import Choosing, Running
from bot.digests.scheduler import Ticker
from bot.model.digest import (
    Added,
    AlreadyRunning,
    Changed,
    Digest,
    Full,
    Listed,
    NoSuchDigest,
    Owner,
    SomebodyElses,
    State,
    Verb,
    WatchReply,
    Why,
    Wish,
    next_slot,
    zone_of,
)
from bot.settings import Settings
from bot.slack.messages import Chat
from bot.slack.users import Profiles, SlackUsers
from bot.storage.database import Patience
from bot.storage.digests import Digests, Limits


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The one place where digests are changed. `zone` tells somebody's time zone, None where nobody knows it.

    `call` is how people call the command. `now` is the clock, `new_id` makes the ids of questions.
    """

    call: str
    digests: Digests
    zone: Callable[[str], Awaitable[str | None]]
    limits: Limits
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], UUID] = uuid4

    async def add(self, wish: Wish, *, id: UUID, owner: Owner, channel_id: str) -> Added | Full:
        """Keep a new digest that posts to a channel, by the owner's clock; the same `id` again is the same digest."""
        named = await self.zone(owner.user_id)
        zone = zone_of(named or "").key
        wish = replace(wish, schedule=replace(wish.schedule, zone=zone))
        next_at = next_slot(wish.schedule, self.now())
        full = await self.digests.add(
            wish, id=id, owner=owner, channel_id=channel_id, next_at=next_at, limits=self.limits
        )
        digest = await self.digests.get(id, now=self.now())
        if full is not None or digest is None:
            return full or Full(limit=self.limits.per_user, channel=False)
        return Added(digest=digest, zone_known=zone == named)

    async def listed(self, owner: Owner) -> Listed:
        """Return what somebody has."""
        digests = await self.digests.of_owner(owner, now=self.now())
        return Listed(digests=[replace(one, next_at=None) for one in digests] if self.limits.off else digests)

    async def change(self, verb: Verb, number: int, *, owner: Owner, by: str) -> WatchReply:
        """Do something with the owner's digest of this number; `by` identifies what asked for it."""
        digests = await self.digests.of_owner(owner, now=self.now())
        digest = next((one for one in digests if one.number == number), None)
        if digest is None:
            return NoSuchDigest(number=number, numbers=[one.number for one in digests])
        return await self._do(verb, digest, by=by)

    async def press(self, verb: Verb, id: UUID, *, user_id: str, teams: Collection[str], by: str) -> WatchReply:
        """Act on the digest of a button; only its owner may, in the owner's workspace."""
        digest = await self.digests.get(id, now=self.now())
        if digest is None:
            return NoSuchDigest()
        owners = digest.owner.user_id == user_id and digest.owner.team_id in teams
        return await self._do(verb, digest, by=by) if owners else SomebodyElses()

    async def _do(self, verb: Verb, digest: Digest, *, by: str) -> WatchReply:
        match verb:
            case Verb.RUN | Verb.RESUME if self.limits.off:
                return Full(limit=0, channel=False)
            case Verb.RUN:
                return await self._run(digest, by=by)
            case Verb.DELETE:
                await self.digests.delete(digest.id)
                return Changed(verb=verb, digest=digest)
            case Verb.RESUME if digest.state is State.ACTIVE:
                return Changed(verb=verb, digest=digest)
            case Verb.RESUME:
                return await self._set(verb, digest, State.ACTIVE, next_slot(digest.wish.schedule, self.now()))
            case Verb.PAUSE:
                return await self._set(verb, digest, State.PAUSED, None)

    async def _set(self, verb: Verb, digest: Digest, state: State, next_at: datetime | None) -> Changed:
        await self.digests.set_state(digest.id, state, next_at=next_at)
        return Changed(verb=verb, digest=replace(digest, state=state, next_at=next_at))

    async def _run(self, digest: Digest, *, by: str) -> Changed | AlreadyRunning:
        now = self.now()
        run = Run(digest_id=digest.id, why=Why.ASKED, first=now, slot=now, title=digest.title)
        begun = await self.digests.run_now(digest.id, run_question(run, digest, id=self.new_id(), key=by), now=now)
        return Changed(verb=Verb.RUN, digest=digest) if begun else AlreadyRunning(digest=digest)


@dataclass(frozen=True, kw_only=True)
class DigestRoom:
    """Where digests are changed, how one gets to its channel, and what sees that one is due.

    `commands` are what workers do for digests, by name: make one, and say that one cannot be posted.
    """

    desk: Desk
    commands: dict[str, Command[Any, Any]]
    to_channel: DigestChannelRoute
    ticker: Ticker

    @classmethod
    def of(
        cls,
        settings: Settings,
        digests: Digests,
        *,
        client: AsyncWebClient,
        chat: Chat,
        patience: Patience,
        profiles: Profiles,
    ) -> Self:
        """Put it together."""
        people = SlackUsers(client, profiles=profiles)
        limits = Limits(per_user=settings.digests_per_user, per_channel=settings.digests_per_channel)
        desk = Desk(
            digests=digests,
            zone=people.timezone,
            call=f"/{settings.command_prefix}{ROOT_COMMAND} {WATCH.name}",
            limits=limits,
        )
        leaving = Leaving(digests=digests, patience=patience)
        running = Running(
            digests=digests,
            presence=people.membership,
            leaving=leaving,
            choosing=Choosing(seen=digests.seen, patience=patience),
            patience=patience,
        )
        noticing = Noticing(digests=digests, patience=patience, call=desk.call)
        return cls(
            desk=desk,
            commands={command.name: command for command in (running.command(), noticing.command())},
            to_channel=DigestChannelRoute(chat=chat, surface=SURFACE, on_closed=leaving.closed),
            ticker=Ticker(digests=digests, off=limits.off),
        )
