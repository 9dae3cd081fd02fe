"""`/pplx status`: shows admins the providers' statistics of the last day, the audit log, and what people think."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.blocks.status import status_message
from bot.commands.base import Reply, free_subcommand
from bot.commands.context import CommandContext
from bot.commands.help import text_message
from bot.commands.parsing import no_text
from bot.errors import UsageError
from bot.model.audit import AuditHealth
from bot.model.feedback import Feedback
from bot.model.message import Audience
from bot.model.provider_stats import ProviderStats
from bot.model.spending import Spending


@dataclass(frozen=True, kw_only=True)
class StatusRequest:
    """A request without options."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What admins see: the providers of the last day, feedback, what was spent, and whether the audit works."""

    providers: Sequence[ProviderStats]
    feedback: Feedback
    audit: AuditHealth
    spending: Spending | None = None


def parse(text: str) -> StatusRequest:
    """Parse the text after `status`. Raise UsageError."""
    if text.strip():
        raise UsageError(no_text("status"))
    return StatusRequest()


async def answer(_: StatusRequest, context: CommandContext) -> Status | None:
    """Return the statistics, None if the user is not an admin."""
    if not await context.admins.is_admin(context.user_id):
        return None
    return Status(
        providers=await context.provider_stats(),
        feedback=await context.feedback(context.team_id),
        audit=await context.audit(),
        spending=None if context.budgets is None else await context.budgets.spending(context.team_id),
    )


def render(status: Status | None, _: StatusRequest, audience: Audience) -> Reply:
    """Render the statistics."""
    if status is None:
        return Reply(
            messages=(text_message("Only admins of this workspace can see how the search services are doing."),)
        )
    message = status_message(status.providers, status.feedback, spending=status.spending, problem=status.audit.problem)
    return Reply(messages=(message,))


STATUS = free_subcommand(
    name="status",
    summary="See how the search services are doing (admins)",
    for_admins=True,
    usage="",
    parse=parse,
    answer=answer,
    render=render,
)
