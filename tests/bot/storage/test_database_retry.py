"""Waiting out a database that is unavailable."""

from __future__ import annotations

import pytest
from psycopg import OperationalError

from bot.storage.questions import DatabaseRetry
from tests.fakes.time import Time


class FailsFirst:
    """An operation that fails some times, then returns."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_an_operation_is_repeated_until_it_works() -> None:
    time = Time()
    database_retry = DatabaseRetry(seconds=10, clock=time.clock, sleep=time.sleep)

    result = await database_retry(FailsFirst(*[OperationalError("away")] * 6))

    assert result == "done"
    assert time.slept == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


async def test_the_last_error_is_raised_when_the_time_is_over() -> None:
    time = Time()

    with pytest.raises(OperationalError):
        await DatabaseRetry(seconds=1, clock=time.clock, sleep=time.sleep)(FailsFirst(*[OperationalError("away")] * 9))

    assert time.now <= 1


async def test_a_mistake_is_not_repeated() -> None:
    time = Time()

    with pytest.raises(ValueError, match="wrong"):
        await DatabaseRetry(seconds=10, clock=time.clock, sleep=time.sleep)(FailsFirst(ValueError("wrong")))

    assert time.slept == []
