from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import TimedOut
from perplexity.filters import Filters
from perplexity.providers.base import Provider
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.types import Done, Message, Query, Question
from tests.fakes.perplexity import KEY, FakePerplexity


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def provider(fake: FakePerplexity) -> AsyncIterator[Provider]:
    async with PerplexityClient(KEY, base_url=fake.base_url, retry=RetryPolicy(base=0.001)) as client:
        yield PerplexityProvider(client)


WHY = (Message(role="user", content="why"),)
RESUMED = {"type": "message", "content": [{"type": "output_text", "text": "resumed"}]}


async def test_it_searches_under_the_name_of_the_search(fake: FakePerplexity, provider: Provider) -> None:
    results = await provider.search(Query(text="x", max_results=3))

    assert (provider.name, results.provider) == ("Perplexity", "Perplexity Search")
    assert fake.requests[0].json["max_results"] == 3


async def test_it_answers_with_everything_the_question_says(fake: FakePerplexity, provider: Provider) -> None:
    asked = Question(
        messages=WHY,
        reasoning=True,
        filters=Filters(recency="day"),
        schema={"type": "object"},
    )

    answer = await provider.answer(asked)

    body = fake.requests[0].json
    assert (body["effort"], body["input"]) == ("medium", "why")
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body["tools"] == [{"type": "web_search", "filters": {"search_recency_filter": "day"}}]
    assert (answer.provider, answer.effort) == ("Perplexity", "medium")


async def test_it_streams(provider: Provider) -> None:
    events = [event async for event in provider.stream(Question(messages=WHY))]

    assert isinstance(events[-1], Done)


async def test_it_resumes_and_reports_runs(fake: FakePerplexity, provider: Provider) -> None:
    told: list[str] = []

    async def on_run(run_id: str) -> None:
        told.append(run_id)

    fake.runs["resp_7"] = [{"id": "resp_7", "status": "completed", "output": [RESUMED]}]
    resumed = await provider.answer(Question(messages=WHY, model="high", run_id="resp_7", on_run=on_run))

    assert (resumed.text, resumed.id, told) == ("resumed", "resp_7", [])


async def test_it_keeps_to_the_seconds_it_is_given(fake: FakePerplexity, provider: Provider) -> None:
    fake.hold()

    with pytest.raises(TimedOut):
        await provider.search(Query(text="x", seconds=0.05))
    with pytest.raises(TimedOut):
        await provider.answer(Question(messages=WHY, seconds=0.05))
