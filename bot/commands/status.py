"""`/pplx status`: shows admins the providers' statistics of the last day, the audit log, and what people think."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.blocks.status import status_message
from bot.commands.base import Command, Reply, free_subcommand
from bot.commands.context import CommandContext
from bot.commands.help import text_message
from bot.commands.parsing import no_text
from bot.errors import UsageError
from bot.model.audit import AuditHealth
from bot.model.feedback import Feedback
from bot.model.message import Audience
from bot.model.provider_stats import ProviderStats
from bot.model.spending import Spending
from bot.slack.users import Admins
from bot.storage.attempts import AttemptStore
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.feedback import FeedbackStore


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


@dataclass(frozen=True, kw_only=True)
class StatusCommand:
    """Reads what admins see."""

    admins: Admins
    attempts: AttemptStore
    feedback: FeedbackStore
    audit: AuditStore
    budgets: BudgetStore

    def command(self) -> Command[StatusRequest, Status | None]:
        """Return the command that a worker runs."""
        return replace(STATUS, answer=self.answer)

    async def answer(self, _: StatusRequest, context: CommandContext) -> Status | None:
        """Return the statistics, None if the user is not an admin."""
        if not await self.admins.is_admin(context.row.user_id):
            return None
        return Status(
            providers=await self.attempts.stats(),
            feedback=await self.feedback.of_team(context.row.team_id),
            audit=await self.audit.health(),
            spending=await self.budgets.spending(context.row.team_id),
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
    render=render,
)
