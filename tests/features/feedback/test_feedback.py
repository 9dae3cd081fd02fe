"""👍 and 👎 below answers: who may rate, what is stored, and what admins see of it, end to end."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from bot.blocks.answer import Below, answer_actions
from bot.features import ANSWER_PARTS
from bot.features.feedback import UNKNOWN_RATING
from bot.listeners.clicks import UNKNOWN_ANSWER
from bot.model.question import AnswerButtons
from tests.driver import Driver
from tests.fakes.hostile_text import SCRAPS
from tests.fakes.slack import Fault

Message = dict[str, Any]
"""A message with thumbs."""


async def answered(harness: Driver, text: str = "/ask --public why") -> Message:
    """Ask and return the answer."""
    await harness.ask(text, trigger=str(uuid4()))
    await harness.settle()
    return last_message(harness)


def last_message(harness: Driver) -> Message:
    return {"ts": "1.2", "blocks": harness.slack.posts[-1].payload["blocks"]}


async def rate(harness: Driver, answer: Message, choice: str, *, user: str = "U1", channel: str = "C1") -> str:
    """Click a thumb and return what the person is told, empty for nothing."""
    return await harness.as_user(user).told(answer, "feedback", choice, channel=channel)


async def stored(database: str) -> list[dict[str, Any]]:
    async with await psycopg.AsyncConnection.connect(database, row_factory=dict_row) as connection:
        rows = await connection.execute("SELECT user_id, up, reasons, comment, agreed FROM feedback ORDER BY user_id")
        return await rows.fetchall()


def a_row(user: str = "U1", **changes: Any) -> dict[str, Any]:
    return {"user_id": user, "up": False, "reasons": [], "comment": "", "agreed": False} | changes


async def status(harness: Driver) -> str:
    before = len(harness.slack.posts)
    await harness.ask("/pplx status", trigger=str(uuid4()))
    await harness.slack.wait_for(before + 1)
    return harness.slack.posts[-1].shown_text


async def test_a_thumb_is_stored_once__and_the_other_one_replaces_it(harness: Driver, database: str) -> None:
    answer = await answered(harness)

    assert "good" in await rate(harness, answer, "up")
    await rate(harness, answer, "up")
    assert await stored(database) == [a_row(up=True)]
    assert await rate(harness, answer, "down") == ""
    assert await stored(database) == [a_row()]
    assert await harness.submit(reasons=["wrong"], comment="It is 42", consent=["agreed"]) == {}
    assert await stored(database) == [a_row(reasons=["wrong"], comment="It is 42", agreed=True)]
    await rate(harness, answer, "up")
    assert await stored(database) == [a_row(up=True)]


@pytest.mark.parametrize("error", ["expired_trigger_id", "internal_error"])
async def test_a_bad_answer_is_stored_although_the_form_does_not_open(
    harness: Driver, database: str, error: str
) -> None:
    answer = await answered(harness)
    harness.slack.fail("views.open", Fault(status=200, body=json.dumps({"ok": False, "error": error})))

    assert "Slack didn’t open the form for the reason" in await rate(harness, answer, "down")
    assert await stored(database) == [a_row()]


async def test_who_may_rate(harness: Driver, database: str) -> None:
    public = await answered(harness)
    await harness.send_direct_message("why", ts="1795255200.000300")
    await harness.wait_until_settled(2)
    private = last_message(harness)
    unknown = {
        "ts": "1.2",
        "blocks": answer_actions(Below(buttons=AnswerButtons(), question_id=uuid4(), private=False), ANSWER_PARTS),
    }

    told = [
        await rate(harness, public, "up", user="U2"),
        await rate(harness, public, "up", user="U2", channel="C2"),
        await rate(harness, private, "up", user="U2", channel="DU1"),
        await rate(harness, private, "up", user="U1", channel="DU1"),
        await rate(harness, unknown, "up"),
    ]

    assert told == [
        "Thanks, I noted that this answer is good.",
        "Only people who see this answer can rate it.",
        "Only people who see this answer can rate it.",
        "Thanks, I noted that this answer is good.",
        UNKNOWN_ANSWER,
    ]
    assert await stored(database) == [a_row("U1", up=True), a_row("U2", up=True)]


async def test_another_person_is_not_asked_for_consent_and_cannot_give_it(harness: Driver, database: str) -> None:
    answer = await answered(harness)
    await rate(harness, answer, "down", user="U2")
    own = harness.slack.modal("U2").content
    assert "consent" not in json.dumps(own)
    assert await harness.as_user("U2").submit(reasons=["other"]) == {}

    # A form of another person's, sent in someone's own name.
    await rate(harness, answer, "down")
    view = harness.slack.modal("U1")
    values = {"reasons": ["wrong"], "consent": ["agreed"]}
    for user in ("U3", "U2"):
        await harness.as_user(user).submit(view, **values)

    assert await stored(database) == [a_row(), a_row("U2", reasons=["wrong"])]


async def test_admins_see_rates__and_a_question_only_if_its_asker_agreed(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    secret, open_one = await answered(harness, "/ask --public plan *x* & co"), await answered(harness)
    await rate(harness, secret, "down")
    await harness.submit(reasons=["wrong"], comment="no")
    await rate(harness, open_one, "down", user="U2")
    await rate(harness, open_one, "up")

    hidden = await status(harness)
    assert "| Perplexity fast | 1 | 2 | 33% |" in hidden
    assert "plan" not in hidden

    await rate(harness, secret, "down")
    comment = "".join(SCRAPS).encode("utf-8", "replace").decode()[:500]
    await harness.submit(reasons=["wrong"], comment=comment, consent=["agreed"])
    shown = await status(harness)
    assert "plan *x* &amp; co" in shown
    assert "It is wrong" in shown
    assert harness.slack.refusals == []


async def test_a_deleted_question_takes_its_feedback_along(harness: Driver, database: str) -> None:
    answer = await answered(harness)
    await rate(harness, answer, "down")
    await harness.execute("DELETE FROM questions")

    assert await stored(database) == []
    assert await harness.submit(reasons=["wrong"]) == {"reasons": UNKNOWN_RATING}
    assert await rate(harness, answer, "up") == UNKNOWN_ANSWER


@pytest.mark.settings(retention_days=0)
async def test_thumbs_count_where_no_text_is_kept(harness: Driver) -> None:
    answer = await harness.answered_mention("why")

    assert "Thank" in await harness.told(answer, "feedback", "up")


async def test_a_rating_is_recorded_after_its_channel_is_deleted(harness: Driver) -> None:
    message = await harness.answered_mention("why")
    await harness.click(message, "feedback", "down")
    harness.slack.delete_channel()
    assert await harness.submit(reasons=["wrong"]) == {}

    rated = await harness.rows("SELECT up, reasons FROM feedback")
    assert rated == [(False, ["wrong"])]


async def test_reasons_that_are_sent_twice_at_once_are_saved_once(harness: Driver) -> None:
    await harness.click(await harness.answered_mention("why"), "feedback", "down")
    await harness.submit_twice(reasons=["wrong"])

    assert await harness.rows("SELECT up, reasons FROM feedback") == [(False, ["wrong"])]


async def test_thumbs_are_the_last_row_below_a_posted_and_a_streamed_answer(harness: Driver) -> None:
    posted = await harness.answered_mention("why")
    await harness.send_direct_message("why", ts="1795255300.000100")
    await harness.wait_until_settled(2)
    (streamed,) = harness.slack.thread("DU1", "1795255300.000100")

    kinds = [[block["type"] for block in blocks] for blocks in (posted["blocks"], streamed.payload["blocks"])]
    assert kinds == [["markdown", "context", "actions", "context_actions"]] * 2
