"""How fast people may ask, with an honest wait; `Retry-After` is kept to, and no text is asked for again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from bot.model.question import NewQuestion, Received
from bot.storage.questions import FairShare, Pool, QuestionStore, connection_pool
from fake_slack.web_api import METHODS, WebApi
from perplexity.client import PerplexityClient
from perplexity.errors import PerplexityError
from perplexity.types import TextDelta
from tests.driver import Driver
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture
from tests.fakes.rows import claim

pytestmark = pytest.mark.trust(24)


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, size=4, seconds=10) as pool:
        yield pool


def asked(**changes: Any) -> NewQuestion:
    number = uuid4()
    values: dict[str, Any] = {
        "id": number,
        "delivery_key": str(number),
        "surface": "slash",
        "command": "ask",
        "text": "why",
        "team_id": "T1",
        "channel_id": "C1",
        "user_id": "U1",
    }
    return NewQuestion(**values | changes)


def store(pool: Pool, **limits: Any) -> QuestionStore:
    return QuestionStore(pool, share=FairShare(open_per_person=0, thread_per_minute=0, **limits))


async def turn_back(pool: Pool, seconds: float) -> None:
    """Have so many seconds pass for the buckets."""
    async with pool.connection() as connection:
        await connection.execute("UPDATE rate_limits SET full_at = full_at - %s * interval '1 second'", (seconds,))


@pytest.mark.parametrize(
    ("limits", "others"),
    [({"user_per_minute": 6}, {"user_id": "U2"}), ({"channel_per_minute": 6}, {"channel_id": "C2"})],
)
async def test_a_bucket_is_emptied_at_once_and_filled_evenly(
    pool: Pool, limits: dict[str, int], others: dict[str, str]
) -> None:
    questions = store(pool, **limits)
    taken = [(await questions.insert(asked())).received for _ in range(8)]
    assert taken == [Received.NEW] * 6 + [Received.TOO_FAST] * 2
    assert (await questions.insert(asked(**others))).received is Received.NEW

    refused = asked()
    assert (await questions.insert(refused)).received is Received.TOO_FAST
    wait = await questions.rate_wait(refused)
    assert wait is not None
    assert 8 < wait.seconds <= 10
    await turn_back(pool, wait.seconds + 0.01)
    again = [(await questions.insert(asked())).received for _ in range(2)]
    assert again == [Received.NEW, Received.TOO_FAST]


async def test_many_at_once_in_several_processes_get_no_more(pool: Pool) -> None:
    stores = [store(pool, channel_per_minute=10) for _ in range(4)]
    received = await asyncio.gather(*(stores[n % 4].insert(asked(user_id=f"U{n}")) for n in range(40)))
    assert sum(one.received is Received.NEW for one in received) == 10


async def test_a_refused_question_takes_no_token_of_the_other_bucket(pool: Pool) -> None:
    questions = store(pool, user_per_minute=1, channel_per_minute=3)
    received = [(await questions.insert(asked())).received for _ in range(5)]
    received += [(await questions.insert(asked(user_id=user))).received for user in ("U2", "U3", "U4")]
    assert [one is Received.NEW for one in received] == [True, *[False] * 4, True, True, False]


async def test_what_costs_nothing_is_never_too_fast(pool: Pool) -> None:
    questions = store(pool, user_per_minute=1, channel_per_minute=1)
    received = [(await questions.insert(asked(limited=False))).received for _ in range(3)]
    assert received == [Received.NEW] * 3


@pytest.mark.settings(user_questions_per_minute=2)
async def test_the_wait_is_said(harness: Driver) -> None:
    shown = [await harness.ask("/ask why", trigger=f"t{number}") for number in range(3)]

    assert ["Searching the" in one["text"] for one in shown] == [True, True, False]
    assert shown[2]["text"].startswith("You’ve asked a lot in a short time. Ask again in about")
    seconds = int(shown[2]["text"].split("about ")[1].split(" s.")[0])
    assert 20 <= seconds <= 30


@pytest.mark.settings(questions_at_once=1, open_questions_per_user=0)
class TestPlaceInTheQueue:
    async def test_who_asks_by_a_message_sees_it_move_while_it_waits(self, harness: Driver) -> None:
        def statuses(thread: str) -> list[str]:
            calls = [call for method, call in harness.slack.calls if method == "assistant.threads.setStatus"]
            return [call["status"] for call in calls if call["thread_ts"] == thread]

        harness.perplexity.hold()
        for number in range(12):
            person = replace(harness.person, user=f"U{number}")
            ts = f"1795255200.0001{number:02}"
            ask = person.mention if number % 2 else person.send_direct_message
            async with await ask("why", ts=ts) as response:
                assert response.status == 200
            if not number:
                await harness.perplexity.wait_for(1)
        last = "1795255200.000111"

        # Each that has waited for five seconds is told; how long it takes is not known, since no service limits it.
        await harness.slack.wait_until(lambda: statuses(last) == ["is busy. 10 people are ahead of you."])
        await harness.slack.wait_until(lambda: statuses("1795255200.000102") == ["is busy. 1 person is ahead of you."])
        assert statuses("1795255200.000100") == []
        harness.perplexity.release()
        await harness.wait_until_settled(12)
        await harness.slack.wait_until(lambda: statuses(last)[-1] == "")
        assert all(" ahead of you" in status for status in statuses(last)[:-1])

    async def test_a_status_that_comes_after_the_question_was_begun_is_removed(self, harness: Driver) -> None:
        """As if the call was on its way while the worker took the question; a post before it removes nothing."""
        slack, last, set_late = harness.slack, "1795255200.000110", asyncio.Event()

        async def set_status(api: WebApi, arguments: Mapping[str, Any]) -> dict[str, Any]:
            if arguments["status"]:
                await slack.wait_until(lambda: any(post.payload.get("thread_ts") == last for post in slack.posts))
                set_late.set()
            return await METHODS["assistant.threads.setStatus"](api, arguments)

        slack.methods["assistant.threads.setStatus"] = set_status
        harness.perplexity.hold()
        for number in range(11):
            person = replace(harness.person, user=f"U{number}")
            async with await person.mention("why", ts=f"1795255200.0001{number:02}") as response:
                assert response.status == 200
            if not number:
                await harness.perplexity.wait_for(1)
        await slack.wait_until(lambda: any(call.get("status") and call["thread_ts"] == last for _, call in slack.calls))
        harness.perplexity.release()
        await harness.wait_until_settled(11)

        await asyncio.wait_for(set_late.wait(), 60)
        await slack.wait_until(lambda: slack.timeline.around.status("C1", last) == "")

    async def test_one_that_is_withdrawn_leaves_no_status(self, harness: Driver) -> None:
        harness.perplexity.hold()
        for number in range(12):
            assert await harness.as_user(f"U{number}").mention("why", ts=f"1795255200.0001{number:02}") == 200
            if not number:
                await harness.perplexity.wait_for(1)

        def set_to() -> list[str]:
            calls = [call for method, call in harness.slack.calls if method == "assistant.threads.setStatus"]
            return [call["status"] for call in calls if call["thread_ts"] == "1795255200.000111"]

        await harness.slack.wait_until(lambda: len(set_to()) == 1)
        await harness.execute("UPDATE questions SET state = 'withdrawn' WHERE user_id = 'U11'")
        await harness.slack.wait_until(lambda: set_to()[1:] == [""])
        harness.perplexity.release()


async def test_a_retry_after_is_kept_to() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with FakePerplexity() as fake, PerplexityClient(KEY, base_url=fake.base_url, sleep=sleep) as client:
        limited = {"error": {"message": "slow down", "type": "rate_limit_exceeded"}}
        fake.fail("/search", status=429, body=limited, headers={"Retry-After": "3"})
        await client.search("why")
        assert slept == [3.0]
        assert len(fake.requests) == 2


async def test_nothing_is_asked_again_after_text_was_shown() -> None:
    async with FakePerplexity() as fake, PerplexityClient(KEY, base_url=fake.base_url) as client:
        stream = fixture("agent.stream.completed.sse")
        half = stream[: stream.index(b"output_text.delta") + 2_000]
        fake.script("/v1/agent", Fault(chunks=(half,), content_type="text/event-stream", reset=True))
        texts: list[str] = []

        async def read() -> None:
            async for event in client.stream("why"):
                texts.extend([event.text] if isinstance(event, TextDelta) else [])

        with pytest.raises(PerplexityError):
            await read()
        assert texts
        assert len(fake.requests) == 1


async def jobs(pool: Pool) -> int:
    async with pool.connection() as connection:
        row = await (await connection.execute("SELECT count(*) AS jobs FROM procrastinate_jobs")).fetchone()
    assert row is not None
    return int(row["jobs"])


async def test_a_workspace_has_so_many_in_progress_and_another_one_its_own(pool: Pool) -> None:
    questions = store(pool, per_workspace=3)
    mine = [asked(user_id=f"U{number}") for number in range(6)]
    for question in mine:
        assert (await questions.insert(question)).received is Received.NEW
    assert await jobs(pool) == 3
    await questions.insert(asked(team_id="T2"))
    assert await jobs(pool) == 4

    # One that ends makes room for the one that has waited longest.
    row = await claim(questions, mine[0].id)
    assert row is not None
    await questions.settle(row, "answered", job=None)
    assert await jobs(pool) == 5
    async with pool.connection() as connection:
        waiting = await connection.execute("SELECT id FROM questions WHERE waiting ORDER BY received_at")
        assert [one["id"] for one in await waiting.fetchall()] == [mine[4].id, mine[5].id]

    # The sweep lets no more in.
    async with pool.transaction() as connection:
        await questions.enqueue_forgotten(connection)
    assert await jobs(pool) == 5
