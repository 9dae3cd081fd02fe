"""Behind a company's proxy, what is on this machine is reached without it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.doctor import slack as slack_check
from bot.doctor import slack as socket_check
from bot.doctor.checks import Context, Severity
from bot.settings import Settings
from perplexity.agent import WebAgent, build_model
from perplexity.types import Message, Question
from tests.bot.playground.browser_client import BrowserClient
from tests.driver import KEY, Driver, serving
from tests.end_to_end.test_socket_mode import Workspace, started
from tests.fakes.model_server import MODEL, FakeModelServer, Says
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.ports import free_port
from tests.fakes.proxy import VARIABLES, FakeProxy
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_socket import FakeSlackSocket


@pytest.fixture(autouse=True)
async def proxy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeProxy]:
    """Have the environment send everything through a proxy, before anything else is set up."""
    async with FakeProxy() as server:
        for name in VARIABLES:
            monkeypatch.setenv(name, server.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "intranet.example")
        yield server


async def test_questions_in_slack_are_answered(harness: Driver, proxy: FakeProxy) -> None:
    assert "Example answer" in str(await harness.answered("/ask how far is the moon"))
    assert "Example answer" in str(await harness.answered_mention("how far is the moon?"))
    assert proxy.requests == []


async def test_a_mention_in_the_playground_is_answered(
    database: str, perplexity: FakePerplexity, session: ClientSession, proxy: FakeProxy, tmp_path: Path
) -> None:
    settings = Settings(  # type: ignore[call-arg]  # the providers declare their fields
        perplexity_api_key=SecretStr(KEY),
        perplexity_base_url=perplexity.base_url,
        port=free_port(),
        host="127.0.0.1",
        data_dir=str(tmp_path),
    )
    async with serving(settings, database) as app:
        assert app.playground is not None
        browser = await BrowserClient.enter(session, app.playground.address)
        await browser.say("@Web Answers how far is the moon?")
        await browser.wait_for(lambda message: "Example answer" in str(message))

    assert proxy.requests == []


async def test_socket_mode_connects(
    slack: FakeSlack, perplexity: FakePerplexity, database: str, proxy: FakeProxy
) -> None:
    async with FakeSlackSocket() as socket:
        slack.socket_url = socket.url
        process = await started(slack, perplexity, database, **dict.fromkeys(VARIABLES, proxy.url))
        try:
            await socket.connected(1)
            shown = await Workspace(slack=slack, socket=socket, process=process).types("/ask why", trigger="t1")
        finally:
            await process.kill()

    assert "Searching" in shown
    assert proxy.requests == []


async def test_the_doctor_asks_a_slack_on_this_machine(slack: FakeSlack, proxy: FakeProxy) -> None:
    settings = Settings(
        slack_bot_token=SecretStr(BOT_TOKEN), slack_app_token=SecretStr(APP_TOKEN), slack_api_url=slack.api_url
    )
    case = Context(settings=settings, now=time.time)
    findings = [*await slack_check.check_slack(case), *await socket_check.check_socket_mode(case)]

    assert Severity.ERROR not in {finding.severity for finding in findings}
    assert proxy.requests == []


async def test_a_model_on_this_machine_is_asked_by_the_agent(proxy: FakeProxy) -> None:
    question = Question(messages=(Message(role="user", content="How far is the moon?"),))
    async with (
        FakeModelServer([Says(text="Far.")]) as server,
        WebAgent(build_model(server.base_url, name=MODEL, api_key=KEY), lambda _: []) as agent,
    ):
        answer = await agent.answer(question)

    assert answer.text == "Far."
    assert proxy.requests == []


async def test_the_doctor_names_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "foo://canary")
    monkeypatch.delenv("https_proxy")
    settings = Settings(slack_bot_token=SecretStr(BOT_TOKEN))
    (finding, *_) = await slack_check.check_slack(Context(settings=settings, now=time.time))

    assert finding.severity is Severity.ERROR
    assert "HTTPS_PROXY" in str(finding.fix)
    assert "canary" not in str(finding)
