"""Clicks, shortcuts and modals gone wrong: a deleted channel for all of them, and for those whose own tests do not have
it another person and something stale. Those of a feature are with its tests."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from fake_slack.views import View
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
    "/pplx": (lambda harness: harness.open_by("/pplx"), {"question": "why?"}),
    "ask the web": (lambda harness: harness.shortcut("ask_anything"), {"question": "why?"}),
    "ask about this": (lambda harness: harness.shortcut("ask_about_this", MESSAGE), {"question": "why?"}),
}


async def is_answered_directly(harness: Driver, open_modal: Step, values: Mapping[str, Any]) -> None:
    """Submit a modal whose channel is deleted, and look where the answer goes."""
    await open_modal(harness)
    harness.slack.delete_channel()
    harness.script_answer("An answer of its own.")

    assert await harness.submit(**values) == {}
    await harness.settle()
    await harness.slack.wait_until(lambda: "chat.postMessage" in [post.method for post in harness.slack.posts])
    assert {post.payload["channel"] for post in harness.slack.posts if post.method == "chat.postMessage"} == {"DU1"}


@pytest.mark.parametrize("name", MODALS)
async def test_deleted_channel__a_modal_is_answered_in_the_direct_message(harness: Driver, name: str) -> None:
    await is_answered_directly(harness, *MODALS[name])


async def test_stale__the_sources_of_a_deleted_answer(harness: Driver) -> None:
    view = await view_of(harness, "/ask why", "sources")
    await harness.execute("DELETE FROM questions")
    await harness.press(view, "sources_site", "b.example")

    assert UNKNOWN_ANSWER in json.dumps(harness.slack.modal().content, ensure_ascii=False)


async def reopened(harness: Driver) -> View:
    """Open the modal of U1 for another person."""
    token = str(uuid4())
    harness.slack.views.issue_trigger("U2", id=token)
    harness.slack.views.open(token, harness.slack.modal().content)
    return harness.slack.modal("U2")


async def test_second_person__sources_of_another_one(harness: Driver) -> None:
    await view_of(harness, "/ask why", "sources")
    other = replace(harness.person, user="U2")
    async with await other.press(await reopened(harness), "sources_site", "b.example") as response:
        assert response.status == 200
    assert NOT_YOUR_ANSWER in json.dumps(harness.slack.modal("U2").content)
