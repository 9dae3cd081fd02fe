"""When calls may leave, in one process: the clock is moved by who sleeps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from perplexity.errors import InvalidRequest, RateLimitError
from perplexity.limiter import CallKind, Limits, MemoryLimiter, parse_limits
from perplexity.scope import OwnKeys, using_keys

SERVICES = ("perplexity", "brave")


@dataclass
class Moment:
    """A clock that goes on when a caller sleeps."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Moment:
    return Moment()


@pytest.fixture
def limiter(clock: Moment) -> MemoryLimiter:
    return MemoryLimiter(clock=clock, sleep=clock.sleep)


async def leave(limiter: MemoryLimiter, clock: Moment, times: int, kind: CallKind = "answer") -> list[float]:
    moments = []
    for _ in range(times):
        await limiter.turn("Perplexity", kind)
        moments.append(clock.now - 100.0)
    return moments


async def test_a_new_keys_answers_leave_one_a_second_and_fifty_a_minute(limiter: MemoryLimiter, clock: Moment) -> None:
    moments = await leave(limiter, clock, 120)
    assert moments[:3] == [0.0, 1.0, 2.0]
    assert moments[49:51] == [49.0, 60.0]
    assert all(moments[i + 50] - moments[i] >= 60 for i in range(70))


async def test_searches_and_answers_are_counted_apart(limiter: MemoryLimiter, clock: Moment) -> None:
    assert await leave(limiter, clock, 50, "search") == [0.0] * 50
    assert await leave(limiter, clock, 1) == [0.0]
    assert await leave(limiter, clock, 1, "search") == [1.0]


async def test_a_service_without_a_known_limit_is_asked_at_once(limiter: MemoryLimiter, clock: Moment) -> None:
    for _ in range(500):
        await limiter.turn("DuckDuckGo", "search")
    assert clock.slept == []


async def test_the_limit_of_a_reply_counts(limiter: MemoryLimiter, clock: Moment) -> None:
    await leave(limiter, clock, 1)
    await limiter.replied("Perplexity", "answer", per_minute=150)
    assert await leave(limiter, clock, 5) == [0.0, 0.0, 1.0, 1.0, 1.0]


async def test_a_limit_that_is_set_is_not_changed_by_replies(clock: Moment) -> None:
    limiter = MemoryLimiter({("perplexity", "answer"): Limits(per_second=2)}, clock=clock, sleep=clock.sleep)
    await limiter.replied("Perplexity", "answer", per_minute=2000)
    assert await leave(limiter, clock, 5) == [0.0, 0.0, 1.0, 1.0, 2.0]


async def test_after_a_refusal_one_call_probes(limiter: MemoryLimiter, clock: Moment) -> None:
    await leave(limiter, clock, 1)
    await limiter.refused("Perplexity", "answer", retry_after=5)
    assert await leave(limiter, clock, 1) == [5.0]
    await limiter.replied("Perplexity", "answer")
    assert await leave(limiter, clock, 2) == [6.0, 7.0]


async def test_a_probe_of_which_nothing_is_heard_makes_room_for_another(limiter: MemoryLimiter, clock: Moment) -> None:
    await limiter.refused("Perplexity", "answer")
    assert await leave(limiter, clock, 3) == [1.0, 11.0, 21.0]


async def test_refusals_of_calls_that_left_before_do_not_prolong_a_stop(limiter: MemoryLimiter, clock: Moment) -> None:
    await limiter.refused("Perplexity", "answer", retry_after=3)
    clock.now += 2
    await limiter.refused("Perplexity", "answer")
    await limiter.replied("Perplexity", "answer")
    assert await leave(limiter, clock, 1) == [3.0]


async def test_who_is_not_patient_hears_at_once_that_the_wait_is_too_long(clock: Moment) -> None:
    limiter = MemoryLimiter(wait_seconds=3, clock=clock, sleep=clock.sleep)
    await limiter.refused("Perplexity", "answer", retry_after=30)
    with pytest.raises(RateLimitError) as caught:
        await limiter.turn("Perplexity", "answer", patient=False)
    assert caught.value.retry_after == 30
    assert clock.slept == []


async def test_those_who_wait_go_in_the_order_in_which_they_came(limiter: MemoryLimiter) -> None:
    order: list[int] = []

    async def call(number: int) -> None:
        await limiter.turn("Perplexity", "answer")
        order.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(6)]
    await asyncio.sleep(0)
    calls[3].cancel()
    await asyncio.wait(calls)
    assert order == [0, 1, 2, 4, 5]


async def test_a_workspaces_own_key_has_its_own_limit(limiter: MemoryLimiter, clock: Moment) -> None:
    await leave(limiter, clock, 1)
    with using_keys(OwnKeys(owner="T1", names=["Perplexity"], keys={})):
        assert await leave(limiter, clock, 2) == [0.0, 1.0]


def test_limits_are_read_with_both_spans_in_any_order() -> None:
    text = "Perplexity.answer=150/min, perplexity.answer=3/s,perplexity.search=50/s,brave.search=1000/min,"
    assert parse_limits(text, services=SERVICES) == {
        ("perplexity", "answer"): Limits(per_second=3, per_minute=150),
        ("perplexity", "search"): Limits(per_second=50),
        ("brave", "search"): Limits(per_second=20, per_minute=1000),
    }
    assert parse_limits("", services=SERVICES) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        "perplexity=50/min",
        "perplexity.answers=50/min",
        "grok.answer=50/min",
        "perplexity.answer=0/s",
        "perplexity.answer=50/h",
        "perplexity.answer=1.5/s",
    ],
)
def test_what_is_no_limit_is_named_with_what_is_allowed(wrong: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_limits(f"brave.search=1/s,{wrong}", services=SERVICES)
    assert caught.value.value == wrong
    assert "number/min" in str(caught.value.allowed)
    assert "services: perplexity, brave; kinds: search, answer, background" in str(caught.value.allowed)


def test_a_limit_that_is_given_twice_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="each once"):
        parse_limits("brave.search=1/s,brave.search=2/s", services=SERVICES)
