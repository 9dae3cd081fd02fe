"""Slack's limits on calls: the calls of each method per minute, and the messages in each channel per second.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

TIER_2, TIER_3, TIER_4 = 20, 50, 100

PER_MINUTE = {
    "assistant.threads.setStatus": 600,
    "assistant.threads.setSuggestedPrompts": TIER_4,
    "canvases.access.set": TIER_3,
    "canvases.create": TIER_2,
    "chat.appendStream": TIER_4,
    "chat.delete": TIER_3,
    "chat.postEphemeral": TIER_4,
    "chat.postMessage": 300,
    "chat.startStream": TIER_2,
    "chat.stopStream": TIER_2,
    "chat.update": TIER_3,
    "conversations.history": TIER_3,
    "conversations.info": TIER_3,
    "conversations.members": TIER_4,
    "conversations.open": TIER_3,
    "conversations.replies": TIER_3,
    "files.completeUploadExternal": TIER_4,
    "files.getUploadURLExternal": TIER_4,
    "users.info": TIER_4,
    "views.open": TIER_4,
    "views.publish": TIER_4,
    "views.push": TIER_4,
    "views.update": TIER_4,
}
"""The most calls of a method per minute in a workspace; the stand-in does not limit methods that are missing here."""

POST_BURST = 5
"""How many messages a channel takes at once; then it takes one a second."""


class Tiers:
    """Counts the calls of one app in one workspace. `clock` returns seconds."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._taken: defaultdict[str, deque[float]] = defaultdict(deque)
        self._posted: defaultdict[str, float] = defaultdict(lambda: -math.inf)

    def count(self, method: str, arguments: Mapping[str, Any]) -> int:
        """Count a call and return 0; if the call exceeds a limit, return the seconds to wait, and do not count it."""
        now, taken = self._clock(), self._taken[method]
        while taken and now - taken[0] >= 60:
            taken.popleft()
        wait = taken[0] + 60 - now if len(taken) >= PER_MINUTE.get(method, math.inf) else 0.0
        if method == "chat.postMessage":
            wait = max(wait, self._wait_for_channel(str(arguments.get("channel")), now=now))
        if wait > 0:
            return math.ceil(wait)
        taken.append(now)
        if method == "chat.postMessage":
            channel = str(arguments.get("channel"))
            self._posted[channel] = max(now, self._posted[channel]) + 1
        return 0

    def _wait_for_channel(self, channel: str, *, now: float) -> float:
        """Return the seconds until a channel takes one more message."""
        return max(0.0, self._posted[channel] - POST_BURST + 1 - now)
