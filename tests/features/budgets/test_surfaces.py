"""A budget that is used up, tried on every surface of the core."""

from __future__ import annotations

import pytest

from bot.settings import Settings
from tests.allowed import BUDGETS, SURFACES, assert_holds, with_follow_ups
from tests.driver import Driver
from tests.fakes.all_services import Services, services

__all__ = ["services"]


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_follow_ups(settings, services)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("row", BUDGETS)
async def test_budget_by_surface(harness: Driver, services: Services, row: str, surface: str) -> None:
    await assert_holds(harness, services, BUDGETS[row], surface)
