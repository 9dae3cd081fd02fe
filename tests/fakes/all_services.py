"""The whole app with every service that it can ask, each of them on loopback and with a log of its requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.fakes import grok, model_server
from tests.fakes.grok import FakeGrok
from tests.fakes.model_server import FakeModelServer, Says, Turn, calls
from tests.fakes.perplexity import FakePerplexity


def search_then_answer(messages: list[dict[str, Any]]) -> Turn:
    """Search once for what was asked, then answer."""
    if any(message["role"] == "tool" for message in messages):
        return Says(text="So [1].")
    return calls("search_pages", query=messages[-1]["content"])


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services around the app."""

    perplexity: FakePerplexity
    posts: FakeGrok
    model: FakeModelServer

    def received(self) -> list[tuple[str, str, str]]:
        """Return the host, the path and the body of every request that had something to say, word for word."""
        fakes = ((one.base_url, one.served) for one in (self.perplexity, self.posts))
        served = [(base_url, request.path, request.content) for base_url, log in fakes for request in log]
        return [(base_url.split("//")[1].split(":")[0], path, body) for base_url, path, body in served if body]


@pytest.fixture
async def services(perplexity: FakePerplexity) -> AsyncIterator[Services]:
    async with FakeGrok() as posts, FakeModelServer(search_then_answer) as model:
        yield Services(perplexity=perplexity, posts=posts, model=model)


def with_all_services(settings: Settings, services: Services) -> Settings:
    """Return settings with which every service can be asked, and no one waits."""
    return settings.model_copy(
        update={
            "xai_api_key": SecretStr(grok.KEY),
            "xai_base_url": services.posts.api_url,
            "agent_model": model_server.MODEL,
            "agent_base_url": services.model.base_url,
            "agent_api_key": SecretStr(model_server.KEY),
            "open_questions_per_user": 0,
            "thread_answers_per_minute": 0,
        }
    )
