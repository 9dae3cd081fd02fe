"""A clock that only sleeping moves."""

from __future__ import annotations


class Time:
    """Seconds from `now` on; `slept` holds every pause, in order."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
