"""Tells admins that Slack drops events, because a workspace sent more than 30,000 in an hour.

https://docs.slack.dev/reference/events/app_rate_limited
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

from slack_bolt.response import BoltResponse

from bot.blocks.words import moment
from bot.clock import utc_now
from bot.listeners.context import ListenerContext
from bot.model.membership import RequestOrigin
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import gettext as _

log = logging.getLogger(__name__)

APP_RATE_LIMITED = "app_rate_limited"


TellAdmins = Callable[[str, Callable[[], str], str], Awaitable[bool | None]]
"""The type of `AdminNotices.tell`."""


def events_limited(body: dict[str, Any], context: ListenerContext, tell: TellAdmins) -> BoltResponse:
    """Handle the request that Slack sends in each minute in which it drops events: log it, and tell the admins."""
    team_id = RequestOrigin.from_body(body).team_id
    context.metrics.events_limited()
    log.warning("events.limited")
    context.start(_tell_once(team_id, partial(limit_text, utc_now()), context, tell))
    return BoltResponse(status=200)


async def _tell_once(team_id: str, text: Callable[[], str], context: ListenerContext, tell: TellAdmins) -> None:
    """Tell admins about dropped events, at most once an hour from all processes together."""
    try:
        if await context.questions.take_delivery(f"{team_id}:{APP_RATE_LIMITED}") and not await tell(
            team_id, text, "events"
        ):
            log.error("events.not_told")
    except DATABASE_UNAVAILABLE as error:
        log.error("events.not_told", extra={"error": type(error).__name__})


def limit_text(since: datetime) -> str:
    """Return the text that tells admins since when events are dropped, and how to receive fewer."""
    return _(
        "Since {moment} Slack drops some of what is written to me: it sends an app at most 30,000 events an hour. "
        "Mentions and direct messages can stay without an answer until there are fewer; commands and buttons work. "
        "Every message in my channels is an event: remove me from the busiest, or set `FOLLOW_UPS=mention`."
    ).format(moment=moment(since))
