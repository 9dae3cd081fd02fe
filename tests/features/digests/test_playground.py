"""A digest in the playground: set up, made and paused by what a visitor types and presses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.settings import Settings
from fake_slack.workspace import GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.driver import serving
from tests.fakes.news_answers import BUDGET, news_answer
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.ports import free_port


@pytest.fixture
async def browser(
    database: str, perplexity: FakePerplexity, session: ClientSession, tmp_path: Path
) -> AsyncIterator[BrowserClient]:
    settings = Settings(  # type: ignore[call-arg]  # the providers declare their fields
        perplexity_api_key=SecretStr(KEY),
        perplexity_base_url=perplexity.base_url,
        port=free_port(),
        host="127.0.0.1",
        data_dir=str(tmp_path),
    )
    async with serving(settings, database) as app:
        assert app.playground is not None
        yield await BrowserClient.enter(session, app.playground.address)


async def test_a_visitor_sets_up_makes_and_pauses_a_digest(browser: BrowserClient, perplexity: FakePerplexity) -> None:
    perplexity.script("/v1/agent", news_answer(BUDGET))
    await browser.say('/pplx watch world "europe" weekdays 9:00')
    await browser.wait_for(lambda message: "Digest 1 (World: europe) is set up." in message["text"])
    await browser.say("/pplx watch run 1")
    post = await browser.wait_for(lambda message: BUDGET in message["text"])
    (row,) = [block for block in post["blocks"] if block["type"] == "actions"]
    pause = {"channel": GENERAL.id, "ts": post["ts"], "block_id": row["block_id"], "action_id": "digest_pause"}

    assert (post["private"], post["channel"]) == (False, GENERAL.id)
    assert await browser.post("click", pause) == 204
    paused = await browser.wait_for(lambda message: "is paused" in message["text"])
    assert paused["private"]
