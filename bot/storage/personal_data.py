"""The data of a person or a workspace, exported and erased according to the list of tables."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow, scalar_row
from psycopg.sql import SQL, Composed, Identifier

from bot.errors import NotClearedUp
from bot.privacy.tables import OF_PERSON, TABLES, Data, assignments, of_people
from bot.storage.audit import lock_writer, record_command
from bot.storage.ledger import lock_bookings
from bot.storage.queries import stop_all
from bot.storage.questions import Pool

BATCH = 1_000
"""The most rows that `export` reads at once, and that `erase_workspaces` deletes in one transaction."""

_STOP = stop_all("state = 'withdrawn'", OF_PERSON)
_GOES_ON: LiteralString = "(uncleared_since IS NOT NULL OR state IN ('received', 'working', 'delivering'))"
_UNCLEARED = f"SELECT 1 FROM questions WHERE {_GOES_ON} AND user_id = %(user)s AND team_id = %(team)s LIMIT 1"
_PAUSE = f"UPDATE digests SET state = 'stopped', next_at = NULL WHERE state = 'active' AND {OF_PERSON}"
_ASKED_IN = f"""
    SELECT team_id FROM questions WHERE {OF_PERSON} UNION SELECT team_id FROM ledger WHERE {OF_PERSON}
"""
_KEEP_SPENDING = """
    INSERT INTO erased_spending (team_id, period, salt, person, spent, full_at)
    SELECT s.team_id, s.day, s.salt, salted_person_v1(s.salt, %(user)s), s.spent, (
        SELECT r.full_at FROM rate_limits r
        WHERE r.team_id = s.team_id AND r.kind = 'user' AND r.subject = %(user)s AND r.full_at > now())
    FROM (
        SELECT team_id, (day AT TIME ZONE 'UTC')::date AS day, uuid_send(gen_random_uuid()) AS salt, (
            SELECT coalesce(sum(coalesce(l.cost, l.reserved)), 0) FROM ledger l
            WHERE l.team_id = t.team_id AND l.user_id = %(user)s
                AND l.at >= day AND l.at < day + interval '24 hours') AS spent
        FROM unnest(%(teams)s::text[]) AS t (team_id)
        CROSS JOIN generate_series(date_trunc('week', now(), 'UTC'), now(), interval '24 hours') AS day) AS s
"""
"""Keep an erased person's spending of this week under a pseudonym.

Calls in progress count with their reserved amounts. The state of the person's rate limit, `full_at`, is kept, too.
"""


class PersonalDataStore:
    """Exports and erases personal data.

    `user_id` is a person's Slack id. `team_id` is a workspace, None for all workspaces.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def export(self, user_id: str, *, team_id: str | None = None) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yield every row of a person as the name of its table and its JSON values, all read from one snapshot.

        Columns with secrets, such as `response_url`, are left out.
        """
        values = {"user": user_id, "team": team_id}
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # The rows may be piped to a pager, which reads on only when its user scrolls.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            for name, table, condition in of_people():
                secrets = [column for column, data in table.columns.items() if data is Data.SECRET]
                query = SQL("SELECT {} - %(secrets)s::text[] FROM {} t WHERE {}").format(
                    SQL(table.exported or "to_jsonb(t)"), Identifier(name), SQL(condition)
                )
                async with connection.cursor(name="export", row_factory=scalar_row) as cursor:
                    cursor.itersize = BATCH
                    await cursor.execute(query, values | {"secrets": secrets})
                    async for row in cursor:
                        yield name, row

    async def record_export(self, user_id: str, teams: Iterable[str]) -> None:
        """Record in these workspaces' audit logs that the operator has exported a person's data."""
        async with self._pool.transaction() as connection:
            await record_command(connection, "person.export", teams, user_id)

    async def count(self, user_id: str, *, team_id: str | None = None) -> dict[str, int]:
        """Return the number of a person's rows in each table, without empty tables."""
        counts = {}
        async with self._pool.connection() as connection:
            for name, _, condition in of_people():
                query = SQL("SELECT count(*) AS count FROM {} WHERE {}").format(Identifier(name), SQL(condition))
                row = await (await connection.execute(query, {"user": user_id, "team": team_id})).fetchone()
                counts[name] = row["count"] if row is not None else 0
        return {name: count for name, count in counts.items() if count}

    async def stop_work(self, user_id: str, *, team_id: str | None = None) -> dict[str, list[str]]:
        """Stop a person's digests and open questions; return, by workspace, the runs that services still work on."""
        values = {"user": user_id, "team": team_id}
        async with self._pool.transaction() as connection:
            await connection.execute(_PAUSE, values)
            rows = await (await connection.execute(_STOP, values)).fetchall()
        runs: dict[str, list[str]] = {}
        for row in rows:
            runs.setdefault(row["team_id"], []).append(str(row["run_id"]))
        return runs

    async def is_cleared(self, user_id: str, *, team_id: str) -> bool:
        """Return whether a person has no open question, and nothing left in Slack or at the services."""
        return await self._pool.fetch_one(_UNCLEARED, {"user": user_id, "team": team_id}) is None

    async def erase(
        self, user_id: str, *, team_id: str | None = None, own: bool = False, cleared: bool = False
    ) -> dict[str, int]:
        """Erase a person's data in one transaction; return the number of deleted or changed rows in each table.

        Most rows are deleted; some stay, without the person's id. Other people's questions stay, even if their texts
        name the person. The person's spending of this week is kept for budgets, under a pseudonym. With `own`, the
        person erases the data themselves, and the limits that admins have set for the person stay. With `cleared`,
        raise NotClearedUp and erase nothing if one of the person's questions is open or may have left something in
        Slack or at a service.
        """
        values, erased = {"user": user_id, "team": team_id}, {}
        async with self._pool.transaction() as connection:
            # Without the lock, the writer of the audit log might create a new key for the person meanwhile.
            await lock_writer(connection)
            asked_in = await (await connection.execute(_ASKED_IN, values)).fetchall()
            for name, table, condition in of_people():
                if table.forgotten_with is not None:
                    continue
                if name == "questions":
                    # Bookings wait until the rows are gone; later bookings do not name the person or save requests.
                    await lock_bookings(connection)
                    await connection.execute(_KEEP_SPENDING, values | {"teams": [row["team_id"] for row in asked_in]})
                forget = {
                    column: value
                    for column, value in table.forget_person.items()
                    if not (own and column == table.limited_person)
                }
                if forget:
                    query = SQL("UPDATE {} SET {} WHERE {}").format(
                        Identifier(name), SQL(assignments(forget)), SQL(condition)
                    )
                else:
                    query = SQL("DELETE FROM {} WHERE {}").format(Identifier(name), SQL(condition))
                if cleared and name == "questions":
                    query += SQL(f" RETURNING {_GOES_ON} AS goes_on")
                cursor = await connection.execute(query, values)
                if cleared and name == "questions" and any([row["goes_on"] async for row in cursor]):
                    raise NotClearedUp
                erased[name] = cursor.rowcount
            if not own:
                # No subject is recorded, since it would name the person again.
                teams = {team_id} if team_id else {row["team_id"] for row in asked_in}
                await record_command(connection, "person.erase", teams)
        return {name: count for name, count in erased.items() if count}


async def erase_workspaces(
    pool: Pool, teams: Sequence[str], *, goes_on: Callable[[AsyncConnection[DictRow]], Awaitable[bool]]
) -> int:
    """Delete the rows of workspaces, in small transactions; return the number of deleted questions.

    Rows of a table with `forget_workspace` are changed instead of deleted. Each transaction first calls `goes_on`; the
    deletion ends when that returns False.
    """
    questions = 0
    for name, table in TABLES.items():
        if table.of_workspace is None:
            continue
        forget = table.forget_workspace
        statement = f"UPDATE {{table}} SET {assignments(forget)}" if forget else "DELETE FROM {table}"
        query, deleted = batched(f"{statement} WHERE {{rows}}", name, table.of_workspace), BATCH
        while deleted == BATCH:
            async with pool.transaction() as connection:
                if not await goes_on(connection):
                    return questions
                if name.startswith("audit"):
                    await lock_writer(connection)
                deleted = (await connection.execute(query, {"teams": list(teams), "batch": BATCH})).rowcount
            questions += deleted if name == "questions" else 0
    return questions


def batched(statement: str, table: str, condition: str) -> Composed:
    """Return a statement that changes at most `%(batch)s` rows that meet a condition, and skips locked rows.

    In `statement`, `{table}` stands for the table and `{rows}` for the condition that selects these rows.
    """
    name = Identifier(table)
    rows = SQL("ctid = ANY(ARRAY(SELECT ctid FROM {} WHERE {} LIMIT %(batch)s FOR UPDATE SKIP LOCKED))").format(
        name,
        SQL(condition),
    )
    return SQL(statement).format(table=name, rows=rows)
