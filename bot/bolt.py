"""The Bolt app, with a listener for each surface where people ask."""

from __future__ import annotations

import logging

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners import actions, files, installs, messages, slash, stops, watching
from bot.listeners.services import Services
from bot.workspace import Slack

SURFACES = (installs, slash, messages, actions, stops, watching, files)
"""The listeners in order: the check of the installation first, then the surfaces on which people ask.

A new surface is a module in `bot/listeners` with `register`, and a word here.
"""


def bolt_app(slack: Slack, client: AsyncWebClient, services: Services) -> AsyncApp:
    """Build the Bolt app with every surface's listeners.

    Bolt must not verify (the guard did), must not ask Slack who it is within a person's three seconds (hence
    `authorize`), and must run a listener before it acknowledges (`process_before_response`).
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=slack.bot_token)

    app = AsyncApp(
        client=client,
        signing_secret=slack.signing_secret,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        logger=_bolt_logger(),
    )
    for surface in SURFACES:
        surface.register(app, services)
    return app


def _bolt_logger() -> logging.Logger:
    """Return a logger for Bolt that stays silent below ERROR: its warnings quote requests."""
    logger = logging.getLogger("slack_bolt")
    logger.setLevel(logging.ERROR)
    return logger
