"""Every service is down: how often each is called for one question and for 30 at once, and when the asker is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import replace
from itertools import product

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import AllProvidersFailed
from perplexity.fallback import BreakerPolicy, Fallback
from perplexity.models import FallbackTimeouts
from perplexity.providers.brave import Brave
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.scope import SentRequest
from perplexity.types import Message, Question
from tests.fakes import brave, openrouter, perplexity
from tests.fakes.brave import FakeBrave
from tests.fakes.faults import BRAVE, OPENROUTER, PERPLEXITY
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.ports import free_port
from tests.fakes.service import FakeService, Fault, json_reply
from tests.rare import one_in

PATHS = ("/v1/agent", "/chat/completions", "/llm/context")
OWN_WORDS = (PERPLEXITY, OPENROUTER, BRAVE)
QUOTA = {2: "401 quota"}
"""Brave says it with another status."""


def everywhere(fault: Fault) -> Sequence[Fault]:
    return (fault,) * 3


def in_own_words(name: str, otherwise: Mapping[int, str] | None = None) -> Sequence[Fault]:
    return [words[(otherwise or {}).get(place, name)] for place, words in enumerate(OWN_WORDS)]


def limited(**headers: str) -> Sequence[Fault]:
    return everywhere(json_reply({"error": {"message": "No.", "code": 429}}, status=429, headers=headers))


def unavailable(**headers: str) -> Sequence[Fault]:
    return everywhere(json_reply({"error": {"message": "No.", "code": 503}}, status=503, headers=headers))


TRIED_AGAIN, ONCE_MORE, ONCE = (3, 1, 1), (2, 1, 1), (1, 1, 1)
FAULTS: Mapping[str, tuple[Sequence[Fault], Sequence[int]]] = {
    "refused": ((), TRIED_AGAIN),
    "401": (in_own_words("401 key"), ONCE),
    "402": (in_own_words("402", QUOTA), ONCE),
    "429": (limited(), TRIED_AGAIN),
    "429, come back in 8 s": (limited(**{"Retry-After": "8"}), ONCE_MORE),
    "429, come back in 300 s": (limited(**{"Retry-After": "300"}), ONCE),
    "500": (in_own_words("500"), TRIED_AGAIN),
    "503": (in_own_words("503"), TRIED_AGAIN),
    "503, come back in 8 s": (unavailable(**{"Retry-After": "8"}), ONCE_MORE),
    "503, come back in 20 s": (unavailable(**{"Retry-After": "20"}), ONCE),
    "522 HTML": (everywhere(Fault(status=522, content_type="text/html", chunks=(b"<html></html>",))), TRIED_AGAIN),
    "a cut stream": (in_own_words("stream cut", {2: "reset mid-body"}), TRIED_AGAIN),
}
"""What each service does, and how often each is called for one question."""

HANGING = everywhere(Fault(hang=True))
HASTY = FallbackTimeouts(answer=0.6, reserve_per_provider=0.2, minimum=0.1)
LONG_REST = BreakerPolicy(seconds=3600)
NO_REST = BreakerPolicy(failures=1000)
TOLD_WITHIN_SECONDS = 15.0

paused: ContextVar[list[float]] = ContextVar("paused")


async def pause(seconds: float) -> None:
    """Note a pause for the question of this task, and take no time."""
    paused.get().append(seconds)
    await asyncio.sleep(0)


class Down:
    """A chain of services that are down; `told` holds what each asker hears, and after how long a pause in all."""

    def __init__(self, chain: Fallback, services: Sequence[FakeService]) -> None:
        self.chain = chain
        self.told: list[tuple[AllProvidersFailed, float]] = []
        self._sent: Counter[str] = Counter()
        self._services = services

    async def ask(self, number: int = 0) -> None:
        pauses: list[float] = []
        paused.set(pauses)
        asked = Question(
            messages=(Message(role="user", content=f"question {number}"),),
            before_sending=self._note,
            on_event=lambda event: None,
        )
        try:
            if number % 2:
                _ = [event async for event in self.chain.stream(replace(asked, on_event=None))]
            else:
                await self.chain.answer(asked)
        except AllProvidersFailed as error:
            self.told.append((error, sum(pauses)))

    async def ask_at_once(self, questions: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(questions):
                group.create_task(self.ask(number))

    @property
    def sent(self) -> list[int]:
        """How many calls left for each service."""
        return [self._sent[path] for path in PATHS]

    @property
    def calls(self) -> list[int]:
        """How often each service was called; all that left arrived, unless its port is closed."""
        arrived = [sum(request.path in PATHS for request in service.requests) for service in self._services]
        assert arrived == self.sent[: len(arrived)]
        return self.sent

    async def _note(self, request: SentRequest) -> None:
        self._sent[request.path.partition("?")[0]] += 1


@contextlib.asynccontextmanager
async def down(
    faults: Sequence[Fault],
    length: int,
    *,
    attempts: int = 3,
    timeouts: FallbackTimeouts | None = None,
    breaker: BreakerPolicy | None = None,
) -> AsyncIterator[Down]:
    """Open a chain of so many services with these faults, closed ports if there are none."""
    async with AsyncExitStack() as stack:
        services: list[FakeService] = []
        for kind, broken in zip((FakePerplexity, FakeOpenRouter, FakeBrave), faults, strict=False):
            services.append(await stack.enter_async_context(kind()))
            services[-1].lasting["*"] = broken
        addresses = [service.base_url for service in services] or [f"http://127.0.0.1:{free_port()}"] * 3
        providers = _providers(addresses, attempts)[:length]
        for provider in providers:
            await stack.enter_async_context(provider)
        yield Down(Fallback(providers, timeouts=timeouts, breaker=breaker, on_attempt=lambda attempt: None), services)


def _providers(addresses: Sequence[str], attempts: int) -> Sequence[PerplexityProvider | OpenRouter | Brave]:
    """Return the providers of a chain; each pauses for as long as it ever would."""
    retry, first, second, third = RetryPolicy(attempts=attempts), *addresses
    client = PerplexityClient(perplexity.KEY, base_url=first, retry=retry, sleep=pause, random=_longest)
    return (
        PerplexityProvider(client),
        OpenRouter(openrouter.KEY, base_url=second, retry=retry, sleep=pause, random=_longest),
        Brave(brave.KEY, base_url=third, retry=retry, sleep=pause, random=_longest),
    )


def _longest() -> float:
    return 1.0


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("fault", FAULTS)
async def test_one_question_shares_its_retries_and_its_asker_is_told_soon(fault: str, length: int) -> None:
    async with down(FAULTS[fault][0], length) as chain:
        await chain.ask()

    ((error, seconds),) = chain.told
    assert chain.calls == [*FAULTS[fault][1][:length], *[0] * (3 - length)]
    assert seconds <= TOLD_WITHIN_SECONDS
    assert len(error.attempts) == length


@pytest.mark.parametrize(("fault", "length"), one_in(3, product(FAULTS, [1, 2, 3]), first=2))
async def test_of_30_at_once_each_makes_two_calls_a_service_at_most(fault: str, length: int) -> None:
    async with down(FAULTS[fault][0], length) as chain:
        await chain.ask_at_once(30)

    assert len(chain.told) == 30
    assert max(chain.calls) <= 60
    assert max(seconds for _, seconds in chain.told) <= TOLD_WITHIN_SECONDS
    assert all(len(error.attempts) == length for error, _ in chain.told)


@pytest.mark.parametrize("attempts", [1, 2, 5, 10])
@pytest.mark.parametrize("fault", ["refused", "429", "500", "503, come back in 8 s", "a cut stream"])
async def test_however_many_attempts_are_allowed_they_are_for_the_whole_chain(fault: str, attempts: int) -> None:
    async with down(FAULTS[fault][0], 3, attempts=attempts) as chain:
        await chain.ask()

    assert sum(chain.calls) <= 3 + attempts - 1
    assert chain.told[0][1] <= TOLD_WITHIN_SECONDS


@pytest.mark.parametrize("questions", [1, 30])
@pytest.mark.parametrize("length", [1, 2, 3])
async def test_services_that_hang_are_called_once_and_given_up_at_the_deadline(length: int, questions: int) -> None:
    async with down(HANGING, length, timeouts=HASTY, breaker=NO_REST) as chain:
        await chain.ask_at_once(questions)

    assert len(chain.told) == questions
    assert max(chain.sent) <= questions
    assert {attempt.error_class for error, _ in chain.told for attempt in error.attempts} == {"TimedOut"}


@pytest.mark.parametrize(("fault", "length"), one_in(3, product(FAULTS, [1, 2, 3]), first=2))
async def test_who_asks_while_every_service_rests_is_told_at_once_when_it_is_asked_again(
    fault: str, length: int
) -> None:
    async with down(FAULTS[fault][0], length, breaker=LONG_REST) as chain:
        await chain.ask_at_once(30)
        before = chain.calls

        await chain.ask()

    error, seconds = chain.told[-1]
    assert (chain.calls, seconds) == (before, 0.0)
    assert {attempt.error_class for attempt in error.attempts} == {"Resting"}
    assert 0 < (error.retry_after or 0) <= LONG_REST.seconds
