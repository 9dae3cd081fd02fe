"""An answer to a command is its asker's alone, until they share it, and is posted nowhere else."""

from __future__ import annotations

import pytest

from tests.driver import Driver

pytestmark = pytest.mark.trust(19)


async def assert_ephemeral(harness: Driver, line: str) -> None:
    """Ask, and look at who sees the answer."""
    await harness.answered(line)

    assert {post.method for post in harness.slack.posts} == {"response_url"}
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}


@pytest.mark.parametrize("line", ["/ask why", "/search why", "/news tech"])
async def test_the_answer_to_a_command_is_ephemeral(harness: Driver, line: str) -> None:
    await assert_ephemeral(harness, line)


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
