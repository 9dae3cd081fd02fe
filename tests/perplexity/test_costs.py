from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.cli.news import as_results
from perplexity.cli.output import as_json, footer
from perplexity.completions import strip_thinking
from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    MalformedResponse,
    NothingFound,
    RunFailed,
    cost_with_failures,
    total_cost,
    without_costs,
)
from perplexity.fallback import Fallback
from perplexity.news.summary import as_answer, news_summary
from perplexity.passages import passages_answer
from perplexity.types import Answer, Message, Question, SearchResults, Source, TextDelta, Usage
from tests.fakes.provider import FakeProvider, answer_by, results_by

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
QUESTION = Question(messages=(Message(role="user", content="why"),))
PAID = RunFailed("x", cost_usd=0.4)
FAILED = (Attempt(provider="One", seconds=1.0, error_class="RunFailed", cost_usd=0.4),)
NEWS = Source(number=1, title="A story of today", url="https://a.example/1", snippet="It was so.", date="2026-11-21")


class Priced(FakeProvider):
    """Answers and searches for a cent."""

    async def answer(self, question: Question) -> Answer:
        return replace(await super().answer(question), sources=(NEWS,), usage=Usage(cost_usd=0.01))

    async def search(self, query: Any) -> SearchResults:
        return replace(await super().search(query), cost_usd=0.01)


@given(st.lists(st.none() | st.floats(0, 1000)))
def test_a_sum_is_that_of_the_known_ones_in_any_order(costs: list[float | None]) -> None:
    known = [cost for cost in costs if cost is not None]

    assert total_cost(costs) == total_cost(reversed(costs))
    assert (total_cost(costs) is None) == (not known)
    assert not known or total_cost(costs) == pytest.approx(sum(known))


@pytest.mark.parametrize(
    ("own", "failed", "expected"),
    [(0.01, [0.4], 0.41), (None, [0.4], 0.4), (0.01, [], 0.01), (0.1, [0.2, None], 0.3), (None, [None], None)],
)
def test_a_reply_costs_what_all_providers_charged(
    own: float | None, failed: list[float | None], expected: float | None
) -> None:
    attempts = [Attempt(provider="P", seconds=0.0, cost_usd=cost) for cost in failed]

    assert cost_with_failures(own, attempts) == expected
    assert cost_with_failures(expected, without_costs(attempts)) == expected


def test_reasoning_without_an_answer_has_its_cost() -> None:
    with pytest.raises(MalformedResponse) as caught:
        strip_thinking(replace(answer_by("P", "<think>Hm.</think>"), usage=Usage(cost_usd=0.03)), expected=True)

    assert caught.value.cost_usd == 0.03


def test_pages_without_text_are_paid_for() -> None:
    with pytest.raises(NothingFound) as caught:
        passages_answer(SearchResults(results=(), provider="P", cost_usd=0.005, failed=FAILED), "why")

    assert caught.value.cost_usd == 0.405


async def test_news_cost_the_sum_of_all_charges_in_every_format() -> None:
    summary = await news_summary(Fallback([FakeProvider("One", error=PAID), Priced("Two")]), category="tech", now=NOW)

    assert (summary.cost_usd, json.loads(as_json(summary))["cost_usd"]) == (0.41, 0.41)
    told, results = as_answer(summary), as_results(summary)
    assert [one.provider for one in told.failed] == ["One"]
    assert (
        cost_with_failures(told.usage.cost_usd, told.failed)
        == cost_with_failures(results.cost_usd, results.failed)
        == 0.41
    )
    assert footer(results).endswith("$0.41")


async def test_failed_news_cost_the_sum_of_all_charges() -> None:
    empty = replace(answer_by("Two", "None."), sources=(), usage=Usage(cost_usd=0.01), failed=FAILED)

    class Empty(FakeProvider):
        async def answer(self, question: Question) -> Answer:
            return empty

    with pytest.raises(NothingFound) as caught:
        await news_summary(Empty("Two"), category="tech", now=NOW)

    assert caught.value.cost_usd == 0.41


def test_the_command_line_says_the_sum() -> None:
    answer = replace(answer_by("Two"), usage=Usage(cost_usd=0.01), failed=FAILED)
    results = replace(results_by("Two"), cost_usd=0.01, failed=FAILED)

    for reply in (answer, results):
        assert footer(reply).endswith("$0.41")
        assert json.loads(as_json(reply))["cost_usd"] == 0.41


async def test_a_failure_after_others_costs_the_sum_of_all() -> None:
    broken = FakeProvider("Two", steps=[TextDelta(text="It"), RunFailed("x", cost_usd=0.02)])
    chain = Fallback([FakeProvider("One", steps=[RunFailed("x", cost_usd=0.4)]), broken])

    with pytest.raises(RunFailed) as caught:
        _ = [event async for event in chain.stream(QUESTION)]
    with pytest.raises(AllProvidersFailed) as all_failed:
        await Fallback([FakeProvider("One", error=PAID), FakeProvider("Two", error=PAID)]).answer(QUESTION)

    assert (caught.value.cost_usd, all_failed.value.cost_usd) == (0.42, 0.8)
