"""The parts shared by all listeners, connected in `bot/app.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.commands.base import Command
from bot.delivery.status_message import StatusMessages
from bot.listeners.intake import Admission, Intake
from bot.slack.messages import Chat
from bot.slack.users import Admins
from bot.slack.views import Views
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics

ADMIN_SECONDS = 0.8
"""How long an acknowledgement waits for Slack to say whether someone is an admin."""


@dataclass(frozen=True, kw_only=True)
class ListenerContext:
    """The parts shared by all listeners; a part for a single listener is an argument of its `register` function."""

    commands: Sequence[Command[Any, Any]]
    metrics: Metrics
    intake: Intake
    questions: QuestionStore
    preferences: PreferenceStore
    chat: Chat
    views: Views
    replies: StatusMessages
    admins: Admins
    admission: Admission

    language: Callable[[str], Awaitable[str]]
    """Returns the language of a person."""

    start: Callable[[Coroutine[Any, Any, object]], None]
    """Runs work in the background, after the acknowledgement."""

    home_opened: Callable[[str, str, str], None]
    """Shows the home tab, given a workspace, a person and a notice; keeps the tab up to date from now on."""

    home_changed: Callable[[str, str, str], None]
    """Shows the home tab again, with a notice, to a person who has it open."""

    async def is_admin_in_time(self, user_id: str) -> bool:
        """Return whether a user is an admin. Raises TimeoutError if Slack answers too late for an acknowledgement."""
        async with asyncio.timeout(ADMIN_SECONDS):
            return await self.admins.is_admin(user_id)


Register = Callable[[AsyncApp, ListenerContext], None]
"""Adds the listeners of a surface or a view to an app."""
