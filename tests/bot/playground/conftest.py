"""A playground with a quiet app behind it, and someone who uses its page."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import BOT_TOKEN, Clock, PlaygroundApp, Site, serve


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def site(clock: Clock) -> AsyncIterator[Site]:
    async with serve(app=PlaygroundApp(clock=clock)) as site:
        yield site


@pytest.fixture
async def browser(site: Site) -> AsyncIterator[BrowserClient]:
    async with aiohttp.ClientSession() as session:
        yield await BrowserClient.enter(session, site.address)


@pytest.fixture
async def client(site: Site) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/", session=session)
