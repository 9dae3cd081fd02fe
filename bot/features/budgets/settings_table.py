"""Budgets in the settings file: a name such as `user U012AB3CD week`, and dollars or `none`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from bot.budgets.amounts import format_amount
from bot.features.budgets.command import HERE, WEEKLY, BudgetRequest, parse
from bot.model.spending import WEEK, Budgets, Scope
from bot.settings import Settings
from bot.storage.budgets import BudgetStore, with_first_budget
from bot.storage.questions import Pool

_ALL = "SELECT * FROM budgets WHERE team_id <> '' AND subject NOT LIKE 'erased %'"


class BudgetTable:
    """The table of budgets in one database."""

    name = "budgets"

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool = pool
        self._settings = settings
        self._store = BudgetStore(pool)

    async def read(self) -> Mapping[tuple[str, str], object]:
        """Return the values set by admins, by workspace and name."""
        rows = await self._pool.fetch_all(_ALL)
        return {(row["team_id"], _name(row["scope"], row["subject"])): _amount(row["amount"]) for row in rows}

    async def check(self, name: str, value: object) -> tuple[str, object]:
        """Return a name and a value in the form of `read`. Raises UsageError or ValueError."""
        scope, request = _parse(name, value)
        return _name(scope, request.subject), _amount(request.amount)

    async def change(self, team_id: str, values: Mapping[str, object]) -> None:
        """Set values, and remove those that are None."""
        for name, value in values.items():
            scope, request = _parse(name, "none" if value is None else value)
            await self._store.change(
                team_id=team_id,
                user_id="",
                scope=scope,
                subject=request.subject,
                amount=request.amount,
                reset=value is None,
            )

    async def explain(self, team_id: str, user_id: str, channel_id: str) -> list[tuple[str, str, str]]:
        """Return the budgets of a person in a channel, each with the level that set it."""
        lines, _ = await self._store.lines(team_id)
        async with self._pool.connection() as connection:
            first = (await with_first_budget(self._settings, connection)).budgets
        own = {(one.scope, one.subject): _amount(one.amount) for one in lines}
        subjects = {"user": user_id, "channel": channel_id}
        scopes: tuple[Scope, ...] = get_args(Scope)
        return [
            (f"budget {_name(scope, '')}", *self._level(scope, subjects.get(scope.removesuffix(WEEK), ""), own, first))
            for scope in scopes
        ]

    def _level(
        self, scope: Scope, subject: str, own: Mapping[tuple[Scope, str], str], first: Budgets
    ) -> tuple[str, str]:
        for who in (subject, ""):
            if (scope, who) in own:
                return own[scope, who], f"an admin, for {who or 'the workspace'}"
        if scope == "user" and self._settings.budgets.user != first.user:
            return _amount(first.user), "a new installation begins with it"
        return _amount(first.of(scope)), "no one" if first.of(scope) is None else "the environment"


def _parse(name: str, value: object) -> tuple[Scope, BudgetRequest]:
    """Return the scope of a budget, and the requested change. Raises UsageError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value).split()) != 1:
        raise ValueError(f'a budget cannot be {value!r}: it takes an amount in dollars such as "2.50", or "none"')
    request = parse(f"{name} {value}")
    if request.scope is None or request.reset or request.subject == HERE:
        raise ValueError(f"{name} = {value!r} is for Slack only: it takes an id, and an amount or none")
    return request.scope, request


def _name(scope: str, subject: str) -> str:
    return " ".join(filter(None, (scope.removesuffix(WEEK), subject, WEEKLY if scope.endswith(WEEK) else "")))


def _amount(amount: int | None) -> str:
    return "none" if amount is None else format_amount(amount).removeprefix("$").replace(",", "")
