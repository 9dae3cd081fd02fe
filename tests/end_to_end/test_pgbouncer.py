"""Behind a real PgBouncer in transaction mode: questions are acknowledged and answered, once each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from aiohttp import ClientSession
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from bot.doctor import database as doctor
from bot.doctor.checks import Context
from bot.settings import Settings
from bot.storage.migrate import all_migrations, migrate
from bot.storage.questions import is_pooled
from tests.driver import KEY, Processes
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.pgbouncer import PROGRAM, pgbouncer
from tests.fakes.process import DEVELOPMENT, Process
from tests.fakes.slack import BOT_TOKEN, FakeSlack

pytestmark = [
    pytest.mark.pgbouncer,
    pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed (Debian's package pgbouncer)"),
]

QUESTIONS, AT_ONCE = 40, 10


@pytest.fixture
def pooled(postgres: str) -> Iterator[str]:
    """Yield the address of an empty database behind the pooler."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        with pgbouncer(make_conninfo(postgres, dbname=name)) as address:
            yield address
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def complete(slack: FakeSlack) -> list[str]:
    """Return the tokens of complete answers; of one that takes long its beginning is posted before."""
    return [post.payload["token"] for post in slack.posts if "Regenerate" in post.shown_text]


async def test_forty_questions_ten_at_once_are_each_acknowledged_and_answered_once(
    pooled: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> None:
    process = await Process.start(
        "run",
        options=DEVELOPMENT,
        SLACK_BOT_TOKEN=BOT_TOKEN,
        SLACK_SIGNING_SECRET=SIGNING_SECRET,
        SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY,
        PERPLEXITY_BASE_URL=perplexity.base_url,
        DATABASE_URL=pooled,
    )

    async def ask(number: int) -> tuple[int, str]:
        user = f"U{number}"
        person = Person(session=session, app_url=process.url, response_url=slack.response_url, user=user)
        async with await person.type_command(f"/ask question {number}", trigger=f"t{number}") as response:
            return response.status, (await response.json())["text"] if response.status == 200 else ""

    try:
        acks = []
        for begin in range(0, QUESTIONS, AT_ONCE):
            acks += await asyncio.gather(*(ask(number) for number in range(begin, begin + AT_ONCE)))
        await slack.wait_until(lambda: len(complete(slack)) >= QUESTIONS)
    finally:
        code = await process.terminate()
    answered = Counter(complete(slack))

    assert [ack for ack in acks if ack[0] != 200 or "Searching" not in ack[1]] == []
    assert answered == Counter(f"t{number}" for number in range(QUESTIONS))
    assert code == 0
    assert [line for line in process.log if "PreparedStatement" in line] == []


async def test_through_it_two_processes_keep_to_one_limit(
    pooled: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> None:
    limits = {"PROVIDER_LIMITS": "perplexity.answer=4/s"}
    workspace = Processes(slack=slack, perplexity=perplexity, session=session, database=pooled, settings=limits)
    processes = [await workspace.start() for _ in range(2)]
    try:
        await asyncio.gather(*(workspace.ask(processes[number % 2], number) for number in range(20)))
        await slack.wait_until(lambda: len(workspace.answers_by_trigger()) == 20, seconds=60)
        left, in_a_second = await workspace.most_left()
    finally:
        await asyncio.gather(*(process.terminate() for process in processes))

    assert workspace.answers_by_trigger() == Counter(f"t{number}" for number in range(20))
    assert (left, in_a_second <= 4) == (20, True)


async def test_migrations_go_through_it_and_the_doctor_sees_it(pooled: str) -> None:
    assert sorted(await asyncio.gather(migrate(pooled), migrate(pooled))) == [0, len(all_migrations())]

    findings = await doctor.check_database(Context(settings=Settings(database_url=SecretStr(pooled)), now=lambda: 0.0))

    assert [finding for finding in findings if "PgBouncer" in finding.text]
    assert [finding for finding in findings if finding.fix] == []


async def test_a_server_without_a_pooler_is_not_taken_for_one(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        assert not await is_pooled(connection)
