"""Background runs at the service: create, wait, cancel.

https://docs.perplexity.ai/docs/agent-api/background
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from perplexity.api import Calls
from perplexity.errors import APIError, MalformedResponse, PerplexityError, RunFailed, TimedOut
from perplexity.retry import Deadline, is_retryable, is_safe_to_repeat
from perplexity.types import JSON
from perplexity.wire.json import as_text

_MAX_PAUSE_SECONDS = 5.0
_LAST_POLL_SECONDS = 2.0
"""What is kept of the run's time to ask again at its end."""
_RUNNING = frozenset({"queued", "in_progress"})


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The runs under one path of the service.

    One question for a run's state may take `poll_seconds`: one that hangs must not use up the run's time.
    """

    calls: Calls
    path: str
    sleep: Callable[[float], Awaitable[None]]
    poll_seconds: float = 15.0

    async def create(self, body: JSON, *, deadline: Deadline, persist: bool = False) -> dict[str, JSON]:
        """Start a run and return its state, with its `id`.

        It is paid for, so it is asked for again only if the first request surely did nothing. Raises any
        PerplexityError.
        """
        state = await self.calls.json(
            "POST", self.path, body, deadline=deadline, again=is_safe_to_repeat, persist=persist
        )
        if not isinstance(state.get("id"), str) or not state["id"]:
            raise MalformedResponse("the run has no id")
        return state

    async def wait(self, run_id: str, *, state: dict[str, JSON] | None = None, deadline: Deadline) -> dict[str, JSON]:
        """Return the state of a run that has ended, asking again and again; `state` is what is known already.

        A service that is unavailable, hangs or sends nonsense for a while does not lose the run. Raises RunFailed for a
        run that the service does not know, TimedOut, or the PerplexityError of a refusal; at a limit too, if
        the service wants to be asked again only when the time is over.
        """
        polls = 0
        while state is None or as_text(state.get("status")).lower() in _RUNNING:
            if polls or state is not None:
                await self._sleep_within(min(polls + 1.0, _MAX_PAUSE_SECONDS), deadline=deadline)
            polls += 1
            state = await self._poll(run_id, before=state, deadline=deadline)
        return state

    async def _poll(self, run_id: str, *, before: dict[str, JSON] | None, deadline: Deadline) -> dict[str, JSON] | None:
        poll = Deadline(at=min(deadline.at, deadline.clock() + self.poll_seconds), clock=deadline.clock)
        try:
            return await self.calls.json("GET", self._run_path(run_id), deadline=poll)
        except (TimedOut, MalformedResponse):
            return before
        except PerplexityError as error:
            if isinstance(error, APIError) and error.status == 404:
                raise RunFailed("the service does not know the run", status=404, type=error.type) from None
            if not is_retryable(error):
                raise
            requested = error.retry_after or 0.0
            if requested > deadline.remaining() - _LAST_POLL_SECONDS:
                raise
            await self._sleep_within(requested, deadline=deadline)
            return before

    async def cancel(self, run_id: str, *, deadline: Deadline) -> None:
        """Ask the service to stop a run; one that has ended already is no error. Raises any other PerplexityError."""
        try:
            await self.calls.json("POST", f"{self._run_path(run_id)}/cancel", deadline=deadline)
        except PerplexityError as error:
            if error.status != 400:
                raise

    async def _sleep_within(self, seconds: float, *, deadline: Deadline) -> None:
        left = deadline.remaining() - _LAST_POLL_SECONDS
        if left <= 0:
            raise TimedOut("the run was not finished in time")
        await self.sleep(min(seconds, left))

    def _run_path(self, run_id: str) -> str:
        return f"{self.path}/{quote(run_id, safe='')}"
