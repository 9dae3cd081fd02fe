"""The home tab gone wrong: a deleted channel, a lost `trigger_id`, a double click, something stale, another person."""

from __future__ import annotations

import asyncio
import json

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER
from bot.views.base import TOO_LATE
from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import LATE, answer, reopened, said_directly


@pytest.mark.parametrize("choice", ["open", "again", "recheck", "delete"])
async def test_deleted_channel__the_home_works(harness: Driver, choice: str) -> None:
    await harness.answered_mention("why is it so")
    await harness.open_home("why is it so")
    harness.slack.delete_channel()
    await harness.press_home("more", choice)

    if choice in {"open", "delete"}:
        shown = json.dumps(harness.slack.modal().content)
        assert ("Example answer" if choice == "open" else "why is it so") in shown
    if choice == "delete":
        assert await harness.submit(understood=["yes"]) == {}
        await harness.home("Nothing yet", without="why is it so")
    if choice in {"again", "recheck"}:
        await harness.wait_until_settled(2)
        await said_directly(harness, "Example answer")


@pytest.mark.parametrize(("action", "value"), [("more", "open"), ("more", "delete"), ("ask_anything", None)])
async def test_lost_trigger__the_home_says_so(harness: Driver, action: str, value: object) -> None:
    await answer(harness)
    await harness.open_home("why")
    harness.slack.fail("views.open", LATE)
    await harness.press_home(action, value)

    if action == "more":
        await harness.home(TOO_LATE)
    else:
        await said_directly(harness, TOO_LATE)
    assert harness.slack.views.stack("U1") == ()


async def test_double_click__a_question_is_deleted_and_checked_again_once(harness: Driver) -> None:
    await answer(harness, "/ask why is it so")
    await harness.open_home("why is it so")
    await asyncio.gather(*(harness.press_home("more", "recheck") for _ in range(2)))
    await harness.wait_until_settled(2)
    assert len(harness.perplexity.requests) == 2
    await harness.press_home("more", "delete")
    await harness.submit_twice(understood=["yes"])

    await harness.home("Your recent questions")


async def test_stale__what_is_deleted_is_deleted_again(harness: Driver) -> None:
    await answer(harness)
    await harness.open_home("why")
    await harness.press_home("more", "delete")
    await harness.execute("DELETE FROM questions")

    assert await harness.submit(understood=["yes"]) == {}
    assert harness.slack.views.stack("U1") == ()


async def test_second_person__deletion_of_another_one(harness: Driver) -> None:
    await answer(harness)
    await harness.open_home("why")
    await harness.press_home("more", "delete")
    await reopened(harness)
    assert await harness.as_user("U2").submit(understood=["yes"]) == {"understood": NOT_YOUR_ANSWER}
