"""Ask a follow-up, end to end: a private answer is asked on with the conversation before it, and stays private."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.bot.commands.test_next_questions import BLOCK, QUESTIONS
from tests.driver import Driver, Message, actions, asked_in

FIRST, SECOND, THIRD = "Which EU country has the cheapest electricity?", "And in Switzerland?", "And in Norway?"


async def answered(harness: Driver, typed: str = f"/ask {FIRST}", text: str = "Hungary. [1]") -> Message:
    harness.script_answer(text)
    return await harness.answered(typed)


async def follow_up(harness: Driver, message: Message, question: str, *, text: str = "It is dearer. [1]") -> Message:
    """Ask a follow-up by the button below an answer; return its answer."""
    harness.script_answer(text)
    assert await harness.told(message, "follow_up") == ""
    assert await harness.submit(question=question) == {}
    await harness.settle()
    return harness.last_answer().payload


def said(harness: Driver) -> Any:
    """Return what the last request said, turn by turn."""
    asked = asked_in(harness.perplexity.requests[-1])
    return [turn["content"] for turn in asked] if isinstance(asked, list) else asked


async def test_the_next_question_is_asked_with_the_conversation__and_answered_privately(harness: Driver) -> None:
    message = await follow_up(harness, await answered(harness), SECOND)
    assert said(harness) == [FIRST, "Hungary.", SECOND]
    assert (message["response_type"], message["replace_original"]) == ("ephemeral", False)
    await follow_up(harness, message, THIRD)

    assert said(harness) == [FIRST, "Hungary.", SECOND, "It is dearer.", THIRD]
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}


async def test_the_form_has_one_field__and_asks_once(harness: Driver) -> None:
    message = await answered(harness)
    await harness.click(message, "follow_up")
    view = harness.slack.modal()
    assert view.content["title"]["text"] == "Ask a follow-up"
    assert [block["type"] for block in view.blocks] == ["input"]
    sent = [harness.person.submit(view, {"question": SECOND}, token=f"t{n}") for n in range(2)]
    await asyncio.gather(*sent, return_exceptions=True)
    await harness.settle()

    assert [text for _, _, text in await harness.questions()] == [FIRST, f"--private -- {SECOND}"]


async def test_a_suggested_question_continues_the_conversation(harness: Driver) -> None:
    message = await answered(harness, text=f"Hungary. [1]\n\n{BLOCK}")
    harness.script_answer("Much. [1]")
    await harness.click(message, "follow_up", QUESTIONS[0])
    await harness.settle()

    assert said(harness) == [FIRST, "Hungary.", QUESTIONS[0]]
    assert harness.last_answer().payload["response_type"] == "ephemeral"


async def test_thinking_longer_about_a_follow_up_knows_what_came_before(harness: Driver) -> None:
    message = await follow_up(harness, await answered(harness), SECOND)
    harness.script_answer("Much dearer. [1]")
    await harness.click(message, "more", "go_deeper")
    await harness.settle()

    assert said(harness) == [FIRST, "Hungary.", SECOND]
    assert harness.perplexity.requests[-1].json["effort"] == "medium"


async def test_another_conversation_is_not_known(harness: Driver) -> None:
    await answered(harness)
    message = await answered(harness, "/ask why is the sky blue", "Scattering. [1]")
    await follow_up(harness, message, "And the sea?")

    assert said(harness) == ["why is the sky blue", "Scattering.", "And the sea?"]


async def test_only_the_asker_asks_on__and_a_deleted_answer_is_explained(harness: Driver) -> None:
    message = await answered(harness)
    assert await harness.as_user("U2").told(message, "follow_up") == NOT_YOUR_ANSWER
    await harness.click(message, "follow_up")
    content = harness.slack.modal().content
    harness.slack.views.issue_trigger("U2", id="other")
    harness.slack.views.open("other", content)
    assert await harness.as_user("U2").submit(question=SECOND) == {"question": NOT_YOUR_ANSWER}
    await harness.execute("DELETE FROM questions")

    assert await harness.submit(question=SECOND) == {"question": UNKNOWN_ANSWER}
    assert await harness.told(message, "follow_up") == UNKNOWN_ANSWER
    assert len(harness.perplexity.requests) == 1


async def test_thanks_in_the_form_are_not_searched_for(harness: Driver) -> None:
    await harness.click(await answered(harness), "follow_up")

    assert "Happy to help" in (await harness.submit(question="thank you!!"))["question"]
    assert len(await harness.questions()) == 1


async def test_below_a_public_answer_everyone_may_ask_on__in_public(harness: Driver) -> None:
    message = await answered(harness, f"/ask --public {FIRST}")
    harness.script_answer("Dearer. [1]")
    await harness.as_user("U2").click(message, "follow_up")
    await harness.as_user("U2").submit(question=SECOND)
    await harness.settle()

    assert said(harness)[-1] == SECOND
    assert FIRST in said(harness)[0]
    assert harness.last_answer().payload["response_type"] == "in_channel"


@pytest.mark.parametrize("place", ["channel", "direct message"])
async def test_where_the_next_question_can_be_typed_there_is_no_button(harness: Driver, place: str) -> None:
    harness.script_answer("Hungary. [1]")
    if place == "channel":
        message = await harness.answered_mention(FIRST)
    else:
        await harness.send_direct_message(FIRST)
        await harness.settle()
        message = next(one for one in harness.slack.shown.values() if "sources" in json.dumps(one))

    assert "more" in actions(message)
    assert "follow_up" not in actions(message)


async def test_search_results_without_a_page_have_no_buttons(harness: Driver) -> None:
    harness.script_pages(0)
    message = await harness.answered("/search wheels")

    assert set(actions(message)) <= {"more"}
    assert "Regenerate" not in str(message)
