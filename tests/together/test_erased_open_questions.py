"""An erasure in the home tab, while questions are open."""

from __future__ import annotations

import asyncio

import pytest

from tests.driver import Driver
from tests.end_to_end.test_clear_up import BROKEN, ask, begin_endless_run
from tests.end_to_end.test_edits import TS

pytestmark = pytest.mark.features("data_requests", "home")


@pytest.mark.parametrize("text", ["search wheels", "/search wheels"])
async def test_an_erasure_removes_the_status_message_of_what_is_open(harness: Driver, text: str) -> None:
    await ask(harness, text)
    await harness.open_home("wheels")

    await harness.press_home("erase_own_data")
    await harness.home("I’ve erased everything that I kept about you in this workspace.")

    assert not harness.slack.thread("DU1", TS)
    removed = [body for way, body in harness.slack.calls if way == "response_url" and body.get("delete_original")]
    assert len(removed) == text.startswith("/")


async def test_the_run_of_what_is_asked_while_the_data_is_being_erased_is_cancelled(harness: Driver) -> None:
    await ask(harness, "search wheels")
    await harness.open_home("wheels")
    harness.slack.lasting["chat.delete"] = BROKEN
    await harness.press_home("erase_own_data")
    begin_endless_run(harness)
    asked = len(await harness.perplexity.wait_for(1))
    harness.perplexity.release()

    async with asyncio.timeout(60):
        # One that is stopped before it is sent begins no run.
        while len(harness.perplexity.requests) == asked:
            await harness.ask("/ask --model high why?", trigger=str(asyncio.get_running_loop().time()))
            await asyncio.sleep(1)
        await harness.perplexity.cancel_requested.wait()
    del harness.slack.lasting["chat.delete"]
    await harness.home("I’ve erased everything that I kept about you in this workspace.")

    assert {*harness.perplexity.cancelled} == {"resp_1"}
