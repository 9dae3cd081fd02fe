"""A pause ends what is being paid for."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.budgets import CEILINGS
from bot.settings import Settings
from tests.driver import Driver
from tests.end_to_end.test_paid_calls import booked
from tests.fakes.all_services import Services, services, with_all_services

pytestmark = pytest.mark.trust(23)

__all__ = ["services"]


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_all_services(settings, services)


async def test_a_pause_ends_an_answer_that_is_being_written(harness: Driver, services: Services) -> None:
    harness.slack.workspace.admins.add("U1")
    services.perplexity._pause = 1.0
    await harness.send_direct_message("why")
    await services.perplexity.wait_for(1)
    await harness.slack.wait_until(lambda: any(method == "chat.startStream" for method, _ in harness.slack.calls))

    began = time.monotonic()
    await harness.ask("/pplx pause", trigger="p")
    [call] = await booked(harness.database, 1)

    assert time.monotonic() - began < 5
    assert (call["state"], call["cost"]) == ("cut", CEILINGS["fast"])
    await harness.wait_until_settled(1)
    shown = str([message.as_slack() for message in harness.slack.timeline.seen_by("U1", "DU1")])
    assert "This is only a part. An admin has paused all paid searches" in shown
    assert "retry" not in shown
    async with asyncio.timeout(5):
        while not services.perplexity.served[0].left:  # noqa: ASYNC110 - the other end of a connection
            await asyncio.sleep(0.02)


async def test_a_pause_is_explained_in_german(harness: Driver, services: Services) -> None:
    harness.slack.workspace.admins.add("U1")
    harness.slack.workspace.profiles["U1"] = {"locale": "de-DE"}
    services.perplexity.hold()
    await harness.ask("/ask why", trigger="a")
    await services.perplexity.wait_for(1)

    await harness.ask("/pplx pause", trigger="p")

    await harness.wait_until_settled(1)
    assert "Ein Admin hat" in harness.slack.posts[-1].shown_text
    services.perplexity.release()
