"""`/pplx status`: shows admins problems, spending, limits, providers' statistics of the last day, and feedback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace

from bot.blocks.status import status_message
from bot.budgets import format_amount
from bot.commands.base import Command, CommandContext, free_subcommand, one_message
from bot.commands.help import text_message
from bot.commands.parsing import parse_nothing
from bot.model.admin import Feedback, FindProblems, LaneUse, Problem
from bot.model.message import OutgoingMessage
from bot.model.spending import Budgets, Spending
from bot.slack.users import Admins
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.calls import LAST_CALLS, AttemptStore
from bot.translation import N_, money
from bot.translation import gettext as _

SET_KEY = N_("Set `PERPLEXITY_API_KEY` or another service’s key, then restart the app.")

_ISSUES = {
    "AuthenticationError": (
        N_("{service} does not accept the configured key."),
        N_("Set a new key for it, then restart the app."),
    ),
    "BillingError": (N_("{service} is out of credit."), N_("Buy credit for it.")),
}
"""Problems that only an admin can solve, each with its remedy, by the name of the error's class."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """Finds the app's problems. `services` are the names of the services that answer; `free` is whether all are free.

    `workers_alive` returns the number of running workers. `found_by` are functions that return further problems of a
    workspace.
    """

    services: Sequence[str]
    free: bool
    attempts: AttemptStore
    defaults: Budgets
    audit: AuditStore
    workers_alive: Callable[[], Awaitable[int]]
    found_by: Sequence[FindProblems]

    async def problems(self, team_id: str, spending: Spending) -> list[Problem]:
        """Return the problems. Raises database errors.

        Problems of the services and the budgets that keep every question from being answered come first.
        """
        issues, silent = await self.attempts.admin_issues(), await self.attempts.silent(self.services)
        found = self._no_answers(spending, failing={*issues, *silent})
        for name, error in sorted(issues.items()):
            said, fix = _ISSUES.get(error, (N_("{service} needs an admin."), ""))
            found.append(Problem(text=_(said).format(service=name), fix=_(fix)))
        found += [
            Problem(
                text=_("{service} answered none of its last {count} calls.").format(service=name, count=LAST_CALLS),
                fix=_("Look whether it is down, or the app’s network does not reach it."),
            )
            for name in silent
            if name not in issues
        ]
        found += [problem for find in self.found_by for problem in await find(team_id)]
        if problem := (await self.audit.health()).problem:
            found.append(Problem(text=problem, fix=_("Run `python -m bot doctor`, which says what to do.")))
        if not await self.workers_alive():
            found.append(Problem(text=_("No worker is running, so no question is answered."), fix=_("Start one.")))
        return found

    def _no_answers(self, spending: Spending, *, failing: Set[str]) -> list[Problem]:
        """Return the reasons why no question can be answered now: problems of the services, or of the spending."""
        found: list[Problem] = []
        month = next((line.amount for line in spending.lines if line.scope == "workspace"), self.defaults.workspace)
        if not self.services:
            found.append(
                Problem(
                    text=_("No search service is set up, so no question can be answered."),
                    fix=_(SET_KEY),
                )
            )
        elif failing >= set(self.services):
            found.append(
                Problem(
                    text=_("No question can be answered, since no search service answers."),
                    fix=_(SET_KEY if self.free else N_("Wait until one is back, or set another service’s key.")),
                )
            )
        if spending.paused_by is not None and not self.free:
            paused = _("All paid searches are paused, so no question is answered.")
            found.append(Problem(text=paused, fix=_("Allow them again.")))
        if month is not None and spending.month >= month and not self.free:
            used = _("The workspace’s budget of {amount} for this month is used up, so no question is answered.")
            found.append(Problem(text=used.format(amount=money(format_amount(month))), fix=_("Set a higher one.")))
        return found


@dataclass(frozen=True, kw_only=True)
class StatusCommand:
    """Answers `/pplx status` with the overview for admins."""

    admins: Admins
    attempts: AttemptStore
    feedback: Callable[[str], Awaitable[Feedback]]
    health: Health
    budgets: BudgetStore
    limits: Callable[[], Awaitable[Sequence[LaneUse]]]

    def command(self) -> Command[None, OutgoingMessage]:
        """Return the command that a worker runs."""
        return replace(STATUS, answer=self.answer)

    async def answer(self, request: None, context: CommandContext) -> OutgoingMessage:
        """Render the overview, or a refusal if the user is not an admin."""
        if not await self.admins.is_admin(context.row.user_id):
            return text_message(_("Only admins of this workspace can see how the search services are doing."))
        spending = await self.budgets.spending(context.row.team_id)
        return status_message(
            await self.attempts.stats(),
            await self.feedback(context.row.team_id),
            spending=spending,
            problems=await self.health.problems(context.row.team_id, spending),
            limits=await self.limits(),
        )


STATUS = free_subcommand(
    name="status",
    summary=N_("See how the search services are doing (admins)"),
    for_admins=True,
    usage="",
    parse=parse_nothing("status"),
    render=one_message,
)
