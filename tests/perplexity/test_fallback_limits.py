"""What a chain does where a service limits how many calls it takes: it waits for its turn, which is no failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from perplexity.errors import AllProvidersFailed, Attempt, RateLimitError, ServerError
from perplexity.fallback import MAX_REFUSALS, BreakerPolicy, Fallback
from perplexity.limiter import CallKind, Limits, MemoryLimiter
from perplexity.models import FallbackTimeouts
from perplexity.providers import open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.retry import RetryPolicy
from perplexity.types import Answer, Done, Message, Query, Question
from tests.fakes.perplexity import KEY, FakePerplexity, RateWindow
from tests.fakes.provider import FakeProvider, answer_by

QUESTION = Question(messages=(Message(role="user", content="what is python"),))


@dataclass
class Moment:
    """A clock that goes on when a caller sleeps."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class LimitedProvider(FakeProvider):
    """Refuses the next `refusals` calls because of their rate; `search_only` writes no text."""

    def __init__(
        self,
        name: str,
        *,
        refusals: int = 0,
        retry_after: float | None = 2.0,
        status: int = 429,
        passages: bool = False,
    ) -> None:
        super().__init__(name)
        self.search_only = passages
        self.refusals, self.retry_after, self.status = refusals, retry_after, status

    async def answer(self, question: Question) -> Answer:
        """Answer, or refuse to."""
        answer = await super().answer(question)
        if self.refusals:
            self.refusals -= 1
            raise RateLimitError("too many", status=self.status, retry_after=self.retry_after)
        return answer

    async def stream(self, question: Question) -> AsyncIterator[Done]:
        """Stream what `answer` returns."""
        yield Done(answer=await self.answer(question))


@dataclass(kw_only=True)
class Chain:
    """A chain of providers with one limiter, on one clock."""

    providers: list[FakeProvider]
    wait_seconds: float = 60.0
    clock: Moment = field(default_factory=Moment)
    attempts: list[Attempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = {("one", kind): Limits(per_second=1, per_minute=50) for kind in ("answer", "search")}
        self.limiter = MemoryLimiter(
            limits,  # type: ignore[arg-type]  # the kinds are those of a literal
            wait_seconds=self.wait_seconds,
            clock=self.clock,
            sleep=self.clock.sleep,
        )
        self.fallback = Fallback(
            self.providers,
            clock=self.clock,
            limiter=self.limiter,
            on_attempt=self.attempts.append,
            breaker=BreakerPolicy(failures=2),
            timeouts=FallbackTimeouts(search=5, answer=5),
        )

    async def use_up(self, calls: int) -> None:
        for _ in range(calls):
            await self.limiter.turn("One", "answer")


async def answered(chain: Chain) -> Answer:
    return await chain.fallback.answer(QUESTION)


async def streamed(chain: Chain) -> Answer:
    async for event in chain.fallback.stream(QUESTION):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("no answer")


BOTH = pytest.mark.parametrize("ask", [answered, streamed])


@BOTH
async def test_a_refusal_is_asked_again_in_its_turn_and_seen_by_no_one(ask: Callable[[Chain], object]) -> None:
    one, two = LimitedProvider("One", refusals=1), LimitedProvider("Two")
    chain = Chain(providers=[one, two])

    answer = await ask(chain)  # type: ignore[misc]

    assert answer == answer_by("One")
    assert (len(one.questions), two.questions) == (2, [])
    assert [(attempt.provider, attempt.error_class) for attempt in chain.attempts] == [("One", None)]
    assert chain.clock.now == 102.0


@BOTH
async def test_refusals_open_no_breaker(ask: Callable[[Chain], object]) -> None:
    one, two = LimitedProvider("One"), LimitedProvider("Two")
    chain = Chain(providers=[one, two])
    for _ in range(10):
        one.refusals = 1
        assert await ask(chain) == answer_by("One")  # type: ignore[misc]
    assert two.questions == []


async def test_the_time_of_a_provider_begins_with_its_turn() -> None:
    chain = Chain(providers=[LimitedProvider("One")])
    await chain.use_up(50)
    began = chain.clock.now

    assert await answered(chain) == answer_by("One")

    assert chain.clock.now - began > 5, "longer than the chain's own time"


async def test_who_would_wait_too_long_is_answered_by_another_one_that_writes_text() -> None:
    passages, two = LimitedProvider("Pages", passages=True), LimitedProvider("Two")
    chain = Chain(providers=[LimitedProvider("One"), passages, two], wait_seconds=5)
    await chain.use_up(50)

    answer = await answered(chain)

    assert answer.provider == "Two"
    assert [(one.provider, one.error_class) for one in answer.failed] == [("One", "RateLimitError")]
    assert passages.questions == []


async def test_a_limit_never_leads_to_passages() -> None:
    passages = LimitedProvider("Pages", passages=True)
    chain = Chain(providers=[LimitedProvider("One"), passages], wait_seconds=5)
    await chain.use_up(50)

    assert await answered(chain) == answer_by("One")
    assert passages.questions == []


async def test_if_the_other_one_fails_the_turn_is_waited_for() -> None:
    passages, two = LimitedProvider("Pages", passages=True), FakeProvider("Two", error=ServerError("x", status=500))
    chain = Chain(providers=[LimitedProvider("One"), passages, two], wait_seconds=5)
    await chain.use_up(50)

    answer = await answered(chain)

    assert (answer.provider, passages.questions) == ("One", [])


async def test_a_search_may_be_done_by_any_other() -> None:
    chain = Chain(providers=[LimitedProvider("One"), LimitedProvider("Pages", passages=True)], wait_seconds=5)
    for _ in range(50):
        await chain.limiter.turn("One", "search")

    found = await chain.fallback.search(Query(text="python"))

    assert found.provider == "Pages"


@BOTH
async def test_a_service_that_refuses_again_and_again_is_given_up(ask: Callable[[Chain], object]) -> None:
    one, two = LimitedProvider("One", refusals=100), LimitedProvider("Two")
    chain = Chain(providers=[one, two])

    answer = await ask(chain)  # type: ignore[misc]

    assert (answer.provider, len(one.questions)) == ("Two", 1 + MAX_REFUSALS)


async def test_all_that_refuse_are_asked_a_bounded_number_of_times() -> None:
    providers = [LimitedProvider(name, refusals=100) for name in ("One", "Two", "Three")]
    chain = Chain(providers=list(providers))

    with pytest.raises(AllProvidersFailed):
        await answered(chain)

    assert sum(len(one.questions) for one in providers) == len(providers) + MAX_REFUSALS


async def test_passages_may_stand_in_for_what_is_limited_and_broken() -> None:
    broken = ServerError("x", status=500)
    one, passages = FakeProvider("One", error=broken), LimitedProvider("Pages", passages=True)
    chain = Chain(providers=[one, passages, FakeProvider("Two", error=broken)], wait_seconds=5)
    await chain.use_up(50)

    assert (await answered(chain)).provider == "Pages"


async def test_credit_that_is_short_is_a_failure() -> None:
    one = LimitedProvider("One", refusals=1, status=402)
    chain = Chain(providers=[one, LimitedProvider("Two")])

    answer = await answered(chain)

    assert (answer.provider, len(one.questions)) == ("Two", 1)


@pytest.mark.parametrize(
    ("question", "kind"), [(QUESTION, "answer"), (Question(messages=QUESTION.messages, model="high"), "background")]
)
async def test_the_limit_that_a_reply_names_is_learned_before_its_text(question: Question, kind: CallKind) -> None:
    told: list[tuple[str, str, int | None, int | None]] = []

    class Noting(MemoryLimiter):
        async def replied(
            self, provider: str, kind: CallKind, *, per_minute: int | None = None, used: int | None = None
        ) -> None:
            told.append((provider, kind, per_minute, used))

    limiter = Noting()
    async with FakePerplexity(rate=RateWindow(per_second=100, per_minute=500)) as service:
        config = ProviderConfig(keys={"perplexity": KEY}, base_urls={"perplexity": service.base_url}, limiter=limiter)
        async with open_providers(config, order=["perplexity"]) as providers:
            await Fallback(providers, limiter=limiter).answer(question)

    assert told == [("Perplexity", kind, 500, 1), ("Perplexity", kind, None, None)]


async def test_a_service_with_a_new_key_refuses_nothing() -> None:
    moments = Moment()
    window = RateWindow(per_second=1, per_minute=50, clock=moments)
    limiter = MemoryLimiter(clock=moments, sleep=moments.sleep)
    async with FakePerplexity(rate=window) as service:
        config = ProviderConfig(
            keys={"perplexity": KEY},
            base_urls={"perplexity": service.base_url},
            retry=RetryPolicy(attempts=3, base=0.001),
            limiter=limiter,
        )
        async with open_providers(config, order=["perplexity"]) as providers:
            chain = Fallback(providers, limiter=limiter)
            answers = [await chain.answer(QUESTION) for _ in range(60)]

    assert (window.refused, len(service.requests)) == (0, 60)
    assert all(answer.failed == () for answer in answers)
