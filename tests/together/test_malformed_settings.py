"""What the doctor prints of malformed settings of more than one feature."""

from __future__ import annotations

import pytest

from tests.bot.doctor.broken_setups import OF_AUDIT_AND_BUDGETS, Breaking
from tests.bot.doctor.conftest import Doctor, doctor, setup
from tests.bot.doctor.test_configurations import assert_told

pytestmark = pytest.mark.features("audit", "budgets")

__all__ = ["doctor", "setup"]


@pytest.mark.parametrize("breaking", OF_AUDIT_AND_BUDGETS, ids=lambda breaking: breaking.__name__)
async def test_each_is_reported_with_its_fix(doctor: Doctor, breaking: Breaking) -> None:
    breaking(doctor.setup)
    await assert_told(doctor, breaking.__name__)
