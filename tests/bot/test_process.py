"""Tasks of the background: one that breaks is logged and goes on."""

from __future__ import annotations

import asyncio

import pytest
from psycopg.errors import UndefinedTable

from bot.process import BROKEN_SECONDS, keep_running
from tests.fakes.time import Time


async def test_a_task_that_breaks_is_logged_and_runs_again(caplog: pytest.LogCaptureFixture) -> None:
    time, tries = Time(), iter([UndefinedTable("no ledger"), ValueError("odd"), None, asyncio.CancelledError()])

    async def run() -> None:
        if (error := next(tries)) is not None:
            raise error

    with pytest.raises(asyncio.CancelledError):
        await keep_running("budgets", run, sleep=time.sleep)

    assert [(one.message, vars(one)["kind"]) for one in caplog.records] == [("task.broke", "budgets")] * 2
    assert time.slept == [BROKEN_SECONDS] * 3
