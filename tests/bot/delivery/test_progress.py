"""Progress of a question on a real Postgres and a Slack on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import pytest
from aiohttp import ClientSession
from psycopg import OperationalError
from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks.elements import section
from bot.delivery.status_message import MAX_PROGRESS_USES, ProgressUpdater, StatusMessages
from bot.model.message import OutgoingMessage
from bot.model.question import NewQuestion, Outcome, QuestionRow
from bot.slack.messages import Chat, ResponseUrls
from bot.storage.questions import DatabaseRetry, Pool, QuestionStore, connection_pool
from bot.storage.streams import STATUS_EDITS_PER_MINUTE, StreamLog
from perplexity.errors import RequestCancelled
from tests.fakes.rows import claim
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault

SAID = OutgoingMessage(text="Still at it, @here")


@dataclass
class ProgressHarness:
    """A worker that shows progress; `now` is its clock."""

    slack: FakeSlack
    questions: QuestionStore
    session: ClientSession
    pool: Pool
    now: float = field(default_factory=monotonic)

    async def start_progress(self, *, in_thread: bool) -> ProgressUpdater:
        question = NewQuestion(
            id=uuid4(),
            delivery_key=str(uuid4()),
            surface="mention" if in_thread else "slash",
            command="ask",
            text="heat pumps",
            team_id="T1",
            channel_id="C1",
            user_id="U1",
            response_url=None if in_thread else self.slack.response_url("t1"),
            thread_ts="1.1" if in_thread else None,
            message_ts=await self._posted() if in_thread else None,
        )
        await self.questions.insert(question)
        row = await claim(self.questions, question.id)
        assert row is not None
        return self.updater(row)

    def updater(self, row: QuestionRow) -> ProgressUpdater:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=self.slack.api_url, session=self.session, retry_handlers=[])
        shared = StatusMessages(
            questions=self.questions,
            database_retry=DatabaseRetry(seconds=1),
            chat=Chat(client),
            response_urls=ResponseUrls(self.session),
            slack_api_url=self.slack.api_url,
            clock=lambda: self.now,
        )
        return ProgressUpdater(row=row, shared=shared)

    async def _posted(self) -> str:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=self.slack.api_url, session=self.session)
        posted = await Chat(client).post("C1", SAID, question="q", part=0, thread_ts="1.1")
        return str(getattr(posted, "ts", None))

    def update_methods(self) -> list[str]:
        return [post.method for post in self.slack.posts if post.method != "chat.postMessage"]


@pytest.fixture
async def harness(database: str) -> AsyncIterator[ProgressHarness]:
    async with FakeSlack() as slack, ClientSession() as session, connection_pool(database) as pool:
        yield ProgressHarness(slack=slack, questions=QuestionStore(pool), session=session, pool=pool)


async def test_in_a_thread_one_message_is_edited(harness: ProgressHarness) -> None:
    progress = await harness.start_progress(in_thread=True)
    for _ in range(4):
        await progress.update(SAID, milestone=False)

    assert (harness.update_methods(), progress.editable, progress.response_url_uses) == (["chat.update"] * 4, True, 0)
    assert len(harness.slack.shown) == 1
    assert "@here" not in harness.slack.posts[-1].shown_text


async def test_deep_dives_together_leave_edits_for_the_text_of_answers(harness: ProgressHarness) -> None:
    take_edit = StreamLog(harness.pool).edit_progress
    dives = [replace(await harness.start_progress(in_thread=True), take_edit=take_edit) for _ in range(4)]
    for _ in range(20):
        harness.now += 3.0
        for dive in dives:
            await dive.update(SAID, milestone=False)

    assert 4 <= len(harness.update_methods()) <= STATUS_EDITS_PER_MINUTE


async def test_a_response_url_is_used_at_milestones_only_and_at_most_three_times(harness: ProgressHarness) -> None:
    progress = await harness.start_progress(in_thread=False)
    for milestone in (True, False, True, True, True, False):
        await progress.update(SAID, milestone=milestone)

    row = await harness.questions.get(progress.row.id)
    assert row is not None
    assert (harness.update_methods(), progress.editable) == (["response_url"] * MAX_PROGRESS_USES, False)
    assert (progress.response_url_uses, row.response_uses) == (MAX_PROGRESS_USES, MAX_PROGRESS_USES)


class UnavailableOnce(QuestionStore):
    """A store without a database when it is first asked to mark a question as sending."""

    failed = False

    async def mark_sending(self, *arguments: Any, **named: Any) -> bool:
        if not self.failed:
            self.failed = True
            raise OperationalError("the database is unavailable")
        return await super().mark_sending(*arguments, **named)


async def test_if_the_database_is_unavailable_one_update_is_skipped(harness: ProgressHarness) -> None:
    harness.questions = UnavailableOnce(harness.pool)
    progress = await harness.start_progress(in_thread=False)

    assert not await progress.update(SAID, milestone=True)
    assert (harness.update_methods(), progress.response_url_uses) == ([], 0)

    assert await progress.update(SAID, milestone=True)
    assert (harness.update_methods(), progress.response_url_uses) == (["response_url"], 1)


SERVER_ERROR, NOT_FOUND, CUT = Fault(status=500), Fault(status=404, body="no_service"), Fault(status=0)


@pytest.mark.parametrize(("fault", "accepted"), [(SERVER_ERROR, None), (NOT_FOUND, False), (CUT, None)])
async def test_an_update_returns_whether_slack_accepted_it(
    harness: ProgressHarness, fault: Fault, accepted: bool | None, caplog: pytest.LogCaptureFixture
) -> None:
    progress = await harness.start_progress(in_thread=False)
    harness.slack.fail("response_url", fault)
    told = [await progress.update(SAID, milestone=True) for _ in range(4)]

    assert (told, harness.update_methods(), progress.response_url_uses) == (
        [accepted, True, True, False],
        ["response_url"] * 2,
        MAX_PROGRESS_USES,
    )
    assert [record.message for record in caplog.records] == ["progress.not_shown"]
    assert "Still at it" not in caplog.text


async def test_uses_are_counted_across_a_restart(harness: ProgressHarness) -> None:
    first = await harness.start_progress(in_thread=False)
    await first.update(SAID, milestone=True)
    row = await claim(harness.questions, first.row.id)
    assert row is not None
    second = harness.updater(row)
    for _ in range(4):
        await second.update(SAID, milestone=True)

    assert (harness.update_methods(), second.milestones_shown, second.response_url_uses) == (
        ["response_url"] * MAX_PROGRESS_USES,
        1,
        2,
    )


async def test_nothing_is_shown_while_slack_asks_to_wait(harness: ProgressHarness) -> None:
    progress = await harness.start_progress(in_thread=True)
    limited: dict[str, Any] = {"status": 429, "body": '{"ok": false, "error": "ratelimited"}'}
    harness.slack.fail("chat.update", Fault(headers={"Retry-After": "30"}, **limited))
    await progress.update(SAID, milestone=False)
    harness.now += 29
    await progress.update(SAID, milestone=False)
    asked_too_soon = harness.update_methods()
    harness.now += 2
    await progress.update(SAID, milestone=False)

    assert (asked_too_soon, harness.update_methods()) == ([], ["chat.update"])


@pytest.mark.parametrize("in_thread", [True, False])
async def test_a_stopped_or_taken_over_question_shows_no_progress(harness: ProgressHarness, in_thread: bool) -> None:
    stopped, overtaken = (
        await harness.start_progress(in_thread=in_thread),
        await harness.start_progress(in_thread=in_thread),
    )
    await harness.questions.stop(stopped.row.id, user_id="U1")
    await claim(harness.questions, overtaken.row.id)

    for progress in (stopped, overtaken):
        with pytest.raises(RequestCancelled):
            await progress.update(SAID, milestone=True)
    assert all(
        "Still at it" not in post.shown_text for post in harness.slack.posts if post.method != "chat.postMessage"
    )


REPORT = OutgoingMessage(text="2 sources", blocks=(section("The whole report."),))
ANSWER = Outcome(messages=(REPORT, OutgoingMessage(text="Its end.")), state="answered")


class Suspended(QuestionStore):
    """Sleeps between the first read of a question and the second; another worker recovers it meanwhile.

    If `answered`, that one has answered in the same message; otherwise it is still working.
    """

    answered: bool = True

    async def get(self, question_id: UUID) -> QuestionRow | None:
        row = await super().get(question_id)
        assert row is not None
        other = await claim(self, row.id)
        if other is not None and self.answered:
            await self.save_messages(other, ANSWER, uses=0)
            recovered = await claim(self, row.id)
            assert recovered is not None
            await self.settle(recovered, "answered", job=None)
        return row


@pytest.mark.parametrize(("answered", "shown"), [(True, "The whole report."), (False, "Still at it")])
async def test_an_answer_overwritten_by_a_suspended_worker_is_restored(
    harness: ProgressHarness, answered: bool, shown: str
) -> None:
    progress = await harness.start_progress(in_thread=True)
    suspended = Suspended(harness.pool)
    suspended.answered = answered
    progress.shared = replace(progress.shared, questions=suspended)

    with pytest.raises(RequestCancelled):
        await progress.update(SAID, milestone=False)
    (message,) = harness.slack.shown.values()
    assert shown in str(message)


async def test_an_answer_whose_blocks_slack_rejects_is_restored_as_text(harness: ProgressHarness) -> None:
    progress = await harness.start_progress(in_thread=True)
    progress.shared = replace(progress.shared, questions=Suspended(harness.pool))
    taken = Fault(status=200, body='{"ok": true, "ts": "1.2"}', take_message=True)
    harness.slack.fail("chat.update", taken, Fault(status=200, body='{"ok": false, "error": "invalid_blocks"}'))

    with pytest.raises(RequestCancelled):
        await progress.update(SAID, milestone=False)
    (message,) = harness.slack.shown.values()
    assert "The whole report." in message["text"]
