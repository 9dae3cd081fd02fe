"""Clicks in: Try again asks the same question once more, however often it is clicked."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.listeners.services import Services
from bot.storage.patience import AWAY
from bot.storage.questions import NewQuestion, QuestionRow

log = logging.getLogger(__name__)


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that the app's messages carry."""

    @app.action("retry")
    async def retry(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        await ask_again(body, action, services)
        await ack()


async def ask_again(body: dict[str, Any], action: dict[str, Any], services: Services) -> None:
    """Write the clicked question down once more, for the same asker and the same answer.

    The click itself is answered by the worker, which says in the message's place that it is searching. If the database
    is away nothing is written and the button stays, to be clicked again.
    """
    earlier = await _earlier(action, services)
    if earlier is None or earlier.user_id != _user(body):
        log.warning("click.stale", extra={"error": "unknown question" if earlier is None else "not the asker"})
        return
    question = NewQuestion(
        id=services.new_id(),
        delivery_key=f"{earlier.id}:retry:{earlier.attempt}",
        surface="click",
        command=earlier.command,
        text=earlier.text,
        team_id=earlier.team_id,
        channel_id=earlier.channel_id,
        user_id=earlier.user_id,
        response_url=str(body.get("response_url") or "") or None,
    )
    written = await services.journal.write(question)
    extra = {"question": str(question.id), "command": question.command, "surface": "click", "state": written.value}
    log.info("question.received", extra=extra)
    services.metrics.received(command=question.command, surface="click")


async def _earlier(action: dict[str, Any], services: Services) -> QuestionRow | None:
    try:
        return await services.questions.get(UUID(str(action.get("value", ""))))
    except (ValueError, *AWAY):
        return None


def _user(body: dict[str, Any]) -> str:
    user = body.get("user")
    return str(user.get("id", "")) if isinstance(user, dict) else ""
