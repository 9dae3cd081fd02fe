"""The buttons of other features in the home tab, when Slack takes no modal any more."""

from __future__ import annotations

import pytest

from bot.views.base import TOO_LATE
from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import LATE, answer, said_directly

pytestmark = pytest.mark.features("digests", "home", "settings")


async def test_the_settings_say_so(harness: Driver) -> None:
    await answer(harness)
    await harness.open_home("why")
    harness.slack.fail("views.open", LATE)
    await harness.press_home("settings_modal")

    await harness.home(TOO_LATE)
    assert harness.slack.views.stack("U1") == ()


async def test_the_form_of_a_digest_says_so(harness: Driver) -> None:
    await answer(harness)
    await harness.open_home("why")
    harness.slack.fail("views.open", LATE)
    await harness.press_home("digest_modal")

    await said_directly(harness, TOO_LATE)
    assert harness.slack.views.stack("U1") == ()
