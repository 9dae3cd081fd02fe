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
from tests.end_to_end.answer_buttons import (
    Message,
    ask,
    click,
    delete_questions,
    mention,
    script_answer,
    script_pages,
    settle,
    submit,
    told,
)
from tests.end_to_end.conftest import AppHarness
from tests.end_to_end.test_home import home, open_home
from tests.fakes.slack import Fault

LATE = Fault(status=200, body='{"ok": false, "error": "expired_trigger_id"}')
MESSAGE = {"ts": "1795255200.000500", "user": "U9", "text": "Heat pumps are cheap"}

Step = Callable[[AppHarness], Awaitable[Any]]


async def answer(harness: AppHarness, typed: str = "/ask why") -> Message:
    script_pages(harness, 5)
    return await ask(harness, typed)


async def form(harness: AppHarness, typed: str) -> View:
    """Open the form of a command."""
    async with await harness.person.type_command(typed, trigger=str(uuid4())) as response:
        assert response.status == 200
    return harness.slack.modal()


async def shortcut(harness: AppHarness, name: str) -> View:
    send = (
        harness.person.shortcut(name, token=str(uuid4()))
        if name == "ask_anything"
        else harness.person.message_shortcut(name, MESSAGE, token=str(uuid4()))
    )
    async with await send as response:
        assert response.status == 200
    return harness.slack.modal()


async def view_of(harness: AppHarness, typed: str, action: str, value: object = None) -> View:
    """Open the modal of a button below an answer."""
    await click(harness, await answer(harness, typed), action, value)
    return harness.slack.modal()


async def said_directly(harness: AppHarness, words: str) -> None:
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
    harness: AppHarness, typed: str, action: str, value: object
) -> None:
    message = await answer(harness, typed)
    script_pages(harness, 10)
    script_answer(harness, "The second answer. [1]")
    harness.slack.delete_channel()
    await click(harness, message, action, value)
    await settle(harness)

    await said_directly(harness, "Page 6" if typed.startswith("/search") else "The second answer")


async def test_deleted_channel__a_failure_is_tried_again(harness: AppHarness) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    failure = await ask(harness, "/ask why")
    harness.slack.delete_channel()
    await click(harness, failure, "retry")
    await settle(harness)

    await said_directly(harness, "Example answer")


async def test_deleted_channel__an_answer_is_saved_as_a_file(harness: AppHarness) -> None:
    message = await answer(harness)
    harness.slack.delete_channel()
    await click(harness, message, "more", "save")

    await harness.slack.wait_until(lambda: bool(harness.slack.files))


async def test_deleted_channel__a_rating_is_recorded(harness: AppHarness, database: str) -> None:
    message = await mention(harness, "why")
    await click(harness, message, "feedback", "down")
    harness.slack.delete_channel()
    assert await submit(harness, reasons=["wrong"]) == {}

    async with await psycopg.AsyncConnection.connect(database) as connection:
        rated = await (await connection.execute("SELECT up, reasons FROM feedback")).fetchall()
    assert rated == [(False, ["wrong"])]


async def test_deleted_channel__a_question_is_stopped(harness: AppHarness) -> None:
    harness.perplexity.hold()
    shown = await harness.ask("/ask why")
    await harness.perplexity.wait_for(1)
    harness.slack.delete_channel()
    await click(harness, shown, "stop")
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert harness.slack.posts == []


async def test_deleted_channel__the_open_sources_are_filtered(harness: AppHarness) -> None:
    view = await view_of(harness, "/ask why", "sources")
    harness.slack.delete_channel()
    async with await harness.person.press(view, "sources_site", "b.example") as response:
        assert response.status == 200

    assert "https://a.example" not in json.dumps(harness.slack.modal().content)


MODALS: dict[str, tuple[Step, dict[str, Any]]] = {
    "ask about these": (lambda harness: view_of(harness, "/search why", "ask_about"), {"question": "why?"}),
    "/pplx": (lambda harness: form(harness, "/pplx"), {"question": "why?"}),
    "ask the web": (lambda harness: shortcut(harness, "ask_anything"), {"question": "why?"}),
    "ask about this": (lambda harness: shortcut(harness, "ask_about_this"), {"question": "why?"}),
}


@pytest.mark.parametrize("name", MODALS)
async def test_deleted_channel__a_modal_is_answered_in_the_direct_message(harness: AppHarness, name: str) -> None:
    open_modal, values = MODALS[name]
    await open_modal(harness)
    harness.slack.delete_channel()
    script_answer(harness, "An answer of its own.")

    assert await submit(harness, **values) == {}
    await settle(harness)
    await harness.slack.wait_until(lambda: "chat.postMessage" in [post.method for post in harness.slack.posts])
    assert {post.payload["channel"] for post in harness.slack.posts if post.method == "chat.postMessage"} == {"DU1"}


async def test_deleted_channel__claims_are_checked(harness: AppHarness) -> None:
    await shortcut(harness, "check_this")
    harness.slack.delete_channel()
    await harness.slack.wait_until(lambda: "Claim 1" in json.dumps(harness.slack.modal().content))

    assert await submit(harness, claim_1="Heat pumps are cheap") == {}
    await said_directly(harness, "*Checked:*")


async def test_deleted_channel__its_settings_stay_and_the_person_is_told(harness: AppHarness) -> None:
    message = await ask(harness, "/pplx settings channel")
    harness.slack.delete_channel()
    await click(harness, message, "settings_modal")
    view = harness.slack.modal()

    assert not [block for block in view.blocks if str(block.get("block_id")).startswith("channel:")]
    assert "can change its settings" in json.dumps(view.content, ensure_ascii=False)
    assert await submit(harness, **{"own:language": "fr"}) == {}


async def test_deleted_channel__a_digest_for_it_is_confirmed_directly(harness: AppHarness) -> None:
    await form(harness, "/pplx watch")
    harness.slack.delete_channel()

    assert await submit(harness, topic="databases") == {}
    await said_directly(harness, "is set up")


@pytest.mark.parametrize("choice", ["open", "again", "recheck", "delete"])
async def test_deleted_channel__the_home_works(harness: AppHarness, choice: str) -> None:
    await mention(harness, "why is it so")
    await open_home(harness, "why is it so")
    harness.slack.delete_channel()
    await press_home(harness, "more", choice)

    if choice in {"open", "delete"}:
        shown = json.dumps(harness.slack.modal().content)
        assert ("Example answer" if choice == "open" else "why is it so") in shown
    if choice == "delete":
        assert await submit(harness, understood=["yes"]) == {}
        await home(harness, "Nothing yet", without="why is it so")
    if choice in {"again", "recheck"}:
        await harness.wait_until_settled(2)
        await said_directly(harness, "Example answer")


async def press_home(harness: AppHarness, action: str, value: object = None) -> None:
    async with await harness.person.press(harness.slack.home(), action, value, token=str(uuid4())) as response:
        assert response.status == 200


HOME_MODALS = [("more", "open"), ("more", "delete"), ("settings_modal", None), ("ask_anything", None)]
HOME_MODALS += [("digest_modal", None)]


@pytest.mark.parametrize(("action", "value"), HOME_MODALS)
async def test_lost_trigger__the_home_says_so(harness: AppHarness, action: str, value: object) -> None:
    await answer(harness)
    await open_home(harness, "why")
    harness.slack.fail("views.open", LATE)
    await press_home(harness, action, value)

    if action in {"more", "settings_modal"}:
        await home(harness, TOO_LATE)
    else:
        await said_directly(harness, TOO_LATE)
    assert harness.slack.views.stack("U1") == ()


async def test_lost_trigger__the_settings_say_so(harness: AppHarness) -> None:
    message = await ask(harness, "/pplx settings channel")
    harness.slack.fail("views.open", LATE)

    assert await told(harness, message, "settings_modal") == TOO_LATE


async def twice(harness: AppHarness, **values: Any) -> None:
    """Submit the modal that is open, twice at once."""
    view = harness.slack.modal()
    both = [harness.person.submit(view, values, token=str(uuid4())) for _ in range(2)]
    for response in await asyncio.gather(*both, return_exceptions=True):
        assert not isinstance(response, BaseException), response
        assert response.status == 200


async def test_double_click__settings_and_reasons_are_saved_once(harness: AppHarness, database: str) -> None:
    message = await mention(harness, "why")
    await click(harness, message, "feedback", "down")
    await twice(harness, reasons=["wrong"])
    await click(harness, await ask(harness, "/pplx settings channel"), "settings_modal")
    await twice(harness, **{"own:language": "fr"})

    async with await psycopg.AsyncConnection.connect(database) as connection:
        rated = await (await connection.execute("SELECT up, reasons FROM feedback")).fetchall()
        chosen = await (await connection.execute("SELECT settings FROM person_settings")).fetchall()
    assert (rated, chosen) == ([(False, ["wrong"])], [({"language": "fr"},)])


async def test_double_click__a_question_is_deleted_and_checked_again_once(harness: AppHarness) -> None:
    await answer(harness, "/ask why is it so")
    await open_home(harness, "why is it so")
    await asyncio.gather(*(press_home(harness, "more", "recheck") for _ in range(2)))
    await harness.wait_until_settled(2)
    assert len(harness.perplexity.requests) == 2
    await press_home(harness, "more", "delete")
    await twice(harness, understood=["yes"])

    await home(harness, "Your recent questions")


async def test_stale__the_sources_of_a_deleted_answer(harness: AppHarness) -> None:
    view = await view_of(harness, "/ask why", "sources")
    await delete_questions(harness)
    async with await harness.person.press(view, "sources_site", "b.example") as response:
        assert response.status == 200

    assert UNKNOWN_ANSWER in json.dumps(harness.slack.modal().content, ensure_ascii=False)


async def test_stale__what_is_deleted_is_deleted_again(harness: AppHarness) -> None:
    await answer(harness)
    await open_home(harness, "why")
    await press_home(harness, "more", "delete")
    await delete_questions(harness)

    assert await submit(harness, understood=["yes"]) == {}
    assert harness.slack.views.stack("U1") == ()


async def reopened(harness: AppHarness) -> View:
    """Open the modal of U1 for another person."""
    token = str(uuid4())
    harness.slack.views.issue_trigger("U2", id=token)
    harness.slack.views.open(token, harness.slack.modal().content)
    return harness.slack.modal("U2")


async def test_second_person__sources_and_deletion_of_another_one(harness: AppHarness) -> None:
    await view_of(harness, "/ask why", "sources")
    other = replace(harness.person, user="U2")
    async with await other.press(await reopened(harness), "sources_site", "b.example") as response:
        assert response.status == 200
    assert NOT_YOUR_ANSWER in json.dumps(harness.slack.modal("U2").content)

    await open_home(harness, "why")
    await press_home(harness, "more", "delete")
    await reopened(harness)
    assert await submit(harness, user="U2", understood=["yes"]) == {"understood": NOT_YOUR_ANSWER}
