"""`/pplx status`: how the search services did in the last day; for admins."""

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
    """There is nothing to choose."""


def parse(text: str) -> StatusRequest:
    """Read what follows `status`. Raises UsageError."""
    if text.strip():
        raise UsageError("`status` takes nothing behind it.")
    return StatusRequest()


async def answer(_: StatusRequest, context: CommandContext) -> Sequence[ProviderStats] | None:
    """Return the figures, None for somebody who is no admin."""
    return await context.office.figures() if await context.office.is_admin(context.user_id) else None


def audience_of(_: StatusRequest) -> Audience:
    """Return who will see it."""
    return Audience.ASKER


def render(stats: Sequence[ProviderStats] | None, _: StatusRequest, audience: Audience) -> Reply:
    """Render the figures."""
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
