"""Tells people how long their question waits for its turn, and how many people are ahead of them.

A question in a message gets a status in its thread, which does not count towards the limit on edits of messages. For a
command, the acknowledgement names the wait, and is replaced once if the wait becomes much longer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from math import ceil
from typing import Any
from uuid import UUID

from psycopg import Error

from bot.model.message import OutgoingMessage
from bot.model.question import NewQuestion, Place, Waits
from bot.slack.messages import Chat, RouteClosed
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.translation import gettext as _
from bot.translation import ngettext, number

log = logging.getLogger(__name__)

PlaceMessage = Callable[[str], OutgoingMessage]
"""Takes the text of `place_sentence`; returns a message with this text for the person who typed a command."""

LOOK_SECONDS = 3.0
"""The pause between two checks of the queue."""

STATUS_SECONDS = 10.0
"""The shortest time between two changes of a status."""

POST_SECONDS = 2.0
"""How long posting the message for a command may take, so that the message does not arrive after the answer.

A question that should begin within this time gets no message, unless it has already waited for over 7 seconds.
"""

AT_ONCE = 10
"""The most statuses that are set after one check; Slack accepts 600 a minute. The oldest statuses go first."""

MAX_WATCHED = 500
SHOWN_SECONDS = 60.0
"""After this time a status is set again, even if nothing has changed: Slack removes it after two minutes."""


TOLD_AFTER_SECONDS = 5.0
"""The longest wait that is not mentioned, since the answer comes soon."""

MANY_PEOPLE = 10
"""The fewest people ahead for which a wait of unknown duration is mentioned."""


def waits_long(place: Waits, *, waited: float = 0.0) -> bool:
    """Return whether to mention the wait of a question that has already `waited` for this many seconds."""
    if place.waiting or place.seconds is None:
        return place.waiting or place.people >= MANY_PEOPLE
    return waited + place.seconds > TOLD_AFTER_SECONDS


def place_sentence(place: Waits) -> str:
    """Return a text on who is ahead of a question, and about how long the question waits."""
    seconds = place.seconds or 0.0
    if seconds < 1:
        return f"{_ahead(place)}."
    return _("{ahead}: about {time}.").format(ahead=_ahead(place), time=_rounded(seconds))


def _ahead(place: Waits) -> str:
    if place.people > 1 and place.waiting:
        return _("Up to {count} people are ahead of you").format(count=number(place.people))
    if place.people:
        return ngettext("{count} person is ahead of you", "{count} people are ahead of you", place.people)
    return _("Your earlier questions are ahead of your last one") if place.ahead else _("No one is ahead of you")


def _busy(place: Waits) -> str:
    # Slack shows the status after the app's name.
    return _("is busy. {place}").format(place=place_sentence(place))


def _rounded(seconds: float) -> str:
    return f"{5 * ceil(seconds / 5)} s" if seconds <= 90 else f"{ceil(seconds / 60)} min"


@dataclass(kw_only=True)
class _Watched:
    """A question whose place is watched.

    `since` is the clock's time when the watch began. `told` is the wait in seconds that the asker was told, 0 if none.
    `status` is the last status set in the question's thread, and `at` is the clock's time when it was set.
    """

    question: NewQuestion
    message: PlaceMessage | None
    context: Context
    since: float
    told: float
    status: str = ""
    at: float = field(default=float("-inf"))


@dataclass(kw_only=True)
class QueuePlaces:
    """Watches the places of the questions that this process received, with one query for all of them.

    `replace_original` replaces the acknowledgement of a command. `start` runs a coroutine in the background. `clock`
    returns seconds.
    """

    questions: QuestionStore
    chat: Chat
    replace_original: Callable[[str | None, OutgoingMessage], Awaitable[object]]
    start: Callable[[Coroutine[Any, Any, None]], None]
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _watched: dict[UUID, _Watched] = field(default_factory=dict)
    _added: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, question: NewQuestion, place: Waits, message: PlaceMessage | None) -> None:
        """Show the place of a question until it begins or ends. Return at once.

        `place` is the place when the question was received; the acknowledgement of a command has already named it.
        `message` builds the message for a command, and is None for a question in a message.
        """
        if len(self._watched) >= MAX_WATCHED or (place.seconds is None and not waits_long(place)):
            return
        told = (place.seconds or 0.0) if message is not None and waits_long(place) else 0.0
        self._watched[question.id] = _Watched(
            question=question, message=message, context=copy_context(), since=self.clock(), told=told
        )
        self._added.set()

    async def run(self) -> None:
        """Check the queue every few seconds while questions wait, until cancelled."""
        while True:
            await self._added.wait()
            self._added.clear()
            while self._watched:
                await self.sleep(LOOK_SECONDS)
                try:
                    await self._look()
                except (*DATABASE_UNAVAILABLE, Error) as error:
                    log.warning("places.unknown", extra={"error": type(error).__name__})

    async def _look(self) -> None:
        places = await self.questions.places(list(self._watched))
        moved: list[tuple[_Watched, UUID, str]] = []
        for question_id, own in list(self._watched.items()):
            place = places.get(question_id)
            if place is not None and place.state == "received":
                waited = self.clock() - own.since
                if own.message is not None:
                    self._correct(own, place, waited)
                elif own.status or waits_long(place, waited=waited):
                    # The context of the request sets the language of the status.
                    status, age = own.context.run(_busy, place), self.clock() - own.at
                    if age > SHOWN_SECONDS or (status != own.status and age >= STATUS_SECONDS):
                        moved.append((own, question_id, status))
            elif own.status:
                # The status is also removed if the question has begun. The message that then appears removes a status,
                # but this status may have arrived after the message.
                moved.append((own, question_id, ""))
            else:
                del self._watched[question_id]
        moved.sort(key=lambda one: one[0].at)
        # Each status is set in the context of its request, which names the workspace.
        shown = [
            asyncio.create_task(self._show(own, question_id, status), context=own.context)
            for own, question_id, status in moved[:AT_ONCE]
        ]
        await asyncio.gather(*shown)

    def _correct(self, own: _Watched, place: Place, waited: float) -> None:
        """Tell the asker of a command once if the wait will exceed twice the announced time plus five seconds."""
        left = place.seconds or 0.0
        late = waited + left > 2 * own.told + TOLD_AFTER_SECONDS
        if late and (left > POST_SECONDS or waited > 2 * TOLD_AFTER_SECONDS - LOOK_SECONDS):
            del self._watched[own.question.id]
            own.context.run(self.start, self._replace(own, place))

    async def _replace(self, own: _Watched, place: Place) -> None:
        if own.message is not None and await self.questions.take_response_use(own.question.id):
            with suppress(TimeoutError):
                async with asyncio.timeout(POST_SECONDS):
                    await self.replace_original(own.question.response_url, own.message(place_sentence(place)))

    async def _show(self, own: _Watched, question_id: UUID, status: str) -> None:
        own.status, own.at = status, self.clock()
        question = own.question
        result = await self.chat.set_status(question.channel_id, question.thread_ts or "", status)
        if isinstance(result, RouteClosed):  # Slack shows no status there.
            self._watched.pop(question_id, None)
