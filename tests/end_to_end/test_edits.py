"""Edits and deletions, end to end: an open question follows its message, a closed one stays as it is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import psycopg
import pytest

from tests.driver import Driver, asked_in, wait_for_log
from tests.fakes.answers import KEEP_ALIVE, beginning, deltas, end
from tests.fakes.news_answers import text_reply
from tests.fakes.perplexity import stream_reply
from tests.fakes.slack import Fault

TS, EDITED = "1795255200.000100", "1795255210.000100"
LATER = "9999999999.000100"
BEFORE, AFTER = "what is new about weels?", "what is new about wheels?"


async def report(harness: Driver, subtype: str, **event: Any) -> int:
    """Have Slack report an edit or a deletion of the direct message, and return the status of the reply."""
    told = {"type": "message", "subtype": subtype, "channel": "DU1", "channel_type": "im", "ts": EDITED, "hidden": True}
    async with await harness.person.event(told | event) as response:
        return response.status


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": TS} | more


async def edit(harness: Driver, text: str, *, before: str = BEFORE, at: str = EDITED) -> int:
    return await report(
        harness,
        "message_changed",
        message=message(text, edited={"user": "U1", "ts": at}),
        previous_message=message(before),
    )


async def delete(harness: Driver) -> int:
    return await report(harness, "message_deleted", deleted_ts=TS, previous_message=message(BEFORE))


async def ask_and_wait(harness: Driver) -> None:
    """Ask, and wait until the placeholder is posted and the service is asked; it holds its answer."""
    harness.perplexity.hold()
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.perplexity.wait_for(1)
    await harness.slack.wait_for(1)


def asked(harness: Driver) -> list[str]:
    return [asked_in(request) for request in harness.perplexity.requests]


async def states(database: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        rows = await connection.execute("SELECT state FROM questions ORDER BY received_at")
        return [state for (state,) in await rows.fetchall()]


async def test_an_edit_of_an_open_question_asks_anew_in_the_same_place(harness: Driver, database: str) -> None:
    await ask_and_wait(harness)

    assert await edit(harness, AFTER) == 200
    assert await edit(harness, AFTER) == 200
    await harness.perplexity.wait_for(2)
    harness.perplexity.release()
    await harness.slack.wait_until(lambda: "Example answer" in harness.slack.thread("DU1", TS)[0].shown_text)

    assert asked(harness) == [BEFORE, AFTER]
    assert len(harness.slack.thread("DU1", TS)) == 1
    await harness.wait_until_settled(2)
    assert await states(database) == ["withdrawn", "answered"]


async def test_an_edit_after_the_first_text_leaves_the_place_to_the_new_answer(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """In a workspace without streams the text is shown in the placeholder, which the new question takes over."""
    harness.slack.lasting["chat.startStream"] = Fault(status=200, body='{"ok": false, "error": "unknown_method"}')
    harness.perplexity.script(
        "/v1/agent",
        stream_reply(*beginning(), *deltas("Weels are round. They turn. And so"), hang=True),
        stream_reply(*beginning(), *[KEEP_ALIVE] * 10, *deltas("Wheels turn."), end("Wheels turn."), pause=0.1),
    )
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_for(1)
    await harness.slack.wait_until(lambda: "Weels are round" in harness.slack.thread("DU1", TS)[0].shown_text)

    assert await edit(harness, AFTER) == 200
    await wait_for_log(caplog, "question.superseded")
    await harness.wait_until_settled(2)

    (shown,) = harness.slack.thread("DU1", TS)
    assert "Wheels turn." in shown.shown_text
    assert not [post for post in harness.slack.posts if "You stopped" in post.shown_text]


async def test_a_second_edit_and_a_deletion_follow_the_first_edit(harness: Driver, database: str) -> None:
    await ask_and_wait(harness)

    assert await edit(harness, AFTER) == 200
    await harness.perplexity.wait_for(2)
    assert await edit(harness, "what is new about tyres?", before=AFTER, at="1795255215.000100") == 200
    await harness.perplexity.wait_for(3)
    assert await delete(harness) == 200
    await harness.slack.wait_until(lambda: not harness.slack.thread("DU1", TS))
    harness.perplexity.release()

    assert asked(harness) == [BEFORE, AFTER, "what is new about tyres?"]
    assert await states(database) == ["withdrawn"] * 3


async def test_an_edit_that_keeps_the_text_is_ignored(harness: Driver) -> None:
    await ask_and_wait(harness)

    assert await edit(harness, BEFORE) == 200
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert asked(harness) == [BEFORE]


async def test_an_edit_of_an_answered_question_is_ignored(harness: Driver) -> None:
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)

    assert await edit(harness, AFTER) == 200

    assert asked(harness) == [BEFORE]
    assert len(harness.slack.thread("DU1", TS)) == 1


async def test_an_edit_after_a_minute_is_ignored(harness: Driver, database: str) -> None:
    await ask_and_wait(harness)

    assert await edit(harness, AFTER, at="1795255261.000100") == 200
    assert len(await states(database)) == 1
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert asked(harness) == [BEFORE]


async def test_an_edit_by_another_person_or_of_an_unknown_message_is_ignored(harness: Driver) -> None:
    await ask_and_wait(harness)

    changed = {"message": message(AFTER, user="U2"), "previous_message": message(BEFORE, user="U2")}
    assert await report(harness, "message_changed", **changed) == 200
    unknown = {"message": message(AFTER, ts="1.1"), "previous_message": message(BEFORE, ts="1.1")}
    assert await report(harness, "message_changed", **unknown) == 200
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert asked(harness) == [BEFORE]


@pytest.mark.parametrize("with_replies", [False, True])
async def test_a_deleted_question_gets_no_answer_and_loses_its_placeholder(
    harness: Driver, database: str, with_replies: bool
) -> None:
    await ask_and_wait(harness)

    if with_replies:
        gone = message("This message was deleted.", subtype="tombstone", user="USLACKBOT")
        assert await report(harness, "message_changed", message=gone, previous_message=message(BEFORE)) == 200
    else:
        assert await delete(harness) == 200
    await harness.slack.wait_until(lambda: not harness.slack.thread("DU1", TS))
    harness.perplexity.release()
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.wait_until_settled(2)

    assert (await states(database))[0] == "withdrawn"
    assert not harness.slack.thread("DU1", TS)


async def test_the_run_of_a_deleted_question_is_cancelled_at_the_service(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    harness.perplexity.hold()
    await harness.send_direct_message("--model high wheels", ts=TS)
    await harness.perplexity.wait_for(1)

    assert await delete(harness) == 200
    await wait_for_log(caplog, "question.superseded")
    harness.perplexity.release()
    async with asyncio.timeout(60):
        await harness.perplexity.cancel_requested.wait()

    assert [request.path for request in harness.perplexity.requests] == ["/v1/agent", "/v1/agent/resp_1/cancel"]


async def test_the_connection_for_a_deleted_question_is_closed(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    await ask_and_wait(harness)

    assert await delete(harness) == 200
    await wait_for_log(caplog, "question.superseded")
    harness.perplexity.release()
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.wait_until_settled(2)

    assert [served.left for served in harness.perplexity.served] == [True, False]


async def answered(harness: Driver) -> None:
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)
    assert len(harness.slack.thread("DU1", TS)) == 1


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="bot")


async def test_the_deletion_of_an_answered_question_withdraws_the_answer(
    harness: Driver, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    await answered(harness)

    assert await delete(harness) == 200
    await wait_for_log(caplog, "answer.withdrawn")
    await harness.send_direct_message("and now?", ts="1795255300.000100")
    await harness.wait_until_settled(2)

    assert not harness.slack.thread("DU1", TS)
    assert await states(database) == ["withdrawn", "answered"]
    assert asked(harness) == [BEFORE, "and now?"]


async def test_every_part_of_a_long_answer_is_withdrawn(harness: Driver, caplog: pytest.LogCaptureFixture) -> None:
    harness.perplexity.script("/v1/agent", text_reply("word " * 6_000))
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)
    assert len(harness.slack.thread("DU1", TS)) > 2

    await delete(harness)
    await wait_for_log(caplog, "answer.withdrawn")

    assert not harness.slack.thread("DU1", TS)


async def test_an_answer_that_is_just_being_posted_is_withdrawn_after_that(
    harness: Driver, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    # The last call for an answer: an answer whose making was seen to take long is streamed.
    last = ("chat.update", "chat.stopStream")
    for method in last:
        harness.slack.fail(method, Fault(status=200, seconds=1.0, serve_first=True))
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.slack.wait_until(lambda: any(method in last for method, _ in harness.slack.calls))

    await delete(harness)
    await wait_for_log(caplog, "answer.withdrawn")

    assert not harness.slack.thread("DU1", TS)
    assert await states(database) == ["withdrawn"]


@pytest.mark.parametrize("by", ["person", "question", "app"])
async def test_an_answer_that_was_replied_to_stays(
    harness: Driver, database: str, caplog: pytest.LogCaptureFixture, by: str
) -> None:
    await answered(harness)
    match by:
        case "person":
            harness.slack.write("U2", "Thank you", ts=LATER, thread_ts=TS, channel="DU1")
        case "app":
            harness.slack.write("U0APP", "A notice", ts=LATER, thread_ts=TS, channel="DU1", bot_id="B0APP")
        case _:
            await harness.send_direct_message("and now?", ts=EDITED, thread_ts=TS)
            await harness.wait_until_settled(2)
    shown = len(harness.slack.thread("DU1", TS))

    assert await delete(harness) == 200
    await wait_for_log(caplog, "answer.not_withdrawn")

    assert len(harness.slack.thread("DU1", TS)) == shown
    assert set(await states(database)) == {"answered"}


@pytest.mark.parametrize("scopes", [(), ("channels:history",)])
async def test_in_a_channel_it_takes_the_scope_to_read_the_thread(
    harness: Driver, caplog: pytest.LogCaptureFixture, scopes: tuple[str, ...]
) -> None:
    harness.slack.workspace.scopes += scopes
    await harness.mention(BEFORE, ts=TS)
    await harness.wait_until_settled(1)
    told = {"channel": "C1", "channel_type": "channel", "deleted_ts": TS}
    gone = message(f"<@U0APP> {BEFORE}")

    assert await report(harness, "message_deleted", previous_message=gone | {"user": "U2"}, **told) == 200
    assert await report(harness, "message_deleted", previous_message=gone, **told) == 200
    await wait_for_log(caplog, "answer.withdrawn" if scopes else "answer.not_withdrawn")

    assert len(harness.slack.thread("C1", TS)) == (0 if scopes else 1)
