"""A channel's settings end a digest whose owner may no longer ask there."""

from __future__ import annotations

import pytest

from tests.driver import Driver, rows
from tests.fakes.news_answers import BUDGET
from tests.features.digests.test_digests import channel_posts, clicks, create_watch, run
from tests.features.digests.test_ending import direct_messages

pytestmark = pytest.mark.features("digests", "settings")


async def test_a_digest_whose_owner_may_not_ask_in_its_channel_stops_and_its_owner_is_notified(
    harness: Driver, database: str
) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")
    asked = len(harness.perplexity.requests)
    await harness.ask("/pplx settings channel askers U2", trigger="t3")
    await harness.wait_until_settled(4)
    await clicks(harness, "run")
    await harness.wait_until_settled(6)

    (notice,) = direct_messages(harness)
    assert "*Digest 1 (World: europe) has stopped.* In its channel only some people may ask me" in notice
    assert len(channel_posts(harness)) == 1
    assert len(harness.perplexity.requests) == asked
    assert await rows(database, "SELECT state, next_at FROM digests") == [("stopped", None)]
