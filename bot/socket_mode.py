"""Slack's requests over a connection that the app opens: for development, where no public address is at hand.

What comes in is as trusted as the connection, so nothing is signed. https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from aiohttp import ClientError
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.posting import error_name
from bot.errors import SocketRefused

log = logging.getLogger(__name__)


class SocketMode:
    """Hands what arrives to Bolt, and connects again whenever the connection ends, as it does every few hours."""

    def __init__(self, app: AsyncApp, *, app_token: str, client: AsyncWebClient) -> None:
        self._app = app
        self._token = app_token
        self._client = client
        self._handler: AsyncSocketModeHandler | None = None
        self._connecting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to connect. Raises `SocketRefused`; a network that is away is tried until it is back."""
        await self._ask()
        self._handler = AsyncSocketModeHandler(
            self._app, app_token=self._token, web_client=self._client, logger=_silent_logger()
        )
        # If this is None, the SDK's client takes a proxy from the environment, even for a Slack on this machine.
        self._handler.client.proxy = self._client.proxy
        self._connecting = asyncio.create_task(self._connect(self._handler))

    async def close(self) -> None:
        """End the connection; what was not acknowledged, Slack sends again or says that it failed."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._handler is not None:
            await self._handler.close_async()

    async def _ask(self) -> None:
        """Ask for an address once before connecting: the SDK would ask for ever with a token that is refused."""
        with suppress(ClientError, TimeoutError):
            try:
                await self._client.apps_connections_open(app_token=self._token)
            except SlackApiError as error:
                name = error_name(error.response.get("error"))
                raise SocketRefused(name or f"status {error.response.status_code}") from None

    async def _connect(self, handler: AsyncSocketModeHandler) -> None:
        await handler.connect_async()
        log.info("socket.connected")


def _silent_logger() -> logging.Logger:
    """Return a logger for the SDK that stays silent below ERROR: the lines below hold what people wrote."""
    logger = logging.getLogger("slack_sdk.socket_mode")
    logger.setLevel(logging.ERROR)
    return logger
