"""What is left of a question that was closed from outside, end to end: gone, whatever Slack and the services answer."""

from __future__ import annotations

import asyncio
import logging

import psycopg
import pytest

from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import connection_pool
from tests.driver import Driver, stop_button, wait_for_log
from tests.end_to_end.test_edits import BEFORE, TS, delete, edit
from tests.end_to_end.test_stop import click
from tests.end_to_end.test_streaming import TEXT
from tests.fakes.answers import beginning, deltas
from tests.fakes.perplexity import stream_reply
from tests.fakes.service import json_reply
from tests.fakes.slack import Fault, refusal

BUSY = Fault(status=429, body='{"ok": false, "error": "ratelimited"}', headers={"Retry-After": "1"})
BROKEN = Fault(status=500, body="oops")
UNCLEARED = "SELECT count(*) FROM questions WHERE uncleared_since IS NOT NULL OR response_url IS NOT NULL"


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="bot")


async def wait_until_cleared(harness: Driver) -> None:
    """Wait until nothing is left of the questions that are closed."""
    async with (
        asyncio.timeout(60),
        await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection,
    ):
        while True:
            if await (await connection.execute(UNCLEARED)).fetchone() == (0,):
                return
            await asyncio.sleep(0.05)


async def ask(harness: Driver, text: str) -> str:
    """Ask a question that the service holds; return the button that stops it."""
    harness.perplexity.hold()
    if text.startswith("/"):
        question = stop_button(await harness.ask(text))
    else:
        await harness.send_direct_message(text, ts=TS)
        (status,) = await harness.slack.wait_for(1)
        question = stop_button(status.payload)
    await harness.perplexity.wait_for(1)
    return question


@pytest.mark.parametrize("fault", [BUSY, BROKEN], ids=["busy", "broken"])
async def test_a_stop_whose_replies_are_refused_is_shown_later(harness: Driver, fault: Fault) -> None:
    question = await ask(harness, "/search wheels")
    harness.slack.fail("response_url", fault, fault)

    await harness.click_button("stop", question, token="stop")
    await wait_until_cleared(harness)

    assert "*Stopped" in harness.slack.posts[-1].shown_text


@pytest.mark.parametrize("fault", [BUSY, BROKEN], ids=["busy", "broken"])
async def test_the_status_message_of_a_deleted_question_goes_when_slack_is_available_again(
    harness: Driver, fault: Fault
) -> None:
    await ask(harness, BEFORE)
    harness.slack.fail("chat.delete", fault)

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)


@pytest.mark.parametrize("method", ["chat.stopStream", "chat.delete"])
async def test_the_text_of_a_deleted_question_goes_when_slack_is_available_again(harness: Driver, method: str) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))
    harness.slack.fail(method, BUSY, BROKEN)

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)


async def test_the_deletion_of_a_stopped_question_takes_away_that_it_was_stopped(harness: Driver) -> None:
    question = await ask(harness, BEFORE)
    await click(harness, question)
    await wait_until_cleared(harness)
    assert harness.slack.thread("DU1", TS)

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)


async def test_a_deletion_while_a_stop_is_cleared_up_is_cleared_up_next(harness: Driver) -> None:
    question = await ask(harness, BEFORE)
    harness.slack.fail("chat.update", Fault(status=200, seconds=1.0, serve_first=True))
    await click(harness, question)
    await harness.slack.wait_until(lambda: any(method == "chat.update" for method, _ in harness.slack.calls))

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)


async def test_the_deletion_of_a_question_stopped_in_the_text_takes_all_of_it_away(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))
    assert await harness.event(harness.slack.press_stop("DU1", TS)) == 200
    await wait_until_cleared(harness)

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)


async def test_an_edited_question_leaves_its_status_message_to_the_next(harness: Driver) -> None:
    await ask(harness, BEFORE)

    assert await edit(harness, "what is new about wheels?") == 200
    harness.perplexity.release()
    await harness.wait_until_settled(2)
    await wait_until_cleared(harness)

    (shown,) = harness.slack.thread("DU1", TS)
    assert "Example answer" in shown.shown_text


async def test_any_build_clears_up_after_a_command_that_it_does_not_know(harness: Driver) -> None:
    question = await ask(harness, "search wheels")
    await harness.execute("UPDATE questions SET command = 'tomorrow'")

    await click(harness, question)
    await wait_until_cleared(harness)

    (shown,) = harness.slack.thread("DU1", TS)
    assert "*Stopped" in shown.shown_text


def begin_endless_run(harness: Driver) -> None:
    """Have the next question to the service begin a run that does not end."""
    run = {"id": "resp_1", "output": []}
    harness.perplexity.script("/v1/agent", json_reply(run | {"status": "queued"}))
    harness.perplexity.runs["resp_1"] = [run | {"status": "in_progress"}] * 1000


async def test_a_stop_cancels_the_run_when_the_service_is_available_again(harness: Driver) -> None:
    begin_endless_run(harness)
    harness.perplexity.script("/v1/agent/resp_1/cancel", *[json_reply({}, status=503)] * 3)
    question = stop_button(await harness.ask("/ask --model high why?"))
    await harness.perplexity.wait_for(2)

    await click(harness, question)
    await wait_until_cleared(harness)

    assert harness.perplexity.cancelled == ["resp_1"]


async def test_the_withdrawal_of_an_answer_is_kept_until_slack_is_available(harness: Driver, database: str) -> None:
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)
    harness.slack.fail("conversations.replies", BROKEN)

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)
    async with await psycopg.AsyncConnection.connect(database) as connection:
        rows = await connection.execute("SELECT state, remembered FROM questions")
        assert await rows.fetchall() == [("withdrawn", None)]


async def test_what_cannot_be_removed_within_a_day_is_given_up(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    await ask(harness, BEFORE)
    harness.slack.lasting["chat.delete"] = BROKEN
    assert await delete(harness) == 200
    await wait_for_log(caplog, "question.not_cleared_up")

    await harness.execute("UPDATE questions SET uncleared_since = now() - interval '25 hours'")
    await wait_until_cleared(harness)

    assert len(harness.slack.thread("DU1", TS)) == 1


async def test_a_stop_that_an_append_finds_is_counted_and_cleared_up(harness: Driver) -> None:
    """Slack's own stop was pressed, and its event has not come."""
    harness.perplexity.script(
        "/v1/agent", stream_reply(*beginning(), *deltas("Weels are round. They turn. " * 40), pause=0.1)
    )
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))

    harness.slack.press_stop("DU1", TS)
    await harness.wait_until_settled(1)
    await wait_until_cleared(harness)

    (shown,) = harness.slack.thread("DU1", TS)
    assert "You stopped" in shown.shown_text
    async with harness.session.get(f"{harness.url}/metrics") as response:
        assert 'questions_settled_total{command="ask",state="stopped"} 1.0' in await response.text()


@pytest.mark.parametrize("text", ["/search wheels", "/ask why?"])
async def test_what_is_shown_of_a_command_goes_although_it_is_erased(harness: Driver, text: str) -> None:
    await ask(harness, text)

    async with connection_pool(harness.database) as pool:
        await PersonalDataStore(pool).erase("U1")

    async with asyncio.timeout(10):
        while True:
            if any(way == "response_url" and "delete_original" in body for way, body in harness.slack.calls):
                return
            await asyncio.sleep(0.05)


async def stream_and_delete(harness: Driver, ts: str) -> None:
    """Delete a question while its answer is streamed, after Slack has ended the stream itself."""
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    await harness.send_direct_message(BEFORE, ts=ts)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", ts)))
    harness.slack.advance(400)
    told = {"type": "message", "subtype": "message_deleted", "channel": "DU1", "channel_type": "im", "deleted_ts": ts}
    before = {"type": "message", "user": "U1", "text": BEFORE, "ts": ts}
    assert await harness.event(told | {"ts": ts, "previous_message": before}) == 200
    await wait_until_cleared(harness)


async def test_a_session_whose_stream_slack_has_ended_is_active_again(harness: Driver) -> None:
    await stream_and_delete(harness, TS)

    assert not harness.slack.thread("DU1", TS)
    assert harness.slack.timeline.around.session("DU1", TS) == "active"


@pytest.mark.parametrize("error", ["not_authorized", "not_agent_app", "feature_disabled"])
async def test_an_app_without_sessions_asks_for_one_only_once(harness: Driver, error: str) -> None:
    harness.slack.lasting["agents.sessions.setStatus"] = refusal(error)

    await stream_and_delete(harness, TS)
    await stream_and_delete(harness, "1795255300.000100")

    assert [name for name, _ in harness.slack.calls].count("agents.sessions.setStatus") == 1


async def test_a_stream_whose_start_got_no_clear_reply_goes_with_its_question(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    harness.slack.fail("chat.startStream", Fault(status=500, body="oops", take_message=True))
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))

    assert await delete(harness) == 200
    await wait_until_cleared(harness)

    assert not harness.slack.thread("DU1", TS)
