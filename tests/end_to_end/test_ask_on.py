"""Ask a follow-up, end to end: a private answer is asked on with the conversation before it, and stays private."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.bot.conversations.test_next_questions import BLOCK, QUESTIONS
from tests.end_to_end.answer_buttons import (
    Message,
    actions,
    ask,
    click,
    delete_questions,
    last_answer,
    mention,
    questions,
    script_answer,
    script_pages,
    settle,
    submit,
    told,
)
from tests.end_to_end.conftest import AppHarness, asked_in

FIRST, SECOND, THIRD = "Which EU country has the cheapest electricity?", "And in Switzerland?", "And in Norway?"


async def answered(harness: AppHarness, typed: str = f"/ask {FIRST}", text: str = "Hungary. [1]") -> Message:
    script_answer(harness, text)
    return await ask(harness, typed)


async def follow_up(
    harness: AppHarness, message: Message, question: str, *, text: str = "It is dearer. [1]"
) -> Message:
    """Ask a follow-up by the button below an answer; return its answer."""
    script_answer(harness, text)
    assert await told(harness, message, "follow_up") == ""
    assert await submit(harness, question=question) == {}
    await settle(harness)
    return last_answer(harness).payload


def said(harness: AppHarness) -> Any:
    """Return what the last request said, turn by turn."""
    asked = asked_in(harness.perplexity.requests[-1])
    return [turn["content"] for turn in asked] if isinstance(asked, list) else asked


async def test_the_next_question_is_asked_with_the_conversation__and_answered_privately(harness: AppHarness) -> None:
    message = await follow_up(harness, await answered(harness), SECOND)
    assert said(harness) == [FIRST, "Hungary.", SECOND]
    assert (message["response_type"], message["replace_original"]) == ("ephemeral", False)
    await follow_up(harness, message, THIRD)

    assert said(harness) == [FIRST, "Hungary.", SECOND, "It is dearer.", THIRD]
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}


async def test_the_form_has_one_field__and_asks_once(harness: AppHarness) -> None:
    message = await answered(harness)
    await click(harness, message, "follow_up")
    view = harness.slack.modal()
    assert view.content["title"]["text"] == "Ask a follow-up"
    assert [block["type"] for block in view.blocks] == ["input"]
    sent = [harness.person.submit(view, {"question": SECOND}, token=f"t{n}") for n in range(2)]
    await asyncio.gather(*sent, return_exceptions=True)
    await settle(harness)

    assert [text for _, _, text in await questions(harness)] == [FIRST, f"--private -- {SECOND}"]


async def test_a_suggested_question_continues_the_conversation(harness: AppHarness) -> None:
    message = await answered(harness, text=f"Hungary. [1]\n\n{BLOCK}")
    script_answer(harness, "Much. [1]")
    await click(harness, message, "follow_up", QUESTIONS[0])
    await settle(harness)

    assert said(harness) == [FIRST, "Hungary.", QUESTIONS[0]]
    assert last_answer(harness).payload["response_type"] == "ephemeral"


async def test_thinking_longer_about_a_follow_up_knows_what_came_before(harness: AppHarness) -> None:
    message = await follow_up(harness, await answered(harness), SECOND)
    script_answer(harness, "Much dearer. [1]")
    await click(harness, message, "more", "go_deeper")
    await settle(harness)

    assert said(harness) == [FIRST, "Hungary.", SECOND]
    assert harness.perplexity.requests[-1].json["effort"] == "medium"


async def test_another_conversation_is_not_known(harness: AppHarness) -> None:
    await answered(harness)
    message = await answered(harness, "/ask why is the sky blue", "Scattering. [1]")
    await follow_up(harness, message, "And the sea?")

    assert said(harness) == ["why is the sky blue", "Scattering.", "And the sea?"]


async def test_only_the_asker_asks_on__and_a_deleted_answer_is_explained(harness: AppHarness) -> None:
    message = await answered(harness)
    assert await told(harness, message, "follow_up", user="U2") == NOT_YOUR_ANSWER
    await click(harness, message, "follow_up")
    content = harness.slack.modal().content
    harness.slack.views.issue_trigger("U2", id="other")
    harness.slack.views.open("other", content)
    assert await submit(harness, user="U2", question=SECOND) == {"question": NOT_YOUR_ANSWER}
    await delete_questions(harness)

    assert await submit(harness, question=SECOND) == {"question": UNKNOWN_ANSWER}
    assert await told(harness, message, "follow_up") == UNKNOWN_ANSWER
    assert len(harness.perplexity.requests) == 1


async def test_thanks_in_the_form_are_not_searched_for(harness: AppHarness) -> None:
    await click(harness, await answered(harness), "follow_up")

    assert "Happy to help" in (await submit(harness, question="thank you!!"))["question"]
    assert len(await questions(harness)) == 1


async def test_below_a_public_answer_everyone_may_ask_on__in_public(harness: AppHarness) -> None:
    message = await answered(harness, f"/ask --public {FIRST}")
    script_answer(harness, "Dearer. [1]")
    await click(harness, message, "follow_up", user="U2")
    await submit(harness, user="U2", question=SECOND)
    await settle(harness)

    assert said(harness)[-1] == SECOND
    assert FIRST in said(harness)[0]
    assert last_answer(harness).payload["response_type"] == "in_channel"


@pytest.mark.parametrize("place", ["channel", "direct message"])
async def test_where_the_next_question_can_be_typed_there_is_no_button(harness: AppHarness, place: str) -> None:
    script_answer(harness, "Hungary. [1]")
    if place == "channel":
        message = await mention(harness, FIRST)
    else:
        await harness.send_direct_message(FIRST)
        await settle(harness)
        message = next(post.payload for post in reversed(harness.slack.posts) if "sources" in post.shown_text)

    assert "more" in actions(message)
    assert "follow_up" not in actions(message)


async def test_search_results_without_a_page_have_no_buttons(harness: AppHarness) -> None:
    script_pages(harness, 0)
    message = await ask(harness, "/search wheels")

    assert set(actions(message)) <= {"more"}
    assert "Regenerate" not in str(message)
