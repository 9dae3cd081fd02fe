"""Every provider × every way in which a service fails: what the chain makes of it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal

import pytest

from perplexity import errors
from perplexity.errors import AllProvidersFailed, Attempt, PerplexityError
from perplexity.fallback import Fallback
from perplexity.models import FallbackTimeouts
from perplexity.providers import open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.retry import RetryPolicy
from perplexity.types import Answer, Done, Message, Query, Question, SearchResults
from tests.fakes import brave, faults, openrouter, perplexity
from tests.fakes.brave import FakeBrave
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.service import FakeService

TABLE = """
                         | Perplexity                    | OpenRouter          | Brave               | DuckDuckGo
refused                  | ConnectionFailed              | ConnectionFailed    | ConnectionFailed    | ConnectionFailed
reset mid-body           | ConnectionFailed              | ConnectionFailed    | ConnectionFailed    | ConnectionFailed
hang                     | TimedOut                      | TimedOut            | TimedOut            | TimedOut
slow drip                | TimedOut                      | TimedOut            | TimedOut            | TimedOut
400                      | InvalidRequest                | InvalidRequest      | InvalidRequest      | NothingFound
401 key                  | AuthenticationError           | AuthenticationError | AuthenticationError | -
401 quota                | BillingError                  | -                   | BillingError        | -
402                      | BillingError                  | BillingError        | -                   | -
403 retired              | EndpointRetired               | EndpointRetired     | AuthenticationError | NothingFound
404                      | APIError                      | APIError            | APIError            | NothingFound
408                      | APIError                      | APIError            | APIError            | -
409                      | APIError                      | APIError            | APIError            | -
413                      | InvalidRequest                | InvalidRequest      | InvalidRequest      | -
422                      | InvalidRequest                | InvalidRequest      | InvalidRequest      | NothingFound
429 short                | it answers                    | it answers          | it answers          | NothingFound
429 long                 | RateLimitError                | RateLimitError      | RateLimitError      | NothingFound
500                      | ServerError                   | ServerError         | ServerError         | NothingFound
503                      | ServerError                   | ServerError         | ServerError         | -
504                      | ServerError                   | ServerError         | ServerError         | -
529                      | ServerError                   | ServerError         | ServerError         | -
502 HTML                 | ServerError                   | ServerError         | ServerError         | NothingFound
200 HTML                 | MalformedResponse             | MalformedResponse   | MalformedResponse   | NothingFound
200 empty                | MalformedResponse             | MalformedResponse   | MalformedResponse   | NothingFound
200 truncated            | MalformedResponse             | MalformedResponse   | MalformedResponse   | NothingFound
200 with an error inside | RunFailed / MalformedResponse | ServerError         | MalformedResponse   | NothingFound
stream cut               | StreamTruncated               | StreamTruncated     | -                   | -
stream cut in the text   | StreamTruncated, stop         | StreamTruncated, stop| -                  | -
"""
"""An error's class: the attempt that is noted, before the next provider answers; `a / b` where a search differs.
`stop`: no one else is asked, and this is what the asker gets. `it answers`: after a pause, without help.

Each service has the fault in its own words (tests/fakes/faults.py). "-" cannot happen: DuckDuckGo has neither key nor
bill, OpenRouter's bill is the 402 and Brave's the other one, and nothing of Brave's or DuckDuckGo's is streamed.
DuckDuckGo's refusals cannot be told from a page without results, so they are not waited for.
"""

Ask = Literal["search", "answer", "stream"]

FAULTS = {
    "Perplexity": faults.PERPLEXITY,
    "OpenRouter": faults.OPENROUTER,
    "Brave": faults.BRAVE,
    "DuckDuckGo": faults.DUCKDUCKGO,
}
PATHS: Mapping[str, Mapping[Ask, str]] = {
    "Perplexity": {"search": "/search", "answer": "/v1/agent", "stream": "/v1/agent"},
    "OpenRouter": {"answer": "/chat/completions", "stream": "/chat/completions"},
    "Brave": {"search": "/web/search", "answer": "/llm/context", "stream": "/llm/context"},
    "DuckDuckGo": {"search": "/html/", "answer": "/html/", "stream": "/html/"},
}
ORDER = tuple(PATHS)
AGAIN = ("408", "409", "500", "502 HTML", "503", "504", "529")
ONCE = ("400", "401 key", "401 quota", "402", "403 retired", "404", "413", "422", "429 long")
UNREADABLE = ("200 HTML", "200 empty", "200 truncated")
"""Asked for again where nothing was paid: by a search engine, or for pages."""
SLOW = ("hang", "slow drip")
HASTY = FallbackTimeouts(search=2.0, answer=2.0, reserve_per_provider=1.5, minimum=0.1)
QUERY = Query(text="python threads")
QUESTION = Question(messages=(Message(role="user", content="python threads"),))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One cell, asked in one way."""

    fault: str
    provider: str
    ask: Ask
    expected: str

    @property
    def error(self) -> str | None:
        """The class of the error that is noted, None if the provider answers anyway."""
        if self.expected == "it answers":
            return None
        answered, _, searched = self.expected.partition(", ")[0].partition(" / ")
        return searched if searched and self.ask == "search" else answered

    @property
    def stops(self) -> bool:
        """Whether no one else is asked."""
        return self.expected.endswith(", stop")

    @property
    def behind(self) -> str | None:
        """The next provider that can be asked for this."""
        later = ORDER[ORDER.index(self.provider) + 1 :]
        return next((name for name in later if self.ask in PATHS[name]), None)

    @property
    def requests(self) -> int | None:
        """How often the provider is asked; None if nothing is said of that."""
        if self.provider == "DuckDuckGo":
            return None
        if self.fault in UNREADABLE:
            return 3 if self.ask == "search" or self.provider == "Brave" else 1
        return 3 if self.fault in AGAIN else 1 if self.fault in ONCE else None

    @property
    def deadlines(self) -> FallbackTimeouts:
        """Little time where it is used up."""
        return HASTY if self.fault in SLOW else FallbackTimeouts()


def cases() -> Iterator[Case]:
    head, *rows = TABLE.strip("\n").splitlines()
    providers = [name.strip() for name in head.split("|")[1:]]
    for row in rows:
        fault, *cells = (cell.strip() for cell in row.split("|"))
        for provider, expected in zip(providers, cells, strict=True):
            for ask in PATHS[provider] if expected != "-" else ():
                if ask == "stream" or not fault.startswith("stream"):
                    yield Case(fault=fault, provider=provider, ask=ask, expected=expected)


class FaultMatrix:
    """The four services on loopback, and a chain of some of them; what it heard of its attempts."""

    def __init__(self, stack: AsyncExitStack, point_ddgs_at: PointDdgsAt) -> None:
        self._stack = stack
        self._point_ddgs_at = point_ddgs_at
        self._services: dict[str, FakeService] = {
            "Perplexity": FakePerplexity(),
            "OpenRouter": FakeOpenRouter(),
            "Brave": FakeBrave(),
            "DuckDuckGo": FakeDuckDuckGo([Hit(title="Python", url="https://python.org/", body="Threads are here.")]),
        }
        self.addresses: dict[str, str] = {}
        self.attempts: list[Attempt] = []

    async def start(self, *names: str) -> None:
        for name in names:
            await self._stack.enter_async_context(self._services[name])
            self.addresses[name] = self._services[name].base_url

    def break_service(self, name: str, fault: str, *paths: str) -> None:
        """Let a service have this fault for as long as anybody asks; a short limit is over after one request."""
        if fault == "refused":
            self.addresses[name] = nowhere()
            return
        for path in paths:
            self._services[name].script(path, *[FAULTS[name][fault]] * (1 if fault == "429 short" else 5))

    def requests(self, name: str) -> int:
        return len(self._services[name].requests)

    async def chain(self, *names: str, deadlines: FallbackTimeouts) -> Fallback:
        setup = ProviderConfig(
            keys={"perplexity": perplexity.KEY, "openrouter": openrouter.KEY, "brave": brave.KEY},
            base_urls={name.lower(): address for name, address in self.addresses.items()},
            retry=RetryPolicy(attempts=3, base=0.001),
        )
        self._point_ddgs_at(f"{self.addresses.get('DuckDuckGo')}/html/")
        order = [name.lower() for name in names]
        providers = await self._stack.enter_async_context(open_providers(setup, order=order))
        return Fallback(providers, timeouts=deadlines, on_attempt=self.attempts.append)


def nowhere() -> str:
    """Return an address at which no one listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


async def ask_chain(chain: Fallback, ask: Ask) -> SearchResults | Answer:
    if ask == "search":
        return await chain.search(QUERY)
    if ask == "answer":
        return await chain.answer(QUESTION)
    *_, done = [event async for event in chain.stream(QUESTION)]
    assert isinstance(done, Done)
    return done.answer


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    # The library is slow to load, which is not what is timed here.
    import ddgs

    ddgs.DDGS()


@pytest.mark.parametrize("case", [*cases()], ids=lambda case: f"{case.provider}, {case.fault}, {case.ask}")
async def test_a_fault_leads_to_the_next_provider_in_time(case: Case, point_ddgs_at: PointDdgsAt) -> None:
    names = [case.provider, *([case.behind] if case.behind else [])]
    async with AsyncExitStack() as stack:
        matrix = FaultMatrix(stack, point_ddgs_at)
        await matrix.start(*names)
        matrix.break_service(case.provider, case.fault, PATHS[case.provider][case.ask])
        chain = await matrix.chain(*names, deadlines=case.deadlines)
        began = time.monotonic()

        try:
            outcome: SearchResults | Answer | PerplexityError = await ask_chain(chain, case.ask)
        except PerplexityError as error:
            outcome = error

        took = time.monotonic() - began
        requests = matrix.requests(case.provider)
        asked_next = case.behind is not None and matrix.requests(case.behind) > 0

    told = [(attempt.provider, attempt.error_class) for attempt in matrix.attempts]
    assert took < case.deadlines.answer + 1
    assert case.requests in {None, requests}
    assert {attempt.kind for attempt in matrix.attempts} == {"search" if case.ask == "search" else "answer"}
    if case.error is None:
        assert isinstance(outcome, SearchResults | Answer)
        assert (told, outcome.failed, asked_next) == ([(case.provider, None)], (), False)
        return
    assert matrix.attempts[0].summary == getattr(errors, case.error).summary
    if case.stops:
        assert (type(outcome).__name__, told, asked_next) == (case.error, [(case.provider, case.error)], False)
    elif case.behind is None:
        assert isinstance(outcome, AllProvidersFailed)
        assert (told, list(outcome.attempts)) == ([(case.provider, case.error)], matrix.attempts)
    else:
        assert isinstance(outcome, SearchResults | Answer)
        assert outcome.provider.startswith(case.behind)
        assert told == [(case.provider, case.error), (case.behind, None)]
        assert outcome.failed == (matrix.attempts[0],)


DOWN = {"Perplexity": "401 quota", "OpenRouter": "502 HTML", "Brave": "429 long"}


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        ("search", "Perplexity: BillingError, Brave: RateLimitError, DuckDuckGo: None"),
        ("answer", "Perplexity: BillingError, OpenRouter: ServerError, Brave: RateLimitError, DuckDuckGo: None"),
        ("stream", "Perplexity: BillingError, OpenRouter: ServerError, Brave: RateLimitError, DuckDuckGo: None"),
    ],
)
async def test_the_last_one_answers_when_all_before_it_are_down(
    ask: Ask, told: str, point_ddgs_at: PointDdgsAt
) -> None:
    async with AsyncExitStack() as stack:
        matrix = FaultMatrix(stack, point_ddgs_at)
        await matrix.start(*ORDER)
        for name, fault in DOWN.items():
            matrix.break_service(name, fault, *PATHS[name].values())
        reply = await ask_chain(await matrix.chain(*ORDER, deadlines=FallbackTimeouts()), ask)

    assert ", ".join(f"{attempt.provider}: {attempt.error_class}" for attempt in matrix.attempts) == told
    assert (reply.provider, list(reply.failed)) == ("DuckDuckGo", matrix.attempts[:-1])


@pytest.mark.parametrize("ask", ["search", "answer", "stream"])
async def test_when_all_hang_the_chain_gives_up_in_time(ask: Ask, point_ddgs_at: PointDdgsAt) -> None:
    deadlines = FallbackTimeouts(search=1.2, answer=1.2, reserve_per_provider=0.2, minimum=0.1)
    async with AsyncExitStack() as stack:
        matrix = FaultMatrix(stack, point_ddgs_at)
        await matrix.start(*ORDER)
        for name in ORDER:
            matrix.break_service(name, "hang", *PATHS[name].values())
        chain = await matrix.chain(*ORDER, deadlines=deadlines)
        began = time.monotonic()

        with pytest.raises(AllProvidersFailed) as caught:
            await ask_chain(chain, ask)

        took = time.monotonic() - began

    assert took < deadlines.answer + 1
    assert {attempt.error_class for attempt in caught.value.attempts} == {"TimedOut"}
    assert len(caught.value.attempts) == len([name for name in ORDER if ask in PATHS[name]])


def test_the_table_leaves_nothing_out() -> None:
    told = {(case.provider, case.fault) for case in cases()}

    assert {(provider, fault) for provider, faults_ in FAULTS.items() for fault in faults_} <= told
    assert {fault for _, fault in told} == {"refused", *faults.PERPLEXITY}
