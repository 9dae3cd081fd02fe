"""`/pplx status`: shows admins the providers' statistics of the last day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.blocks.status import status_message
from bot.commands.base import Command, CommandContext, Reply
from bot.commands.help import text_message
from bot.errors import UsageError
from bot.model.message import Audience
from bot.model.provider_stats import ProviderStats

FOR_ADMINS = "Only admins of this workspace can see how the search services are doing."


@dataclass(frozen=True, kw_only=True)
class StatusRequest:
    """A request without options."""


def parse(text: str) -> StatusRequest:
    """Parse the text after `status`. Raise UsageError."""
    if text.strip():
        raise UsageError("Type `status` without any text after it.")
    return StatusRequest()


async def answer(_: StatusRequest, context: CommandContext) -> Sequence[ProviderStats] | None:
    """Return the statistics, None if the user is not an admin."""
    return await context.provider_stats() if await context.admins.is_admin(context.user_id) else None


def audience_of(_: StatusRequest) -> Audience:
    """Return who sees the statistics."""
    return Audience.ASKER


def render(stats: Sequence[ProviderStats] | None, _: StatusRequest, audience: Audience) -> Reply:
    """Render the statistics."""
    return Reply(messages=(text_message(FOR_ADMINS) if stats is None else status_message(stats),))


STATUS = Command(
    name="status",
    summary="See how the search services are doing (admins)",
    usage="",
    has_slash_command=False,
    runs_without_arguments=True,
    parse=parse,
    audience=audience_of,
    answer=answer,
    render=render,
)
