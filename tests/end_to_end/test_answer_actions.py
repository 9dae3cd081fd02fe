"""Buttons that ask the next question, end to end: who may click, what is asked, and where the answer comes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.listeners.clicks import NO_LONGER_OFFERED, NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.driver import TS, Driver, actions, asked_in
from tests.fakes.answers import whole_stream
from tests.fakes.perplexity import stream_reply
from tests.fakes.slack import Fault, Post

BUTTONS = {"go_deeper": "/ask why", "regenerate": "/ask why", "more_results": "/search why"}
"""What is clicked, below which command's answer; the first two are choices of the menu."""


def element(action: str) -> tuple[str, str | None]:
    """Return the id of the element and the choice."""
    return (action, None) if action == "more_results" else ("more", action)


async def answered(harness: Driver, action: str, *, public: bool = False) -> dict[str, Any]:
    """Return an answer that has a button."""
    harness.script_pages(5)
    command, _, text = BUTTONS[action].partition(" ")
    return await harness.answered(f"{command} {'--public ' if public else ''}{text}")


def answers(harness: Driver) -> list[Post]:
    """Return the posts with sources or results, in order."""
    return [post for post in harness.slack.posts if ".example" in post.shown_text]


@pytest.mark.parametrize("action", BUTTONS)
async def test_two_clicks_ask_once__and_the_answer_comes_below(harness: Driver, action: str) -> None:
    answer = await answered(harness, action)
    before = len(harness.perplexity.requests)
    harness.script_pages(10)

    first = await harness.told(answer, *element(action))
    await harness.settle()
    assert first.startswith(("Thinking longer about “", "Looking for more pages on “", "Answering “"))
    assert not [post for post in harness.slack.posts if "stop" in actions(post.payload)]
    assert (
        await harness.told(answer, *element(action))
        == "I’m already working on this, or it’s answered. Look below that answer."
    )

    assert len(harness.perplexity.requests) - before == 1
    original, below = answers(harness)
    assert original.payload["replace_original"] is True
    assert (below.payload["replace_original"], below.payload["response_type"]) == (False, "ephemeral")
    assert "“why”" in below.shown_text
    assert not [payload for _, payload in harness.slack.calls if payload.get("delete_original")]


async def test_go_deeper_asks_the_same_of_a_model_that_thinks__with_its_filters(harness: Driver) -> None:
    answer = await harness.answered("/ask --domain a.example,b.example why")
    await harness.click(answer, "more", "go_deeper")
    await harness.settle()

    first, second = (request.json for request in harness.perplexity.requests)
    assert (first["effort"], second["effort"]) == ("fast", "medium")
    assert [asked_in(request) for request in harness.perplexity.requests] == ["why", "why"]
    assert second["tools"] == first["tools"]
    assert "Think longer" not in answers(harness)[-1].shown_text


@pytest.mark.parametrize("typed", ["/ask --model sonar-reasoning-pro why", "/ask -r why", "/ask --effort medium why"])
async def test_a_model_that_thinks_already_cannot_go_deeper(harness: Driver, typed: str) -> None:
    answer = await harness.answered(typed)
    assert "Think longer" not in str(answer)
    row = next(block for block in answer["blocks"] if block["type"] == "actions")
    question = row["block_id"].partition(":")[2]
    await harness.click_button("go_deeper", question, token="forged")

    assert NO_LONGER_OFFERED in harness.slack.posts[-1].shown_text
    assert len(harness.perplexity.requests) == 1


@pytest.mark.parametrize("action", BUTTONS)
async def test_a_private_answer_is_its_askers_alone(harness: Driver, action: str) -> None:
    answer = await answered(harness, action)
    before = len(harness.perplexity.requests)

    assert await harness.as_user("U2").told(answer, *element(action)) == NOT_YOUR_ANSWER
    assert len(harness.perplexity.requests) == before


@pytest.mark.parametrize("action", BUTTONS)
async def test_below_a_public_answer_anyone_there_asks__for_everyone(harness: Driver, action: str) -> None:
    answer = await answered(harness, action, public=True)
    harness.script_pages(10)
    await harness.as_user("U2").click(answer, *element(action))
    await harness.settle()

    assert [asker for asker, _, _ in await harness.questions()] == ["U1", "U2"]
    below = answers(harness)[-1]
    assert (below.payload["response_type"], below.payload["replace_original"]) == ("in_channel", False)


async def test_a_public_answer_of_another_channel_is_nobodys_elsewhere(harness: Driver) -> None:
    answer = await answered(harness, "go_deeper", public=True)

    assert await harness.as_user("U2").told(answer, "more", "go_deeper", channel="C2") == NOT_YOUR_ANSWER


@pytest.mark.parametrize("action", BUTTONS)
async def test_a_deleted_answer_is_explained(harness: Driver, action: str) -> None:
    answer = await answered(harness, action)
    await harness.execute("DELETE FROM questions")

    assert await harness.told(answer, *element(action)) == UNKNOWN_ANSWER


@pytest.mark.parametrize("value", ["6f2b1f1e-0000-4000-8000-000000000001", "no id", ""])
async def test_an_unknown_id_is_explained(harness: Driver, value: str) -> None:
    await harness.click_button("go_deeper", value)

    assert UNKNOWN_ANSWER in harness.slack.posts[-1].shown_text


@pytest.mark.parametrize(("action", "value"), [("more", "go_deeper"), ("more", "regenerate")])
async def test_in_a_thread_the_answer_is_the_next_message__for_everyone(
    harness: Driver, action: str, value: str | None
) -> None:
    harness.script_answer("The first answer. [1]")
    answer = await harness.answered_mention("why")
    harness.script_answer("The second answer. [2]")
    assert await harness.as_user("U2").told(answer, action, value) == ""
    await harness.settle()

    first, second = harness.slack.thread("C1", TS)
    assert ("The first answer" in first.markdown, "The second answer" in second.markdown) == (True, True)
    assert [asker for asker, _, _ in await harness.questions()] == ["U1", "U2"]


async def test_regenerate_does_not_send_the_old_answer_along__but_what_was_before_it(harness: Driver) -> None:
    harness.script_answer("Wheels are zip files. [1]")
    await harness.answered_mention("what are wheels")
    harness.script_answer("Because of speed. [1]")
    answer = await reply(harness)
    await harness.click(answer, "more", "regenerate")
    await harness.settle()

    sent = json.dumps(asked_in(harness.perplexity.requests[-1]))
    assert "Wheels are zip files." in sent
    assert "Because of speed." not in sent


async def reply(harness: Driver) -> dict[str, Any]:
    """Mention the app again in the thread, and return its answer."""
    assert await harness.mention("why", ts="1795255201.000100", thread_ts=TS, id="Ev2") == 200
    await harness.settle()
    return harness.last_in("C1", TS)


async def test_in_a_direct_message_the_answer_is_streamed_below(harness: Driver) -> None:
    harness.script_answer("The first answer. [1]")
    await harness.send_direct_message("why", ts=TS)
    await harness.settle()
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream("The second answer. [2]", size=4), pause=0.1))
    assert await harness.told(harness.last_in("DU1", TS), "more", "go_deeper", channel="DU1") == ""
    await harness.settle()

    # On a slow machine the first one is streamed too.
    *_, stream = harness.slack.streams("DU1", TS)
    assert stream.markdown.startswith("The second answer.")
    assert "The first answer." in harness.slack.thread("DU1", TS)[0].markdown


async def test_where_the_app_may_no_longer_post__the_answer_comes_as_a_direct_message(harness: Driver) -> None:
    answer = await harness.answered_mention("why")
    gone = Fault(status=200, body='{"ok": false, "error": "channel_not_found"}')
    harness.slack.fail("chat.postMessage", gone, gone)
    await harness.click(answer, "more", "go_deeper")
    await harness.settle()

    last = harness.last_answer()
    assert last.payload["channel"] == "DU1"
    assert "I couldn’t post my answer there" in last.shown_text
    assert "[[1]](https://a.example/1)" in last.markdown


async def test_more_results_go_on_where_the_list_ended__until_there_are_no_more(harness: Driver) -> None:
    harness.script_pages(5)
    message: dict[str, Any] = await harness.answered("/search wheels")
    seen = [page_numbers(message)]
    for found in (10, 12):
        harness.script_pages(found)
        before = len(harness.slack.posts)
        await harness.click(message, "more_results")
        await harness.settle()
        assert len(await harness.slack.wait_for(before + 2)) == before + 2
        message = {"blocks": harness.last_answer().payload["blocks"]}
        seen.append(page_numbers(message))

    assert seen == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12]]
    assert "more_results" not in actions(message)
    assert [request.json["max_results"] for request in harness.perplexity.requests] == [5, 10, 15]


def page_numbers(message: dict[str, Any]) -> list[int]:
    """Return the numbers of the listed pages, which each is about the page of that number."""
    texts = [block["text"]["text"] for block in message["blocks"] if block["type"] == "section"]
    numbers = [int(text.partition(".")[0].strip("*")) for text in texts]
    assert all(f"https://p{number}.example/" in text for number, text in zip(numbers, texts, strict=True))
    return numbers


async def test_no_more_results_are_said(harness: Driver) -> None:
    harness.script_pages(5)
    message = await harness.answered("/search wheels")
    harness.script_pages(5)
    await harness.click(message, "more_results")
    await harness.settle()

    last = harness.last_answer()
    assert "There are no more results." in last.shown_text
    assert "more_results" not in actions(last.payload)


async def test_more_results_that_failed_are_tried_again_as_more_results(harness: Driver) -> None:
    harness.script_pages(5)
    message = await harness.answered("/search wheels")
    harness.perplexity.fail("/search", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.click(message, "more_results")
    await harness.settle()
    failed = {"blocks": harness.last_answer().payload["blocks"]}
    assert actions(failed) == ["retry"]
    harness.script_pages(10)
    assert await harness.told(failed, "retry") == "Trying again."
    await harness.settle()

    assert page_numbers({"blocks": harness.last_answer().payload["blocks"]}) == [6, 7, 8, 9, 10]
