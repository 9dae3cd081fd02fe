"""Questions that an answer suggests, end to end: asked of the model, shown as buttons, asked with one click."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.commands.conversation import NEXT_INSTRUCTION
from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.bot.commands.test_next_questions import BLOCK, QUESTIONS
from tests.driver import TS, Driver, asked_in
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply
from tests.fakes.slack import Post


def suggested_in(message: Mapping[str, Any]) -> list[str]:
    rows = [block for block in message["blocks"] if str(block.get("block_id")).startswith("next-")]
    buttons = [element for block in rows for element in block["elements"]]
    assert {button["action_id"] for button in buttons} <= {"follow_up"}
    return [str(button["value"]) for button in buttons]


async def answer(harness: Driver, text: str) -> Post:
    """Ask privately; return the answer."""
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(text)))
    await harness.ask("/ask what is it")
    (post,) = await harness.slack.wait_for(1)
    return post


async def test_they_are_buttons_and_no_part_of_the_text(harness: Driver) -> None:
    post = await answer(harness, f"It is a thing.[1]\n\n{BLOCK}")

    assert suggested_in(post.payload) == list(QUESTIONS)
    assert "next_questions" not in post.shown_text
    (request,) = harness.perplexity.requests
    sent = asked_in(request)
    assert sent == "what is it"
    assert NEXT_INSTRUCTION.content in [turn["content"] for turn in request.json["input"]]


async def test_a_click_asks_it_once_below(harness: Driver) -> None:
    post = await answer(harness, f"It is a thing.[1]\n\n{BLOCK}")
    for token in ("one", "two"):
        await harness.click(post.payload, "follow_up", token=token)
    await harness.wait_until_settled(2)

    (_, request) = harness.perplexity.requests
    assert asked_in(request)[-1]["content"] == QUESTIONS[0]


@pytest.mark.parametrize("place", ["command", "direct message"])
@pytest.mark.parametrize("suggested", ["What does git push --force change?", "Is it safe? --model xhigh"])
async def test_a_suggestion_never_carries_an_option(harness: Driver, place: str, suggested: str) -> None:
    """Such as the button of an answer that an older version has made."""
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(f"It is a thing.[1]\n\n{BLOCK}")))
    channel = "C1" if place == "command" else "DU1"
    if place == "command":
        await harness.ask("/ask what is it")
    else:
        await harness.send_direct_message("what is it", ts=TS)
    await harness.wait_until_settled(1)
    answered = harness.slack.posts[-1].payload if place == "command" else harness.last_in("DU1", TS)
    assert suggested_in(answered) == list(QUESTIONS)
    older = json.loads(json.dumps(answered).replace(QUESTIONS[0], suggested))

    await harness.click(older, "follow_up", channel=channel)
    await harness.wait_until_settled(2)

    first, second = harness.perplexity.requests
    assert asked_in(second)[-1]["content"] == suggested
    assert {name: value for name, value in second.json.items() if name != "input"} == {
        name: value for name, value in first.json.items() if name != "input"
    }


async def test_another_person_and_a_stale_answer(harness: Driver) -> None:
    post = await answer(harness, f"It is a thing.[1]\n\n{BLOCK}")
    assert await harness.as_user("U2").told(post.payload, "follow_up") == NOT_YOUR_ANSWER
    await harness.execute("DELETE FROM questions")

    assert await harness.told(post.payload, "follow_up") == UNKNOWN_ANSWER
    assert len(harness.perplexity.requests) == 1


async def test_a_malformed_block_is_dropped(harness: Driver) -> None:
    post = await answer(harness, f"It is a thing.[1]\n\n{BLOCK.replace('2. ', '')}")

    assert suggested_in(post.payload) == []
    assert "next_questions" not in post.shown_text


async def test_in_a_direct_message_they_are_not_streamed(harness: Driver) -> None:
    chunks = whole_stream(f"It is a thing.[1]\n\n{BLOCK}", size=8)
    harness.perplexity.script("/v1/agent", stream_reply(*chunks, pause=0.05))
    await harness.send_direct_message("what is it")
    await harness.wait_until_settled(1)

    (stream,) = harness.slack.streams("DU1", TS)
    assert stream.markdown == "It is a thing.[[1]](https://a.example/1)"
    assert not harness.slack.refusals
