"""Claims are checked although the channel was deleted."""

from __future__ import annotations

import json

from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import MESSAGE, said_directly


async def test_deleted_channel__claims_are_checked(harness: Driver) -> None:
    await harness.shortcut("check_this", MESSAGE)
    harness.slack.delete_channel()
    await harness.slack.wait_until(lambda: "Claim 1" in json.dumps(harness.slack.modal().content))

    assert await harness.submit(claim_1="Heat pumps are cheap") == {}
    await said_directly(harness, "*Checked:*")
