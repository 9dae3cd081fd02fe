from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    BillingError,
    ConnectionFailed,
    EndpointRetired,
    InvalidRequest,
    MalformedResponse,
    NothingFound,
    PerplexityError,
    RateLimitError,
    RequestCancelled,
    RunFailed,
    ServerError,
    StreamTruncated,
    TimedOut,
)
from perplexity.fallback import BreakerPolicy, Fallback
from perplexity.filters import Filters
from perplexity.models import Effort, FallbackTimeouts
from perplexity.providers.base import Provider
from perplexity.types import (
    Done,
    Event,
    Message,
    Query,
    Question,
    Restarted,
    RunStarted,
    SearchResults,
    Sources,
    TextDelta,
)
from tests.fakes.provider import SOURCE, FakeProvider, answer_by, results_by

QUERY = Query(text="python")
HASTY = FallbackTimeouts(search=0.4, answer=0.4, reserve_per_provider=0.2, minimum=0.01)


def question(model: str | None = None, *, reasoning: bool = False, seconds: float | None = None) -> Question:
    messages = (Message(role="user", content="what is python"),)
    return Question(messages=messages, model=model, reasoning=reasoning, seconds=seconds)


def still() -> float:
    return 7.0


async def events_of(chain: Provider) -> list[Event]:
    return [event async for event in chain.stream(question())]


FAILURES: Sequence[PerplexityError] = (
    BillingError("x"),
    EndpointRetired("x"),
    RateLimitError("x"),
    ServerError("x"),
    ConnectionFailed("x"),
    TimedOut("x"),
    MalformedResponse("x"),
    RunFailed("x"),
    NothingFound("x"),
)


def test_the_chain_is_named_after_its_providers() -> None:
    assert Fallback([FakeProvider("One"), FakeProvider("Two")]).name == "One, Two"


async def test_the_first_provider_that_answers_is_taken() -> None:
    second = FakeProvider("Two")

    answer = await Fallback([FakeProvider("One"), second]).answer(question())

    assert (answer, second.questions) == (answer_by("One"), [])


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
async def test_a_failure_is_passed_to_the_next_and_remembered(error: PerplexityError) -> None:
    chain = Fallback([FakeProvider("One", error=error), FakeProvider("Two")], clock=still)
    failed = Attempt(
        provider="One", seconds=0.0, kind="search", error_class=type(error).__name__, summary=error.summary
    )

    found, answer = await chain.search(QUERY), await chain.answer(question())

    assert (found.provider, found.failed) == ("Two", (failed,))
    assert (answer.provider, answer.failed) == ("Two", (replace(failed, kind="answer"),))


async def test_an_invalid_request_is_sent_to_no_other_provider() -> None:
    refusal = InvalidRequest.for_field("mode", "sec", "web only")
    second = FakeProvider("Two")
    chain = Fallback([FakeProvider("One", error=refusal), second])

    with pytest.raises(InvalidRequest) as caught:
        await chain.search(QUERY)

    assert (caught.value, second.queries) == (refusal, [])


BOTH_REASONS = [("One", "is out of credit"), ("Two", "does not take mode sec")]


async def test_what_a_stand_in_cannot_do_by_its_own_rules_the_next_one_may() -> None:
    refusing = FakeProvider("Two", error=InvalidRequest.for_field("mode", "sec", "web only"))
    chain = Fallback([FakeProvider("One", error=BillingError("x")), refusing, FakeProvider("Three")])

    found = await chain.search(QUERY)

    assert (found.provider, [(a.provider, a.summary) for a in found.failed]) == ("Three", BOTH_REASONS)


async def test_a_request_that_a_stand_in_s_service_refuses_names_both_reasons() -> None:
    third = FakeProvider("Three")
    error = InvalidRequest.for_field("mode", "sec", "web only")
    error.status = 400
    chain = Fallback([FakeProvider("One", error=BillingError("x")), FakeProvider("Two", error=error), third])

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.search(replace(QUERY, filters=Filters(mode="sec")))

    assert [(a.provider, a.summary) for a in caught.value.attempts] == BOTH_REASONS
    assert third.queries == []


REFUSED = InvalidRequest("x", status=400)
OPTIONS: Sequence[Mapping[str, Any]] = (
    {"filters": Filters(recency="day")},
    {"schema": {"type": "object"}},
    {"max_tokens": 10},
    {"context": "high"},
    {"tools": ({"type": "fetch_url"},)},
    {"model": "vendor/model"},
)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_service_that_refuses_a_plain_request_is_not_the_last_one_asked(status: int) -> None:
    chain = Fallback([FakeProvider("One", error=InvalidRequest("x", status=status)), FakeProvider("Two")])

    found, answer = await chain.search(QUERY), await chain.answer(question("fast"))
    events = [event async for event in chain.stream(question())]

    assert (found.provider, answer.provider) == ("Two", "Two")
    assert isinstance(events[-1], Done)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: next(iter(option)))
async def test_a_service_that_refuses_what_was_chosen_ends_the_round(option: Mapping[str, Any]) -> None:
    second = FakeProvider("Two")

    with pytest.raises(InvalidRequest):
        await Fallback([FakeProvider("One", error=REFUSED), second]).answer(replace(question(), **option))

    assert second.questions == []


async def test_a_search_that_is_refused_with_a_filter_ends_the_round() -> None:
    second = FakeProvider("Two")

    with pytest.raises(InvalidRequest):
        await Fallback([FakeProvider("One", error=REFUSED), second]).search(
            replace(QUERY, filters=Filters(recency="day"))
        )

    assert second.queries == []


async def test_what_every_service_refuses_names_each_and_what_the_only_one_refuses_is_raised() -> None:
    with pytest.raises(AllProvidersFailed) as caught:
        await Fallback([FakeProvider("One", error=REFUSED), FakeProvider("Two", error=REFUSED)]).search(QUERY)
    with pytest.raises(InvalidRequest):
        await Fallback([FakeProvider("One", error=REFUSED)]).search(QUERY)

    assert [attempt.provider for attempt in caught.value.attempts] == ["One", "Two"]


async def test_a_bare_refusal_of_a_stand_in_has_a_summary_too() -> None:
    chain = Fallback([FakeProvider("One", error=ServerError("x")), FakeProvider("Two", error=InvalidRequest("x"))])

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.search(QUERY)

    assert caught.value.attempts[1].summary == "refused the request"


async def test_if_all_fail_every_attempt_is_reported() -> None:
    chain = Fallback([FakeProvider("One", error=ServerError("x")), FakeProvider("Two", error=NothingFound("x"))])

    with pytest.raises(AllProvidersFailed) as caught:
        await chain.answer(question())

    assert str(caught.value) == "One: ServerError; Two: NothingFound"


async def test_an_empty_chain_says_so() -> None:
    with pytest.raises(AllProvidersFailed, match="no provider is configured"):
        await Fallback([]).search(QUERY)


async def test_a_cancelled_question_is_sent_to_no_other_provider() -> None:
    second = FakeProvider("Two")

    with pytest.raises(RequestCancelled):
        await Fallback([FakeProvider("One", error=RequestCancelled("x")), second]).answer(question())

    assert second.questions == []


async def test_a_provider_that_hangs_is_left_in_time_for_the_next() -> None:
    chain = Fallback([FakeProvider("One", hangs=True), FakeProvider("Two")], timeouts=HASTY)

    found = await chain.search(QUERY)

    assert [(a.provider, a.error_class) for a in found.failed] == [("One", "TimedOut")]


async def test_a_providers_bug_is_a_failed_attempt_and_its_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = Fallback([FakeProvider("One", error=KeyError("secret words")), FakeProvider("Two")])

    with caplog.at_level(logging.DEBUG):
        found = await chain.search(QUERY)

    assert [(a.error_class, a.summary) for a in found.failed] == [("RunFailed", "could not finish the answer")]
    assert [(r.message, vars(r)["provider"], vars(r)["error"]) for r in caplog.records if r.levelno > logging.INFO] == [
        ("provider.broke", "One", "KeyError")
    ]
    assert "secret" not in caplog.text


async def test_no_more_results_are_returned_than_requested() -> None:
    class Generous(FakeProvider):
        async def search(self, query: Query) -> SearchResults:
            return replace(await super().search(query), results=tuple(replace(SOURCE, number=n) for n in range(1, 9)))

    found = await Fallback([Generous("One")]).search(replace(QUERY, max_results=3))

    assert [source.number for source in found.results] == [1, 2, 3]


async def test_cancellation_passes_through() -> None:
    second = FakeProvider("Two")
    task = asyncio.create_task(Fallback([FakeProvider("One", hangs=True), second]).search(QUERY))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

    assert second.queries == []


async def test_every_attempt_is_reported_the_good_one_too() -> None:
    heard: list[Attempt] = []
    providers = [FakeProvider("One", error=ServerError("x")), FakeProvider("Two")]
    chain = Fallback(providers, clock=still, on_attempt=heard.append)

    await chain.search(QUERY)
    await events_of(chain)

    assert [(a.provider, a.error_class) for a in heard] == [("One", "ServerError"), ("Two", None)] * 2


@pytest.mark.parametrize(
    ("left", "behind", "seconds"), [(20, 0, 20), (20, 1, 12), (20, 2, 4), (9, 1, 2), (5, 2, 2), (1, 2, 1), (1, 0, 1)]
)
def test_a_provider_gets_the_remaining_time_minus_a_reserve_for_each_after_it(
    left: float, behind: int, seconds: float
) -> None:
    assert FallbackTimeouts().share(left, behind=behind) == seconds


async def test_time_that_a_provider_used_is_gone_for_the_next() -> None:
    times = iter([0.0, 0.0, 15.0, 15.0, 15.5])
    second = FakeProvider("Two")
    chain = Fallback([FakeProvider("One", error=ServerError("x")), second], clock=lambda: next(times))

    found = await chain.search(QUERY)

    assert ([a.seconds for a in found.failed], second.queries[0].seconds) == ([15.0], 5.0)


async def test_no_provider_is_called_after_the_deadline() -> None:
    times = iter([0.0, 0.0, 21.0, 21.0])
    second = FakeProvider("Two")
    chain = Fallback([FakeProvider("One", error=ServerError("x")), second], clock=lambda: next(times))

    with pytest.raises(AllProvidersFailed):
        await chain.search(QUERY)

    assert second.queries == []


@pytest.mark.parametrize(
    ("asked", "effort", "seconds"),
    [
        (question(), "medium", 45.0),
        (question("fast"), "medium", 45.0),
        (question("low"), "medium", 45.0),
        (question(reasoning=True), "medium", 90.0),
        (question(reasoning=True), "high", 660.0),
        (question("medium"), "medium", 90.0),
        (question("high"), "medium", 660.0),
        (question("xhigh"), "medium", 660.0),
        (question(seconds=3.0), "medium", 3.0),
        (question(seconds=1000.0), "medium", 45.0),
    ],
)
async def test_the_time_for_an_answer_depends_on_the_effort(asked: Question, effort: Effort, seconds: float) -> None:
    provider = FakeProvider("One")

    await Fallback([provider], reasoning_effort=effort, clock=still).answer(asked)

    assert provider.questions[0].seconds == seconds


async def test_a_search_may_bring_its_own_deadline() -> None:
    provider = FakeProvider("One")

    await Fallback([provider], clock=still).search(Query(text="x", seconds=3.0))

    assert provider.queries[0].seconds == 3.0


async def test_a_stream_falls_through_before_its_first_text_only() -> None:
    started, sources = RunStarted(id="r"), Sources(sources=(SOURCE,))
    first = FakeProvider("One", steps=[started, sources, ServerError("x")])
    chain = Fallback([first, FakeProvider("Two")], clock=still)

    *events, done = await events_of(chain)

    assert [*events] == [started, sources, TextDelta(text="It is so [1].")]
    assert isinstance(done, Done)
    assert [(a.provider, a.error_class) for a in done.answer.failed] == [("One", "ServerError")]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ServerError("x"), ServerError),
        (KeyError("x"), RunFailed),
        (TimeoutError(), TimedOut),
        (InvalidRequest("x"), InvalidRequest),
    ],
)
async def test_a_stream_that_fails_after_its_first_text_fails(error: Exception, raised: type[PerplexityError]) -> None:
    second = FakeProvider("Two")
    chain = Fallback([FakeProvider("One", steps=[TextDelta(text="It"), error]), second])

    with pytest.raises(raised):
        await events_of(chain)

    assert second.questions == []


async def test_a_stream_without_an_end_is_truncated() -> None:
    chain = Fallback([FakeProvider("One", steps=[TextDelta(text="It")])])

    with pytest.raises(StreamTruncated):
        await events_of(chain)


async def test_a_stream_that_hangs_is_left_in_time_and_closed() -> None:
    first = FakeProvider("One", steps=[RunStarted(id="r"), None])
    chain = Fallback([first, FakeProvider("Two")], timeouts=HASTY)

    events = await events_of(chain)

    assert (first.streams_closed, len(events)) == (1, 3)


async def test_an_abandoned_stream_is_closed() -> None:
    first = FakeProvider("One", steps=[TextDelta(text="It"), None])
    async with aclosing(Fallback([first]).stream(question())) as events:
        await anext(events)

    assert first.streams_closed == 1


async def test_streams_that_all_fail_tell_every_attempt() -> None:
    chain = Fallback([FakeProvider("One", steps=[]), FakeProvider("Two", error=NothingFound("x"))])

    with pytest.raises(AllProvidersFailed) as caught:
        await events_of(chain)

    assert [a.error_class for a in caught.value.attempts] == ["StreamTruncated", "NothingFound"]


async def test_what_a_chain_found_keeps_the_failures_of_a_chain_inside_it() -> None:
    inner = Fallback([FakeProvider("One", error=ServerError("x")), FakeProvider("Two")])
    found = await Fallback([FakeProvider("Zero", error=ServerError("x")), inner]).search(QUERY)

    assert ([a.provider for a in found.failed], found.results) == (["Zero", "One"], results_by("Two").results)


async def test_an_answer_begins_anew_only_after_a_provider_that_was_asked() -> None:
    policy = BreakerPolicy(failures=1)
    chain = Fallback([FakeProvider("One", error=ServerError("x")), FakeProvider("Two")], breaker=policy, clock=still)
    events: list[Event] = []

    for expected in ([Restarted()], []):
        events.clear()
        await chain.answer(replace(question(), on_event=events.append))
        assert events == expected


@pytest.mark.parametrize("shown_after", [0, 1])
async def test_after_its_text_was_shown_no_other_provider_is_asked(shown_after: int) -> None:
    """The text may also be shown while the chain makes sure that the answer is still wanted."""
    second, looks = FakeProvider("Two"), iter([*[False] * shown_after, True])
    chain = Fallback([FakeProvider("One", error=ServerError("x", cost_usd=0.5)), second], clock=still)
    asked = replace(question(), text_shown=lambda: next(looks))

    with pytest.raises(ServerError) as caught:
        await chain.answer(asked)

    assert (second.questions, caught.value.cost_usd) == ([], 0.5)
