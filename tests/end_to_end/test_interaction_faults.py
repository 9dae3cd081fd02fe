"""Clicks, shortcuts, modals and the home tab gone wrong: a deleted channel for all of them, and for those whose own
tests do not have it another person, something stale, a double click and a lost `trigger_id`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.playground.slack.views import View
from bot.views.base import TOO_LATE
from tests.driver import Driver, Message
from tests.fakes.slack import Fault

LATE = Fault(status=200, body='{"ok": false, "error": "expired_trigger_id"}')
MESSAGE = {"ts": "1795255200.000500", "user": "U9", "text": "Heat pumps are cheap"}

Step = Callable[[Driver], Awaitable[Any]]


async def answer(harness: Driver, typed: str = "/ask why") -> Message:
    harness.script_pages(5)
    return await harness.answered(typed)


async def view_of(harness: Driver, typed: str, action: str, value: object = None) -> View:
    """Open the modal of a button below an answer."""
    await harness.click(await answer(harness, typed), action, value)
    return harness.slack.modal()


async def said_directly(harness: Driver, words: str) -> None:
    """Wait for a direct message with these words."""
    await harness.slack.wait_until(
        lambda: any(post.payload.get("channel") == "DU1" and words in post.shown_text for post in harness.slack.posts)
    )


BUTTONS = [
    ("/ask why", "more", "go_deeper"),
    ("/ask why", "more", "regenerate"),
    ("/ask --public why", "more", "go_deeper"),
    ("/search why", "more_results", None),
]


@pytest.mark.parametrize(("typed", "action", "value"), BUTTONS)
async def test_deleted_channel__the_answer_to_a_click_comes_as_a_direct_message(
    harness: Driver, typed: str, action: str, value: object
) -> None:
    message = await answer(harness, typed)
    harness.script_pages(10)
    harness.script_answer("The second answer. [1]")
    harness.slack.delete_channel()
    await harness.click(message, action, value)
    await harness.settle()

    await said_directly(harness, "Page 6" if typed.startswith("/search") else "The second answer")


async def test_deleted_channel__a_failure_is_tried_again(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    failure = await harness.answered("/ask why")
    harness.slack.delete_channel()
    await harness.click(failure, "retry")
    await harness.settle()

    await said_directly(harness, "Example answer")


async def test_deleted_channel__an_answer_is_saved_as_a_file(harness: Driver) -> None:
    message = await answer(harness)
    harness.slack.delete_channel()
    await harness.click(message, "more", "save")

    await harness.slack.wait_until(lambda: bool(harness.slack.files))


async def test_deleted_channel__a_question_is_stopped(harness: Driver) -> None:
    harness.perplexity.hold()
    shown = await harness.ask("/ask why")
    await harness.perplexity.wait_for(1)
    harness.slack.delete_channel()
    await harness.click(shown, "stop")
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert harness.slack.posts == []


async def test_deleted_channel__the_open_sources_are_filtered(harness: Driver) -> None:
    view = await view_of(harness, "/ask why", "sources")
    harness.slack.delete_channel()
    await harness.press(view, "sources_site", "b.example")

    assert "https://a.example" not in json.dumps(harness.slack.modal().content)


MODALS: dict[str, tuple[Step, dict[str, Any]]] = {
    "ask about these": (lambda harness: view_of(harness, "/search why", "ask_about"), {"question": "why?"}),
    "/pplx": (lambda harness: harness.open_by("/pplx"), {"question": "why?"}),
    "ask the web": (lambda harness: harness.shortcut("ask_anything"), {"question": "why?"}),
    "ask about this": (lambda harness: harness.shortcut("ask_about_this", MESSAGE), {"question": "why?"}),
}


@pytest.mark.parametrize("name", MODALS)
async def test_deleted_channel__a_modal_is_answered_in_the_direct_message(harness: Driver, name: str) -> None:
    open_modal, values = MODALS[name]
    await open_modal(harness)
    harness.slack.delete_channel()
    harness.script_answer("An answer of its own.")

    assert await harness.submit(**values) == {}
    await harness.settle()
    await harness.slack.wait_until(lambda: "chat.postMessage" in [post.method for post in harness.slack.posts])
    assert {post.payload["channel"] for post in harness.slack.posts if post.method == "chat.postMessage"} == {"DU1"}


async def test_deleted_channel__claims_are_checked(harness: Driver) -> None:
    await harness.shortcut("check_this", MESSAGE)
    harness.slack.delete_channel()
    await harness.slack.wait_until(lambda: "Claim 1" in json.dumps(harness.slack.modal().content))

    assert await harness.submit(claim_1="Heat pumps are cheap") == {}
    await said_directly(harness, "*Checked:*")


async def test_deleted_channel__its_settings_stay_and_the_person_is_told(harness: Driver) -> None:
    message = await harness.answered("/pplx settings channel")
    harness.slack.delete_channel()
    await harness.click(message, "settings_modal")
    view = harness.slack.modal()

    assert not [block for block in view.blocks if str(block.get("block_id")).startswith("channel:")]
    assert "can change its settings" in json.dumps(view.content, ensure_ascii=False)
    assert await harness.submit(**{"own:language": "fr"}) == {}


async def test_deleted_channel__a_digest_for_it_is_confirmed_directly(harness: Driver) -> None:
    await harness.open_by("/pplx watch")
    harness.slack.delete_channel()

    assert await harness.submit(topic="databases") == {}
    await said_directly(harness, "is set up")


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


HOME_MODALS = [("more", "open"), ("more", "delete"), ("settings_modal", None), ("ask_anything", None)]
HOME_MODALS += [("digest_modal", None)]


@pytest.mark.parametrize(("action", "value"), HOME_MODALS)
async def test_lost_trigger__the_home_says_so(harness: Driver, action: str, value: object) -> None:
    await answer(harness)
    await harness.open_home("why")
    harness.slack.fail("views.open", LATE)
    await harness.press_home(action, value)

    if action in {"more", "settings_modal"}:
        await harness.home(TOO_LATE)
    else:
        await said_directly(harness, TOO_LATE)
    assert harness.slack.views.stack("U1") == ()


async def test_lost_trigger__the_settings_say_so(harness: Driver) -> None:
    message = await harness.answered("/pplx settings channel")
    harness.slack.fail("views.open", LATE)

    assert await harness.told(message, "settings_modal") == TOO_LATE


async def test_double_click__settings_are_saved_once(harness: Driver, database: str) -> None:
    await harness.click(await harness.answered("/pplx settings channel"), "settings_modal")
    await harness.submit_twice(**{"own:language": "fr"})

    async with await psycopg.AsyncConnection.connect(database) as connection:
        chosen = await (await connection.execute("SELECT settings FROM person_settings")).fetchall()
    assert chosen == [({"language": "fr"},)]


async def test_double_click__a_question_is_deleted_and_checked_again_once(harness: Driver) -> None:
    await answer(harness, "/ask why is it so")
    await harness.open_home("why is it so")
    await asyncio.gather(*(harness.press_home("more", "recheck") for _ in range(2)))
    await harness.wait_until_settled(2)
    assert len(harness.perplexity.requests) == 2
    await harness.press_home("more", "delete")
    await harness.submit_twice(understood=["yes"])

    await harness.home("Your recent questions")


async def test_stale__the_sources_of_a_deleted_answer(harness: Driver) -> None:
    view = await view_of(harness, "/ask why", "sources")
    await harness.execute("DELETE FROM questions")
    await harness.press(view, "sources_site", "b.example")

    assert UNKNOWN_ANSWER in json.dumps(harness.slack.modal().content, ensure_ascii=False)


async def test_stale__what_is_deleted_is_deleted_again(harness: Driver) -> None:
    await answer(harness)
    await harness.open_home("why")
    await harness.press_home("more", "delete")
    await harness.execute("DELETE FROM questions")

    assert await harness.submit(understood=["yes"]) == {}
    assert harness.slack.views.stack("U1") == ()


async def reopened(harness: Driver) -> View:
    """Open the modal of U1 for another person."""
    token = str(uuid4())
    harness.slack.views.issue_trigger("U2", id=token)
    harness.slack.views.open(token, harness.slack.modal().content)
    return harness.slack.modal("U2")


async def test_second_person__sources_and_deletion_of_another_one(harness: Driver) -> None:
    await view_of(harness, "/ask why", "sources")
    other = replace(harness.person, user="U2")
    async with await other.press(await reopened(harness), "sources_site", "b.example") as response:
        assert response.status == 200
    assert NOT_YOUR_ANSWER in json.dumps(harness.slack.modal("U2").content)

    await harness.open_home("why")
    await harness.press_home("more", "delete")
    await reopened(harness)
    assert await harness.as_user("U2").submit(understood=["yes"]) == {"understood": NOT_YOUR_ANSWER}
