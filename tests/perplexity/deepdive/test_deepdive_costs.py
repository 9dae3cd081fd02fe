"""The cost of a deep dive, including stages that failed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from perplexity.deepdive.types import DeepDive, NullStageStore, Stage
from perplexity.errors import AllProvidersFailed, Attempt, MalformedResponse, PerplexityError, RunFailed
from perplexity.fallback import Fallback
from perplexity.types import Answer, Question, Source, Usage
from perplexity.x_posts.types import PostSummary
from tests.fakes.deepdive import run_deepdive
from tests.fakes.provider import SOURCE, FakeProvider

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
USELESS = RunFailed("the model searched", cost_usd=0.25)


class Priced(FakeProvider):
    """Answers with this text for half a dollar."""

    def __init__(self, text: str = "It is so.", *sources: Source) -> None:
        super().__init__("Priced")
        self.text, self.sources = text, sources

    async def answer(self, question: Question) -> Answer:
        answer = await super().answer(question)
        return replace(answer, text=self.text, sources=self.sources, usage=Usage(cost_usd=0.5))


@dataclass(frozen=True)
class FakePosts:
    """Says one thing for three cents, or fails."""

    error: PerplexityError | None = None
    name: str = "People"

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        if self.error is not None:
            raise self.error
        return PostSummary(text="Most are glad.", cost_usd=0.03)


@dataclass
class CostHarness:
    """Dives, and hears of every attempt."""

    attempts: list[Attempt] = field(default_factory=list)

    def chain(self, *providers: FakeProvider) -> Fallback:
        return Fallback(providers, on_attempt=self.attempts.append)

    async def dive(self, **services: Any) -> DeepDive:
        given: dict[str, Any] = {"facts": Priced(), "posts": FakePosts(), "synthesis": Priced()} | services
        return await run_deepdive("heat pumps", store=NullStageStore(), now=lambda: NOW, **given)


@pytest.mark.parametrize(
    ("services", "stage", "cost"),
    [
        ({"facts": Priced("  ")}, Stage.SITUATION, 0.5),
        ({"facts": FakeProvider("One", error=USELESS)}, Stage.SITUATION, 0.25),
        ({"posts": FakePosts(MalformedResponse("no summary", cost_usd=0.04))}, Stage.PULSE, 0.04),
        ({"synthesis": FakeProvider("One", error=USELESS)}, Stage.ANALYSIS, 0.25),
        ({"synthesis": Priced("It is so.[1]", SOURCE)}, Stage.ANALYSIS, 0.5),
        ({"synthesis": FakeProvider("One", error=RunFailed("unknown"))}, Stage.ANALYSIS, None),
    ],
)
async def test_a_failed_stage_has_its_cost(services: dict[str, Any], stage: Stage, cost: float | None) -> None:
    report = await CostHarness().dive(**services)

    (lost,) = [result for result in report.stages if result.failure]
    assert (lost.stage, lost.cost_usd) == (stage, cost)
    others = {Stage.SITUATION: 0.5, Stage.PULSE: 0.03, Stage.ANALYSIS: 0.5} | {stage: cost or 0.0}
    assert report.cost_usd == pytest.approx(sum(others.values()))


async def test_the_cost_includes_failed_attempts() -> None:
    harness = CostHarness()
    broken = FakeProvider("One", error=USELESS)
    served = await harness.dive(synthesis=harness.chain(broken, Priced()))
    alone = await harness.dive(synthesis=harness.chain(broken))

    assert [report.stages[2].cost_usd for report in (served, alone)] == [0.75, 0.25]
    assert [(one.provider, one.cost_usd) for one in harness.attempts] == [("One", 0.25), ("Priced", 0.5), ("One", 0.25)]


async def test_a_failed_dive_has_its_cost() -> None:
    harness = CostHarness()

    with pytest.raises(AllProvidersFailed) as raised:
        await harness.dive(facts=harness.chain(FakeProvider("One", error=USELESS)), posts=FakePosts(USELESS))
    assert raised.value.cost_usd == 0.5
