"""What the doctor prints of the commands and shortcuts of all features, word for word."""

from __future__ import annotations

import pytest

from tests.bot.doctor.broken_setups import used_shortcuts
from tests.bot.doctor.conftest import Doctor, doctor, setup
from tests.bot.doctor.test_configurations import assert_told

pytestmark = pytest.mark.features("checking", "deepdive", "home")

__all__ = ["doctor", "setup"]


async def test_a_whole_configuration(doctor: Doctor) -> None:
    await assert_told(doctor, "whole", whole=True)


async def test_shortcuts_that_were_used(doctor: Doctor) -> None:
    used_shortcuts(doctor.setup)
    await assert_told(doctor, "used_shortcuts", whole=True)
