"""A digest for a channel that was deleted meanwhile."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import said_directly


async def test_deleted_channel__a_digest_for_it_is_confirmed_directly(harness: Driver) -> None:
    await harness.open_by("/pplx watch")
    harness.slack.delete_channel()

    assert await harness.submit(topic="databases") == {}
    await said_directly(harness, "is set up")
