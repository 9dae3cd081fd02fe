"""Guests and people from elsewhere make no digest, whatever a channel is open for."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_outsiders import assert_refused

pytestmark = pytest.mark.trust(21)


async def test_an_open_channel_is_open_for_questions_alone(harness: Driver) -> None:
    await assert_refused(harness, "/pplx watch tech daily 9:00")
