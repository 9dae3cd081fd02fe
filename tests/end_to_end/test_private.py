"""An answer to a command is its asker's alone, until they share it, and is posted nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER
from tests.driver import Driver

pytestmark = pytest.mark.trust(19)

SITES = ("a.example", "b.example")


@pytest.mark.parametrize("line", ["/ask why", "/search why", "/news tech", "/deepdive heat pumps"])
async def test_the_answer_to_a_command_is_ephemeral(harness: Driver, line: str) -> None:
    await harness.answered(line)

    assert {post.method for post in harness.slack.posts} == {"response_url"}
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}


async def test_only_the_asker_s_click_shares__there_and_with_its_citations(harness: Driver) -> None:
    harness.script_answer("Wheels are zip files. [1] So they are. [2]", sites=SITES)
    answer = await harness.answered("/ask what are wheels?")
    for other in ("U2", "U9"):
        harness.slack.workspace.admins.add("U9")
        assert NOT_YOUR_ANSWER in await harness.as_user(other).told(answer, "share")
    assert await harness.told(answer, "share") == ""
    view = harness.slack.modal()
    stranger = replace(harness.person, user="U2")
    async with await stranger.submit(view, {}, token="theft") as response:
        assert response.status == 200
    assert not [post for post in harness.slack.posts if post.payload.get("response_type") != "ephemeral"]

    assert await harness.told(answer, "share") == ""
    assert await harness.submit() == {}
    await harness.slack.wait_until(lambda: any(post.method == "chat.postMessage" for post in harness.slack.posts))

    (shared,) = [post for post in harness.slack.posts if post.method == "chat.postMessage"]
    for number, site in enumerate(SITES, 1):
        assert f"[[{number}]](https://{site}/{number})" in shared.shown_text
    assert shared.payload["channel"] == "C1"
    assert {post.payload.get("response_type") for post in harness.slack.posts} == {"ephemeral", None}


async def test_an_answer_that_cannot_be_posted_goes_to_its_asker_and_to_no_channel(harness: Driver) -> None:
    harness.slack.expired.add("t1")
    await harness.ask("/ask why", trigger="t1")
    await harness.settle()

    assert {post.payload["channel"] for post in harness.slack.posts} == {"DU1"}


async def test_buttons_of_a_private_answer_answer_privately(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await harness.click(answer, "more", "regenerate")
    await harness.settle()

    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}
