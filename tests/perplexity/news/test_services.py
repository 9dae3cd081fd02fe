"""News through the chain, from services on loopback: those with a model and those that only search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import AllProvidersFailed
from perplexity.fallback import Fallback
from perplexity.news.summary import FROM_PAGES, NewsSummary, news_summary
from perplexity.providers.base import Provider
from perplexity.providers.brave import Brave
from perplexity.providers.duckduckgo import DuckDuckGo
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.types import Message, Question
from tests.fakes import brave, openrouter, perplexity
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.news_answers import text_reply

NOW = datetime(2026, 11, 21, 14, 5, tzinfo=UTC)
LINE = "Chip plant opens | 2026-11-20 | It opened in Dresden. [1]"
ONCE = RetryPolicy(attempts=1)
DUCKS = Hit(title="Ducks fly south", url="https://d.example/ducks-fly-south-1")
BEARS = Hit(title="Bears wake up", url="https://d.example/bears-wake-up-2")


@dataclass(frozen=True, kw_only=True)
class Services:
    """The servers, and the chain of the providers that ask them."""

    perplexity: perplexity.FakePerplexity
    openrouter: openrouter.FakeOpenRouter
    brave: brave.FakeBrave
    duckduckgo: DuckDuckGo
    chain: Fallback


@pytest.fixture
async def services(point_ddgs_at: PointDdgsAt) -> AsyncIterator[Services]:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(perplexity.FakePerplexity())
        second = await stack.enter_async_context(openrouter.FakeOpenRouter())
        third = await stack.enter_async_context(brave.FakeBrave())
        fourth = await stack.enter_async_context(FakeDuckDuckGo([DUCKS], [BEARS]))
        point_ddgs_at(fourth.url)
        client = PerplexityClient(perplexity.KEY, base_url=first.base_url, retry=ONCE)
        asked: list[Provider] = [
            await stack.enter_async_context(PerplexityProvider(client)),
            await stack.enter_async_context(OpenRouter(openrouter.KEY, base_url=second.base_url, retry=ONCE)),
            await stack.enter_async_context(Brave(brave.KEY, base_url=third.base_url, retry=ONCE)),
            duckduckgo := DuckDuckGo(),
        ]
        yield Services(perplexity=first, openrouter=second, brave=third, duckduckgo=duckduckgo, chain=Fallback(asked))


async def news(services: Services) -> NewsSummary:
    return await news_summary(services.chain, category="tech", topic="chips", now=NOW)


async def test_perplexity_is_asked_in_lines_for_the_past_day(services: Services) -> None:
    services.perplexity.script("/v1/agent", text_reply(LINE, day="2026-11-20"))

    summary = await news(services)

    assert [(s.headline, s.date, s.source.url) for s in summary.stories] == [
        ("Chip plant opens", date(2026, 11, 20), "https://a.example/1")
    ]
    assert (summary.provider, summary.failed) == ("Perplexity", ())
    sent = services.perplexity.requests[0].json
    assert [message["role"] for message in sent["input"]] == ["system", "user"]
    assert sent["tools"][0]["filters"] == {"search_recency_filter": "day"}


async def test_openrouter_is_asked_with_the_model_for_news(services: Services) -> None:
    services.perplexity.fail("/v1/agent", status=503, body={})

    summary = await news(services)

    assert (summary.provider, [a.provider for a in summary.failed]) == ("OpenRouter", ["Perplexity"])
    assert summary.stories
    assert services.openrouter.requests[0].json["model"] == "perplexity/sonar-pro"


async def test_brave_gives_its_news_as_they_stand_there(services: Services) -> None:
    services.perplexity.fail("/v1/agent", status=503, body={})
    services.openrouter.fail("/chat/completions", status=503, body={})

    summary = await news(services)

    (story,) = summary.stories
    assert (story.headline, story.sentence, story.date) == ("A", "d", date(2026, 11, 21))
    assert summary.notes == (FROM_PAGES, "Only 1 story was found.")
    request = services.brave.requests[0]
    assert request.path.endswith("/news/search")
    assert (request.query["q"], request.query["freshness"]) == ("chips technology news", "pd")
    assert request.query["count"] == "20"


async def test_duckduckgo_is_the_last_resort_and_no_story_is_made_up(services: Services) -> None:
    services.perplexity.fail("/v1/agent", status=503, body={})
    services.openrouter.fail("/chat/completions", status=503, body={})
    services.brave.fail("/news/search", status=503, body={})

    summary = await news(services)

    assert (summary.provider, [story.headline for story in summary.stories]) == (
        "DuckDuckGo",
        ["Ducks fly south", "Bears wake up"],
    )
    assert [attempt.provider for attempt in summary.failed] == ["Perplexity", "OpenRouter", "Brave"]


async def test_a_search_provider_is_asked_for_twenty_pages(services: Services) -> None:
    services.perplexity.fail("/v1/agent", status=503, body={})
    services.openrouter.fail("/chat/completions", status=503, body={})
    services.brave.fail("/news/search", status=503, body={})

    summary = await news_summary(services.chain, category="tech", now=NOW, max_stories=None)

    assert [story.headline for story in summary.stories] == ["Ducks fly south", "Bears wake up"]
    asked = Question(messages=(Message(role="user", content="ducks"),))
    assert len((await services.duckduckgo.answer(asked)).sources) == 1


async def test_if_no_provider_answers_every_failure_is_named() -> None:
    with pytest.raises(AllProvidersFailed):
        await news_summary(Fallback([]), category="tech", now=NOW)
