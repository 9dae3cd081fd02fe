"""A button asks again at each click if this person may; twice is once, and a stale one explains itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from uuid import uuid4

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.driver import Driver
from tests.rare import one_in

pytestmark = pytest.mark.trust(20)

BELOW = [("more", "go_deeper"), ("sources", None), ("more", "regenerate")]
"""The core's buttons below a private answer, with the choices of its menu."""


async def assert_its_asker_s(harness: Driver, below: Sequence[tuple[str, str | None]]) -> None:
    """Have others use the buttons below a private answer."""
    answer = await harness.answered("/ask why")
    harness.slack.workspace.admins.add("U9")
    requests = len(harness.perplexity.requests)

    for action, choice in below:
        for other in ("U2", "U9"):
            said = await harness.as_user(other).told(answer, action, choice)
            assert "Only the person who asked" in said or NOT_YOUR_ANSWER in said, action
    assert (len(harness.perplexity.requests), len(await harness.questions())) == (requests, 1)


async def assert_explained(harness: Driver, below: Sequence[tuple[str, str | None]]) -> None:
    """Use the buttons below an answer that is deleted."""
    answer = await harness.answered("/ask why")
    await harness.execute("DELETE FROM questions")

    for action, choice in below:
        assert UNKNOWN_ANSWER in await harness.told(answer, action, choice), action
    assert await harness.questions() == []


async def test_a_private_answer_s_buttons_are_its_asker_s(harness: Driver) -> None:
    await assert_its_asker_s(harness, BELOW)


async def test_a_stale_button_explains_itself(harness: Driver) -> None:
    await assert_explained(harness, BELOW)


async def test_two_clicks_at_once_are_one_question(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await asyncio.gather(*(harness.click(answer, "more", "regenerate", token="double") for _ in range(3)))
    await harness.settle()

    assert len(await harness.questions()) == 2


@pytest.mark.parametrize(
    ("value", "action"),
    one_in(
        3,
        product(
            ["", "x", "00000000-0000-4000-8000-000000000000", "' OR 1=1 --"],
            ["retry", "stop", "as_file", "share", "regenerate", "digest_delete", "digest_run"],
        ),
    ),
)
async def test_a_value_that_names_nothing_does_nothing(harness: Driver, action: str, value: str) -> None:
    async with await harness.person.click(action, value, token=str(uuid4())) as response:
        assert response.status in {200, 404}

    assert await harness.questions() == []
    assert harness.perplexity.requests == []


async def test_someone_who_became_a_guest_after_the_answer_is_refused(harness: Driver) -> None:
    answer = await harness.answered("/ask --public why")
    harness.slack.workspace.profiles["U3"] = {"is_restricted": True}
    assert await harness.as_user("U3").mention("why", ts="1795255200.000900") == 200
    await harness.settle()

    assert "full members" in await harness.as_user("U3").told(answer, "more", "regenerate")
