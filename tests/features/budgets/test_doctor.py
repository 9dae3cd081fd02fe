"""What the doctor says about budgets and about spending."""

from __future__ import annotations

import psycopg
import pytest

from tests.bot.doctor.broken_setups import OF_BUDGETS, Breaking
from tests.bot.doctor.conftest import Doctor, doctor, setup
from tests.bot.doctor.test_configurations import assert_told

__all__ = ["doctor", "setup"]


async def test_a_new_installation_names_its_budget(doctor: Doctor) -> None:
    with psycopg.connect(doctor.setup.database) as connection:
        connection.execute("INSERT INTO budgets VALUES ('', 'user', '', 5000000, '')")
    _, printed = await doctor()
    assert "ok      Budgets     Each person may spend $5.00 a day, as in every new installation." in printed

    for lifted in ("off", "none"):
        doctor.setup.env["BUDGET_USER_DAY_USD"] = lifted
        assert "Budgets     " not in (await doctor())[1]


@pytest.mark.parametrize("breaking", OF_BUDGETS, ids=lambda breaking: breaking.__name__)
async def test_each_fault_is_reported_with_its_fix(doctor: Doctor, breaking: Breaking) -> None:
    breaking(doctor.setup)
    await assert_told(doctor, breaking.__name__)
