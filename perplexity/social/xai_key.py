"""xAI's own word on a key, which costs nothing.

https://docs.x.ai/docs/api-reference#api-key
"""

from __future__ import annotations

import asyncio
import random as randomness
import time
from collections.abc import Awaitable, Callable

from perplexity.calls import Calls
from perplexity.errors import AuthenticationError
from perplexity.retry import Deadline, Retries, RetryPolicy
from perplexity.social.grok_wire import DIALECT, XAI
from perplexity.transport import OPEN_SECONDS, Transport

PATH = "/api-key"

BLOCKED = ("api_key_blocked", "api_key_disabled", "team_blocked")


async def check_key(
    api_key: str,
    *,
    base_url: str = XAI.base_url,
    seconds: float = 5.0,
    open_timeout: float = OPEN_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Ask about the key, once. `open_timeout` is the seconds for opening the connection.

    Raises AuthenticationError for one that is blocked or not taken, InvalidRequest too, since xAI answers a wrong one
    with a 400; any other PerplexityError where that is not known.
    """
    transport = Transport(api_key, base_url=base_url, open_timeout=open_timeout)
    retries = Retries(policy=RetryPolicy(attempts=1), sleep=sleep, random=randomness.random)
    calls = Calls(transport=transport, retries=retries, now=now, dialect=DIALECT)
    try:
        told = await calls.json("GET", PATH, deadline=Deadline.after(seconds, clock))
    finally:
        await transport.close()
    if any(told.get(name) is True for name in BLOCKED):
        raise AuthenticationError("the key is blocked or disabled", provider=XAI.name)
