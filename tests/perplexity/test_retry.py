from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import (
    APIError,
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    EndpointRetired,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    StreamTruncated,
    TimedOut,
)
from perplexity.retry import Deadline, Retrier, RetryPolicy, is_retryable, is_safe_to_repeat, retry_after
from tests.fakes.time import Time

NOW = 1_795_255_200.0
DAY = 86_400.0


class Failing:
    """Fails with each of the errors, then answers."""

    def __init__(self, *errors: PerplexityError) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


async def run(
    attempt: Failing,
    time: Time,
    *,
    seconds: float = 60,
    again: Callable[[PerplexityError], bool] | None = None,
    attempts: int = 3,
) -> str:
    retries = Retrier(policy=RetryPolicy(attempts=attempts), sleep=time.sleep, random=lambda: 1.0)
    return await retries.run(attempt, deadline=Deadline.after(seconds, time.clock), retryable=again)


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(0, 100), st.floats(0, 100))
def test_a_delay_is_never_over_the_cap_nor_over_the_step(attempt: int, chance: float, base: float, cap: float) -> None:
    delay = RetryPolicy(base=base, cap=cap).delay(attempt, chance)

    assert 0 <= delay <= cap
    assert attempt > 1 or delay <= base


def test_the_step_doubles_up_to_the_cap() -> None:
    assert [RetryPolicy().delay(n, 1.0) for n in range(1, 7)] == [0.5, 1, 2, 4, 8, 8]


async def test_a_transient_failure_is_tried_again_after_the_delay() -> None:
    time, attempt = Time(100.0), Failing(ConnectionFailed("x"), ServerError("x", status=502))

    assert await run(attempt, time) == "answer"
    assert time.slept == [0.5, 1.0]


async def test_after_the_last_attempt_its_error_is_raised() -> None:
    time, last = Time(100.0), ServerError("third")
    attempt = Failing(ServerError("first"), ServerError("second"), last)

    with pytest.raises(ServerError) as caught:
        await run(attempt, time)

    assert (last, 3) == (caught.value, attempt.calls)


@pytest.mark.parametrize(
    ("asked", "slept"),
    [(7.0, 7.0), (0.1, 0.5), (70.0, None), (60.0, None), (7200.0, None), (86_400.0, None)],
)
async def test_retry_after_is_waited_for_if_it_fits(asked: float, slept: float | None) -> None:
    time, attempt = Time(100.0), Failing(RateLimitError("x", status=429, retry_after=asked))

    if slept is None:
        with pytest.raises(RateLimitError) as caught:
            await run(attempt, time, seconds=60)
        assert (asked, 1, []) == (caught.value.retry_after, attempt.calls, time.slept)
    else:
        await run(attempt, time, seconds=60)
        assert [slept] == time.slept


@pytest.mark.parametrize(("asked", "slept"), [(60.0, [60.0]), (60.5, []), (590.0, []), (7200.0, []), (86_400.0, [])])
async def test_a_pause_of_more_than_a_minute_is_not_begun_however_much_time_is_left(
    asked: float, slept: list[float]
) -> None:
    time, attempt = Time(100.0), Failing(RateLimitError("x", status=429, retry_after=asked))

    if slept:
        assert await run(attempt, time, seconds=600) == "answer"
    else:
        with pytest.raises(RateLimitError):
            await run(attempt, time, seconds=600)
    assert time.slept == slept


async def test_a_retry_that_would_come_too_late_is_not_made() -> None:
    time, attempt = Time(100.0), Failing(*[ServerError("x")] * 9)

    with pytest.raises(ServerError):
        await run(attempt, time, seconds=4, attempts=9)

    assert time.slept == [0.5, 1.0, 2.0]


async def test_one_deadline_holds_for_all_attempts() -> None:
    time = Time(100.0)
    deadline = Deadline.after(0.05, asyncio.get_running_loop().time)

    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(TimedOut):
        await Retrier(policy=RetryPolicy(), sleep=time.sleep, random=lambda: 1.0).run(hang, deadline=deadline)
    assert deadline.remaining() == 0.0
    assert time.slept == []


async def test_being_cancelled_is_passed_on() -> None:
    async def cancelled() -> str:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Retrier(policy=RetryPolicy(), sleep=Time(100.0).sleep, random=lambda: 1.0).run(
            cancelled, deadline=Deadline.after(9, Time(100.0).clock)
        )


async def test_who_calls_may_say_what_is_worth_a_retry() -> None:
    attempt = Failing(ServerError("x", status=500))

    with pytest.raises(ServerError):
        await run(attempt, Time(100.0), again=is_safe_to_repeat)

    assert attempt.calls == 1


def failed(*, sent: bool) -> ConnectionFailed:
    error = ConnectionFailed("x")
    error.sent = sent
    return error


@pytest.mark.parametrize(
    ("error", "worth", "surely"),
    [
        (failed(sent=True), True, False),
        (failed(sent=False), True, True),
        (RateLimitError("x", status=429), True, True),
        (ServerError("x", status=500), True, False),
        (ServerError("x", status=503), True, True),
        (ServerError("x", status=521), True, True),
        (ServerError("x", status=524), True, False),
        (APIError("x", status=408), True, False),
        (APIError("x", status=409), True, False),
        (StreamTruncated("x"), True, False),
        (APIError("x", status=404), False, False),
        (InvalidRequest("x", status=400), False, False),
        (AuthenticationError("x", status=401), False, False),
        (BillingError("x", status=401), False, False),
        (EndpointRetired("x", status=403), False, False),
        (MalformedResponse("x"), False, False),
        (RateLimitError("x", cost_usd=0.4), True, False),
        (RunFailed("x"), False, False),
        (TimedOut("x"), False, False),
    ],
)
def test_what_is_tried_again(error: PerplexityError, worth: bool, surely: bool) -> None:
    assert (worth, surely) == (is_retryable(error), is_safe_to_repeat(error))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW + 90, UTC), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW - 90, UTC), usegmt=True)}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 -0000"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1_000"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "+7"}, 7.0),
        ({"retry-after": "-0.5"}, 0.0),
        ({"retry-after": "7200"}, 7200.0),
        ({"retry-after": "9" * 12}, DAY),
        ({"retry-after": "9" * 400}, DAY),
        ({"retry-after": "-" + "9" * 400}, 0.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, DAY),
        ({"x-ratelimit-reset": "1419704"}, DAY),
        ({"retry-after": "Fri, 99 Nov 2026 99:00:00 GMT"}, None),
        ({"x-ratelimit-reset": str(NOW + 12)}, 12.0),
        ({"x-ratelimit-reset": "12"}, 12.0),
        ({"retry-after": "3", "x-ratelimit-reset": str(NOW + 12)}, 3.0),
        ({"retry-after": "soon", "x-ratelimit-reset": str(NOW + 12)}, 12.0),
    ],
)
def test_how_long_the_service_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds == retry_after(headers, now=NOW, limited=True)


@given(st.text(max_size=60))
def test_any_header_is_a_time_to_wait_or_none(value: str) -> None:
    seconds = retry_after({"retry-after": value}, now=NOW, limited=True)

    assert seconds is None or 0 <= seconds <= DAY


@given(st.floats() | st.integers())
def test_any_number_is_a_time_to_wait_or_none(value: float) -> None:
    seconds = retry_after({"retry-after": str(value)}, now=NOW, limited=True)

    assert seconds is None or 0 <= seconds <= DAY


def test_a_limit_that_was_not_reached_asks_for_no_pause() -> None:
    headers = {"x-ratelimit-reset": str(NOW + 50)}

    assert retry_after(headers, now=NOW, limited=False) is None
    assert retry_after(headers | {"retry-after": "2"}, now=NOW, limited=False) == 2.0
