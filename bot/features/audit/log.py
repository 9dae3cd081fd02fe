"""Reads the audit log: verifies and exports it, and signs its heads again after a change of the key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from psycopg import AsyncConnection, IsolationLevel
from psycopg.rows import DictRow

from bot.model.audit import BEGINNING, Entry, Head, SigningKey, pseudonym
from bot.storage.audit import head_of, lock_writer, read_health, record_command, save_head, signing_key
from bot.storage.database import connect
from perplexity.sanitize import printable_line

_USED = """
    SELECT team_id, min(at) AS since, max(at) AS until FROM (
        SELECT team_id, NULL::timestamptz AS at FROM audit_people
        UNION ALL SELECT team_id, at FROM (
            SELECT team_id, settled_at AS at FROM questions
            UNION ALL SELECT team_id, at FROM budgets
            UNION ALL SELECT team_id, at FROM channel_settings WHERE settings <> '{}'
            UNION ALL SELECT team_id, at FROM workspace_settings WHERE settings <> '{}'
            UNION ALL SELECT team_id, at FROM spending_pauses) recorded
        WHERE at > (
            SELECT m.applied_at + interval '5 seconds' FROM schema_migrations m WHERE m.name = '0024_audit.sql')) known
    WHERE team_id NOT IN (SELECT o.team_id FROM audit_outbox o)
    GROUP BY team_id
"""
_PEOPLE = "SELECT team_id, user_id, key, who FROM audit_people ORDER BY team_id, who"
_LOST_EVER = "SELECT is_called AS lost FROM audit_failed_at"
_ALL_HEADS = "SELECT team_id, count, hash, signature FROM audit_heads ORDER BY team_id"
_LAST = """
    SELECT h.team_id, last.number AS count, last.hash FROM audit_heads h CROSS JOIN LATERAL (
        SELECT a.number, a.hash FROM audit a WHERE a.team_id = h.team_id ORDER BY a.number DESC LIMIT 1) last
"""
_ENTRIES = """
    SELECT team_id, number, at, who, what, channel_id, cost_microusd, decision, subject, before::text, after::text, hash
    FROM audit ORDER BY team_id, number
"""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The result of checking the log: the head and the problems of each workspace.

    `key` signs the heads. `waiting` is a sentence on what is wrong with the recording of new entries, or empty.
    """

    heads: Mapping[str, Head]
    key: SigningKey = field(repr=False)
    problems: Mapping[str, list[str]] = field(default_factory=dict)
    waiting: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was changed, as far as the log shows."""
        return not any(self.problems.values())

    def report(self) -> str:
        """Return the report for a terminal; its last line is the conclusion."""
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

    `key` is AUDIT_KEY, None if it is not set. `known` are hashes of entries, noted earlier, by workspace and number.
    """
    async with await connect(conninfo, autocommit=True) as connection:
        # Read everything as of one moment, although entries are added in the meantime.
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
    # Read the heads first: this raises UndefinedTable if there is no log. `read_health` would suppress the error, and
    # the transaction could read nothing afterwards.
    heads = await signed_heads(connection)
    health, signing = await read_health(connection), await signing_key(connection, key)
    used = await used_workspaces(connection)
    checks = {
        team: ChainCheck(team_id=team, known=dict(known.get(team, {})), used=used.get(team))
        for team in {*heads, *known, *used}
    }
    for one in await (await connection.execute(_PEOPLE)).fetchall():
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
    """Return the problems that the heads and the last entries of the log show, without reading all of it.

    Change nothing. Raises database errors.
    """
    problems = [problem] if (problem := (await read_health(connection)).problem) else []
    async with connection.transaction(force_rollback=True):
        signing, rows = await signing_key(connection, key), await (await connection.execute(_LAST)).fetchall()
        last = {row["team_id"]: head_of(row) for row in rows}
        for team, (head, signature) in (await signed_heads(connection)).items():
            if not signing.has_signed(head, signature):
                problems.append(f"The audit log’s head of {team} is not signed with the key in use.")
            if last.get(team) != head:
                problems.append(f"The audit log’s last entry of {team} is not the one that its head names.")
    return problems


async def sign(conninfo: str, *, key: str | None) -> Verification:
    """Sign the heads with the current key, after AUDIT_KEY was set or changed.

    First check all but the signatures, and return the result; if there are problems, sign nothing. Raises database
    errors.
    """
    async with await connect(conninfo, autocommit=True) as connection, connection.transaction():
        await lock_writer(connection)
        found = await _verify(connection, key, {}, signatures=False)
        if found.ok:
            for head in found.heads.values():
                await save_head(connection, head, found.key)
            await record_command(connection, "audit.sign", found.heads)
    return found


async def export(conninfo: str, output: IO[str]) -> int:
    """Write all entries as lines of JSON and return their number. Raises database errors."""
    written = 0
    async with await connect(conninfo, autocommit=True) as connection, connection.transaction(force_rollback=True):
        async for entry, digest in entries(connection):
            output.write(entry.as_json(digest) + "\n")
            written += 1
    return written


async def signed_heads(connection: AsyncConnection[Any]) -> dict[str, tuple[Head, str]]:
    """Return the head of each workspace with its signature."""
    rows = await (await connection.execute(_ALL_HEADS)).fetchall()
    return {row["team_id"]: (head_of(row), row["signature"]) for row in rows}


async def used_workspaces(connection: AsyncConnection[Any]) -> dict[str, Used]:
    """Return, by workspace, the times of the first and the last event in other tables; the log must cover both.

    Workspaces whose entries still wait in the outbox are left out. If recording has ever failed, both times are None,
    because the lost entry may have been the first or the last.
    """
    lost = await (await connection.execute(_LOST_EVER)).fetchone() or {}
    rows = await (await connection.execute(_USED)).fetchall()
    return {row["team_id"]: (None, None) if lost.get("lost") else (row["since"], row["until"]) for row in rows}


async def entries(connection: AsyncConnection[Any]) -> AsyncIterator[tuple[Entry, str]]:
    """Yield the entries of all workspaces with their hashes; within a workspace, by number.

    Must run in a transaction.
    """
    async with connection.cursor(name="audit_entries") as cursor:
        cursor.itersize = 2_000
        await cursor.execute(_ENTRIES)
        async for row in cursor:
            values = dict(row)
            digest = str(values.pop("hash"))
            yield Entry(**values), digest


MAX_PROBLEMS = 20
"""The most problems that are listed for one workspace."""


Used = tuple[datetime | None, datetime | None]
"""The first and the last moment at which a workspace was used, None if unknown; its log must cover both."""


@dataclass(kw_only=True)
class ChainCheck:
    """Checks the entries of one workspace, passed in the order of their numbers, and then its head.

    `problems` are sentences. A changed entry is reported once: the next entry is checked against the stored hash of
    the changed one. `used` is when the workspace was used according to other tables, None if they show no use. `known`
    are hashes, by number, that the entries must have.
    """

    team_id: str
    count: int = 0
    problems: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)
    used: Used | None = None
    _first: datetime | None = None
    _latest: datetime | None = None
    _last: int = 0
    _hash: str = BEGINNING

    def add(self, entry: Entry, hash: str) -> None:
        """Check the next entry against its stored `hash`, and this hash against the known one, if there is one."""
        first, last = self._last + 1, entry.number - 1
        if entry.number < first:
            self._report(f"Entry {entry.number} appears twice.")
        elif first == last:
            self._report(f"Entry {first} is missing.")
        elif first < last:
            self._report(f"The entries {first} to {last} are missing.")
        if entry.hash(self._hash) != hash:
            self._report(
                f"Entry {entry.number} was changed, is not this workspace’s, or does not follow the one before it."
            )
        if entry.number in self.known and self.known.pop(entry.number) != hash:
            self._report(f"Entry {entry.number} is not the one whose hash you named.")
        self.count += 1
        self._first, self._latest = min(entry.at, self._first or entry.at), max(entry.at, self._latest or entry.at)
        self._last, self._hash = entry.number, hash

    def add_person(self, user_id: str, *, key: bytes, who: str) -> None:
        """Check that `key` gives this person the pseudonym `who`.

        This proves who the person is: no one can find another key that gives someone else the same pseudonym.
        """
        if pseudonym(key, team_id=self.team_id, user_id=user_id) != who:
            self._report(f"The pseudonym {who} is not that of the person it is listed for.")

    def end(self, head: Head | None, *, signed: bool) -> None:
        """Check the head; None means that the workspace has none. `signed` is whether its signature is valid."""
        for number in self.known:
            self._report(f"Entry {number}, whose hash you named, is missing.")
        if self.used is not None:
            self._compare_with(*self.used)
        if head is None:
            if self.count:
                self._report("The head is missing, and entries at the end may be missing, too.")
            return
        if not signed:
            self._report("The head is not signed with the key in use: it was changed, or AUDIT_KEY was.")
        if self._last < head.count:
            self._report(f"The last entries are missing: only {self._last} of {head.count} are there.")
        elif (self._last, self._hash) != (head.count, head.hash):
            self._report(f"The head names entry {head.count}, but the last entry is {self._last}.")

    def _compare_with(self, since: datetime | None, until: datetime | None) -> None:
        if self._first is None or self._latest is None:
            self._report("There are no entries, although people of this workspace have asked questions.")
            return
        if since is not None and self._first > since:
            self._report(
                "The first entries are missing: this workspace has questions or settings from before the first one."
            )
        if until is not None and self._latest < until:
            self._report(
                "The last entries are missing: this workspace has questions or settings from after the last one."
            )

    def _report(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
