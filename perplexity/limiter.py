"""Decides when a call may be sent, since a service limits the number of calls per second and per minute.

Perplexity's limits: https://docs.perplexity.ai/docs/admin/rate-limits-usage-tiers
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args

from perplexity import scope
from perplexity.errors import InvalidRequest, RateLimitError

CallKind = Literal["search", "answer", "background"]
"""The kinds of calls, each counted by itself: searches, answers, and background runs (`Target.background`)."""

WAIT_SECONDS = 60.0
"""The most seconds that a call waits for its turn if its caller is not `patient`."""

PROBE_SECONDS = 10.0
"""The most seconds that other calls wait for the reply to the first call after a refusal."""

STOP_SECONDS = 1.0
"""The seconds for which no call is sent after a refusal that does not say how long to wait."""

SECONDS_PER_MINUTE = 50
"""A service's limit per minute divided by this is taken as its limit per second."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The calls that a service accepts; None where no limit is known."""

    per_second: int | None = None
    per_minute: int | None = None

    @classmethod
    def learned(cls, per_minute: int) -> Limits:
        """Return the limits of a service that names only its limit per minute."""
        return cls(per_second=max(1, per_minute // SECONDS_PER_MINUTE), per_minute=per_minute)


SMALLEST = Limits(per_second=1, per_minute=50)
"""Perplexity's limits on answers for a new key."""

TIERS = ((0, 50), (50, 150), (250, 500), (500, 1_000), (1_000, 2_000))
"""Pairs of the dollars spent at Perplexity and the answers per minute that Perplexity then allows."""

DEFAULT_LIMITS: Mapping[tuple[str, CallKind], Limits] = {
    ("perplexity", "answer"): SMALLEST,
    ("perplexity", "background"): SMALLEST,
    ("perplexity", "search"): Limits(per_second=50),
}
"""The default limits by service and kind of call, until a setting or a reply names others."""


def parse_limits(text: str, *, services: Collection[str]) -> dict[tuple[str, CallKind], Limits]:
    """Parse limits such as `perplexity.answer=50/min,perplexity.answer=1/s`. Raises InvalidRequest.

    If only a limit per minute is given, the limit per second is a fiftieth of it, but at least 1.
    """
    form = (
        "it takes service.kind=number/s or service.kind=number/min, each once, separated by commas; "
        f"services: {', '.join(services)}; kinds: {', '.join(get_args(CallKind))}"
    )
    found: dict[tuple[str, CallKind], Limits] = {}
    for part in filter(None, (one.strip().lower() for one in text.split(","))):
        match = re.fullmatch(r"(\w+)\.(\w+)\s*=\s*([1-9]\d{0,5})\s*/\s*(s|min)", part)
        kind = next((one for one in get_args(CallKind) if match and one == match[2]), None)
        if match is None or kind is None or match[1] not in services:
            raise InvalidRequest.for_field("limits", part, form)
        span, lane = "per_second" if match[4] == "s" else "per_minute", (match[1], kind)
        if getattr(found.get(lane), span, None) is not None:
            raise InvalidRequest.for_field("limits", part, form)
        found[lane] = replace(found.get(lane, Limits()), **{span: int(match[3])})
    return {
        lane: Limits.learned(one.per_minute) if one.per_minute and not one.per_second else one
        for lane, one in found.items()
    }


class Limiter(Protocol):
    """Decides when the next call to a service may be sent. Calls are counted by service, key and kind."""

    async def turn(self, provider: str, kind: CallKind, *, patient: bool = True) -> None:
        """Wait until a call may be sent.

        Raises RateLimitError, with the wait in `retry_after`, if the caller is not `patient` and would wait too long.
        """
        ...

    async def replied(
        self, provider: str, kind: CallKind, *, per_minute: int | None = None, used: int | None = None
    ) -> None:
        """Record that a call was accepted.

        `per_minute` is the limit and `used` is the number of calls so far; each is None if the reply does not tell.
        """
        ...

    async def refused(self, provider: str, kind: CallKind, *, retry_after: float | None = None) -> None:
        """Record that a rate limit of the service refused a call.

        No call is sent for `retry_after` seconds. Then one call is sent, and the others follow once the service has
        accepted that call.
        """
        ...


@dataclass(kw_only=True)
class _Lane:
    """The calls of one kind to one service with one owner's key. `left` holds the times at which calls were sent.

    `learns` says whether a reply may change `limits`. `waiting` is the number of calls that wait for their turn.
    """

    limits: Limits
    learns: bool
    left: deque[float] = field(default_factory=deque)
    stopped_until: float | None = None
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def free_at(self, now: float) -> float:
        """Return the time at which the next call may be sent."""
        while self.left and self.left[0] < now - 60:
            self.left.popleft()
        at = [now]
        for calls, seconds in ((self.limits.per_second, 1.0), (self.limits.per_minute, 60.0)):
            if calls is not None and len(self.left) >= calls:
                at.append(self.left[-calls] + seconds)
        if self.stopped_until is not None:
            at.append(self.left[-1] + PROBE_SECONDS if self.probes else self.stopped_until)
        return max(at)

    @property
    def probes(self) -> bool:
        """Whether a call was sent after a stop to find out whether the service accepts calls again."""
        return self.stopped_until is not None and bool(self.left) and self.left[-1] >= self.stopped_until

    @property
    def seconds_each(self) -> float:
        return max(1 / (self.limits.per_second or 1e9), 60 / (self.limits.per_minute or 1e9))


class MemoryLimiter:
    """The limiter of one process. Replies change the default limits, but not `limits`; `clock` is monotonic."""

    def __init__(
        self,
        limits: Mapping[tuple[str, CallKind], Limits] | None = None,
        *,
        wait_seconds: float = WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._set = limits or {}
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._sleep = sleep
        self._lanes: dict[tuple[str, CallKind, str], _Lane] = {}

    async def turn(self, provider: str, kind: CallKind, *, patient: bool = True) -> None:
        """Wait until a call may be sent; calls keep their order."""
        lane, now = self._lane(provider, kind), self._clock()
        wait = lane.free_at(now) - now + lane.waiting * lane.seconds_each
        if not patient and wait > self._wait_seconds:
            raise RateLimitError("it would have to wait too long", provider=provider, retry_after=wait)
        lane.waiting += 1
        try:
            async with lane.lock:
                while (at := lane.free_at(now := self._clock())) > now:
                    await self._sleep(min(at - now, 1.0))
                lane.left.append(now)
        finally:
            lane.waiting -= 1

    async def replied(
        self, provider: str, kind: CallKind, *, per_minute: int | None = None, used: int | None = None
    ) -> None:
        """End the stop if the accepted call was sent to test it; adopt the limit in the reply if the lane `learns`."""
        lane = self._lane(provider, kind)
        if lane.probes:
            lane.stopped_until = None
        if lane.learns and per_minute:
            lane.limits = Limits.learned(per_minute)

    async def refused(self, provider: str, kind: CallKind, *, retry_after: float | None = None) -> None:
        """Stop further calls.

        While calls are stopped, a further refusal prolongs the stop only if it names a time. After the call that tests
        whether the service accepts calls again, a refusal always begins a new stop.
        """
        lane, now = self._lane(provider, kind), self._clock()
        until = now + (STOP_SECONDS if retry_after is None else retry_after)
        if lane.stopped_until is None or lane.probes:
            lane.stopped_until = until
        elif retry_after is not None:
            lane.stopped_until = max(lane.stopped_until, until)

    def _lane(self, provider: str, kind: CallKind) -> _Lane:
        own, name = scope.current().keys, provider.lower()
        owner = own.owner if own is not None and provider in own.names else ""
        default = DEFAULT_LIMITS.get((name, kind), Limits())
        limits = self._set.get((name, kind), default)
        learns = (name, kind) not in self._set and default.per_minute is not None
        return self._lanes.setdefault((provider, kind, owner), _Lane(limits=limits, learns=learns))
