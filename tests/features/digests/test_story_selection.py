"""What of a run is new: nothing is lost if the database is unavailable or busy, nor posted by two runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from math import inf
from time import monotonic
from typing import cast
from uuid import UUID, uuid4

import pytest

from bot.features.digests.model import Digest, DigestReport, DigestRun, Trigger
from bot.features.digests.service import run_question
from bot.listeners.intake import Intake
from bot.model.question import NewQuestion, Received
from bot.storage.questions import Pool, QuestionStore
from bot.web.metrics import Metrics
from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.news.summary import MAX_STORIES, NewsSummary
from perplexity.types import Source
from tests.fakes.databases import FlakyPool
from tests.fakes.listeners import returning
from tests.fakes.news_answers import BUDGET, PLANT, TEN, VOLCANO
from tests.fakes.time import SATURDAY
from tests.features.digests.examples import create_digest, make_spec
from tests.features.digests.harness import DigestHarness

MANY = 40


def story(headline: str, number: int = 1) -> Story:
    return Story(headline=headline, source=Source(number=1, title=headline, url=f"https://site.example/{number}"))


async def rows(pool: Pool, query: str) -> int:
    async with pool.connection() as connection:
        return len(await (await connection.execute(query.encode())).fetchall())


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_a_short_database_outage_loses_nothing_that_was_paid_for(
    testbed: DigestHarness, at: int, late: bool
) -> None:
    question_id, pool = await testbed.begin(), testbed.pool
    testbed.pool = cast("Pool", FlakyPool(pool, at=at, late=late))
    report = await testbed.report(question_id, BUDGET)

    assert report is not None
    assert [story.headline for story in report.stories] == [BUDGET]
    assert len(testbed.news_provider.questions) == 1
    assert await rows(pool, "SELECT FROM digest_seen") == 1


async def test_what_another_run_posts_during_the_comparison_is_not_posted_again(testbed: DigestHarness) -> None:
    await testbed.new_headlines(VOLCANO)
    one, other = await testbed.begin(), await testbed.begin()
    loop, compared = asyncio.get_running_loop(), []

    def compare(stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story]) -> Sequence[Story]:
        seen = list(seen)
        compared.append(len(seen))
        if len(compared) == 1:
            asyncio.run_coroutine_threadsafe(testbed.report(other, BUDGET, PLANT), loop).result(10)
        return unseen(stories, seen, among=among)

    testbed.compare = compare
    report = await testbed.report(one, BUDGET, VOLCANO)

    assert report is not None
    assert report.stories == ()
    assert compared == [1, 1, 2]


async def test_what_is_new_is_chosen_among_all_stories_and_then_eight_are_told(testbed: DigestHarness) -> None:
    choosing = testbed.runner()

    async def told(*headlines: str) -> list[str]:
        stories = tuple(story(headline, number) for number, headline in enumerate(headlines))
        summary = NewsSummary(stories=stories, provider="P", made_at=SATURDAY, category="world")
        now = testbed.clock.now
        report = DigestReport(
            digest=testbed.digest,
            trigger=Trigger.SCHEDULED,
            earliest_slot=now,
            slot=now,
            now=now,
            summary=summary,
        )
        found = await choosing.select_new(report, question_id=await testbed.begin())
        assert found is not None
        return [story.headline for story in found.stories]

    assert await told(*TEN) == list(TEN[:MAX_STORIES])
    assert await told(*TEN) == list(TEN[MAX_STORIES:])
    assert await told(*TEN) == []


async def test_only_stories_that_may_be_new_still_are_compared(testbed: DigestHarness) -> None:
    for headline in (*TEN, "Ferry service to the island resumes"):
        await testbed.new_headlines(headline)
    compared = []

    def compare(stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story]) -> Sequence[Story]:
        compared.append([story.headline for story in stories])
        return unseen(stories, seen, among=among)

    testbed.compare = compare
    assert await testbed.new_headlines(TEN[-1], TEN[0]) == []
    assert await testbed.new_headlines(TEN[-1]) == []
    assert compared == [[TEN[-1], TEN[0]], [TEN[0]], [TEN[-1]]]


class Slow:
    """Compares for a while of computing, and notes in which threads and how many at once."""

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        self.threads = set[threading.Thread]()
        self.at_once = self.most_at_once = 0

    def __call__(self, stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story]) -> Sequence[Story]:
        self.threads.add(threading.current_thread())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        end = monotonic() + self.seconds
        while monotonic() < end:
            pass
        self.at_once -= 1
        return unseen(stories, seen, among=among)


async def begin_run_of_another(testbed: DigestHarness) -> tuple[DigestRun, UUID]:
    """Set up one more digest that has posted a story, and begin a run of it."""
    digest: Digest = await create_digest(testbed.digests, uuid4(), make_spec())
    await testbed.digests.record_posted(
        digest.id, [fingerprint(story(VOLCANO))], question_id=uuid4(), now=SATURDAY, cursor=0, manual=True
    )
    now = testbed.clock.now
    run, question_id = (
        DigestRun(digest_id=digest.id, trigger=Trigger.SCHEDULED, earliest_slot=now, slot=now, title="x"),
        uuid4(),
    )
    question = run_question(run, digest, id=question_id, key=str(question_id))
    assert await testbed.digests.start_manual(digest.id, question, now=testbed.clock.now)
    return run, question_id


async def acks(testbed: DigestHarness, *, until: asyncio.Event) -> list[tuple[Received, float]]:
    """Have a slash command written down ten times a second; return what its ack says and after how many seconds."""
    questions, found = QuestionStore(testbed.pool), []
    journal = Intake(questions=questions, metrics=Metrics(), record_sender=returning(None))
    while not until.is_set():
        began, key = monotonic(), uuid4()
        question = NewQuestion(
            id=key,
            delivery_key=str(key),
            surface="slash",
            command="ask",
            text="x",
            team_id="T",
            channel_id="C",
            user_id=key.hex,
        )
        found.append(((await journal.submit(question)).received, monotonic() - began))
        await asyncio.sleep(0.1)
    return found


async def test_many_that_are_made_at_once_lose_nothing_and_keep_no_slash_command_waiting(
    testbed: DigestHarness,
) -> None:
    testbed.news_provider.headlines = (VOLCANO, BUDGET)
    testbed.compare = slow = Slow(seconds=0.03)

    async def waited() -> float:
        """Return how long the slowest command took; without end if one was not written down."""
        runs = [await begin_run_of_another(testbed) for _ in range(MANY)]
        running, done = testbed.runner(), asyncio.Event()
        asking = asyncio.create_task(acks(testbed, until=done))
        reports = await asyncio.gather(*(running.run(run, testbed.work(question_id)) for run, question_id in runs))
        done.set()
        assert [len(report.stories) for report in reports if report is not None] == [1] * MANY
        return max(seconds if written is Received.NEW else inf for written, seconds in await asking)

    # The best of three, for a busy machine.
    assert await waited() < 1 or await waited() < 1 or await waited() < 1
    assert slow.most_at_once == 1
    assert threading.current_thread() not in slow.threads
