"""Clicks on "Get as a file": the report comes directly to whoever clicked."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.commands.notices import notice_message
from bot.listeners.clicks import clicker, response_url, said_in_time
from bot.listeners.services import Services
from bot.storage.patience import AWAY
from perplexity.news.deepdive_types import DeepDive

COMING = "The report comes to you as a file, in our direct messages."
NOT_SENT = "Slack did not take the file. Whoever runs me can see with `python -m bot doctor` whether I may send files."
UNKNOWN = "I no longer know this report."
DATABASE_AWAY = "I can’t send this just now: my database is away. Please click again in a minute."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the button below a report."""

    @app.action("as_file")
    async def as_file(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        url = response_url(body)
        report = await wanted(str(action.get("value", "")), services)
        await said_in_time(services.tell(url, notice_message(report if isinstance(report, str) else COMING)))
        if not isinstance(report, str):
            services.send_file(report, clicker(body), sorry=lambda: services.tell(url, notice_message(NOT_SENT)))
        await ack()


async def wanted(value: str, services: Services) -> DeepDive | str:
    """Return the report behind a button, or what to say where there is none."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN
    try:
        return await services.journal.in_time(services.report_of(question_id)) or UNKNOWN
    except AWAY:
        return DATABASE_AWAY
