"""The costs of calls to paid services, and the budgets for them; amounts are integers, in micro-dollars."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, Self
from uuid import UUID

Scope = Literal["user", "user_week", "channel", "channel_week", "workspace_week", "workspace"]
"""The scopes of budgets: a person's day or week, a channel's day or week, a workspace's week or month."""

WEEK = "_week"
"""The suffix in the names of weekly scopes."""

CallState = Literal["settled", "released", "cut"]
"""How a call ended: `settled` at the provider's own figure, `released` without a cost, `cut` off at an unknown cost."""


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """The allowed spending of a person and a channel per day, and of a workspace per month; None means no limit."""

    user: int | None = None
    channel: int | None = None
    workspace: int | None = None

    @classmethod
    def in_dollars(cls, **dollars: Decimal | None) -> Self:
        """Return budgets from amounts in dollars with at most six decimals, given by the names of the fields."""
        return cls(**{name: None if one is None else int(one.scaleb(6)) for name, one in dollars.items()})

    def of(self, scope: Scope) -> int | None:
        """Return the budget of a scope; None for weekly scopes, whose budgets only admins set."""
        return getattr(self, scope, None)


NO_BUDGETS = Budgets()


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A call that is about to be made, and its asker. `ceiling` is the most that it can cost.

    A call that `resumes` a run takes over the run's reservation. A call with a `claim` may be made only while its
    question has this claim.
    """

    id: UUID
    team_id: str
    channel_id: str
    user_id: str
    question_id: UUID | None
    provider: str
    effort: str
    ceiling: int
    resumes: bool = False
    claim: int | None = None


@dataclass(frozen=True, kw_only=True)
class RequestText:
    """A request that is about to be sent for a question; `text` is its saved form, as `SentLog.line` returns it.

    If `with_call` is true, the request is saved only if the call with the same `id` may be made.
    """

    id: UUID
    question_id: UUID
    text: str
    with_call: bool = False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a call; `cost` is None unless the call is settled."""

    id: UUID
    state: CallState
    cost: int | None = None


@dataclass(frozen=True, kw_only=True)
class Granted:
    """A call may be made; its end is recorded under this id."""

    id: UUID


@dataclass(frozen=True, kw_only=True)
class Paused:
    """No call may be made: an admin has paused all spending."""


@dataclass(frozen=True, kw_only=True)
class Erased:
    """No call may be made: the question was erased with all of its asker's data."""


@dataclass(frozen=True, kw_only=True)
class OverBudget:
    """A call that may cost `amount` does not fit into a budget.

    `remaining` is the rest of the `allowed` amount; the budget resets in `resets` seconds.
    """

    scope: Scope
    amount: int
    allowed: int
    remaining: int
    resets: float


@dataclass(frozen=True, kw_only=True)
class TakenOver:
    """No call may be made: another worker has claimed the question, or it was closed."""


Verdict = Granted | Paused | OverBudget | Erased | TakenOver


@dataclass(frozen=True, kw_only=True)
class BudgetNotice:
    """A notice to admins that `percent` of a budget is spent; each notice is sent once."""

    team_id: str
    scope: Scope
    subject: str
    period: date
    percent: int
    spent: int
    allowed: int


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """A budget set by admins; an empty `subject` stands for every person or channel without a budget of their own."""

    scope: Scope
    subject: str
    amount: int | None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The spending of a person, channel or provider, and the number of calls."""

    name: str
    calls: int
    spent: int


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A workspace's spending: `today`, `month`, the possible cost of calls in progress (`reserved`), and the budgets.

    `people` and `channels` are the ones with the highest spending today, `providers` those with the highest this month.
    `paused_by` is the admin who has paused all spending, empty if that person's data was erased, None if spending is
    not paused.
    """

    today: int = 0
    month: int = 0
    reserved: int = 0
    people: tuple[Spent, ...] = ()
    channels: tuple[Spent, ...] = ()
    providers: tuple[Spent, ...] = ()
    lines: tuple[BudgetLine, ...] = ()
    paused_by: str | None = None


NO_SPENDING = Spending()
