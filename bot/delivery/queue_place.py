"""Shows people whose message waits in the queue how many questions are before theirs, in their thread's status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import Error

from bot.model.question import NewQuestion
from bot.slack.messages import Chat, RouteClosed
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
"""The pause between two looks at the queue: a status changes at most so often."""

AT_ONCE = 10
"""How many statuses are set after one look; Slack takes 600 a minute. The ones that were set longest ago go first."""

MAX_WATCHED = 500
SHOWN_SECONDS = 60.0
"""After this time a status is set again, even if nothing has moved: Slack removes it after two minutes."""


@dataclass(kw_only=True)
class _Watched:
    channel: str
    thread_ts: str
    context: Context
    status: str = ""
    at: float = field(default=float("-inf"))


@dataclass(kw_only=True)
class QueuePlaces:
    """Looks at the queue for the questions that this process received; one query for all, and none without any.

    `start` runs work in the background, `sleep` and `clock` are its time.
    """

    questions: QuestionStore
    chat: Chat
    start: Callable[[Coroutine[Any, Any, None]], None]
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _watched: dict[UUID, _Watched] = field(default_factory=dict)
    _looking: bool = False

    def watch(self, question: NewQuestion) -> None:
        """Show the place of a question of a thread until it is begun or has ended. Returns at once."""
        if question.thread_ts is None or len(self._watched) >= MAX_WATCHED:
            return
        own = _Watched(channel=question.channel_id, thread_ts=question.thread_ts, context=copy_context())
        self._watched[question.id] = own
        if not self._looking:
            self._looking = True
            self.start(self._look_until_done())

    async def _look_until_done(self) -> None:
        try:
            while self._watched:
                await self.sleep(LOOK_SECONDS)
                try:
                    await self._look()
                except (*DATABASE_UNAVAILABLE, Error) as error:
                    log.warning("places.unknown", extra={"error": type(error).__name__})
        finally:
            self._looking = False

    async def _look(self) -> None:
        places = await self.questions.places(list(self._watched))
        moved: list[tuple[_Watched, UUID, str]] = []
        for question_id, own in list(self._watched.items()):
            place = places.get(question_id)
            if place is not None and place.state == "received":
                about = "about " if place.waiting else ""
                # Slack shows it behind the app's name.
                status = f"is busy. You are {about}number {place.ahead + 1:,} in the queue."
                if status != own.status or self.clock() - own.at > SHOWN_SECONDS:
                    moved.append((own, question_id, status))
            elif own.status:
                # Also of a question that was begun: its status may have come after the message that removes one.
                moved.append((own, question_id, ""))
            else:
                del self._watched[question_id]
        moved.sort(key=lambda one: one[0].at)
        # Each in the context of its request, which names the workspace.
        shown = [
            asyncio.create_task(self._show(own, question_id, status), context=own.context)
            for own, question_id, status in moved[:AT_ONCE]
        ]
        await asyncio.gather(*shown)

    async def _show(self, own: _Watched, question_id: UUID, status: str) -> None:
        own.status, own.at = status, self.clock()
        result = await self.chat.set_status(own.channel, own.thread_ts, status)
        if isinstance(result, RouteClosed):  # Slack shows no status there
            self._watched.pop(question_id, None)
