"""What calls of paid services cost, and what may be spent. Amounts are integers: micro-dollars."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, Self
from uuid import UUID

Scope = Literal["user", "user_week", "channel", "channel_week", "workspace_week", "workspace"]
"""What a budget is for: a person's day or week, a channel's day or week, a workspace's week or month."""

WEEK = "_week"
"""What the scopes by week end with."""

CallState = Literal["settled", "released", "cut"]
"""How a call ended: with the provider's own figure, without a cost, or cut off, so that its cost is unknown."""


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """What may be spent in a period; None is no limit."""

    user: int | None = None
    channel: int | None = None
    workspace: int | None = None

    @classmethod
    def in_dollars(cls, **dollars: Decimal | None) -> Self:
        """Return the budgets that are these dollars, with at most six decimals, by the names of the fields."""
        return cls(**{name: None if one is None else int(one.scaleb(6)) for name, one in dollars.items()})

    def of(self, scope: Scope) -> int | None:
        """Return a budget; only admins set those by week."""
        return getattr(self, scope, None)


NO_BUDGETS = Budgets()


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A call that is about to be made, and for whom. `ceiling` is what it costs at most while nothing is known.

    One that `resumes` a run takes over what was reserved for that. One with a `claim` may be made only while its
    question is claimed so.
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
    """A request that is about to leave for a question: `text` is what of it is kept, as `SentLog.line` returns it.

    One `with_call` is kept only if the call of the same id may be made.
    """

    id: UUID
    question_id: UUID
    text: str
    with_call: bool = False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a call ended; `cost` is None unless it is settled."""

    id: UUID
    state: CallState
    cost: int | None = None


@dataclass(frozen=True, kw_only=True)
class Granted:
    """A call may be made; it is settled by this id."""

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

    Of what is `allowed`, `remaining` is left; the budget resets in `resets` seconds.
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
    """A budget of which so many percent are spent, which admins get one notice of."""

    team_id: str
    scope: Scope
    subject: str
    period: date
    percent: int
    spent: int
    allowed: int


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """A budget that admins have set; `subject` is empty for every person or channel without one of its own."""

    scope: Scope
    subject: str
    amount: int | None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What someone or something has spent, in so many calls."""

    name: str
    calls: int
    spent: int


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A workspace's spending: `today` and `month`, what calls under way may cost (`reserved`), and the budgets.

    `people`, `channels` and `providers` are those that spent most: the first two today, the last this month.
    `paused_by` is the admin who has paused all spending, empty if that person's data was erased, None if it is not
    paused.
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
