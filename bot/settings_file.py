"""The commands `settings export`, `plan`, `apply` and `explain`: what admins have set, as a TOML file.

A file says all of each workspace that it names: what it leaves out is taken back. What people prefer, and secrets, are
in none.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, cast, get_args

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.budgets.amounts import format_amount
from bot.errors import UsageError
from bot.features.budgets.command import HERE, BudgetRequest
from bot.features.budgets.command import parse as parse_budget
from bot.features.limits.model import NAMES, LimitName, parse_limit
from bot.features.limits.store import LimitStore
from bot.model.preferences import ChannelSettings, Preferences, WorkspaceSettings
from bot.model.spending import WEEK, Budgets, Scope
from bot.preferences.precedence import check_narrows, preferred
from bot.preferences.settings import (
    CHANNEL,
    PERSON,
    WORKSPACE,
    Part,
    Setting,
    load_channel,
    load_workspace,
    parse_setting,
)
from bot.settings import Settings
from bot.storage.budgets import BudgetStore, with_first_budget
from bot.storage.ledger import lock_bookings
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import Pool, connection_pool, fair_share
from perplexity.errors import InvalidRequest
from perplexity.formatting import closest_match

Path = tuple[str, ...]
"""Where a value is: the workspace, the table, in `channels` the channel, and the name."""

State = Mapping[Path, Any]

RULES, CHANNELS, BUDGETS, LIMITS = "workspace", "channels", "budgets", "limits"

HEADER = "# What admins have set. `python -m bot settings plan FILE` says what applying it would change.\n"

_LOCK = "LOCK TABLE budgets, channel_settings, workspace_settings, workspace_limits IN SHARE ROW EXCLUSIVE MODE"
_TEAM = re.compile(r"[TE][A-Z0-9]{1,20}")


class NotUsable(Exception):
    """What was asked for cannot be done; the message has a line for each problem."""


# The file


def render(state: State) -> str:
    """Return what is set as TOML; the same state is the same text."""
    lines = [HEADER]
    for table, entries in groupby(sorted(state.items()), key=lambda entry: entry[0][:-1]):
        lines += [
            f"\n[{'.'.join(map(_key, table))}]\n",
            *(f"{_key(path[-1])} = {_toml(one)}\n" for path, one in entries),
        ]
    return "".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object) -> str:
    """Return a value as TOML, whose texts are JSON's; no setting has the one character that must not be in them.

    https://toml.io/en/v1.0.0#string
    """
    return json.dumps(value, ensure_ascii=False)


def read(text: str, *, bounds: Mapping[LimitName, int | None]) -> tuple[set[str], State]:
    """Return the workspaces that a file names, and what it sets there. Raises NotUsable."""
    try:
        file = tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise NotUsable(f"This is no TOML: {error}.") from None
    state: dict[Path, Any] = {}
    problems: list[str] = []
    for path, value in _entries(file):
        try:
            state |= _checked(path, value, bounds)
        except InvalidRequest as error:
            problems.append(_not_allowed(path, error))
        except (UsageError, ValueError) as error:
            problems.append(f"{'.'.join(map(_key, path))}: {error}")
    for path in {one[:3] for one in state if one[1] == CHANNELS}:
        try:
            check_narrows(_channel(state, path), _workspace(state, path[0]))
        except InvalidRequest as error:
            problems.append(_not_allowed((*path, "allow"), error))
    if problems:
        raise NotUsable("\n".join(problems))
    return set(file), state


def _not_allowed(path: Path, error: InvalidRequest) -> str:
    return f"{'.'.join(map(_key, path))} cannot be {error.value!r}: {error.allowed}"


def _entries(table: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the tables and values with their places."""
    for name, value in table.items():
        here = (*path, name)
        yield here, value
        if isinstance(value, Mapping) and len(here) < 4:
            yield from _entries(value, here)


def _checked(path: Path, value: Any, bounds: Mapping[LimitName, int | None]) -> State:
    """Return an entry as it is exported; nothing for a table. Raises InvalidRequest, UsageError, ValueError."""
    team, *rest = path
    if not _TEAM.fullmatch(team) or not (rest or isinstance(value, Mapping)):
        raise ValueError("it must be a table with the id of a workspace, such as T012AB3CD")
    match rest, isinstance(value, Mapping):
        case ([] | ["workspace" | "channels" | "budgets" | "limits"], True):
            return {}
        case (["channels", channel], True) if re.fullmatch(r"[CG][A-Z0-9]{1,20}", channel):
            return {}
        case (["channels", _], _):
            raise ValueError("it must be a table with the id of a channel, such as C012AB3CD")
        case (["workspace", name], False):
            return {path: _setting(WORKSPACE, name, value)}
        case (["channels", _, name], False):
            return {path: _setting(CHANNEL, name, value)}
        case (["budgets", name], False):
            budget = _budget(name, value)
            return {(team, BUDGETS, _budget_name(budget.scope or "", budget.subject)): _amount(budget.amount)}
        case (["limits", name], False):
            return {path: _limit(name, value, bounds)}
    raise ValueError(f"a workspace has the tables {RULES}, {CHANNELS}, {BUDGETS} and {LIMITS}, and values in these")


def _setting(table: tuple[Setting, ...], name: str, value: object) -> object:
    setting = next((one for one in table if one.name == name), None)
    if setting is None:
        raise ValueError(_unknown(name, [one.name for one in table]))
    if not isinstance(value, str | bool) and not (
        isinstance(value, list) and all(isinstance(one, str) for one in value)
    ):
        raise InvalidRequest.for_field(name, str(value), "it takes a text, true, false, or a list of texts")
    words = setting.words(tuple(value) if isinstance(value, list) else value)
    return _plain(parse_setting(setting, name, words))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _unknown(name: str, names: list[str]) -> str:
    meant = closest_match(name, names)
    return f"there is no {name!r}{f'; did you mean {meant}?' if meant else ';'} It takes {', '.join(names)}"


def _budget(name: str, value: object) -> BudgetRequest:
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value).split()) != 1:
        raise ValueError(f'a budget cannot be {value!r}: it takes an amount in dollars such as "2.50", or "none"')
    request = parse_budget(f"{name} {value}")
    if request.reset or request.subject == HERE:
        raise ValueError(f"{name} = {value!r} is for Slack only: it takes an id, and an amount or none")
    return request


def _budget_name(scope: str, subject: str) -> str:
    return " ".join([scope.removesuffix(WEEK), *([subject] if subject else []), *(["week"] if WEEK in scope else [])])


def _amount(amount: int | None) -> str:
    return "none" if amount is None else format_amount(amount).removeprefix("$").replace(",", "")


def _limit(name: str, value: object, bounds: Mapping[LimitName, int | None]) -> int | None:
    if name not in NAMES:
        raise ValueError(_unknown(name, list(NAMES)))
    bound = bounds[name]
    try:
        return parse_limit("off" if value == 0 and not isinstance(value, bool) else str(value), bound=bound)
    except ValueError as error:
        raise ValueError(f"the limit {name} cannot be {value!r}: it takes {error} (0 is no limit)") from None


# The database


@asynccontextmanager
async def _transaction(conninfo: str) -> AsyncIterator[tuple[AsyncConnection[DictRow], Pool]]:
    """Yield one transaction, also as the pool of the tables' stores, in which admins change nothing meanwhile."""
    async with connection_pool(conninfo, size=1) as pool, pool.transaction() as connection:
        await lock_bookings(connection)
        await connection.execute(_LOCK)
        yield connection, cast("Pool", _OneTransaction(connection))


class _OneTransaction:
    def __init__(self, connection: AsyncConnection[DictRow]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        yield self._connection

    connection = transaction


async def _state(connection: AsyncConnection[DictRow], limits: LimitStore) -> State:
    state: dict[Path, Any] = {}
    for row in await _rows(connection, "SELECT team_id, settings FROM workspace_settings"):
        state |= _set_in((row["team_id"], RULES), WORKSPACE, load_workspace(row["settings"]))
    for row in await _rows(connection, "SELECT team_id, channel_id, settings FROM channel_settings"):
        path = (row["team_id"], CHANNELS, row["channel_id"])
        state |= _set_in(path, CHANNEL, load_channel(row["settings"]))
    for row in await _rows(connection, "SELECT * FROM budgets WHERE team_id <> '' AND subject NOT LIKE 'erased %'"):
        state[row["team_id"], BUDGETS, _budget_name(row["scope"], row["subject"])] = _amount(row["amount"])
    for row in await _rows(connection, "SELECT team_id FROM workspace_limits"):
        own = {name: one.own for name, one in (await limits.of(row["team_id"])).items()}
        state |= {(row["team_id"], LIMITS, name): value for name, value in own.items() if value is not None}
    return state


async def _rows(connection: AsyncConnection[DictRow], query: str) -> list[DictRow]:
    return await (await connection.execute(query.encode())).fetchall()


def _set_in(path: Path, table: tuple[Setting, ...], settings: ChannelSettings | WorkspaceSettings) -> State:
    empty = type(settings)()
    return {
        (*path, one.name): _plain(value)
        for one in table
        if (value := getattr(settings, one.field)) != getattr(empty, one.field)
    }


def _channel(state: State, path: Path) -> ChannelSettings:
    return load_channel(_fields(state, path, CHANNEL))


def _workspace(state: State, team: str) -> WorkspaceSettings:
    return load_workspace(_fields(state, (team, RULES), WORKSPACE))


def _fields(state: State, path: Path, table: tuple[Setting, ...]) -> Mapping[str, Any]:
    return {one.field: state[(*path, one.name)] for one in table if (*path, one.name) in state}


async def export(settings: Settings, conninfo: str) -> str:
    """Return what admins have set, as a file."""
    async with _transaction(conninfo) as (connection, pool):
        return render(await _state(connection, LimitStore(pool, share=fair_share(settings))))


async def change(settings: Settings, conninfo: str, text: str, *, apply: bool) -> list[str]:
    """Return what a file changes, a line for each value, and if asked `apply` it, all or nothing. Raises NotUsable."""
    async with _transaction(conninfo) as (connection, pool):
        limits = LimitStore(pool, share=fair_share(settings))
        bounds = {name: one.bound for name, one in (await limits.of("")).items()}
        teams, after = read(text, bounds=bounds)
        before = {path: value for path, value in (await _state(connection, limits)).items() if path[0] in teams}
        changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        if apply:
            await _apply(pool, limits, changed, before, after)
    return [_line(path, before.get(path), after.get(path)) for path in changed]


def _line(path: Path, before: object, after: object) -> str:
    was, becomes = ("not set" if one is None else _toml(one) for one in (before, after))
    return f"{'.'.join(map(_key, path))}: {was} -> {becomes}"


async def _apply(pool: Pool, limits: LimitStore, changed: list[Path], before: State, after: State) -> None:
    """Make the changes as the commands do; the audit log names no person."""
    preferences, budgets = PreferenceStore(pool), BudgetStore(pool)
    for path in dict.fromkeys(one[:3] if one[1] == CHANNELS else one[:2] for one in changed):
        team, place = path[0], {"team_id": path[0], "user_id": ""}
        match path[1]:
            case "workspace":
                await preferences.change_rules(_workspace(before, team), _workspace(after, team), **place)
            case "channels":
                await preferences.change_rules(
                    _channel(before, path), _channel(after, path), **place, channel_id=path[2]
                )
            case "limits":
                values = {cast("LimitName", one[2]): after.get(one) for one in changed if one[:2] == path}
                await limits.change(**place, values=values)
            case _:
                for one in (one for one in changed if one[:2] == path):
                    budget = _budget(one[2], after.get(one, "none"))
                    assert budget.scope is not None  # noqa: S101 - a name of a budget has one
                    await budgets.change(
                        **place,
                        scope=budget.scope,
                        subject=budget.subject,
                        amount=budget.amount,
                        reset=one not in after,
                    )


# Which value applies


_TEAMS = """
    SELECT team_id FROM workspaces WHERE team_id <> '' UNION SELECT team_id FROM workspace_settings
    UNION SELECT team_id FROM channel_settings UNION SELECT team_id FROM budgets WHERE team_id <> ''
    ORDER BY 1
"""


async def explain(settings: Settings, conninfo: str, *, team: str | None, user: str, channel: str) -> str:
    """Return each setting that applies to a person in a channel, and which level has set it. Raises NotUsable."""
    async with connection_pool(conninfo, size=1) as pool:
        async with pool.connection() as connection:
            teams = [row["team_id"] for row in await _rows(connection, _TEAMS)]
            if team is None and len(teams) != 1:
                raise NotUsable(f"Name the workspace with --team: {', '.join(teams) or 'none is known yet'}.")
            team = team or teams[0]
            first = await with_first_budget(settings, connection)
        preferences = await PreferenceStore(pool).get(team_id=team, user_id=user, channel_id=channel)
        lines, _ = await BudgetStore(pool).lines(team)
        limits = await LimitStore(pool, share=fair_share(settings)).of(team)
    rows = list(_explained(preferences))
    own = {(one.scope, one.subject): _amount(one.amount) for one in lines}
    for scope in get_args(Scope):
        subject = {"user": user, "channel": channel}.get(scope.removesuffix(WEEK), "")
        rows.append((f"budget {_budget_name(scope, '')}", *_budget_level(own, scope, subject, settings, first.budgets)))
    for name, limit in limits.items():
        level = "the environment" if limit.own is None else "the workspace"
        rows.append((f"limit {name}", str(limit.value or "no limit"), level))
    return "".join(f"{name:<22} {value:<30} {level}\n" for name, value, level in rows)


def _explained(preferences: Preferences) -> Iterator[tuple[str, str, str]]:
    """Yield the settings. The rules of the workspace and of the channel hold together; of others, the first counts."""
    levels: tuple[tuple[Part, tuple[Setting, ...]], ...] = (
        ("person", PERSON), ("workspace", WORKSPACE), ("channel", CHANNEL),
    )  # fmt: skip
    rules = {one.name for one in WORKSPACE}
    for name in dict.fromkeys(one.name for _, table in levels for one in table):
        found = []
        for part, table in levels:
            setting = next((one for one in table if one.name == name), None)
            if setting is not None and (words := setting.words(getattr(getattr(preferences, part), setting.field))):
                unused = name == "domains" and not preferred(preferences).domains
                found.append((words, f"the {part}{', but the rules leave none of them' if unused else ''}"))
        for words, level in (found if name in rules else found[:1]) or [("-", "no one: the app’s own default")]:
            yield name, words, level


def _budget_level(
    own: Mapping[tuple[Scope, str], str], scope: Scope, subject: str, settings: Settings, first: Budgets
) -> tuple[str, str]:
    for who in (subject, ""):
        if (scope, who) in own:
            return own[scope, who], f"an admin, for {who or 'the workspace'}"
    if scope == "user" and settings.budgets.user != first.user:
        return _amount(first.user), "a new installation begins with it"
    return _amount(first.of(scope)), "no one" if first.of(scope) is None else "the environment"
