"""Waiting out a database that is away."""

from __future__ import annotations

import pytest
from psycopg import OperationalError

from bot.storage.patience import Patience


class Clock:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Flaky:
    """An operation that fails some times, then returns."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_an_operation_is_repeated_until_it_works() -> None:
    clock = Clock()
    patience = Patience(seconds=10, clock=clock, sleep=clock.sleep)

    result = await patience(Flaky(*[OperationalError("away")] * 6))

    assert result == "done"
    assert clock.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0]


async def test_the_last_error_is_raised_when_the_time_is_over() -> None:
    clock = Clock()

    with pytest.raises(OperationalError):
        await Patience(seconds=1, clock=clock, sleep=clock.sleep)(Flaky(*[OperationalError("away")] * 9))

    assert clock.now <= 1


async def test_a_mistake_is_not_repeated() -> None:
    clock = Clock()

    with pytest.raises(ValueError, match="wrong"):
        await Patience(seconds=10, clock=clock, sleep=clock.sleep)(Flaky(ValueError("wrong")))

    assert clock.slept == []
