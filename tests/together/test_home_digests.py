"""A person's digests in the home tab."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.fakes.service import json_reply

pytestmark = pytest.mark.features("digests", "home")


async def test_a_digest_whose_last_run_failed_says_so(harness: Driver) -> None:
    harness.perplexity.lasting["/search"] = harness.perplexity.lasting["/v1/agent"] = json_reply({}, status=400)
    await harness.answered("/pplx watch technology weekdays 9:00")
    await harness.open_home("Your digests", without="failed")

    await harness.press_home("digest_run")
    await harness.wait_until_settled(2)

    await harness.open_home("the last one failed, “Run now” tries again")


async def test_a_digest_is_paused_and_resumed(harness: Driver) -> None:
    await harness.answered("/pplx watch technology weekdays 9:00")
    await harness.open_home("Your digests", "Pause", '"channel_id": "C1"')

    await harness.press_home("digest_pause")
    await harness.home("Resume", without='"Pause"')
    await harness.press_home("digest_resume")
    await harness.home("Pause", without='"Resume"')
