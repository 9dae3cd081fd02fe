"""What the hook of the chain hears of a reader of posts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pytest

from perplexity.errors import Attempt, AuthenticationError, PerplexityError, RunFailed
from perplexity.steps import Reporting, SteppedPosts
from perplexity.x_posts.types import PostSummary
from tests.fakes.time import Time

DAY = date(2026, 11, 21)


@dataclass(frozen=True)
class FakePosts:
    """Takes two seconds to say one thing, or to fail."""

    time: Time
    error: Exception | None = None
    name: str = "People"

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        await self.time.sleep(2.0)
        if self.error is not None:
            raise self.error
        return PostSummary(text=f"{topic} {since} {until} {seconds}", cost_usd=0.03)


async def test_an_answer_is_reported_with_its_seconds_and_its_cost() -> None:
    time, attempts = Time(), list[Attempt]()
    reporting = Reporting(name="People", on_attempt=attempts.append, clock=time.clock)
    source = SteppedPosts(source=FakePosts(time), steps=[reporting])
    summary = await source.summarize("heat", since=DAY, until=DAY, seconds=9.0)

    assert (summary.text, source.name) == ("heat 2026-11-21 2026-11-21 9.0", "People")
    assert attempts == [Attempt(provider="People", seconds=2.0, cost_usd=0.03)]


@pytest.mark.parametrize("error", [AuthenticationError("x"), RunFailed("x", cost_usd=0.04)])
async def test_a_failure_is_reported_with_its_class_and_its_cost(error: PerplexityError) -> None:
    time, attempts = Time(), list[Attempt]()
    reporting = Reporting(name="People", on_attempt=attempts.append, clock=time.clock)
    source = SteppedPosts(source=FakePosts(time, error), steps=[reporting])

    with pytest.raises(type(error)):
        await source.summarize("heat", since=DAY, until=DAY, seconds=9.0)
    (heard,) = attempts
    assert (heard.provider, heard.seconds, heard.cost_usd) == ("People", 2.0, error.cost_usd)
    assert (heard.error_class, heard.summary) == (type(error).__name__, error.summary)
