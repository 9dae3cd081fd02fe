"""The whole app for many workspaces: installed by OAuth in a browser, used by people of each."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from aiohttp import ClientResponse, ClientSession, DummyCookieJar
from pydantic import SecretStr

from bot.process import Application
from bot.settings import Settings
from tests.driver import serving
from tests.fakes.oauth import CLIENT_ID, CLIENT_SECRET
from tests.fakes.perplexity import KEY as PERPLEXITY_KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import BOT_USER, SIGNING_SECRET, Person
from tests.fakes.ports import free_port
from tests.fakes.process import FAST_LIMITS
from tests.fakes.slack import FakeSlack

PUBLIC_URL = "https://answers.example.com"
KEY = base64.b64encode(bytes(range(32))).decode()
SECOND_KEY = base64.b64encode(bytes(range(1, 33))).decode()


def oauth_settings(slack: FakeSlack, perplexity: FakePerplexity, **changes: Any) -> Settings:
    """Return the settings of an app that T1, T2 and the organizations E1 and E2 may install."""
    known: dict[str, Any] = {
        "slack_oauth_client_id": CLIENT_ID,
        "slack_oauth_client_secret": SecretStr(CLIENT_SECRET),
        "slack_signing_secret": SecretStr(SIGNING_SECRET),
        "public_url": PUBLIC_URL,
        "allowed_teams": "T1,T2,E1,E2",
        "encryption_keys": SecretStr(KEY),
        "slack_api_url": slack.api_url,
        "perplexity_api_key": SecretStr(PERPLEXITY_KEY),
        "perplexity_base_url": perplexity.base_url,
        "port": free_port(),
        "host": "127.0.0.1",
        "retry_base_seconds": 0.01,
        "retry_attempts": 2,
        # Tests ask faster than people.
        "provider_limits": FAST_LIMITS,
        "user_questions_per_minute": 0,
        "channel_questions_per_minute": 0,
    }
    return Settings(**known | changes)


@dataclass(kw_only=True)
class Browser:
    """A browser in which the app is installed; `cookies` are those that it keeps."""

    session: ClientSession
    url: str
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str) -> ClientResponse:
        """Open a page of the app, without following a redirect."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        response = await self.session.get(
            f"{self.url}{path}", allow_redirects=False, headers=headers if self.cookies else {}
        )
        for name, cookie in response.cookies.items():
            if cookie.value:
                self.cookies[name] = cookie.value
            else:
                self.cookies.pop(name, None)
        return response

    async def begin(self) -> str:
        """Begin an installation and return its state."""
        async with await self.get("/slack/install") as response:
            assert response.status == 302, await response.text()
            return parse_qs(urlsplit(response.headers["Location"]).query)["state"][0]

    async def end(self, code: str, state: str) -> ClientResponse:
        """Come back from Slack with a code."""
        return await self.get(f"/slack/oauth_redirect?code={code}&state={state}")


@dataclass(frozen=True, kw_only=True)
class Installations:
    """An app of many workspaces, and the world around it."""

    app: Application
    slack: FakeSlack
    perplexity: FakePerplexity
    session: ClientSession
    settings: Settings
    database: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    def browser(self) -> Browser:
        return Browser(session=self.session, url=self.url)

    async def install(self, team: str | None = "T1", **where: Any) -> str:
        """Install the app as a person does; return the token that it got."""
        browser = self.browser()
        code = self.slack.oauth.code(team, **where)
        async with await browser.end(code, await browser.begin()) as response:
            assert response.status == 200, await response.text()
        return next(reversed(self.slack.oauth.tokens))

    def person(
        self, team: str, *, enterprise: str | None = None, organization: bool = False, user: str = "U1"
    ) -> Person:
        """Return a member of a workspace; with `organization`, Slack's requests are for the app of a whole one."""
        authorization = {
            "enterprise_id": enterprise,
            "team_id": None if organization else team,
            "user_id": BOT_USER,
            "is_bot": True,
            "is_enterprise_install": organization,
        }
        sent: dict[str, Any] = {
            "team_id": team,
            "team": {"id": team},
            "authorizations": [authorization],
            "is_enterprise_install": "true" if organization else "false",
        }
        if enterprise:
            sent |= {"enterprise_id": enterprise, "enterprise": {"id": enterprise}}
        return Person(
            session=self.session,
            app_url=self.url,
            response_url=self.slack.response_url,
            user=user,
            sent=sent,
            slack=self.slack,
        )

    def organization(self, enterprise: str) -> Person:
        """Return the sender of events about an organization's installation: Slack names only the organization."""
        sent: dict[str, Any] = {
            "team_id": None,
            "context_team_id": None,
            "enterprise_id": enterprise,
            "authorizations": [],
        }
        return replace(self.person("", user=""), sent=sent)

    async def lifecycle(self, person: Person, event: dict[str, Any]) -> int:
        async with await person.event(event, id=f"Ev{len(self.slack.calls)}") as response:
            return response.status

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(self.database) as connection:
            return await (await connection.execute(query.encode())).fetchall()

    async def execute(self, statement: str, *values: object) -> None:
        async with await psycopg.AsyncConnection.connect(self.database) as connection:
            await connection.execute(statement.encode(), values)

    async def wait_for_rows(self, query: str, expected: list[tuple[Any, ...]], *, seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            found = await self.rows(query)
            while found != expected:
                await asyncio.sleep(0.05)
                found = await self.rows(query)


@asynccontextmanager
async def many_workspaces(
    database: str, *, work: bool = True, keys: str | None = PERPLEXITY_KEY, **changes: Any
) -> AsyncIterator[Installations]:
    """Run the app, with other settings if they are given; `keys` is the key that Perplexity takes, None for any."""
    async with (
        FakeSlack() as slack,
        FakePerplexity(key=keys) as perplexity,
        ClientSession(cookie_jar=DummyCookieJar()) as session,
    ):
        settings = oauth_settings(slack, perplexity, **changes)
        async with serving(settings, database, work=work) as app:
            yield Installations(
                app=app, slack=slack, perplexity=perplexity, session=session, settings=settings, database=database
            )
