"""The commands `export` and `erase`: what the app has of a person, as JSON lines, and its erasure."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from bot.services import provider_config
from bot.storage.installation import WorkspaceStore
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import Pool, connection_pool
from bot.worker.background import cancel_runs
from perplexity.key_overrides import OwnKeys
from perplexity.providers import open_providers
from perplexity.scope import using_keys
from perplexity.terminal import escape_json

if TYPE_CHECKING:
    from bot.settings import Settings

CancelRuns = Callable[[Mapping[str, Sequence[str]]], Awaitable[None]]
"""Cancels runs at the services, which are listed by workspace."""

NOTHING_KEPT = "{user}  nothing is kept of this person\n"
NOT_CONFIRMED = "`erase` cannot ask you, since standard error is redirected: add --yes. Nothing was erased.\n"
LEFT = "Messages in Slack, backups, and runs that are stored at a search service are not touched (docs/privacy.md).\n"


@dataclass(frozen=True, kw_only=True)
class People:
    """The people whom a command is about, by their Slack ids; `team` limits it to one workspace."""

    users: tuple[str, ...]
    team: str | None = None


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """Where a command reads and writes; Python has no `stdin` if it was closed."""

    stdin: TextIO | None
    stdout: TextIO
    stderr: TextIO

    @property
    def is_a_persons(self) -> bool:
        """Whether a person could type an answer."""
        return self.stdin is not None and self.stdin.isatty()

    @property
    def shows_questions(self) -> bool:
        """Whether a person would see a question."""
        return self.stderr.isatty()


async def export_people(store: PersonalDataStore, people: People, *, terminal: Terminal) -> int:
    """Write each row of these people as a line of JSON; return 1 if nothing is kept of one of them.

    A line holds the `user`, the `table` and the `row`, whose values have JSON's types; times are ISO 8601.
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
    """Erase what is kept of these people; return 1 if nothing is kept of one of them, 2 if it was not confirmed.

    At a terminal a person has to confirm; a program has said what it wants, and is not asked. Their open questions are
    stopped first. One transaction a person: after an interruption, the same command goes on.
    """
    confirmed = confirmed or not terminal.is_a_persons
    if not confirmed and not terminal.shows_questions:
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


async def run_export(people: People, *, conninfo: str, terminal: Terminal) -> int:
    """Export on an open database."""
    async with connection_pool(conninfo, size=1) as pool:
        return await export_people(PersonalDataStore(pool), people, terminal=terminal)


async def run_erase(settings: Settings, people: People, *, confirmed: bool, conninfo: str, terminal: Terminal) -> int:
    """Erase on an open database, and cancel runs at the services that the settings name."""
    async with connection_pool(conninfo, size=1) as pool, open_providers(provider_config(settings)) as providers:
        keys_of = _own_keys(settings, pool)

        async def cancel(runs: Mapping[str, Sequence[str]]) -> None:
            for team, run_ids in runs.items():
                with using_keys(await keys_of(team)):
                    await cancel_runs(providers, run_ids)

        return await erase_people(
            PersonalDataStore(pool),
            people,
            confirmed=confirmed,
            cancel=cancel,
            terminal=terminal,
        )


def _own_keys(settings: Settings, pool: Pool) -> Callable[[str], Awaitable[OwnKeys | None]]:
    """Return what finds the keys that a workspace brings along for its questions."""
    if not settings.oauth_configured:
        return _no_keys
    # Encryption takes a while to import, which one workspace with its own token need not wait for.
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
    """Return None: one workspace has no keys but the app's."""
