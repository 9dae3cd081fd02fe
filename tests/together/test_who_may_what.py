"""What admins allow and pay for, tried on the surfaces of other features."""

from __future__ import annotations

from itertools import product

import pytest

from bot.settings import Settings
from tests.allowed import BUDGETS, OF_FEATURES, SETTINGS, assert_holds, with_follow_ups
from tests.driver import Driver
from tests.fakes.all_services import Services, services
from tests.rare import one_in

pytestmark = pytest.mark.features("budgets", "checking", "deepdive", "digests", "settings")

__all__ = ["services"]

ROWS = SETTINGS | dict(BUDGETS)


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_follow_ups(settings, services)


@pytest.mark.parametrize(("row", "surface"), one_in(4, product(ROWS, OF_FEATURES)))
async def test_setting_by_surface(harness: Driver, services: Services, row: str, surface: str) -> None:
    await assert_holds(harness, services, ROWS[row], surface)
