"""The commands `export` and `erase`: a person's data as JSON lines, and its erasure."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from bot.command_line import Subcommand, open_migrated, user_id
from bot.services import provider_config
from bot.settings import Settings
from bot.storage.installation import WorkspaceStore
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import Pool, connection_pool
from bot.worker.background import cancel_runs
from perplexity.providers import open_providers
from perplexity.sanitize import escape_json
from perplexity.scope import OwnKeys, using_keys

CancelRuns = Callable[[Mapping[str, Sequence[str]]], Awaitable[None]]
"""Cancels runs at the services; takes the ids of the runs by workspace."""

NOTHING_KEPT = "{user}  nothing is kept of this person\n"
NOT_CONFIRMED = "`erase` cannot ask you, since standard error is redirected: add --yes. Nothing was erased.\n"
LEFT = "Messages in Slack, backups, and runs that are stored at a search service are not touched (docs/privacy.md).\n"


@dataclass(frozen=True, kw_only=True)
class People:
    """The people of a command, by their Slack ids; `team` limits the command to one workspace."""

    users: tuple[str, ...]
    team: str | None = None


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """The input and output of a command; `stdin` is None if the process has none."""

    stdin: TextIO | None
    stdout: TextIO
    stderr: TextIO

    @classmethod
    def of_process(cls) -> Terminal:
        """Return the terminal of this process."""
        return cls(stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)


async def export_people(store: PersonalDataStore, people: People, *, terminal: Terminal) -> int:
    """Write each row of these people as a line of JSON; return 1 if one of them has no data.

    A line has the `user`, the `table` and the `row`, whose values have JSON's types; times are in ISO 8601.
    """
    code = 0
    for user in people.users:
        count, teams = 0, set()
        async for table, row in store.export(user, team_id=people.team):
            line = escape_json(json.dumps({"user": user, "table": table, "row": row}, ensure_ascii=False))
            terminal.stdout.write(line + "\n")
            count += 1
            teams.add(str(row.get("team_id") or ""))
        await store.record_export(user, teams - {""})
        terminal.stdout.flush()
        terminal.stderr.write(f"{user}  {count} rows\n" if count else NOTHING_KEPT.format(user=user))
        code = code if count else 1
    return code


async def erase_people(
    store: PersonalDataStore, people: People, *, confirmed: bool, cancel: CancelRuns, terminal: Terminal
) -> int:
    """Erase the data of these people; return 1 if one of them has none, 2 if the erasure was not confirmed.

    If the erasure is not `confirmed`, a person at a terminal is asked to confirm it. A program that runs the command is
    not asked. Open questions are stopped first. The data of each person is erased in one transaction, so the same
    command can continue an interrupted erasure.
    """
    confirmed = confirmed or terminal.stdin is None or not terminal.stdin.isatty()
    if not confirmed and not terminal.stderr.isatty():
        terminal.stderr.write(NOT_CONFIRMED)
        return 2
    code = 0
    for user in people.users:
        counts = await store.count(user, team_id=people.team)
        if not counts:
            terminal.stderr.write(NOTHING_KEPT.format(user=user))
            code = 1
            continue
        if not (confirmed or _confirm(user, counts, terminal)):
            terminal.stderr.write(f"{user}  not erased\n")
            return 2
        await cancel(await store.stop_work(user, team_id=people.team))
        erased = await store.erase(user, team_id=people.team)
        terminal.stdout.write(f"{user}  erased: {_listed(erased)}\n")
    terminal.stderr.write(LEFT)
    return code


def _confirm(user: str, counts: dict[str, int], terminal: Terminal) -> bool:
    terminal.stderr.write(f"{user}  {_listed(counts)}\nType {user} to erase all of this for good: ")
    terminal.stderr.flush()
    return terminal.stdin is not None and terminal.stdin.readline().strip() == user


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{table} {count}" for table, count in counts.items())


def add_people(parser: ArgumentParser) -> None:
    """Add the arguments for the people."""
    parser.add_argument(
        "--user", type=user_id, nargs="+", action="extend", required=True, metavar="U…", help="Slack user ids"
    )
    parser.add_argument("--team", metavar="T…", help="in this workspace only")


def add_erasure(parser: ArgumentParser) -> None:
    """Add the arguments for the people to erase, and for the confirmation."""
    parser.add_argument("--yes", action="store_true", help="do not ask first, which happens only at a terminal")
    add_people(parser)


def export(settings: Settings, parsed: Namespace) -> int:
    """Migrate the database, then export the data of people from it."""

    async def export_from(conninfo: str) -> int:
        async with connection_pool(conninfo, size=1) as pool:
            return await export_people(PersonalDataStore(pool), _people(parsed), terminal=Terminal.of_process())

    with open_migrated(settings) as conninfo:
        return asyncio.run(export_from(conninfo))


def erase(settings: Settings, parsed: Namespace) -> int:
    """Migrate the database, erase people's data from it, and cancel their runs at the configured services."""
    with open_migrated(settings) as conninfo:
        terminal = Terminal.of_process()
        erasing = run_erase(settings, _people(parsed), confirmed=parsed.yes, conninfo=conninfo, terminal=terminal)
        return asyncio.run(erasing)


def _people(parsed: Namespace) -> People:
    return People(users=tuple(dict.fromkeys(parsed.user)), team=parsed.team)


async def run_erase(settings: Settings, people: People, *, confirmed: bool, conninfo: str, terminal: Terminal) -> int:
    """Erase people's data from a migrated database, and cancel their runs at the configured services."""
    async with connection_pool(conninfo, size=1) as pool, open_providers(provider_config(settings)) as providers:
        keys_of = _own_keys(settings, pool)

        async def cancel(runs: Mapping[str, Sequence[str]]) -> None:
            for team, run_ids in runs.items():
                with using_keys(await keys_of(team)):
                    await cancel_runs(providers, run_ids)

        store = PersonalDataStore(pool)
        return await erase_people(store, people, confirmed=confirmed, cancel=cancel, terminal=terminal)


def _own_keys(settings: Settings, pool: Pool) -> Callable[[str], Awaitable[OwnKeys | None]]:
    """Return a function that returns a workspace's own keys for services, None if it has none."""
    if not settings.oauth_configured:
        return _no_keys
    # Encryption takes a while to import; a single workspace with its own token does not need it.
    from bot.errors import Undecryptable
    from bot.workspaces.encryption import KeyRing
    from bot.workspaces.installations import Installations
    from bot.workspaces.provider_keys import addresses, own_keys

    store, ring, services = WorkspaceStore(pool, many=True), KeyRing.of(settings.key_bytes), addresses(settings)
    installations = Installations(pool, calls=pool, keys=ring, workspaces=store)

    async def find(team_id: str) -> OwnKeys | None:
        with suppress(Undecryptable):
            installed = await installations.find_by_team(team_id)
            if installed is not None:
                return own_keys(installed.identity.id, installed.provider_keys, services=services)
        return None

    return find


async def _no_keys(team_id: str) -> None:
    """Return None: a single workspace has no keys but the app's."""


EXPORT = Subcommand(
    name="export",
    help="write what is kept of people as JSON lines",
    add_arguments=add_people,
    run=export,
    only_prints=True,
)
ERASE = Subcommand(name="erase", help="erase what is kept of people", add_arguments=add_erasure, run=erase)
