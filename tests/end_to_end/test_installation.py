"""The end of an installation, and its new beginning: what stops, what is deleted, what goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver, execute, rows, serving, wait_for_rows
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import BOT_USER, Person
from tests.fakes.ports import free_port
from tests.fakes.slack import FakeSlack, Post

UNINSTALLED = {"type": "app_uninstalled"}
REVOKED = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}
CANCELLED: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "cancelled", "output": [], "error": None}
PEOPLE_S = {"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}}


@pytest.fixture
async def perplexity() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity(polls=1_000) as fake:
        yield fake


async def send_event(person: Person, event: dict[str, Any], *, id: str = "Ev9") -> int:
    async with await person.event(event, id=id) as response:
        return response.status


DIGEST = """
    INSERT INTO digests (id, team_id, user_id, number, channel_id, category, topic, days, at, zone, silence, next_at)
    SELECT id, team_id, user_id, 1, channel_id, 'technology', 'databases', '{0}', '9:00', 'UTC', '{}',
        now() + interval '1 day'
    FROM questions LIMIT 1
"""
"""A digest of who asked, as the feature for digests writes it."""


async def start_questions(harness: Driver) -> None:
    """Keep a digest, an answer, and a deep run that goes on at Perplexity."""
    await harness.ask("/ask why", trigger="w2")
    await harness.wait_until_settled(1)
    await harness.execute(DIGEST)
    await harness.ask("/ask --model high why not", trigger="w3")


@pytest.mark.parametrize("events", [[REVOKED], [REVOKED, REVOKED]], ids=len)
async def test_a_revoked_token_pauses_digests_and_ends_what_is_open(
    harness: Driver, database: str, events: list[dict[str, Any]]
) -> None:
    await start_questions(harness)
    await wait_for_rows(database, "SELECT count(*) FROM questions WHERE run_id IS NOT NULL", [(1,)])
    asked = len(harness.perplexity.requests)
    assert [await send_event(harness.person, event) for event in events] == [200] * len(events)

    await wait_for_rows(database, "SELECT DISTINCT state FROM questions ORDER BY 1", [("answered",), ("stopped",)])
    assert await rows(database, "SELECT state, next_at FROM digests") == [("paused", None)]
    assert await rows(database, "SELECT count(*) FROM questions WHERE text = ''") == [(0,)]
    await asyncio.wait_for(harness.perplexity.cancel_requested.wait(), 60)
    harness.perplexity.runs["resp_1"] = [CANCELLED]
    assert asked >= 2


@pytest.mark.parametrize(
    "events",
    [[UNINSTALLED], [REVOKED, UNINSTALLED], [UNINSTALLED, REVOKED], [UNINSTALLED, UNINSTALLED, REVOKED]],
    ids=lambda events: "+".join(event["type"] for event in events),
)
async def test_an_uninstalled_app_forgets_every_text(
    harness: Driver, database: str, events: list[dict[str, Any]]
) -> None:
    await start_questions(harness)
    await harness.execute("INSERT INTO last_choices VALUES ('T1', 'U1', 'ask', '{}'), ('T2', 'U1', 'ask', '{}')")
    assert [await send_event(harness.person, event) for event in events] == [200] * len(events)

    await wait_for_rows(database, "SELECT count(*) FROM questions", [(0,)])
    await wait_for_rows(database, "SELECT team_id FROM last_choices", [("T2",)])
    await wait_for_rows(
        database,
        "SELECT id::text FROM digests UNION SELECT stage FROM stages UNION SELECT fingerprint FROM digest_seen"
        " UNION SELECT question_id::text FROM digest_runs",
        [],
    )
    await wait_for_rows(database, "SELECT state FROM workspaces", [("uninstalled",)])


async def test_a_text_that_is_locked_while_the_others_are_deleted_is_deleted_soon(
    harness: Driver, database: str
) -> None:
    await start_questions(harness)
    await wait_for_rows(database, "SELECT count(*) FROM questions WHERE run_id IS NOT NULL", [(1,)])
    async with await psycopg.AsyncConnection.connect(database) as other:
        await other.execute("SELECT FROM questions WHERE state = 'answered' FOR UPDATE")
        assert await send_event(harness.person, UNINSTALLED) == 200
        await wait_for_rows(database, "SELECT state FROM questions", [("answered",)])

    await wait_for_rows(database, "SELECT count(*) FROM questions", [(0,)], seconds=20)


async def test_tokens_of_people_change_nothing(harness: Driver, database: str) -> None:
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    assert await send_event(harness.person, PEOPLE_S) == 200
    await harness.ask("/ask why not", trigger="t2")
    await harness.wait_until_settled(2)

    assert await rows(database, "SELECT state FROM workspaces") == [("open",)]


async def test_what_comes_late_is_refused_once(harness: Driver, database: str) -> None:
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    asked = len(harness.perplexity.requests)
    assert await send_event(harness.person, UNINSTALLED) == 200

    async with await harness.person.type_command("/ask again", trigger="t2") as command:
        assert command.status == 403
    async with await harness.person.mention("again") as event:
        assert (event.status, event.headers["x-slack-no-retry"]) == (403, "1")
    async with await harness.person.click("retry", "x") as click:
        assert click.status == 403
    await wait_for_rows(database, "SELECT count(*) FROM questions", [(0,)])
    assert len(harness.perplexity.requests) == asked


@asynccontextmanager
async def a_process(settings: Settings, database: str, *, work: bool = True) -> AsyncIterator[Settings]:
    """Run one more process's worth of the app on a port of its own."""
    settings = settings.model_copy(update={"port": free_port()})
    async with serving(settings, database, work=work):
        yield settings


def person_at(settings: Settings, world_or_slack: FakeSlack, session: ClientSession) -> Person:
    url = f"http://127.0.0.1:{settings.port}"
    return Person(session=session, app_url=url, response_url=world_or_slack.response_url)


async def test_every_process_hears_of_it_within_seconds(
    harness: Driver, settings: Settings, database: str, slack: FakeSlack, session: ClientSession
) -> None:
    async with a_process(settings, database, work=False) as other:
        person = person_at(other, slack, session)
        async with await person.type_command("/ask why", trigger="t1") as response:
            assert response.status == 200
        await harness.wait_until_settled(1)
        await send_event(harness.person, REVOKED)
        async with asyncio.timeout(20):
            while True:
                async with await person.type_command("/search why", trigger="t2") as response:
                    if response.status == 403:
                        break
                await asyncio.sleep(0.3)


async def test_a_new_token_opens_again_and_digests_go_on(
    settings: Settings, database: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> None:
    async with a_process(settings, database) as first:
        person = person_at(first, slack, session)
        async with await person.type_command("/ask what are databases?", trigger="w1"):
            await slack.wait_for(1)
        await execute(database, DIGEST)
        due = await rows(database, "SELECT next_at FROM digests")
        await send_event(person, REVOKED)
        await wait_for_rows(database, "SELECT state FROM digests", [("paused",)])

    async with (
        a_process(settings, database) as same_token,
        await person_at(same_token, slack, session).type_command("/ask why", trigger="t1") as response,
    ):
        assert response.status == 403
    assert await rows(database, "SELECT state FROM workspaces") == [("revoked",)]

    slack.token = "xoxb-another-token"
    renewed = settings.model_copy(update={"slack_bot_token": SecretStr(slack.token)})
    async with a_process(renewed, database) as second:
        person = person_at(second, slack, session)
        async with await person.type_command("/ask why", trigger="t2") as response:
            assert response.status == 200
        await slack.wait_for(2)
        # Slack delivers what it could not deliver before: it is from before the new token.
        late = replace(person, sent={"event_time": 1_000_000_000})
        assert await send_event(late, UNINSTALLED) == 200
        assert await rows(database, "SELECT state FROM workspaces") == [("open",)]
        # Of the second of the new token Slack says whether it was before.
        ((moment,),) = await rows(database, "SELECT floor(extract(epoch FROM opened_at))::bigint FROM workspaces")
        same_second = replace(person, sent={"event_time": moment})
        assert await send_event(same_second, UNINSTALLED) == 200
        assert await rows(database, "SELECT state FROM workspaces") == [("open",)]
        slack.token = "xoxb-a-third-token"
        due_then = await rows(database, "SELECT state, next_at FROM digests")
        assert await send_event(same_second, UNINSTALLED) == 200
        assert await rows(database, "SELECT state FROM workspaces") == [("uninstalled",)]

    assert due_then == [("active", *due[0])]
    assert is_answer(slack.posts[-1])


def is_answer(post: Post) -> bool:
    return post.method == "response_url" and "Searching" not in post.shown_text


async def test_a_question_received_before_the_process_knew_calls_no_provider(
    settings: Settings, database: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> None:
    async with a_process(settings, database, work=False) as web:
        async with await person_at(web, slack, session).type_command("/ask why", trigger="t1") as response:
            assert response.status == 200
        await execute(database, "UPDATE workspaces SET state = 'revoked', closed_token_hash = token_hash")
    async with a_process(settings, database):
        await wait_for_rows(database, "SELECT state FROM questions", [("stopped",)])

    assert perplexity.requests == []
