"""Decides whether and when to send a request again. All attempts together have one deadline."""

from __future__ import annotations

import asyncio
import email.utils
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from math import inf
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
"""The most seconds that all pauses for one question to a chain may take, so that the asker soon hears of a failure."""

MAX_PAUSE_SECONDS = 60.0
"""The longest pause in seconds that a service may ask for; if it asks for a longer one, it gets no retry."""

MAX_RETRY_AFTER_SECONDS = 86_400.0
"""The longest wait that is taken from `Retry-After`: a day."""

_EPOCH = 1_000_000_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """At most `attempts` in all; before attempt n+1, a random wait of up to `base` × 2ⁿ⁻¹ seconds, at most `cap`."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0

    def delay(self, attempt: int, chance: float) -> float:
        """Return the seconds to wait after an attempt (from 1), with full jitter; `chance` is random, 0 to 1.

        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        """
        # The exponent is limited, because a float would overflow after a thousand attempts.
        return chance * min(self.cap, self.base * 2.0 ** min(attempt - 1, 60))


@dataclass(kw_only=True)
class Deadline:
    """The moment, on a monotonic clock, at which a call must end.

    While text arrives, the deadline moves to `seconds` after the latest text, but never beyond `end`.
    """

    at: float
    clock: Clock
    seconds: float = 0.0
    end: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Clock, *, total: float | None = None) -> Deadline:
        """Return a deadline `seconds` from now. Arriving text extends it, to at most `total` seconds from now."""
        now = clock()
        return cls(at=now + seconds, clock=clock, seconds=seconds, end=now + (total or seconds))

    def text_arrived(self) -> None:
        """Restart the time limit, since text has arrived."""
        self.at = max(self.at, min(self.clock() + self.seconds, self.end))

    def remaining(self) -> float:
        """Return the remaining seconds, at least 0."""
        return max(0.0, self.at - self.clock())

    async def run(self, work: Awaitable[Result]) -> Result:
        """Return the result of `work`. If the deadline passes first, cancel it and raise TimedOut."""
        try:
            async with asyncio.timeout(self.remaining()):
                return await work
        except TimeoutError:
            raise TimedOut("the deadline passed") from None


@dataclass(kw_only=True)
class Retries:
    """The retries of one question at all services together.

    `made` is the number of retries so far, and `seconds` is the time that is left for further pauses. `may_retry`
    returns whether the failed service may be asked again. If a limiter decides when calls may be sent, `turn` waits
    until it allows a call, and a RateLimitError is not retried here.
    """

    made: int = 0
    seconds: float = inf
    may_retry: Callable[[], bool] = lambda: True
    turn: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, kw_only=True)
class Retrier:
    """Sends a request again after failures, as `policy` says."""

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
        """Return the result of the first attempt that succeeds. Raises the last error, or TimedOut.

        `retryable` returns whether an error is worth a retry; the default is `is_retryable`. `retries` are the
        question's retries so far, including those at other services. `before_retry` is awaited after each pause.
        """
        retries = retries or Retries()
        while True:
            try:
                return await deadline.run(attempt())
            except PerplexityError as error:
                if not (retryable or is_retryable)(error):
                    raise
                await self.wait_or_raise(error, retries=retries, deadline=deadline, before_retry=before_retry)

    async def wait_or_raise(
        self,
        error: PerplexityError,
        *,
        retries: Retries,
        deadline: Deadline,
        before_retry: Callable[[PerplexityError], Awaitable[None]] | None,
    ) -> None:
        """Wait before the next attempt; raise the error if no attempt is left or none would be in time.

        The error is raised without a pause if the service asks for a pause of over a minute or longer than the time
        left, if `retries.may_retry` returns False, or if it is a RateLimitError and a limiter is used. The error is
        raised after the pause if other requests found out meanwhile that the service is down.
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
        if before_retry is not None:
            await before_retry(error)


def is_retryable(error: PerplexityError) -> bool:
    """Return whether the same request may soon succeed, as after a broken connection or stream, 408, 409, 429, 5xx."""
    if isinstance(error, APIError):
        return isinstance(error, (RateLimitError, ServerError)) or error.status in {408, 409}
    return isinstance(error, (ConnectionFailed, StreamTruncated))


def is_retryable_unpaid(error: PerplexityError) -> bool:
    """Return whether a search or a request for a list may be repeated.

    Such a request costs nothing until it is answered, so it may also be repeated after an unreadable reply with status
    200, unless the reply was too large. A question to a model is not repeated then, because the reply is paid for.
    """
    return is_retryable(error) or (isinstance(error, MalformedResponse) and not error.too_large)


def is_safe_to_repeat(error: PerplexityError) -> bool:
    """Return whether the service surely did not start the work, so that a retry is not paid twice.

    With 521 to 523, Cloudflare did not reach the service:
    https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/
    """
    if error.cost_usd:
        return False
    if isinstance(error, ConnectionFailed):
        return not error.sent
    return isinstance(error, RateLimitError) or error.status in {503, 521, 522, 523}


def retry_after(headers: Mapping[str, str], *, now: float, limited: bool) -> float | None:
    """Return the seconds that the service asks to wait, None if it names none. `now` is in seconds since 1970.

    Header names are in lower case. `Retry-After` holds seconds or a date (RFC 9110, 10.2.3). `x-ratelimit-reset` holds
    seconds since 1970 (Perplexity), or seconds for each limit, the shortest limit's first (Brave). `x-ratelimit-reset`
    comes with every answer, and counts only if the limit was reached (`limited`). A time in the past gives 0; the
    result is at most a day.
    """
    seconds = _seconds(headers.get("retry-after", ""), now=now)
    if seconds is not None or not limited:
        return seconds
    return _seconds(headers.get("x-ratelimit-reset", "").partition(",")[0], now=now)


def _seconds(value: str, *, now: float) -> float | None:
    # `float` alone accepts other texts too, such as `nan`.
    if _NUMBER.fullmatch(value.strip()):
        number = float(value)
        seconds: float | None = number - now if number > _EPOCH else number
    else:
        seconds = _until(value, now=now)
    return None if seconds is None else min(max(0.0, seconds), MAX_RETRY_AFTER_SECONDS)


def _until(value: str, *, now: float) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):  # The parser's errors for anything but a date.
        return None
