"""A report, among the other answers: it quotes its topic, and is its asker's alone."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_private import assert_ephemeral
from tests.end_to_end.test_surfaces import assert_quoted


@pytest.mark.trust(19)
async def test_it_is_ephemeral(harness: Driver) -> None:
    await assert_ephemeral(harness, "/deepdive heat pumps")


async def test_it_begins_with_its_topic(harness: Driver) -> None:
    await assert_quoted(harness, "/deepdive heat pumps", "heat pumps")
