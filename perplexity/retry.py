"""When to try again, and how long to wait first. All attempts together have one deadline."""

from __future__ import annotations

import asyncio
import email.utils
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from math import copysign, inf, isfinite
from typing import TypeVar

from perplexity.errors import (
    APIError,
    ConnectionFailed,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    ServerError,
    StreamTruncated,
    TimedOut,
)

Result = TypeVar("Result")
Clock = Callable[[], float]

CHAIN_PAUSE_SECONDS = 10.0
"""The most that all pauses for one question to a chain take together: the asker soon hears that none answers."""

MAX_PAUSE_SECONDS = 60.0
"""A service that asks for a longer pause is not waited for, however much time is left: another one is asked."""

MAX_RETRY_AFTER_SECONDS = 86_400.0
"""The most that `Retry-After` is taken to say: a day."""

_EPOCH = 1_000_000_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """At most `attempts` in all; before attempt n+1 a random wait of up to `base` × 2ⁿ⁻¹ seconds, never over `cap`."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0

    def delay(self, attempt: int, chance: float) -> float:
        """Return the seconds to wait after the attempt (from 1), full jitter; `chance` is random, 0 to 1.

        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        """
        # The exponent is bounded, or a float overflows after a thousand attempts.
        return chance * min(self.cap, self.base * 2.0 ** min(attempt - 1, 60))


@dataclass(kw_only=True)
class Deadline:
    """The moment, on a clock that only goes forward, after which nothing of one call may go on.

    While text arrives, it moves: to `seconds` after the last one, up to `end`.
    """

    at: float
    clock: Clock
    seconds: float = 0.0
    end: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Clock, *, total: float | None = None) -> Deadline:
        """Return the deadline that many seconds from now; with text, up to `total` seconds from now."""
        now = clock()
        return cls(at=now + seconds, clock=clock, seconds=seconds, end=now + (total or seconds))

    def text_arrived(self) -> None:
        """Allow as long for the next text."""
        self.at = max(self.at, min(self.clock() + self.seconds, self.end))

    def remaining(self) -> float:
        """Return the seconds that are left, never below 0."""
        return max(0.0, self.at - self.clock())

    async def run(self, work: Awaitable[Result]) -> Result:
        """Return what the work returns; cancel it and raise TimedOut when the deadline passes first."""
        try:
            async with asyncio.timeout(self.remaining()):
                return await work
        except TimeoutError:
            raise TimedOut("the deadline passed") from None


@dataclass(kw_only=True)
class Retries:
    """The retries that one question has had, at all services together: how many, and the seconds paused for them.

    Of the pauses `seconds` are left. `may_retry` returns whether the service that failed may be asked again. If its
    calls have turns, `turn` waits for one, and a refusal because of a rate is not retried here.
    """

    made: int = 0
    seconds: float = inf
    may_retry: Callable[[], bool] = lambda: True
    turn: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, kw_only=True)
class Retrier:
    """The loop: a policy and what it needs from the world."""

    policy: RetryPolicy
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]

    async def run(
        self,
        attempt: Callable[[], Awaitable[Result]],
        *,
        deadline: Deadline,
        retryable: Callable[[PerplexityError], bool] | None = None,
        retries: Retries | None = None,
        before_retry: Callable[[PerplexityError], Awaitable[None]] | None = None,
    ) -> Result:
        """Return the first result. Raise the last error, or TimedOut; `retryable` says which errors are worth a retry.

        `retries` are those that were made for it elsewhere. `before_retry` is awaited after each pause.
        """
        retries = retries or Retries()
        while True:
            try:
                return await deadline.run(attempt())
            except PerplexityError as error:
                if not (retryable or is_retryable)(error):
                    raise
                await self.wait_or_raise(error, retries=retries, deadline=deadline)
                if before_retry is not None:
                    await before_retry(error)

    async def wait_or_raise(self, error: PerplexityError, *, retries: Retries, deadline: Deadline) -> None:
        """Wait before the next attempt; raise the error if none is left, or none that would come in time.

        A pause that the service asks for and that is longer than a minute, or than what is left, is not begun. While it
        lasts, others may find out that the service is down.
        """
        requested = error.retry_after or 0.0
        seconds = max(self.policy.delay(retries.made + 1, self.random()), requested)
        if (
            not retries.may_retry()
            or (retries.turn is not None and isinstance(error, RateLimitError))
            or retries.made + 1 >= self.policy.attempts
            or requested > MAX_PAUSE_SECONDS
            or seconds >= min(deadline.remaining(), retries.seconds)
        ):
            raise error
        retries.seconds -= seconds
        await self.sleep(seconds)
        if not retries.may_retry():
            raise error
        if retries.turn is not None:
            await retries.turn()
        retries.made += 1


def is_retryable(error: PerplexityError) -> bool:
    """Return whether the same request may soon succeed: after a broken connection, 408, 409, 429, 5xx, a cut stream."""
    if isinstance(error, APIError):
        return isinstance(error, (RateLimitError, ServerError)) or error.status in {408, 409}
    return isinstance(error, (ConnectionFailed, StreamTruncated))


def is_retryable_unpaid(error: PerplexityError) -> bool:
    """Return whether a request that costs nothing until it is answered may be sent again: after an unreadable 200, too.

    A search is such a request, and whatever asks for a list. An answer by a model is paid for by then.
    """
    return is_retryable(error) or (isinstance(error, MalformedResponse) and not error.too_large)


def is_safe_to_repeat(error: PerplexityError) -> bool:
    """Return whether the service surely did not begin the work, so that a retry cannot be paid twice.

    521 to 523 say that Cloudflare never reached it:
    https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/
    """
    if error.cost_usd:
        return False
    if isinstance(error, ConnectionFailed):
        return not error.sent
    return isinstance(error, RateLimitError) or error.status in {503, 521, 522, 523}


def retry_after(headers: Mapping[str, str], *, now: float, limited: bool) -> float | None:
    """Return the seconds that the service asks to wait, None if it does not. `now` is in seconds since 1970.

    Header names are in lower case. `Retry-After` holds seconds or a date (RFC 9110, 10.2.3). `x-ratelimit-reset` holds
    seconds since 1970 (Perplexity), or seconds, one number a limit, the shortest limit's first (Brave); it comes with
    every answer and asks for something only when the limit was reached (`limited`). What lies in the past is 0, and no
    more than a day is returned.
    """
    seconds = _seconds(headers.get("retry-after", ""), now=now)
    if seconds is not None or not limited:
        return seconds
    return _seconds(headers.get("x-ratelimit-reset", "").partition(",")[0], now=now)


def _seconds(value: str, *, now: float) -> float | None:
    number = _number(value.strip())
    seconds = _until(value, now=now) if number is None else number - now if number > _EPOCH else number
    return None if seconds is None else min(max(0.0, seconds), MAX_RETRY_AFTER_SECONDS)


def _number(value: str) -> float | None:
    """Return a number in digits, however many, with a sign or a fraction; None for anything else, such as `nan`."""
    if not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return number if isfinite(number) else copysign(MAX_RETRY_AFTER_SECONDS, number)


def _until(value: str, *, now: float) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):  # the parser's answers to what is no date
        return None
