"""The display around the messages of a channel: suggested prompts, and the app's activity in each thread.

https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
https://docs.slack.dev/reference/methods/assistant.threads.setStatus https://docs.slack.dev/ai/agent-sessions
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

STATUS_SECONDS = 120.0
"""How long a status is shown, unless a message in its thread ends it earlier."""

BUSY = "processing"

PROCESSING_SECONDS = 3600.0
"""The longest time for which a session is "processing".

https://docs.slack.dev/reference/methods/agents.sessions.setStatus
"""

MAX_TRACKED = 50
"""The most statuses of a channel, and the most sessions, that are kept; the oldest are dropped first."""


class SuggestedPrompt(NamedTuple):
    """A message that a person can choose instead of typing it."""

    title: str
    message: str


class ThreadStatuses:
    """The prompts of all channels, and the statuses of their threads and agent sessions.

    `clock` returns seconds since 1970; `on_change` is called with the channel of each change.
    """

    def __init__(self, *, clock: Callable[[], float], on_change: Callable[[str], None]) -> None:
        self._clock = clock
        self._on_change = on_change
        self._prompts: dict[str, tuple[str, tuple[SuggestedPrompt, ...]]] = {}
        self._statuses: defaultdict[str, dict[str, tuple[str, float]]] = defaultdict(dict)
        self._sessions: dict[tuple[str, str], tuple[str, float]] = {}

    def prompts(self, channel: str) -> tuple[SuggestedPrompt, ...]:
        """Return the prompts that a channel shows."""
        return self._prompts.get(channel, ("", ()))[1]

    def suggest(self, channel: str, prompts: tuple[SuggestedPrompt, ...], *, title: str = "") -> None:
        """Replace the prompts that a channel shows; if `prompts` is empty, the channel then shows none."""
        if prompts or self.prompts(channel):
            self._prompts[channel] = (title, prompts)
            self._on_change(channel)

    def status(self, channel: str, thread_ts: str) -> str:
        """Return the status of a thread, empty if there is none."""
        text, until = self._statuses[channel].get(thread_ts, ("", 0.0))
        return text if self._clock() < until else ""

    def set_status(self, channel: str, thread_ts: str, text: str) -> None:
        """Show the app's activity in a thread; an empty text ends it."""
        before = self._statuses[channel].pop(thread_ts, None)
        if text:
            self._statuses[channel][thread_ts] = (text, self._clock() + STATUS_SECONDS)
            _drop_oldest(self._statuses[channel])
        if text or before is not None:
            self._on_change(channel)

    def session(self, channel: str, thread_ts: str) -> str:
        """Return the status of the agent session in a thread: "processing", "active" …; empty if there is none."""
        status, since = self._sessions.get((channel, thread_ts), ("", 0.0))
        return "active" if status == BUSY and self._clock() >= since + PROCESSING_SECONDS else status

    def unended(self) -> list[str]:
        """Return the threads in which the app still seems to work: with a status, or a session that is "processing"."""
        places = {(channel, ts) for channel, statuses in self._statuses.items() for ts in statuses} | set(
            self._sessions
        )
        return sorted(ts for channel, ts in places if self.status(channel, ts) or self.session(channel, ts) == BUSY)

    def set_session(self, channel: str, thread_ts: str, status: str) -> None:
        """Set the status of the agent session in a thread; the first status begins the session."""
        self._sessions[channel, thread_ts] = (status, self._clock())
        _drop_oldest(self._sessions)

    def as_page(self, channel: str) -> dict[str, object]:
        """Return the data from which the page shows a channel's prompts and statuses.

        The `until` of a status is in seconds since 1970.
        """
        title, prompts = self._prompts.get(channel, ("", ()))
        statuses = {ts: {"text": text, "until": until} for ts, (text, until) in self._statuses[channel].items()}
        return {
            "channel": channel,
            "title": title,
            "prompts": [prompt._asdict() for prompt in prompts],
            "statuses": statuses,
        }


def _drop_oldest(entries: dict[Any, Any]) -> None:
    if len(entries) > MAX_TRACKED:
        del entries[next(iter(entries))]
