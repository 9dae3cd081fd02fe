"""The choice that saves an answer is its asker's, and explains itself when it is stale."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_forged_buttons import assert_explained, assert_its_asker_s

pytestmark = pytest.mark.trust(20)


async def test_it_is_its_asker_s(harness: Driver) -> None:
    await assert_its_asker_s(harness, [("more", "save"), ("more", "canvas")])


async def test_a_stale_one_explains_itself(harness: Driver) -> None:
    await assert_explained(harness, [("more", "save"), ("more", "canvas")])
