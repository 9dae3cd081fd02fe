"""Fair share: what one person, and one thread, may have, and that a long queue of one keeps no one else waiting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from time import monotonic

import pytest
from aiohttp import ClientSession

from bot.app import compose
from bot.settings import Settings
from tests.driver import Driver, execute
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.slack import FakeSlack

MANY = 10_000


async def test_the_sixth_open_question_lists_the_open_ones__and_calls_no_provider(harness: Driver) -> None:
    harness.perplexity.hold()
    for number in range(5):
        await harness.ask(f"/ask question {number}", trigger=f"t{number}")
    sixth = await harness.ask("/ask one <more>", trigger="t5")
    again = await harness.ask("/ask question 0", trigger="t0")
    async with await harness.as_user("U2").person.type_command("/ask another", trigger="t6") as response:
        others = await response.json()
    harness.perplexity.release()
    await harness.slack.wait_for(6)

    shown = json.dumps(sixth, ensure_ascii=False)
    assert "You have 5 unanswered questions" in shown
    assert all(f"question {number}" in shown for number in range(5))
    assert "Searching" in again["text"]
    assert "Searching" in others["text"]
    assert len(harness.perplexity.requests) == 6


async def test_a_sixth_mention_gets_a_private_notice(harness: Driver) -> None:
    harness.perplexity.hold()
    for number in range(5):
        await harness.ask(f"/ask question {number}", trigger=f"t{number}")
    assert await harness.mention("one more") == 200
    harness.perplexity.release()
    await harness.slack.wait_for(5)

    ((_, told),) = [call for call in harness.slack.calls if call[0] == "chat.postEphemeral"]
    assert (told["channel"], told["user"]) == ("C1", "U1")
    assert told.get("thread_ts") is None  # Slack would not show it in a thread without replies.
    assert "You have 5 unanswered questions" in told["text"]


async def test_a_sixth_direct_message_gets_a_notice_in_its_thread(harness: Driver) -> None:
    harness.perplexity.hold()
    for number in range(5):
        await harness.ask(f"/ask question {number}", trigger=f"t{number}")
    assert await harness.send_direct_message("one more") == 200
    harness.perplexity.release()
    await harness.slack.wait_for(6)

    (told,) = harness.slack.thread("DU1", "1795255200.000100")
    assert "You have 5 unanswered questions" in told.shown_text


async def test_a_click_on_try_again_counts_too(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no"}})
    await harness.ask("/ask fails")
    (post,) = await harness.slack.wait_for(1)
    (value,) = [e["value"] for b in post.payload["blocks"] if b["type"] == "actions" for e in b["elements"]]
    harness.perplexity.hold()
    for number in range(5):
        await harness.ask(f"/ask question {number}", trigger=f"q{number}")
    await harness.click_button("retry", value)
    harness.perplexity.release()
    posts = await harness.slack.wait_for(7)

    assert any("You have 5 unanswered questions" in post.shown_text for post in posts)


async def test_two_that_answer_each_other_in_a_thread_are_stopped_after_six_answers_a_minute(
    harness: Driver,
) -> None:
    for number in range(12):
        person = harness.as_user(f"U{number}").person
        async with await person.mention(f"reply {number}", ts=f"1795255200.00{number:04d}", thread_ts="1.1") as reply:
            assert reply.status == 200
    await harness.wait_until_settled(6)

    notices = [call for method, call in harness.slack.calls if method == "chat.postEphemeral"]
    assert len(harness.perplexity.requests) == 6
    assert [(notice["user"], "per minute" in notice["text"]) for notice in notices] == [("U6", True)]
    assert len(harness.slack.thread("C1", "1.1")) == 6


@pytest.fixture
async def unlimited(
    settings: Settings, database: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> AsyncIterator[Person]:
    """Yield someone whose app has no cap, ten thousand questions of one other person, and a provider that hangs."""
    perplexity.hold()
    await execute(
        database,
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, waiting,"
        " received_at) SELECT gen_random_uuid(), 'many' || n, 'slash', 'ask', 'why', 'T1', 'C1', 'UMANY', n > 20,"
        " now() - interval '1 hour' FROM generate_series(1, %s) n",
        MANY,
    )
    stop, ready = asyncio.Event(), asyncio.Event()
    free = settings.model_copy(update={"open_questions_per_user": 0})
    async with compose(free, conninfo=database, http=True) as app:
        serving = asyncio.create_task(app.serve(stop, work=True, ready=ready.set))
        await ready.wait()
        url = f"http://127.0.0.1:{settings.port}"
        yield Person(session=session, app_url=url, response_url=slack.response_url, user="U2")
        stop.set()
        perplexity.release()
        await asyncio.wait({serving}, timeout=60)


async def test_after_ten_thousand_questions_of_one_person_another_s_starts_within_two_seconds(
    perplexity: FakePerplexity, unlimited: Person
) -> None:
    await perplexity.wait_for(20)
    began = monotonic()
    async with await unlimited.type_command("/ask mine") as response:
        assert "Searching" in (await response.json())["text"]
    requests = await perplexity.wait_for(21)

    assert monotonic() - began < 2
    assert "mine" in json.dumps(requests[-1].json)
