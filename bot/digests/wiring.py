"""Build the parts of digests from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from slack_sdk.web.async_client import AsyncWebClient

from bot.commands.base import Command
from bot.commands.routing import ROOT_COMMAND
from bot.commands.watch import WATCH
from bot.delivery.routes import ChatRoute, digest_route
from bot.digests.jobs import DigestStopper, StopNoticeCommand
from bot.digests.runner import DigestRunner, StorySelector
from bot.digests.service import DigestScheduler, StoredDigestService
from bot.model.digest import DigestLimits
from bot.slack.messages import Chat
from bot.slack.users import Profiles, SlackUsers
from bot.storage.database import DatabaseRetry
from bot.storage.digests import DigestStore

if TYPE_CHECKING:
    from bot.settings import Settings


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
