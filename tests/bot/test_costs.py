"""What a question cost: the row, the line under the answer and the metrics say what the services charged together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client import generate_latest
from psycopg import AsyncConnection

from bot.storage.questions import QuestionStore, connection_pool
from bot.web.metrics import Metrics
from perplexity.errors import Attempt
from perplexity.fallback import Fallback
from perplexity.providers import open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.retry import RetryPolicy
from tests.bot.worker.test_worker import WorkerHarness
from tests.fakes import brave, openrouter, perplexity
from tests.fakes.brave import FakeBrave
from tests.fakes.openrouter import FakeOpenRouter, chunk
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.service import Fault, json_reply, sse, stream_reply
from tests.rare import one_in

AGENT, SEARCH, CHAT = "/v1/agent", "/search", "/chat/completions"
WEB, CONTEXT = "/web/search", "/llm/context"
RECORDED = 0.00502
"""What OpenRouter's recorded answer cost."""


def usage(dollars_: float) -> dict[str, Any]:
    return {"input_tokens": 1, "output_tokens": 1, "cost": {"currency": "USD", "total_cost": dollars_}}


def run_failed(dollars_: float, kind: str = "something") -> Fault:
    error = {"message": "No.", "type": kind}
    return json_reply({"id": "r", "status": "failed", "output": [], "error": error, "usage": usage(dollars_)})


def stream_failed(dollars_: float, kind: str = "something") -> Fault:
    error = {"message": "No.", "type": kind}
    run = {"id": "r", "status": "failed", "error": error, "usage": usage(dollars_)}
    return stream_reply(sse({"type": "response.failed", "response": run}))


def without_text(dollars_: float) -> Fault:
    why = {"reason": "max_output_tokens"}
    return json_reply(
        {"id": "r", "status": "incomplete", "output": [], "incomplete_details": why, "usage": usage(dollars_)}
    )


def completion(content: str, dollars_: float) -> Fault:
    answer = json.loads(openrouter.fixture("openrouter.200.json"))
    answer["choices"][0]["message"]["content"] = content
    return json_reply(answer | {"usage": {"prompt_tokens": 1, "cost": dollars_}})


def cut_stream(dollars_: float) -> Fault:
    return stream_reply(sse(chunk("<think>Hm.", usage={"prompt_tokens": 1, "cost": dollars_})))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A question, who is asked, how their services fail, and what they charge in all."""

    asked: str
    order: str
    faults: Mapping[str, tuple[Fault, ...]]
    invoice: float
    state: str = "answered"


CASES = {
    "a failure that was paid for and a stand-in": Case(
        asked="ask why", order="perplexity openrouter", faults={AGENT: (run_failed(0.4),)}, invoice=0.4 + RECORDED
    ),
    "three of them, the last one answers": Case(
        asked="ask why",
        order="perplexity openrouter brave",
        faults={AGENT: (run_failed(0.4),), CHAT: (completion(" ", 0.02),)},
        invoice=0.4 + 0.02 + 0.005,
    ),
    "several failures that were paid for": Case(
        asked="ask why",
        order="perplexity openrouter",
        faults={AGENT: (without_text(0.4),), CHAT: (completion("", 0.02),)},
        invoice=0.42,
        state="failed",
    ),
    "an error inside a 200 with its usage": Case(
        asked="ask why",
        order="openrouter perplexity",
        faults={CHAT: (json_reply(openrouter.error(502) | {"usage": {"cost": 0.02}}),) * 3},
        invoice=0.06 + 0.00114,
    ),
    "a service that was asked again": Case(
        asked="ask -r why",
        order="perplexity",
        faults={AGENT: (stream_failed(0.4, "internal_error"), stream_failed(0.3, "internal_error"))},
        invoice=0.7 + 0.00114,
    ),
    "a service that was asked again and again for nothing": Case(
        asked="ask -r why",
        order="perplexity",
        faults={AGENT: (stream_failed(0.4, "internal_error"),) * 3},
        invoice=1.2,
        state="failed",
    ),
    "a model that only thought": Case(
        asked="ask -r why",
        order="perplexity openrouter",
        faults={AGENT: (stream_failed(0.4),), CHAT: (completion("<think>Hm.</think> ", 0.03),)},
        invoice=0.43,
        state="failed",
    ),
    "a stream that broke off": Case(
        asked="ask --model high why",
        order="openrouter brave",
        faults={CHAT: (cut_stream(0.03),)},
        invoice=0.03 + 0.005,
    ),
    "passages after a failure": Case(
        asked="ask why", order="perplexity brave", faults={AGENT: (run_failed(0.4),)}, invoice=0.405
    ),
    "pages without a passage": Case(
        asked="ask why",
        order="perplexity brave",
        faults={AGENT: (run_failed(0.4),), CONTEXT: (json_reply({"grounding": {"generic": []}}),)},
        invoice=0.405,
        state="failed",
    ),
    "a search by a stand-in": Case(
        asked="search why", order="perplexity brave", faults={SEARCH: (Fault(status=500),) * 3}, invoice=0.005
    ),
    "news by a stand-in": Case(
        asked="news tech", order="perplexity brave", faults={AGENT: (run_failed(0.4),)}, invoice=0.405
    ),
    "news that cannot be read": Case(
        asked="news tech",
        order="perplexity openrouter",
        faults={AGENT: (run_failed(0.4),), CHAT: (completion("There is no news.", 0.02),)},
        invoice=0.42,
        state="failed",
    ),
}


@pytest.fixture
async def harness(database: str) -> AsyncIterator[WorkerHarness]:
    async with connection_pool(database) as pool:
        yield WorkerHarness(questions=QuestionStore(pool))


async def assert_same_cost(case: Case, harness: WorkerHarness, database: str) -> None:
    """Ask the question of a case, and look at what the row, the attempts and the metrics say."""
    metrics, heard = Metrics(), list[Attempt]()

    def told(attempt: Attempt) -> None:
        heard.append(attempt)
        metrics.attempted(attempt)

    async with AsyncExitStack() as stack:
        services = {"perplexity": FakePerplexity(), "openrouter": FakeOpenRouter(), "brave": FakeBrave()}
        for service in services.values():
            await stack.enter_async_context(service)
            for path, faults in case.faults.items():
                service.script(path, *faults)
        setup = ProviderConfig(
            keys={"perplexity": perplexity.KEY, "openrouter": openrouter.KEY, "brave": brave.KEY},
            base_urls={name: service.base_url for name, service in services.items()},
            retry=RetryPolicy(base=0.001),
        )
        providers = await stack.enter_async_context(open_providers(setup, order=case.order.split()))
        harness.provider = Fallback(providers, on_attempt=told)  # type: ignore[assignment]
        command, _, text = case.asked.partition(" ")
        question = await harness.receive(text, command=command)
        state = await harness.run(question)

    async with await AsyncConnection.connect(database) as connection:
        ((cost,),) = await (await connection.execute("SELECT cost_usd FROM questions")).fetchall()
    row = await harness.questions.get(question)
    assert row is not None
    assert row.messages is not None
    assert (state, cost) == (case.state, pytest.approx(case.invoice, abs=1e-9))
    assert sum(attempt.cost_usd or 0 for attempt in heard) == pytest.approx(case.invoice, abs=1e-9)
    counted = [line for line in generate_latest(metrics.registry).decode().splitlines() if "cost_usd_total{" in line]
    assert sum(float(line.split()[-1]) for line in counted) == pytest.approx(case.invoice, abs=1e-9)


@pytest.mark.parametrize("case", one_in(3, CASES.values()), ids=CASES.keys())
async def test_the_row_and_the_metrics_have_the_same_cost(case: Case, harness: WorkerHarness, database: str) -> None:
    await assert_same_cost(case, harness, database)
