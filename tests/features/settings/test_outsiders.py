"""Guests and people from elsewhere set nothing, whatever a channel is open for."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_outsiders import GUESTS, ask_everywhere, assert_refused, guest

pytestmark = pytest.mark.trust(21)


async def test_an_outsider_opens_no_channel(harness: Driver) -> None:
    person = guest(harness, GUESTS["a guest"])
    harness.slack.workspace.channels["C1"] = {"creator": "U7"}
    async with await person.type_command("/pplx settings channel external on", trigger="x") as response:
        assert response.status == 200
    await harness.wait_until_settled(1)
    await ask_everywhere(harness, person)

    assert harness.perplexity.requests == []


async def test_they_close_no_channel(harness: Driver) -> None:
    await assert_refused(harness, "/pplx settings channel external off")


@pytest.mark.parametrize(("typed", "answers"), [("on", 2), ("off", 0)])
async def test_its_creator_opens_and_closes_a_channel(harness: Driver, typed: str, answers: int) -> None:
    assert "Saved." in str(await harness.answered(f"/pplx settings channel external {typed}"))
    await ask_everywhere(harness, guest(harness, GUESTS["a guest"]))

    assert len(harness.perplexity.requests) == answers
