"""Which Slack this process talks to: a real workspace, or the playground that stands in for one."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile

from aiohttp import ClientSession, ClientTimeout, TCPConnector
from pydantic import SecretStr
from slack_sdk.web.async_client import AsyncWebClient

from bot.addresses import is_loopback
from bot.commands import COMMANDS
from bot.commands.slash import slash_commands
from bot.playground.examples import EXAMPLES, line
from bot.playground.server import Playground, Prompt
from bot.settings import Settings
from perplexity.proxies import proxy_for

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""How long Slack may take to accept a connection, and to send the next piece of its reply."""


@dataclass(frozen=True, kw_only=True)
class Slack:
    """The Slack that this process talks to: a real one, or the playground that stands in for it.

    A real one sends requests, signed with the secret, or lets the app fetch them with the app token; or both.
    """

    bot_token: str = field(repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    api_url: str
    playground: Playground | None = None


def slack_of(settings: Settings) -> Slack:
    """Describe the real Slack, or a playground with secrets of its own."""
    if settings.slack_bot_token is not None:
        return Slack(
            bot_token=settings.slack_bot_token.get_secret_value(),
            signing_secret=_revealed(settings.slack_signing_secret),
            app_token=_revealed(settings.slack_app_token),
            api_url=settings.slack_api_url,
        )
    origin = f"http://127.0.0.1:{settings.port}"
    bot_token, signing_secret = f"xoxb-{secrets.token_hex(16)}", kept_secret(Path(settings.data_dir))
    playground = Playground(
        signing_secret=signing_secret,
        bot_token=bot_token,
        origin=origin,
        commands=slash_commands(COMMANDS, prefix=settings.command_prefix),
        prompts=_prompts(settings),
        allow_any_host=not is_loopback(settings.bind_host),
    )
    return Slack(
        bot_token=bot_token,
        signing_secret=signing_secret,
        api_url=f"{origin}/playground/api/",
        playground=playground,
    )


def kept_secret(folder: Path) -> str:
    """Return the secret that is kept in a folder, and make one if there is none yet.

    It signs the playground's response_urls, which stay valid for half an hour, also after a restart. If the folder
    cannot be written, the secret lasts only as long as this process.
    """
    path = folder / "playground.key"
    with suppress(OSError, UnicodeDecodeError):
        kept = path.read_text(encoding="ascii")
        if re.fullmatch(r"[0-9a-f]{64}", kept):
            return kept
    secret = secrets.token_hex(32)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        # A new file that only this user can read takes the place at once: a cut one is never seen.
        with NamedTemporaryFile("w", dir=folder, encoding="ascii", delete=False) as file:
            file.write(secret)
        Path(file.name).replace(path)
    return secret


@asynccontextmanager
async def opened_session(slack: Slack) -> AsyncIterator[ClientSession]:
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


def client_of(slack: Slack, session: ClientSession) -> AsyncWebClient:
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


def _prompts(settings: Settings) -> tuple[Prompt, ...]:
    """Return the recorded examples that the page offers: none if there is a key."""
    if not settings.keyless:
        return ()
    return tuple(Prompt(label=one.label, line=line(one, prefix=settings.command_prefix)) for one in EXAMPLES)


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
