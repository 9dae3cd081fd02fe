"""What the chain makes of breakers: who is asked, who rests, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest

from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    InvalidRequest,
    NothingFound,
    RequestCancelled,
    RequestKind,
    ServerError,
    TimedOut,
)
from perplexity.fallback import BreakerPolicy, Fallback
from perplexity.models import FallbackTimeouts
from perplexity.providers.base import SEARCH_AND_ANSWER
from perplexity.types import Answer, Event, Message, Query, Question, SearchResults, TextDelta, Usage
from tests.fakes.provider import FakeProvider, Step, results_by
from tests.fakes.time import Time

QUERY = Query(text="python")
QUESTION = Question(messages=(Message(role="user", content="what is python"),))
POLICY = BreakerPolicy(failures=2, seconds=30.0)
DOWN = ServerError("x")


class ScriptedProvider(FakeProvider):
    """Fails or hangs or answers, as its mood is; `offers` may be less than both."""

    def __init__(
        self, name: str, *, error: Exception | None = None, offers: frozenset[RequestKind] = SEARCH_AND_ANSWER
    ) -> None:
        super().__init__(name, error=error)
        self.capabilities = offers

    def behave(
        self, *, error: Exception | None = None, hangs: bool = False, steps: Sequence[Step] | None = None
    ) -> None:
        self._error, self._hangs, self._steps = error, hangs, steps


class Chain:
    """A chain on a clock of its own, and what it tells of its attempts."""

    def __init__(self, *providers: FakeProvider, deadlines: FallbackTimeouts | None = None) -> None:
        self.time = Time(100.0)
        self.attempts: list[Attempt] = []
        self.fallback = Fallback(
            providers, breaker=POLICY, clock=self.time.clock, on_attempt=self.attempts.append, timeouts=deadlines
        )

    async def searches(self, times: int) -> None:
        for _ in range(times):
            await self.fallback.search(QUERY)

    def take_attempts(self) -> list[tuple[str, str | None]]:
        told = [(attempt.provider, attempt.error_class) for attempt in self.attempts]
        self.attempts.clear()
        return told


async def test_repeated_failures_open_the_circuit_and_that_is_reported() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    chain.take_attempts()

    found = await chain.fallback.search(QUERY)

    assert len(first.queries) == 2
    assert [(a.error_class, a.seconds, a.kind) for a in found.failed] == [("Resting", 0.0, "search")]
    assert found.failed[0].summary == f"is left alone for a moment: it {DOWN.summary}"
    assert chain.take_attempts() == [("One", "Resting"), ("Two", None)]


async def test_an_open_circuit_counts_for_searches_answers_and_streams() -> None:
    chain = Chain(ScriptedProvider("One", error=DOWN), ScriptedProvider("Two"))
    await chain.searches(2)
    chain.take_attempts()

    await chain.fallback.answer(QUESTION)
    _ = [event async for event in chain.fallback.stream(QUESTION)]

    assert chain.take_attempts() == [("One", "Resting"), ("Two", None)] * 2


async def test_a_recovered_provider_is_the_first_choice_again() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave()
    chain.time.now += 30
    chain.take_attempts()

    await chain.searches(2)

    assert chain.take_attempts() == [("One", None)] * 2


async def test_with_every_circuit_open_none_is_called_and_the_error_says_when_one_will_be() -> None:
    chain = Chain(ScriptedProvider("One", error=DOWN), ScriptedProvider("Two", error=DOWN))
    for _ in range(2):
        with pytest.raises(AllProvidersFailed):
            await chain.fallback.search(QUERY)
    chain.take_attempts()
    chain.time.now += 12

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.fallback.search(QUERY)

    told = [("One", "Resting"), ("Two", "Resting")]
    assert ([(a.provider, a.error_class) for a in caught.value.attempts], chain.take_attempts()) == (told, told)
    assert caught.value.retry_after == POLICY.seconds - 12


async def test_of_several_that_rested_the_probe_that_answers_closes_its_breaker() -> None:
    second = ScriptedProvider("Two", error=DOWN)
    chain = Chain(ScriptedProvider("One", error=DOWN), second)
    for _ in range(2):
        with pytest.raises(AllProvidersFailed):
            await chain.fallback.search(QUERY)
    second.behave()
    chain.time.now += POLICY.seconds
    await chain.searches(1)
    chain.take_attempts()

    await chain.searches(1)

    assert chain.take_attempts() == [("One", "Resting"), ("Two", None)]


async def test_providers_with_an_open_circuit_after_the_last_call_are_reported_too() -> None:
    first = ScriptedProvider("One")
    chain = Chain(first, ScriptedProvider("Two", error=DOWN))
    for _ in range(2):
        first.behave()
        await chain.searches(1)
        first.behave(error=DOWN)
        with pytest.raises(AllProvidersFailed):
            await chain.fallback.search(QUERY)
    chain.take_attempts()

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.fallback.search(QUERY)

    assert chain.take_attempts() == [("One", "ServerError"), ("Two", "Resting")]
    assert (str(caught.value), caught.value.retry_after) == ("One: ServerError; Two: Resting", 30)


async def test_of_many_requests_at_once_one_is_the_probe() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave(hangs=True)
    chain.time.now += 30
    first.queries.clear()
    tasks = [asyncio.create_task(chain.fallback.search(QUERY)) for _ in range(5)]

    done, waiting = await asyncio.wait(tasks, timeout=0.2)

    assert (len(done), len(waiting), len(first.queries)) == (4, 1, 1)
    waiting.pop().cancel()


async def test_a_cancelled_probe_gives_its_place_to_the_next() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave(hangs=True)
    chain.time.now += 30
    task = asyncio.create_task(chain.fallback.answer(QUESTION))
    await first.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    first.behave()
    chain.take_attempts()

    await chain.searches(1)

    assert chain.take_attempts() == [("One", None)]


@pytest.mark.parametrize("kind", ["search", "stream"])
async def test_a_hanging_probe_is_cancelled_and_opens_the_circuit_again(kind: str) -> None:
    hasty = FallbackTimeouts(search=0.05, answer=0.05, reserve_per_provider=0.01, minimum=0.01)
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"), deadlines=hasty)
    await chain.searches(2)
    first.behave(hangs=True, steps=[None])
    chain.time.now += 30
    chain.take_attempts()

    if kind == "search":
        await chain.searches(1)
    else:
        _ = [event async for event in chain.fallback.stream(QUESTION)]
    await chain.searches(1)

    assert chain.take_attempts() == [("One", "TimedOut"), ("Two", None), ("One", "Resting"), ("Two", None)]


async def test_a_stream_that_is_left_early_frees_the_place_of_the_probe() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave(steps=[TextDelta(text="It"), None])
    chain.time.now += 30
    async with aclosing(chain.fallback.stream(QUESTION)) as events:
        await anext(events)
    first.behave()
    chain.take_attempts()

    await chain.searches(1)

    assert chain.take_attempts() == [("One", None)]


async def test_an_abandoned_stream_does_not_block_the_next_probe() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave(steps=[TextDelta(text="It"), None])
    chain.time.now += 30
    async with aclosing(chain.fallback.stream(QUESTION)) as forgotten:
        await anext(forgotten)
        first.behave()
        chain.time.now += 45 + 30
        chain.take_attempts()

        await chain.searches(1)

    assert chain.take_attempts() == [("One", None)]


@pytest.mark.parametrize("error", [InvalidRequest("x"), RequestCancelled("x")])
async def test_what_is_the_callers_doing_opens_no_breaker(error: Exception) -> None:
    first = ScriptedProvider("One", error=error)
    chain = Chain(first, ScriptedProvider("Two"))
    for _ in range(3):
        with pytest.raises(type(error)):
            await chain.fallback.search(QUERY)
    first.behave()
    chain.take_attempts()

    await chain.searches(1)

    assert chain.take_attempts() == [("One", None)]


async def test_a_refusal_after_an_open_circuit_names_both() -> None:
    second = ScriptedProvider("Two")
    chain = Chain(ScriptedProvider("One", error=DOWN), second)
    await chain.searches(2)
    second.behave(error=InvalidRequest.for_field("mode", "sec", "web only"))

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.fallback.search(QUERY)

    assert [(a.provider, a.error_class) for a in caught.value.attempts] == [
        ("One", "Resting"),
        ("Two", "InvalidRequest"),
    ]


async def test_a_provider_is_not_asked_for_what_it_does_not_offer() -> None:
    answers_only = ScriptedProvider("One", offers=frozenset({"answer"}))
    chain = Chain(answers_only, ScriptedProvider("Two"))

    found, answer = await chain.fallback.search(QUERY), await chain.fallback.answer(QUESTION)

    assert (found.provider, answer.provider, found.failed) == ("Two", "One", ())
    assert answers_only.queries == []
    assert chain.fallback.capabilities == SEARCH_AND_ANSWER


class Priced(FakeProvider):
    """Says what it cost."""

    async def search(self, query: Query) -> SearchResults:
        return SearchResults(results=results_by(self.name).results, provider=self.name, cost_usd=0.005)

    async def answer(self, question: Question) -> Answer:
        return Answer(text="So.", sources=(), provider=self.name, usage=Usage(cost_usd=0.02))


async def test_an_attempt_has_its_kind_its_seconds_and_its_cost() -> None:
    chain = Chain(Priced("One"))

    await chain.fallback.search(QUERY)
    await chain.fallback.answer(QUESTION)

    assert chain.attempts == [
        Attempt(provider="One", seconds=0.0, kind="search", cost_usd=0.005),
        Attempt(provider="One", seconds=0.0, kind="answer", cost_usd=0.02),
    ]


async def test_a_stream_is_reported_once_although_its_reader_stops_at_the_end() -> None:
    chain = Chain(ScriptedProvider("One"))
    events: list[Event] = []
    async with aclosing(chain.fallback.stream(QUESTION)) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == 2:
                break

    assert (len(events), chain.take_attempts()) == (2, [("One", None)])


async def test_an_empty_result_opens_no_circuit() -> None:
    first = ScriptedProvider("One", error=NothingFound("nothing"))
    chain = Chain(first, ScriptedProvider("Two"))

    await chain.searches(5)

    assert len(first.queries) == 5


async def test_a_short_deadline_opens_no_circuit() -> None:
    first = ScriptedProvider("One", error=TimedOut("too late"))
    chain = Chain(first, ScriptedProvider("Two"))
    for _ in range(5):
        await chain.fallback.search(replace(QUERY, seconds=1.0))

    assert len(first.queries) == 5


async def test_only_a_timeout_of_a_whole_turn_opens_the_circuit() -> None:
    first = ScriptedProvider("One", error=TimedOut("too late"))
    starved = Chain(first, ScriptedProvider("Two"), deadlines=FallbackTimeouts(search=9.0))
    await starved.searches(5)
    whole = ScriptedProvider("One", error=TimedOut("too late"))
    await Chain(whole, ScriptedProvider("Two")).searches(5)

    assert (len(first.queries), len(whole.queries)) == (5, 2)


class TakesUpRuns(ScriptedProvider):
    """Goes on with a run by its id."""

    resumes = True


async def test_a_run_that_is_paid_for_is_resumed_where_it_runs_resting_or_not() -> None:
    first = TakesUpRuns("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave()
    chain.take_attempts()

    await chain.fallback.answer(replace(QUESTION, run_id="resp_1"))

    assert chain.take_attempts() == [("One", None)]


async def test_a_run_that_is_lost_is_not_begun_again_by_who_rests() -> None:
    first, second = TakesUpRuns("One"), ScriptedProvider("Two", error=DOWN)
    chain = Chain(first, second)
    for _ in range(2):
        first.behave()
        await chain.searches(1)
        first.behave(error=DOWN)
        with pytest.raises(AllProvidersFailed):
            await chain.fallback.search(QUERY)
    chain.take_attempts()

    with pytest.raises(AllProvidersFailed):
        await chain.fallback.answer(replace(QUESTION, run_id="resp_1"))

    assert chain.take_attempts() == [("One", "ServerError"), ("Two", "Resting")]


async def test_a_run_that_is_paid_for_is_taken_up_by_who_began_it_whatever_the_order() -> None:
    other, began = ScriptedProvider("One"), TakesUpRuns("Two")

    answer = await Fallback([other, began]).answer(replace(QUESTION, run_id="resp_1"))

    assert (answer.provider, other.questions) == ("Two", [])


async def test_a_long_probe_does_not_keep_a_well_provider_away() -> None:
    first = ScriptedProvider("One", error=DOWN)
    chain = Chain(first, ScriptedProvider("Two"))
    await chain.searches(2)
    first.behave(hangs=True)
    chain.time.now += POLICY.seconds
    deep = asyncio.create_task(chain.fallback.answer(replace(QUESTION, model="high")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.behave()
    chain.time.now += POLICY.seconds

    assert (await chain.fallback.search(QUERY)).provider == "One"
    deep.cancel()
