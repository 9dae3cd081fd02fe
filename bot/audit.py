"""The hash-chained audit log: written in the background, checked and exported by `python -m bot audit`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import IO

from psycopg import AsyncConnection, Error, IsolationLevel
from psycopg.rows import DictRow, dict_row

from bot.model.audit import ChainCheck, Head, SigningKey
from bot.storage.audit import (
    entries,
    last_entries,
    lock_writer,
    pseudonyms,
    read_health,
    record_command,
    sign_heads,
    signed_heads,
    signing_key,
    used_workspaces,
)
from bot.storage.audit_chain import AuditStore
from bot.storage.database import DATABASE_UNAVAILABLE
from perplexity.terminal import printable_line

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long the log waits for more to chain."""


@dataclass(frozen=True, kw_only=True)
class AuditWriter:
    """Chains what was recorded, in this process or another, about once a second."""

    audit: AuditStore
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Chain until cancelled. What fails is logged and tried again; nothing that is recorded depends on it."""
        while True:
            try:
                while await self.audit.write():
                    pass
            except DATABASE_UNAVAILABLE as error:
                log.warning("audit.away", extra={"error": type(error).__name__})
            except Error as error:
                log.error("audit.not_written", extra={"error": type(error).__name__})
            await self.sleep(PAUSE_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was found: the entries and heads of each workspace, and the problems by workspace."""

    heads: Mapping[str, Head]
    key: SigningKey = field(repr=False)
    problems: Mapping[str, list[str]] = field(default_factory=dict)
    waiting: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was changed, as far as the log shows."""
        return not any(self.problems.values())

    def report(self) -> str:
        """Return the report for a terminal, which ends with a sentence."""
        lines = [
            f"{printable_line(team)}  {head.count} {'entry' if head.count == 1 else 'entries'}, head {head.hash}"
            for team, head in self.heads.items()
        ]
        lines += [
            f"{printable_line(team)}  {printable_line(problem)}"
            for team, problems in self.problems.items()
            for problem in problems
        ]
        if self.waiting:
            lines.append(self.waiting)
        if self.key.stored:
            lines.append(
                "The heads are signed with a key in the database: who can change all of the database can change the "
                "log. Set AUDIT_KEY to keep the key elsewhere."
            )
        return "\n".join([*lines, "Nothing was changed." if self.ok else "The audit log was changed."]) + "\n"


async def verify(conninfo: str, *, key: str | None, known: Mapping[str, Mapping[int, str]]) -> Verification:
    """Check all entries and heads, without changing anything. Raises database errors.

    `key` is the setting. `known` are hashes of entries by workspace and number, such as the log had them.
    """
    async with await _connect(conninfo) as connection:
        # All of it as it is at one moment, although entries are added meanwhile.
        await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        async with connection.transaction(force_rollback=True):
            return await _verify(connection, key, known)


async def _verify(
    connection: AsyncConnection[DictRow],
    key: str | None,
    known: Mapping[str, Mapping[int, str]],
    *,
    signatures: bool = True,
) -> Verification:
    # First what says that there is no log: after an error this transaction can read nothing.
    heads = await signed_heads(connection)
    health, signing = await read_health(connection), await signing_key(connection, key)
    used = await used_workspaces(connection)
    checks = {
        team: ChainCheck(team_id=team, known=dict(known.get(team, {})), used=used.get(team))
        for team in {*heads, *known, *used}
    }
    for one in await pseudonyms(connection):
        check = checks.setdefault(one["team_id"], ChainCheck(team_id=one["team_id"]))
        check.add_person(one["user_id"], key=bytes(one["key"]), who=one["who"])
    async for entry, digest in entries(connection):
        checks.setdefault(entry.team_id, ChainCheck(team_id=entry.team_id)).add(entry, digest)
    for team, check in sorted(checks.items()):
        head, signature = heads.get(team, (None, ""))
        check.end(head, signed=not signatures or (head is not None and signing.has_signed(head, signature)))
    return Verification(
        heads={team: head for team, (head, _) in heads.items()},
        key=signing,
        problems={team: check.problems for team, check in sorted(checks.items())},
        waiting=health.problem,
    )


async def inspect(connection: AsyncConnection[DictRow], *, key: str | None) -> list[str]:
    """Return what is wrong with the log, as far as its heads and its last entries show, which is quick to read.

    Nothing is changed. Raises database errors.
    """
    problems = [problem] if (problem := (await read_health(connection)).problem) else []
    async with connection.transaction(force_rollback=True):
        signing, last = await signing_key(connection, key), await last_entries(connection)
        for team, (head, signature) in (await signed_heads(connection)).items():
            if not signing.has_signed(head, signature):
                problems.append(f"The audit log’s head of {team} is not signed with the key in use.")
            if last.get(team) != head:
                problems.append(f"The audit log’s last entry of {team} is not the one that its head names.")
    return problems


async def sign(conninfo: str, *, key: str | None) -> Verification:
    """Sign the heads with the key in use, after AUDIT_KEY was set or changed, unless something else is wrong.

    Return what is wrong besides the signatures. Raises database errors.
    """
    async with await _connect(conninfo) as connection, connection.transaction():
        await lock_writer(connection)
        found = await _verify(connection, key, {}, signatures=False)
        if found.ok:
            await sign_heads(connection, found.key, found.heads)
            await record_command(connection, "audit.sign", found.heads)
    return found


async def export(conninfo: str, output: IO[str]) -> int:
    """Write all entries as lines of JSON and return how many. Raises database errors."""
    written = 0
    async with await _connect(conninfo) as connection, connection.transaction(force_rollback=True):
        async for entry, digest in entries(connection):
            output.write(entry.as_json(digest) + "\n")
            written += 1
    return written


async def _connect(conninfo: str) -> AsyncConnection[DictRow]:
    return await AsyncConnection.connect(conninfo, row_factory=dict_row, prepare_threshold=None, autocommit=True)
