"""Deep dives with facts or an analysis from another service than Perplexity: killed, slow, empty, malformed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial

import pytest

from perplexity.deepdive.pipeline import NO_TEXT_GENERATOR, PASSAGES
from perplexity.deepdive.types import NullStageStore, Stage, StageResult
from perplexity.fallback import Fallback
from perplexity.providers import text_generators
from perplexity.providers.base import Provider
from perplexity.providers.brave import Brave
from perplexity.providers.duckduckgo import DuckDuckGo, search_ddgs
from perplexity.providers.openrouter import OpenRouter
from perplexity.retry import RetryPolicy
from perplexity.x_posts.types import PostSummary
from tests.fakes import brave, duckduckgo, openrouter
from tests.fakes.deepdive import run_deepdive
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.faults import BRAVE, DUCKDUCKGO, OPENROUTER
from tests.fakes.provider import FakeProvider
from tests.fakes.service import FakeService, Fault, json_reply

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHAT, NEWS = "/chat/completions", "/news/search"
HANG, RESET, NOTHING = Fault(hang=True), Fault(chunks=(b"{",), reset=True), Fault()
GARBAGE = Fault(chunks=(b'{"half',))
NO_TEXT = json_reply(json.loads(openrouter.fixture("openrouter.200.json")) | {"choices": []})
SEARCHED = json_reply(json.loads(openrouter.fixture("openrouter.200.json")))
NO_NEWS = json_reply({"type": "news", "results": []})
NO_HITS = Fault(content_type="text/html", chunks=(b"<html><body></body></html>",))


@dataclass(frozen=True, kw_only=True)
class Services:
    """The servers by the name of the provider that asks them, and these providers."""

    servers: dict[str, FakeService]
    providers: dict[str, Provider]


@pytest.fixture
async def services(point_ddgs_at: PointDdgsAt) -> AsyncIterator[Services]:
    once = RetryPolicy(attempts=1)
    async with AsyncExitStack() as stack:
        router = await stack.enter_async_context(openrouter.FakeOpenRouter())
        searcher = await stack.enter_async_context(brave.FakeBrave())
        duck = await stack.enter_async_context(FakeDuckDuckGo([Hit(title="Heat pumps", url="https://d.example/")]))
        point_ddgs_at(duck.url)
        providers: list[Provider] = [
            await stack.enter_async_context(OpenRouter(openrouter.KEY, base_url=router.base_url, retry=once)),
            await stack.enter_async_context(Brave(brave.KEY, base_url=searcher.base_url, retry=once)),
            DuckDuckGo(search_page=partial(search_ddgs, timeout=1)),
        ]
        by_name = {provider.name: provider for provider in providers}
        yield Services(servers=dict(zip(by_name, (router, searcher, duck), strict=True)), providers=by_name)


class Quiet(FakeProvider):
    """Says one thing about everything, without a post."""

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        return PostSummary(text="Most are glad.")


async def dive(facts: Provider, synthesis: Provider, *, hangs: Stage | None = None) -> dict[Stage, StageResult]:
    """Return what the stages come to: one that hangs has a second, the others as long as a busy machine needs."""
    report = await run_deepdive(
        "heat pumps",
        facts=Fallback([facts]),
        posts=Quiet("Quiet"),
        synthesis=Fallback(text_generators([synthesis])),
        store=NullStageStore(),
        now=lambda: NOW,
        seconds={stage: 1.0 if stage is hangs else 60.0 for stage in Stage},
    )
    assert [result.stage for result in report.stages] == [*Stage]
    return {result.stage: result for result in report.stages}


WELL = {
    "OpenRouter": ("Answer.[1]", ()),
    "Brave": ("> d [1]", (PASSAGES,)),
    "DuckDuckGo": ("> What the page says. [1]", (PASSAGES,)),
}


@pytest.mark.parametrize("name", WELL)
async def test_facts_come_from_any_available_provider(services: Services, name: str) -> None:
    found = await dive(services.providers[name], FakeProvider("Unused"))

    situation = found[Stage.SITUATION]
    assert (situation.text, situation.notes[:1], situation.failure) == (*WELL[name], None)
    assert (situation.provider, len(situation.sources)) == (name, 1)
    assert found[Stage.ANALYSIS].failure == f"The analysis is missing: {NO_TEXT_GENERATOR}."


@pytest.mark.parametrize(
    ("name", "path", "faults"),
    [
        ("OpenRouter", CHAT, [RESET, HANG, NOTHING, NO_TEXT, GARBAGE, OPENROUTER["500"], OPENROUTER["400"]]),
        ("Brave", NEWS, [RESET, HANG, NOTHING, NO_NEWS, GARBAGE, BRAVE["500"], BRAVE["400"]]),
        ("DuckDuckGo", duckduckgo.PATH, [RESET, HANG, NOTHING, NO_HITS, GARBAGE, DUCKDUCKGO["500"]]),
    ],
    ids=["OpenRouter", "Brave", "DuckDuckGo"],
)
async def test_a_failure_of_the_facts_keeps_the_other_sections(
    services: Services, name: str, path: str, faults: list[Fault]
) -> None:
    for fault in faults:
        services.servers[name].script(path, fault)
        hangs = Stage.SITUATION if fault is HANG else None
        found = await dive(services.providers[name], services.providers["OpenRouter"], hangs=hangs)

        assert (found[Stage.SITUATION].text, "is missing" in str(found[Stage.SITUATION].failure)) == ("", True)
        assert found[Stage.ANALYSIS].text == "Answer."


async def test_openrouter_writes_with_a_model_that_does_not_search(services: Services) -> None:
    found = await dive(services.providers["Brave"], services.providers["OpenRouter"])

    analysis, (request,) = found[Stage.ANALYSIS], services.servers["OpenRouter"].requests
    assert (analysis.text, analysis.provider, analysis.cost_usd) == ("Answer.[1]", "OpenRouter", 0.00502)
    assert (request.json["model"], "tools" in request.json) == ("x-ai/grok-4.3", False)


@pytest.mark.parametrize(
    "fault",
    [RESET, HANG, NOTHING, NO_TEXT, GARBAGE, OPENROUTER["500"], OPENROUTER["400"], SEARCHED],
    ids=["killed", "slow", "empty", "no text", "malformed", "500", "400", "searched"],
)
async def test_a_failure_of_the_analysis_keeps_the_other_sections(services: Services, fault: Fault) -> None:
    services.servers["OpenRouter"].script(CHAT, fault)
    hangs = Stage.ANALYSIS if fault is HANG else None
    found = await dive(services.providers["Brave"], services.providers["OpenRouter"], hangs=hangs)

    assert (found[Stage.SITUATION].text, found[Stage.PULSE].text) == ("> d [1]", "Most are glad.")
    assert found[Stage.ANALYSIS].text == ""
    assert str(found[Stage.ANALYSIS].failure).startswith("The analysis is missing: OpenRouter ")


@pytest.mark.parametrize("name", ["Brave", "DuckDuckGo"])
async def test_a_search_provider_writes_no_analysis(services: Services, name: str) -> None:
    found = await dive(services.providers["OpenRouter"], services.providers[name])

    assert found[Stage.ANALYSIS].failure == f"The analysis is missing: {NO_TEXT_GENERATOR}."
    assert services.servers[name].requests == []
