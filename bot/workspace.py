"""Which Slack this process talks to: a real workspace, or the playground that stands in for one."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession, ClientTimeout, TCPConnector
from pydantic import SecretStr
from slack_sdk.web.async_client import AsyncWebClient

from bot.addresses import is_loopback
from bot.commands import COMMANDS
from bot.commands.slash import slash_commands
from bot.playground.server import Playground
from bot.settings import Settings
from perplexity.providers.handbook import load_pages
from perplexity.proxies import proxy_for

ROOT = Path(__file__).parent.parent
"""The project's root, whose Markdown pages are the handbook."""


@dataclass(frozen=True, kw_only=True)
class Slack:
    """The Slack that this process talks to: a real one, or the playground that stands in for it.

    A real one sends requests, signed with the secret, or lets the app fetch them with the app token; or both.
    """

    bot_token: str
    signing_secret: str | None = None
    app_token: str | None = None
    api_url: str
    playground: Playground | None = None


def slack_of(settings: Settings) -> Slack:
    """Describe the real Slack, or make up a playground with secrets of its own."""
    if settings.slack_bot_token is not None:
        return Slack(
            bot_token=settings.slack_bot_token.get_secret_value(),
            signing_secret=_revealed(settings.slack_signing_secret),
            app_token=_revealed(settings.slack_app_token),
            api_url=settings.slack_api_url,
        )
    origin = f"http://127.0.0.1:{settings.port}"
    bot_token, signing_secret = f"xoxb-{secrets.token_hex(16)}", secrets.token_hex(16)
    playground = Playground(
        signing_secret=signing_secret,
        bot_token=bot_token,
        origin=origin,
        commands=slash_commands(COMMANDS, prefix=settings.command_prefix),
        pages=load_pages(ROOT),
        allow_any_host=not is_loopback(settings.bind_host),
    )
    return Slack(
        bot_token=bot_token,
        signing_secret=signing_secret,
        api_url=f"{origin}/playground/api/",
        playground=playground,
    )


@asynccontextmanager
async def opened_session(slack: Slack) -> AsyncIterator[ClientSession]:
    """Give the one session in which everything is said to Slack."""
    async with ClientSession(
        timeout=ClientTimeout(total=10, sock_connect=5),
        connector=TCPConnector(limit=50),
        proxy=proxy_for(slack.api_url),
    ) as session:
        yield session


def client_of(slack: Slack, session: ClientSession) -> AsyncWebClient:
    """Return the client of Slack's Web API.

    It does not retry: a retry of the SDK's own would post a message twice, unseen by the delivery that looks for the
    first.
    """
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, session=session, retry_handlers=[])


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
