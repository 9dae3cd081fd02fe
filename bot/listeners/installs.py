"""Handles the events that end an installation: the app was uninstalled, or its token revoked.

Slack may send both, in any order, and twice.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.installation import ending
from bot.listeners.services import Services
from bot.membership import LIFECYCLE
from bot.storage.patience import AWAY

log = logging.getLogger(__name__)

NO_RETRY: dict[str, str | Sequence[str]] = {"x-slack-no-retry": "1"}
"""Keeps Slack from sending a refused event again. https://docs.slack.dev/apis/events-api/#errors"""


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the two events, and refuse requests of others before any listener."""

    @app.middleware
    async def refuse(
        body: dict[str, Any], request: AsyncBoltRequest, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse | None:
        reason = services.refusal(body)
        if reason is None:
            await next()
            return None
        services.metrics.refused(403)
        log.warning("request.refused", extra={"status": 403, "error": reason})
        return BoltResponse(status=403, body=reason, headers=NO_RETRY)

    for kind in sorted(LIFECYCLE):

        @app.event(kind)
        async def ended(body: dict[str, Any]) -> BoltResponse | None:
            return await end(body, services)


async def end(body: dict[str, Any], services: Services) -> BoltResponse | None:
    """Record the end before the event is acknowledged; if that fails, answer 503 so that Slack sends it again."""
    state = ending(body)
    if state is None:
        return None
    try:
        await services.journal.in_time(services.on_end(state, body))
    except AWAY as error:
        log.error("workspace.not_closed", extra={"state": state, "error": type(error).__name__})
        return BoltResponse(status=503)
    return None
