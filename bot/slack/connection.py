"""The connection to Slack: the Web API's client, and Socket Mode for receiving requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import SocketRefused
from bot.slack.messages import FAILURES, RouteClosed, classify_error, error_name
from perplexity.transport import proxy_for, tls_context

if TYPE_CHECKING:
    from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

log = logging.getLogger(__name__)


CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""How long Slack may take to accept a connection, and to send the next part of its reply."""


@dataclass(frozen=True, kw_only=True)
class SlackConnection:
    """The tokens and the address of a real Slack or of the playground.

    A real Slack signs its requests with the secret, or sends them over the connection opened with the app token. There
    is no bot token if every workspace has its own.
    """

    bot_token: str | None = field(default=None, repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    api_url: str
    ca_bundle: str = ""


@asynccontextmanager
async def open_session(slack: SlackConnection) -> AsyncIterator[ClientSession]:
    """Open the one session for all calls to Slack.

    It limits neither the number of connections nor the time for a whole call: with such limits, calls would fail while
    Slack is slow, because they wait for each other.
    """
    async with ClientSession(
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
        connector=TCPConnector(limit=0, ssl=tls_context(slack.ca_bundle) or True),
        proxy=proxy_for(slack.api_url),
    ) as session:
        yield session


def web_client(
    token: str | None, *, api_url: str, session: ClientSession | None = None, ca_bundle: str = ""
) -> AsyncWebClient:
    """Return a client of Slack's Web API that tries each call once, through the environment's proxy for `api_url`.

    `ca_bundle` is for a client without a session, and for Socket Mode. Raises ConnectionFailed if the proxy cannot be
    used. The SDK must not try again, since it could post a message twice unnoticed; the app's own delivery looks for an
    earlier post before it tries again. Without the proxy set here, the SDK would ignore NO_PROXY, and send everything
    through the environment's proxy, even requests to this machine.
    https://docs.slack.dev/tools/python-slack-sdk/web#proxy
    """
    client = AsyncWebClient(
        token=token, base_url=api_url, session=session, retry_handlers=[], ssl=tls_context(ca_bundle)
    )
    client.proxy = proxy_for(api_url)
    return client


ENDED_ERRORS = frozenset({"account_inactive", "invalid_auth", "token_revoked"})
"""The errors of auth.test for a token that is no longer valid. https://docs.slack.dev/reference/methods/auth.test"""


class TokenUnchecked(Exception):
    """Slack did not say whether it still accepts a token."""


async def takes_token(client: AsyncWebClient, token: str | None = None) -> bool:
    """Return whether Slack still accepts a token, by default the client's own. Raises TokenUnchecked."""
    try:
        await (client.auth_test() if token is None else client.auth_test(token=token))
    except FAILURES as error:
        result = classify_error(error)
        if isinstance(result, RouteClosed) and result.error in ENDED_ERRORS:
            return False
        raise TokenUnchecked from None
    return True


class WorkspaceClient(AsyncWebClient):
    """A client of the Web API that calls each method with the token of the task's workspace.

    `read_token` returns that token, or raises NoToken before anything is sent.
    """

    def __init__(self, *, read_token: Callable[[], Awaitable[str]], api_url: str, session: ClientSession) -> None:
        super().__init__(base_url=api_url, session=session, retry_handlers=[])
        self.proxy = proxy_for(api_url)
        self._read_token = read_token

    async def api_call(self, api_method: str, *, headers: dict[str, Any] | None = None, **rest: Any) -> Any:
        """Call a method as AsyncWebClient does."""
        authorized = {**(headers or {}), "Authorization": f"Bearer {await self._read_token()}"}
        return await super().api_call(api_method, headers=authorized, **rest)


class SocketMode:
    """Receives Slack's requests over a connection that the app opens, for development without a public address.

    Slack closes the connection every few hours; the SDK then connects again. Requests are not signed.
    https://docs.slack.dev/apis/events-api/using-socket-mode
    """

    def __init__(self, app: AsyncApp, *, app_token: str, client: AsyncWebClient) -> None:
        self._app = app
        self._token = app_token
        self._client = client
        self._handler: AsyncSocketModeHandler | None = None
        self._connecting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start connecting. Raises `SocketRefused`. While the network is down, the SDK keeps trying."""
        from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

        await self._check_token()
        self._handler = AsyncSocketModeHandler(
            self._app,
            app_token=self._token,
            web_client=self._client,
            logger=silent_logger("slack_sdk.socket_mode"),
        )
        # The SDK's client has taken a proxy from the environment, even for a Slack on this machine.
        self._handler.client.proxy = self._client.proxy
        self._connecting = asyncio.create_task(self._connect(self._handler))

    async def close(self) -> None:
        """Close the connection; Slack repeats a request that was not acknowledged, or tells the user that it failed."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._handler is not None:
            await self._handler.close_async()

    async def _check_token(self) -> None:
        """Raise `SocketRefused` if Slack rejects a request for the connection's address: the SDK would try forever."""
        with suppress(ClientError, TimeoutError):
            try:
                await self._client.apps_connections_open(app_token=self._token)
            except SlackApiError as error:
                name = error_name(error.response.get("error"))
                raise SocketRefused(name or f"status {error.response.status_code}") from None

    async def _connect(self, handler: AsyncSocketModeHandler) -> None:
        await handler.connect_async()
        log.info("socket.connected")


def silent_logger(name: str) -> logging.Logger:
    """Return a logger for one of Slack's libraries that is silent below ERROR: its other lines quote requests."""
    logger = logging.getLogger(name)
    logger.setLevel(logging.ERROR)
    return logger
