"""The commands `settings export`, `plan`, `apply` and `explain`: the admins' settings, as a TOML file.

A file is complete for each workspace that it names: settings that it leaves out are removed. A file never contains
people's preferences or secrets.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.command_line import Subcommand, channel_id, fail, open_migrated, say, user_id
from bot.commands.parsing import unknown_name
from bot.errors import UsageError
from bot.feature import OpenTable, SettingsTable
from bot.model.question import ChannelSettings, Preferences, WorkspaceSettings
from bot.preferences import (
    CHANNEL,
    PERSON,
    WORKSPACE,
    Part,
    Setting,
    check_narrows,
    load_channel,
    load_workspace,
    parse_setting,
    preferred,
)
from bot.settings import Settings
from bot.storage.ledger import lock_bookings
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import Pool, connection_pool
from perplexity.errors import InvalidRequest
from perplexity.formatting import listed

Place = tuple[str, ...]
"""The place of a value: the workspace, the table, the channel (in `channels`), and the name."""

State = Mapping[Place, Any]

Tables = Mapping[str, SettingsTable]
"""The features' tables, by name."""

RULES, CHANNELS = "workspace", "channels"

HEADER = "# What admins have set. `python -m bot settings plan FILE` says what applying it would change.\n"

_LOCK = "LOCK TABLE budgets, channel_settings, workspace_settings, workspace_limits IN SHARE ROW EXCLUSIVE MODE"
_TEAMS = """
    SELECT team_id FROM workspaces WHERE team_id <> '' UNION SELECT team_id FROM workspace_settings
    UNION SELECT team_id FROM channel_settings UNION SELECT team_id FROM budgets WHERE team_id <> ''
    ORDER BY 1
"""
_TEAM = re.compile(r"[TE][A-Z0-9]{1,20}")


class NotUsable(Exception):
    """The request cannot be carried out; the message has a line for each problem."""


# The file.


def render(state: State) -> str:
    """Return settings as TOML; the same state always gives the same text."""
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
    """Return a value as TOML, in which strings are written as in JSON.

    TOML does not allow one character that JSON allows, U+007F, but no setting contains it.

    https://toml.io/en/v1.0.0#string
    """
    return json.dumps(value, ensure_ascii=False)


async def read(text: str, tables: Tables) -> tuple[set[str], State]:
    """Return the workspaces that a file names, and its settings for them. Raises NotUsable."""
    try:
        file = tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise NotUsable(f"This is no TOML: {error}.") from None
    state: dict[Place, Any] = {}
    problems: list[str] = []
    for path, value in _entries(file):
        try:
            state |= await _checked(path, value, tables)
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


def _not_allowed(path: Place, error: InvalidRequest) -> str:
    return f"{'.'.join(map(_key, path))} cannot be {error.value!r}: {error.allowed}"


def _entries(table: Mapping[str, Any], path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield the tables and values in a table of the file, each with its place."""
    for name, value in table.items():
        here = (*path, name)
        yield here, value
        if isinstance(value, Mapping) and len(here) < 4:
            yield from _entries(value, here)


async def _checked(path: Place, value: Any, tables: Tables) -> State:
    """Return a value and its place as an export has them; an empty mapping if the value is a table.

    Raises InvalidRequest, UsageError, ValueError.
    """
    team, *rest = path
    if not _TEAM.fullmatch(team) or not (rest or isinstance(value, Mapping)):
        raise ValueError("it must be a table with the id of a workspace, such as T012AB3CD")
    match rest, isinstance(value, Mapping):
        case ([], True):
            return {}
        case ([table], True) if table in (RULES, CHANNELS, *tables):
            return {}
        case (["channels", channel], True) if re.fullmatch(r"[CG][A-Z0-9]{1,20}", channel):
            return {}
        case (["channels", _], _):
            raise ValueError("it must be a table with the id of a channel, such as C012AB3CD")
        case (["workspace", name], False):
            return {path: _setting(WORKSPACE, name, value)}
        case (["channels", _, name], False):
            return {path: _setting(CHANNEL, name, value)}
        case ([table, name], False) if table in tables:
            known, checked = await tables[table].check(name, value)
            return {(team, table, known): checked}
    raise ValueError(f"a workspace has the tables {listed([RULES, CHANNELS, *tables])}, and values in these")


def _setting(table: tuple[Setting, ...], name: str, value: object) -> object:
    setting = next((one for one in table if one.name == name), None)
    if setting is None:
        raise ValueError(unknown_name(name, [one.name for one in table]))
    if not isinstance(value, str | bool) and not (
        isinstance(value, list) and all(isinstance(one, str) for one in value)
    ):
        raise InvalidRequest.for_field(name, str(value), "it takes a text, true, false, or a list of texts")
    words = setting.words(tuple(value) if isinstance(value, list) else value)
    return _plain(parse_setting(setting, name, words))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


# The database.


@asynccontextmanager
async def _transaction(conninfo: str) -> AsyncIterator[Pool]:
    """Yield a pool that works in a single transaction, during which admins cannot change anything."""
    async with connection_pool(conninfo, size=1) as pool, pool.transaction() as connection:
        await lock_bookings(connection)
        await connection.execute(_LOCK)
        yield cast("Pool", _OneTransaction(connection))


class _OneTransaction:
    def __init__(self, connection: AsyncConnection[DictRow]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        yield self._connection

    connection = transaction
    execute, fetch_one, fetch_all = Pool.execute, Pool.fetch_one, Pool.fetch_all


async def _state(pool: Pool, tables: Tables) -> State:
    state: dict[Place, Any] = {}
    for row in await pool.fetch_all("SELECT team_id, settings FROM workspace_settings"):
        state |= _set_in((row["team_id"], RULES), WORKSPACE, load_workspace(row["settings"]))
    for row in await pool.fetch_all("SELECT team_id, channel_id, settings FROM channel_settings"):
        path = (row["team_id"], CHANNELS, row["channel_id"])
        state |= _set_in(path, CHANNEL, load_channel(row["settings"]))
    for name, table in tables.items():
        state |= {(team, name, key): value for (team, key), value in (await table.read()).items()}
    return state


def _set_in(path: Place, table: tuple[Setting, ...], settings: ChannelSettings | WorkspaceSettings) -> State:
    empty = type(settings)()
    return {
        (*path, one.name): _plain(value)
        for one in table
        if (value := getattr(settings, one.field)) != getattr(empty, one.field)
    }


def _channel(state: State, path: Place) -> ChannelSettings:
    return load_channel(_fields(state, path, CHANNEL))


def _workspace(state: State, team: str) -> WorkspaceSettings:
    return load_workspace(_fields(state, (team, RULES), WORKSPACE))


def _fields(state: State, path: Place, table: tuple[Setting, ...]) -> Mapping[str, Any]:
    return {one.field: state[(*path, one.name)] for one in table if (*path, one.name) in state}


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """The settings of a database as a file; `open_tables` are the features' tables."""

    settings: Settings
    conninfo: str
    open_tables: Sequence[OpenTable]

    async def export(self) -> str:
        """Return the admins' settings as a file."""
        async with _transaction(self.conninfo) as pool:
            return render(await _state(pool, self._tables(pool)))

    async def change(self, text: str, *, apply: bool) -> list[str]:
        """Return a line for each value that a file changes; with `apply`, make the changes, all or none.

        Raises NotUsable.
        """
        async with _transaction(self.conninfo) as pool:
            tables = self._tables(pool)
            teams, after = await read(text, tables)
            before = {path: value for path, value in (await _state(pool, tables)).items() if path[0] in teams}
            changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
            if apply:
                await _apply(pool, tables, changed, before, after)
        return [_line(path, before.get(path), after.get(path)) for path in changed]

    async def explain(self, *, team: str | None, user: str, channel: str) -> str:
        """Return each setting that applies to a person in a channel, with the level that set it. Raises NotUsable."""
        async with connection_pool(self.conninfo, size=1) as pool:
            teams = [row["team_id"] for row in await pool.fetch_all(_TEAMS)]
            if team is None and len(teams) != 1:
                raise NotUsable(f"Name the workspace with --team: {', '.join(teams) or 'none is known yet'}.")
            team = team or teams[0]
            rows = list(_explained(await PreferenceStore(pool).get(team_id=team, user_id=user, channel_id=channel)))
            for table in self._tables(pool).values():
                rows += await table.explain(team, user, channel)
        return "".join(f"{name:<22} {value:<30} {level}\n" for name, value, level in rows)

    def _tables(self, pool: Pool) -> Tables:
        return {table.name: table for table in (open_table(pool, self.settings) for open_table in self.open_tables)}


def _line(path: Place, before: object, after: object) -> str:
    was, becomes = ("not set" if one is None else _toml(one) for one in (before, after))
    return f"{'.'.join(map(_key, path))}: {was} -> {becomes}"


async def _apply(pool: Pool, tables: Tables, changed: list[Place], before: State, after: State) -> None:
    """Make the changes as the commands do; the audit log names no person."""
    preferences = PreferenceStore(pool)
    for path in dict.fromkeys(one[:3] if one[1] == CHANNELS else one[:2] for one in changed):
        team, table, *channel = path
        place = {"team_id": team, "user_id": ""}
        if channel:
            was, becomes = _channel(before, path), _channel(after, path)
            await preferences.change_part(was, becomes, **place, channel_id=channel[0])
        elif table == RULES:
            await preferences.change_part(_workspace(before, team), _workspace(after, team), **place)
        else:
            await tables[table].change(team, {one[2]: after.get(one) for one in changed if one[:2] == path})


def _explained(preferences: Preferences) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each setting, its value, and the level that sets it.

    The rules of the workspace and of the channel apply together, so each of these levels is yielded. Other settings are
    yielded once, for the first level that sets them. The value of a setting that no level sets is "-".
    """
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


def add_arguments(parser: ArgumentParser) -> None:
    """Add the subcommands of `settings`."""
    of_file = parser.add_subparsers(dest="do", required=True)
    of_file.add_parser("export", help="print it as TOML")
    plan = of_file.add_parser("plan", help="say what a file would change; exit with 2 if anything")
    for one in (plan, of_file.add_parser("apply", help="make it as a file says")):
        one.add_argument("file", type=Path, metavar="FILE")
    why = of_file.add_parser("explain", help="say which value applies to a person in a channel, and what has set it")
    why.add_argument("--user", type=user_id, required=True, metavar="U…")
    why.add_argument("--channel", type=channel_id, required=True, metavar="C…")
    why.add_argument("--team", metavar="T…", help="the workspace, if there are several")


def run(settings: Settings, parsed: Namespace) -> int:
    """Print, compare or apply the file, or explain values. Return 1 if this fails, 2 if a plan changes anything."""
    with open_migrated(settings) as conninfo:
        tables = parsed.brought.settings_tables
        of_database = SettingsFile(settings=settings, conninfo=conninfo, open_tables=tables)
        try:
            match parsed.do:
                case "export":
                    sys.stdout.write(asyncio.run(of_database.export()))
                    return 0
                case "explain":
                    place = {"team": parsed.team, "user": parsed.user, "channel": parsed.channel}
                    sys.stdout.write(asyncio.run(of_database.explain(**place)))
                    return 0
            text, apply = parsed.file.read_text("utf-8"), parsed.do == "apply"
            changed = asyncio.run(of_database.change(text, apply=apply))
        except UnicodeDecodeError:
            return fail(f"{parsed.file} is not UTF-8 text.", code=1)
        except NotUsable as error:
            return fail(str(error), code=1)
    done = "Applied." if apply else f"{len(changed)} to change."
    say("\n".join([*changed, done]) if changed else "Nothing to change.")
    return 2 if changed and not apply else 0


SUBCOMMAND = Subcommand(
    name="settings", help="what admins have set, as a file", add_arguments=add_arguments, run=run, only_prints=True
)
