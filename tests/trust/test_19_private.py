"""Item 19: an answer to a command is its asker's alone, until they share it, and is posted nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER
from tests.end_to_end.answer_buttons import ask, click, script_answer, settle, submit, told
from tests.end_to_end.conftest import AppHarness

SITES = ("a.example", "b.example")


@pytest.mark.parametrize("line", ["/ask why", "/search why", "/news tech", "/deepdive heat pumps"])
async def test_the_answer_to_a_command_is_ephemeral(harness: AppHarness, line: str) -> None:
    await ask(harness, line)

    assert {post.method for post in harness.slack.posts} == {"response_url"}
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}


async def test_only_the_asker_s_click_shares__there_and_with_its_citations(harness: AppHarness) -> None:
    script_answer(harness, "Wheels are zip files. [1] So they are. [2]", sites=SITES)
    answer = await ask(harness, "/ask what are wheels?")
    for other in ("U2", "U9"):
        harness.slack.workspace.admins.add("U9")
        assert NOT_YOUR_ANSWER in await told(harness, answer, "share", user=other)
    assert await told(harness, answer, "share") == ""
    view = harness.slack.modal()
    stranger = replace(harness.person, user="U2")
    async with await stranger.submit(view, {}, token="theft") as response:
        assert response.status == 200
    assert not [post for post in harness.slack.posts if post.payload.get("response_type") != "ephemeral"]

    assert await told(harness, answer, "share") == ""
    assert await submit(harness) == {}
    await harness.slack.wait_until(lambda: any(post.method == "chat.postMessage" for post in harness.slack.posts))

    (shared,) = [post for post in harness.slack.posts if post.method == "chat.postMessage"]
    for number, site in enumerate(SITES, 1):
        assert f"[[{number}]](https://{site}/{number})" in shared.shown_text
    assert shared.payload["channel"] == "C1"
    assert {post.payload.get("response_type") for post in harness.slack.posts} == {"ephemeral", None}


async def test_an_answer_that_cannot_be_posted_goes_to_its_asker_and_to_no_channel(harness: AppHarness) -> None:
    harness.slack.expired.add("t1")
    await harness.ask("/ask why", trigger="t1")
    await settle(harness)

    assert {post.payload["channel"] for post in harness.slack.posts} == {"DU1"}


async def test_buttons_of_a_private_answer_answer_privately(harness: AppHarness) -> None:
    answer = await ask(harness, "/ask why")
    await click(harness, answer, "more", "regenerate")
    await settle(harness)

    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}
