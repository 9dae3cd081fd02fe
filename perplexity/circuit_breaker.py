"""A circuit breaker: skips a provider for a while after several failures, then tries it with one request.

https://learn.microsoft.com/azure/architecture/patterns/circuit-breaker
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BreakerPolicy:
    """The breaker opens after `failures` in a row, and lets one request through every `seconds` until one succeeds."""

    failures: int = 5
    seconds: float = 30.0


class Breaker:
    """The breaker of one provider. `clock` is monotonic; `reason` says how the last request failed."""

    reason = "failed"

    def __init__(self, policy: BreakerPolicy, *, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probe: Permit | None = None
        self._probe_ends = 0.0
        self._retrying: set[Permit] = set()

    @property
    def is_open(self) -> bool:
        """Whether requests are held back, except for a probe now and then."""
        return self._failures >= self._policy.failures

    @property
    def seconds_left(self) -> float:
        """The seconds until the next request is let through; 0 if one may go now."""
        ends = max(self._open_until, self._probe_ends if self._probe else 0.0)
        return max(0.0, ends - self._clock()) if self.is_open else 0.0

    def try_acquire(self, *, seconds: float) -> Permit | None:
        """Return a permit for a request that takes at most `seconds`, or None if the request must not be sent.

        A request that is sent while the breaker is open is a probe, and there is one probe at a time. After the probe's
        `seconds`, or the policy's `seconds` if these are fewer, another request may become the probe, because the
        caller may never report the end of the first one.
        """
        if not self.is_open:
            return self.force()
        now = self._clock()
        if now < self._open_until or (self._probe is not None and now < self._probe_ends):
            return None
        self._probe, self._probe_ends = self.force(), now + min(seconds, self._policy.seconds)
        return self._probe

    def force(self) -> Permit:
        """Return a permit even while the breaker is open; its result counts as usual."""
        return Permit(self._on_failure, self._on_end)

    def _on_failure(self, permit: Permit, retried: bool) -> bool:
        self._retrying.add(permit)
        return not self.is_open and (not retried or len(self._retrying) == 1)

    def _on_end(self, permit: Permit, well: bool | None) -> None:
        self._retrying.discard(permit)
        if self._probe is permit:
            self._probe = None
        if well:
            self._failures, self._probe = 0, None
        elif well is False:
            self._failures += 1
            if self.is_open:
                self._open_until = self._clock() + self._policy.seconds


class Permit:
    """The permit for one request.

    The request ends with a call of `succeeded`, `failed` or `release`. Only the first of these calls counts.
    """

    def __init__(self, failed: Callable[[Permit, bool], bool], ended: Callable[[Permit, bool | None], None]) -> None:
        self._failed = failed
        self._ended: Callable[[Permit, bool | None], None] | None = ended

    def may_retry(self, *, retried: bool) -> bool:
        """Return whether a failed request may be sent again, which is never the case while the breaker is open.

        A request that was `retried` before may be sent again only while no other request is failing. So if many
        simultaneous requests fail, each is sent at most twice.
        """
        return self._failed(self, retried)

    def succeeded(self) -> None:
        """Close the breaker: the provider works."""
        self._end(True)

    def failed(self) -> None:
        """Count a failure; enough of them in a row open the breaker, and a failed probe keeps it open."""
        self._end(False)

    def release(self) -> None:
        """Ignore a request that says nothing about the provider: it was cancelled, or the caller made a mistake."""
        self._end(None)

    def _end(self, well: bool | None) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(self, well)
