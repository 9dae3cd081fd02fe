"""Everything about digests, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from slack_sdk.web.async_client import AsyncWebClient

from bot.commands.base import Command
from bot.commands.slash import UMBRELLA
from bot.commands.watch import WATCH
from bot.delivery.channel import ToChannel
from bot.delivery.chat import Chat
from bot.digests.choosing import Choosing
from bot.digests.desk import Desk
from bot.digests.leaving import Leaving
from bot.digests.notices import Noticing
from bot.digests.running import Running
from bot.digests.runs import SURFACE
from bot.digests.tick import Ticker
from bot.people import People
from bot.profiles import Profiles
from bot.settings import Settings
from bot.storage.digests import Digests, Limits
from bot.storage.patience import Patience


@dataclass(frozen=True, kw_only=True)
class DigestRoom:
    """Where digests are changed, how one gets to its channel, and what sees that one is due.

    `commands` are what workers do for digests, by name: make one, and say that one cannot be posted.
    """

    desk: Desk
    commands: dict[str, Command[Any, Any]]
    to_channel: ToChannel
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
        people = People(client, profiles=profiles)
        limits = Limits(per_user=settings.digests_per_user, per_channel=settings.digests_per_channel)
        desk = Desk(
            digests=digests,
            zone=people.zone,
            call=f"/{settings.command_prefix}{UMBRELLA} {WATCH.name}",
            limits=limits,
        )
        leaving = Leaving(digests=digests, patience=patience)
        running = Running(
            digests=digests,
            presence=people.presence,
            leaving=leaving,
            choosing=Choosing(seen=digests.seen, patience=patience),
            patience=patience,
        )
        noticing = Noticing(digests=digests, patience=patience, call=desk.call)
        return cls(
            desk=desk,
            commands={command.name: command for command in (running.command(), noticing.command())},
            to_channel=ToChannel(chat=chat, surface=SURFACE, on_closed=leaving.closed),
            ticker=Ticker(digests=digests, off=limits.off),
        )
