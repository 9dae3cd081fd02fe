"""Edits and deletions, end to end: an open question follows its message, a closed one stays as it is."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.end_to_end.conftest import AppHarness

TS, EDITED = "1795255200.000100", "1795255210.000100"
BEFORE, AFTER = "what is new about weels?", "what is new about wheels?"


async def report(harness: AppHarness, subtype: str, **event: Any) -> int:
    """Have Slack report an edit or a deletion of the direct message, and return the status of the reply."""
    told = {"type": "message", "subtype": subtype, "channel": "DU1", "channel_type": "im", "ts": EDITED, "hidden": True}
    async with await harness.person.event(told | event) as response:
        return response.status


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": TS} | more


async def edit(harness: AppHarness, text: str, *, before: str = BEFORE, at: str = EDITED) -> int:
    return await report(
        harness,
        "message_changed",
        message=message(text, edited={"user": "U1", "ts": at}),
        previous_message=message(before),
    )


async def delete(harness: AppHarness) -> int:
    return await report(harness, "message_deleted", deleted_ts=TS, previous_message=message(BEFORE))


async def ask_and_wait(harness: AppHarness) -> None:
    """Ask, and wait until the placeholder is posted and the service is asked; it holds its answer."""
    harness.perplexity.hold()
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.perplexity.wait_for(1)
    await harness.slack.wait_for(1)


def asked(harness: AppHarness) -> list[str]:
    return [request.json["input"] for request in harness.perplexity.requests]


async def states(database: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        rows = await connection.execute("SELECT state FROM questions ORDER BY received_at")
        return [state for (state,) in await rows.fetchall()]


async def test_an_edit_of_an_open_question_asks_anew_in_the_same_place(harness: AppHarness, database: str) -> None:
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


async def test_a_second_edit_and_a_deletion_follow_the_first_edit(harness: AppHarness, database: str) -> None:
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


async def test_an_edit_that_keeps_the_text_is_ignored(harness: AppHarness) -> None:
    await ask_and_wait(harness)

    assert await edit(harness, BEFORE) == 200
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert asked(harness) == [BEFORE]


async def test_an_edit_of_an_answered_question_is_ignored(harness: AppHarness) -> None:
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)

    assert await edit(harness, AFTER) == 200

    assert asked(harness) == [BEFORE]
    assert len(harness.slack.thread("DU1", TS)) == 1


async def test_an_edit_after_a_minute_is_ignored(harness: AppHarness, database: str) -> None:
    await ask_and_wait(harness)
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("UPDATE questions SET received_at = received_at - interval '61 seconds'")

    assert await edit(harness, AFTER) == 200
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert asked(harness) == [BEFORE]


async def test_an_edit_by_another_person_or_of_an_unknown_message_is_ignored(harness: AppHarness) -> None:
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
    harness: AppHarness, database: str, with_replies: bool
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


async def test_the_deletion_of_an_answered_question_changes_nothing(harness: AppHarness, database: str) -> None:
    await harness.send_direct_message(BEFORE, ts=TS)
    await harness.wait_until_settled(1)

    assert await delete(harness) == 200

    assert await states(database) == ["answered"]
    assert len(harness.slack.thread("DU1", TS)) == 1
