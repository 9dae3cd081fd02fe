"""Slack's requests over a connection that the app opens: for development, where no public address is at hand.

What comes in is as trusted as the connection, so nothing is signed. https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import SocketRefused
from bot.slack.messages import error_name
from perplexity.transport import proxy_for

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
        await self._check_token()
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

    async def _check_token(self) -> None:
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


CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""How long Slack may take to accept a connection, and to send the next piece of its reply."""


@dataclass(frozen=True, kw_only=True)
class SlackConnection:
    """The Slack that this process talks to: a real one, or the playground that stands in for it.

    A real one sends requests, signed with the secret, or lets the app fetch them with the app token; or both.
    """

    bot_token: str = field(repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    api_url: str


@asynccontextmanager
async def open_session(slack: SlackConnection) -> AsyncIterator[ClientSession]:
    """Open the one session for all calls to Slack.

    It has no limit of connections, since the questions in work are limited, and no time limit for a whole call: either
    would make calls fail for having waited for each other while Slack is slow.
    """
    async with ClientSession(
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
        connector=TCPConnector(limit=0),
        proxy=proxy_for(slack.api_url),
    ) as session:
        yield session


def client_of(slack: SlackConnection, session: ClientSession) -> AsyncWebClient:
    """Return the client of Slack's Web API.

    It does not retry: a retry of the SDK's own would post a message twice, unseen by the delivery that looks for the
    first.
    """
    return web_client(slack.bot_token, api_url=slack.api_url, session=session)


def web_client(token: str, *, api_url: str, session: ClientSession | None = None) -> AsyncWebClient:
    """Return a client that tries once, through the proxy that the environment names for Slack's address.

    Raises ConnectionFailed if the proxy cannot be used. By default the SDK sends everything through the environment's
    proxy, even requests to this machine, and ignores NO_PROXY.
    https://docs.slack.dev/tools/python-slack-sdk/web#proxy
    """
    client = AsyncWebClient(token=token, base_url=api_url, session=session, retry_handlers=[])
    client.proxy = proxy_for(api_url)
    return client
