"""No secret is logged or shown, also where a service or an error repeats it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from bot import logs
from bot.settings import Settings
from tests.docs.pages import is_here
from tests.driver import Driver
from tests.fakes import brave, grok, model_server, openrouter
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.brave import FakeBrave
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import KEY
from tests.fakes.person import SIGNING_SECRET
from tests.fakes.slack import BOT_TOKEN, Fault

pytestmark = pytest.mark.trust(9)

__all__ = ["services"]

AUDIT_KEY = "canary-audit-key-0123456789abcdef"
CANARIES = {
    "the bot token": BOT_TOKEN,
    "the signing secret": SIGNING_SECRET,
    "Perplexity's key": KEY,
    "OpenRouter's key": openrouter.KEY,
    "Brave's key": brave.KEY,
    "xAI's key": grok.KEY,
    "the agent's key": model_server.KEY,
    "the audit's key": AUDIT_KEY,
}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Give what the app writes to its log at the most talkative level."""
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    levels = {name: logging.getLogger(name).level for name in ("", "bot", "perplexity", "slack_sdk", "slack_bolt")}
    stream, handler = io.StringIO(), logging.StreamHandler()
    handler.setStream(stream)
    handler.setFormatter(logs.JsonLines())
    root.addHandler(handler)
    for name in levels:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield stream
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    root.handlers[:] = before


@pytest.fixture
async def others() -> AsyncIterator[tuple[FakeOpenRouter, FakeBrave]]:
    async with FakeOpenRouter() as router, FakeBrave() as search:
        yield router, search


@pytest.fixture
def settings(settings: Settings, services: Services, others: tuple[FakeOpenRouter, FakeBrave]) -> Settings:
    router, search = others
    return with_all_services(settings, services).model_copy(
        update={
            "openrouter_api_key": SecretStr(openrouter.KEY),
            "openrouter_base_url": router.base_url,
            "brave_api_key": SecretStr(brave.KEY),
            "brave_base_url": search.base_url,
            "audit_key": SecretStr(AUDIT_KEY),
            "providers": "perplexity,openrouter,brave",
            "answer_chain_seconds": 3.0,
        }
    )


async def test_no_secret_is_in_the_log_in_a_message_or_on_a_page(
    log: io.StringIO, harness: Driver, services: Services, others: tuple[FakeOpenRouter, FakeBrave]
) -> None:
    repeats = {"error": {"message": json.dumps(CANARIES), "type": "invalid_api_key", "code": KEY}}
    headers = {"x-request-id": KEY, "retry-after": BOT_TOKEN, "x-echo": openrouter.KEY}
    for path in ("/v1/agent", "/search", "/v1/agent", "/v1/agent"):
        services.perplexity.fail(path, status=401, body=repeats, headers=headers)
    for fake in others:
        for route in fake.routes():
            fake.fail(str(getattr(route, "path", "")), status=500, body=repeats, headers=headers)
    services.posts.fail("/v1/responses", status=400, body=repeats, headers=headers)
    harness.slack.fail("response_url", Fault(status=404, body=json.dumps(CANARIES)))
    harness.slack.fail("chat.postMessage", Fault(status=200, body=json.dumps({"ok": False, "error": BOT_TOKEN})))
    lines = ("/ask why", "/search why", "/ask --agent why", "/deepdive heat pumps", "/pplx status", "/ask again")
    for line in filter(is_here, lines):
        await harness.answered(line)
    await harness.mention("why", id="Ev-m")
    await harness.wait_until_settled(1 + sum(map(is_here, lines)))
    pages = []
    for page in ("/healthz", "/readyz", "/metrics", "/nowhere"):
        async with harness.session.get(f"{harness.url}{page}") as response:
            pages.append(await response.text() + str(response.headers))

    logged = log.getvalue()
    assert "question.settled" in logged
    assert "library.message" in logged  # libraries have written, too
    seen = {"log": logged, "Slack": "".join(post.shown_text for post in harness.slack.posts), "pages": "".join(pages)}
    assert [(place, name) for place, text in seen.items() for name, secret in CANARIES.items() if secret in text] == []


def test_settings_and_their_errors_show_no_secret(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    shown = repr(settings) + str(settings) + repr(settings.model_dump())

    assert [name for name, secret in CANARIES.items() if secret in shown] == []
