"""Has a version of the app write a database, for the tests of later ones: `python -m tests.upgrades NAME [CHECKOUT]`.

People use the checkout's app (this one, by default) until its process is killed with questions open. What it wrote is
in `data/upgrades/NAME.sql` then.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import LiteralString
from urllib.parse import urlencode

from aiohttp import ClientSession
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row

from bot.storage.embedded import embedded_server
from tests.driver import KEY, Driver, rows
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.process import Process
from tests.fakes.service import Fault
from tests.fakes.slack import BOT_TOKEN, FakeSlack

DATA = Path(__file__).parent / "data" / "upgrades"

ADDRESS = "http://slack.test/response/"
"""The beginning of Slack's addresses for answers, in the data."""

AGE = 61
"""The data are at least this many seconds old when they are loaded: whoever wrote them is surely gone."""

TABLES = """
    SELECT c.oid::regclass::text,
        coalesce(array_agg(f.confrelid::regclass::text) FILTER (WHERE f.confrelid <> c.oid), '{}')
    FROM pg_class c LEFT JOIN pg_constraint f ON f.conrelid = c.oid AND f.contype = 'f'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    AND c.relname NOT IN ('schema_migrations', 'procrastinate_events', 'provider_turns', 'slack_calls')
    GROUP BY c.oid ORDER BY 1
"""
"""The tables with data, each with those that its rows refer to; without those of the last minute."""

COLUMNS = """
    SELECT column_name, data_type = 'timestamp with time zone' AND table_name NOT LIKE 'audit%%',
        pg_get_serial_sequence(table_name, column_name)
    FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position
"""
"""The columns of a table, each with whether it is an age in the data, and its sequence.

The times of the audit log are in its chain.
"""


_AGE = f"coalesce('now() - interval ''' || round(extract(epoch FROM now() - {{}}) + {AGE}) || ' s''', 'NULL')"


@asynccontextmanager
async def version(
    checkout: Path, *, database: str, slack: FakeSlack, perplexity: FakePerplexity, work: bool = True
) -> AsyncIterator[Driver]:
    """Yield the app of a checkout as a process, which is killed in the end."""
    process = await Process.start(
        "run", *([] if work else ["--no-worker"]), options=("-P", "-W", "ignore"), PYTHONPATH=str(checkout),
        SLACK_BOT_TOKEN=BOT_TOKEN, SLACK_SIGNING_SECRET=SIGNING_SECRET, SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY, PERPLEXITY_BASE_URL=perplexity.base_url, DATABASE_URL=database,
        PROVIDERS="perplexity", ADMIN_USER_IDS="U1",
        USER_QUESTIONS_PER_MINUTE="0", CHANNEL_QUESTIONS_PER_MINUTE="0",
    )  # fmt: skip
    try:
        async with ClientSession() as session:
            person = Person(session=session, app_url=process.url, response_url=slack.response_url, slack=slack)
            yield Driver(
                person=person, slack=slack, perplexity=perplexity, url=process.url, session=session, database=database
            )
    finally:
        await process.kill()


async def write(checkout: Path, database: str, slack: FakeSlack, perplexity: FakePerplexity) -> None:
    """Use a version of the app in many ways, and kill it."""
    async with version(checkout, database=database, slack=slack, perplexity=perplexity) as app:
        for command in ("language de", "visibility public"):
            await app.as_user("U2").posts_for(f"/pplx settings {command}")
        await app.posts_for("/pplx settings channel deny bad.example")
        await app.posts_for("/pplx budget user 2.50")
        await app.posts_for('/pplx watch world "europe" weekdays 9:00')
        app.script_answer("Wheels are zip files. [1] Wait. [2]")
        wheels = await app.answered("/ask what are wheels?")
        await app.click(wheels, "share")
        await app.submit()
        app.script_answer("Mostly. [1]")
        pumps = await app.answered_mention("<@U0APP> are heat pumps cheap?")
        await app.click(pumps, "feedback", "up")
        await app.shortcut("ask_anything")
        await app.submit(question="what is in the form?")
        await app.settle()
        await app.open_home("what are wheels?")
        perplexity.script("/v1/agent", *[Fault(status=503)] * 20)
        perplexity.script("/search", *[Fault(status=503)] * 20)
        await app.posts_for("/ask what failed?")
        perplexity.script("/v1/agent", Fault(hang=True))
        await app.as_user("U4").ask("/ask what was begun?", trigger="working")
        await app.wait_for_rows("SELECT state FROM questions WHERE user_id = 'U4'", [("working",)])
        await perplexity.wait_for(1)
    async with version(checkout, database=database, slack=slack, perplexity=perplexity, work=False) as app:
        await app.as_user("U5").ask("/ask what is open?", trigger="received")


async def rows_of(database: str, slack: FakeSlack) -> AsyncIterator[str]:
    """Yield the statements that write what is in a database, tables before those that refer to them."""
    async with await AsyncConnection.connect(database, row_factory=tuple_row, autocommit=True) as connection:

        async def found(query: LiteralString | bytes, *values: object) -> list[tuple[str, ...]]:
            return await (await connection.execute(query, values or None)).fetchall()

        waiting = {table: set(needs) for table, needs in await found(TABLES)}
        while waiting:
            for table in [table for table, needs in waiting.items() if not needs & waiting.keys()]:
                del waiting[table]
                columns = await found(COLUMNS, table)
                values = ", ".join(
                    (_AGE if is_age else "quote_nullable({}::text)").format(name) for name, is_age, _ in columns
                )
                names = ", ".join(name for name, *_ in columns)
                lines = f"SELECT concat_ws(', ', {values}) FROM {table}"  # noqa: S608 - names of columns and a table
                for (line,) in await found(lines.encode()):
                    row = f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({line});\n"  # noqa: S608
                    yield row.replace(slack.response_url(""), ADDRESS)
                for name, _, sequence in columns:
                    if sequence:
                        yield f"SELECT setval('{sequence}', coalesce(max({name}), 0) + 1) FROM {table};\n"  # noqa: S608


async def main(name: str, checkout: Path) -> None:
    with TemporaryDirectory() as folder, embedded_server(Path(folder)) as server:
        database = f"postgresql:///?{urlencode(conninfo_to_dict(server))}"
        async with FakeSlack() as slack, FakePerplexity() as perplexity:
            await write(checkout, database, slack, perplexity)
            [(last,)] = await rows(database, "SELECT max(name) FROM schema_migrations WHERE name NOT LIKE '%/%'")
            text = [f"-- {name} wrote this, whose last migration is {last}\n"]
            text += [line async for line in rows_of(database, slack)]
    (DATA / f"{name}.sql").write_text("".join(text), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(*sys.argv[2:]).resolve()))
