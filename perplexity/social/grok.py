"""Grok, which reads X: `async with Grok(key) as grok`."""

from __future__ import annotations

import asyncio
import random as randomness
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from types import TracebackType
from typing import Self

from perplexity.calls import Calls
from perplexity.errors import PerplexityError
from perplexity.retry import Deadline, Retries, RetryPolicy, surely_not_begun
from perplexity.social.grok_judgement import judged
from perplexity.social.grok_told import GrokWire
from perplexity.social.grok_wire import XAI
from perplexity.social.pulse import Pulse
from perplexity.transport import OPEN_SECONDS, Session, Transport


class Grok:
    """What people say on X. Each post that is read costs half a cent, so at most twenty are asked for.

    `wire` is the way to Grok, xAI itself where none is named, and `api_key` a key of that service. `base_url` must be
    https, except on loopback. A `session` that is handed in is used and not closed. Raises InvalidRequest for a key or
    an address that cannot be right.
    """

    def __init__(
        self,
        api_key: str,
        *,
        wire: GrokWire | None = None,
        base_url: str | None = None,
        session: Session | None = None,
        open_timeout: float = OPEN_SECONDS,
        retry: RetryPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._wire: GrokWire = wire or XAI()
        self._transport = Transport(
            api_key, base_url=base_url or self._wire.base_url, session=session, open_timeout=open_timeout
        )
        retries = Retries(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._calls = Calls(transport=self._transport, retries=retries, now=now, dialect=self._wire.dialect)
        self._clock = clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    @property
    def name(self) -> str:
        """The display name, which says by whom Grok is reached."""
        return self._wire.name

    async def feel(self, topic: str, *, since: date, until: date, seconds: float) -> Pulse:
        """Return what people said from `since` to `until`, both included. Raises any PerplexityError.

        It is asked again only where the first request surely did nothing: the posts that were read are paid for.
        """
        started = self._clock()
        wire = self._wire
        body = wire.build(topic, since=since, until=until)
        deadline = Deadline.after(seconds, self._clock)
        try:
            told = await self._calls.json("POST", wire.path, body, deadline=deadline, again=surely_not_begun)
            return replace(judged(wire.read(told)), seconds=self._clock() - started)
        except PerplexityError as error:
            meant = wire.understood(error)
            if meant is error:
                raise
            raise meant from error
