"""Deep dives over loopback servers: the report, the failures of each stage, and what is saved."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.client import PerplexityClient
from perplexity.deepdive.pipeline import MIN_RESUME_SECONDS, NO_KEY, NO_MODEL, UNSOURCED, failure_text
from perplexity.deepdive.report import as_document, render_sections
from perplexity.deepdive.types import BackgroundRun, DeepDive, Stage, StageResult, StageUpdate
from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    BillingError,
    InvalidRequest,
    RequestCancelled,
    ServerError,
    TimedOut,
)
from perplexity.fallback import Fallback
from perplexity.models import FallbackTimeouts
from perplexity.passages import passages_answer
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.types import JSON, Answer, Question, SearchResults, Source
from perplexity.x_posts.client import Grok
from perplexity.x_posts.parsing import NO_POSTS
from perplexity.x_posts.types import PostSummary, Sentiment
from tests.fakes import grok
from tests.fakes.deepdive import run_deepdive
from tests.fakes.faults import PERPLEXITY
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import KEY, FakePerplexity, fixture, without_results
from tests.fakes.provider import SOURCE, FakeProvider
from tests.fakes.service import Fault, json_reply, sse, stream_reply

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AGENT = "/v1/agent"


@dataclass
class StageMemory:
    """A store in memory; `withdrawn` says that no one wants the dive any more."""

    results: dict[str, Mapping[str, JSON]] = field(default_factory=dict)
    runs: dict[str, BackgroundRun] = field(default_factory=dict)
    withdrawn: bool = False

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        return self.results.get(stage)

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        self._check()
        # What is kept is JSON, as in a database.
        self.results[stage] = json.loads(json.dumps(result))

    async def get_run(self, stage: str) -> BackgroundRun | None:
        return self.runs.get(stage)

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        self._check()
        self.runs[stage] = run

    def _check(self) -> None:
        if self.withdrawn:
            raise RequestCancelled("it is not wanted")


@dataclass
class DiveHarness:
    """The servers, one for each stage, and what a dive over them is handed."""

    facts: FakePerplexity
    grok: FakeGrok
    writer: FakePerplexity
    given: dict[str, Any]
    store: StageMemory = field(default_factory=StageMemory)
    updates: list[StageUpdate] = field(default_factory=list)

    async def dive(self, topic: str = "heat pumps", **more: Any) -> DeepDive:
        return await run_deepdive(
            topic, store=self.store, now=lambda: NOW, on_stage=self.updates.append, **(self.given | more)
        )

    def paid_requests(self) -> tuple[int, int, int]:
        """Count the requests that cost money, stage by stage."""
        servers = (self.facts, self.grok, self.writer)
        paid = [[one for one in server.requests if one.path in {AGENT, grok.PATH}] for server in servers]
        return len(paid[0]), len(paid[1]), len(paid[2])


async def short_sleep(seconds: float) -> None:
    """Ask for a run's state again at once."""
    await asyncio.sleep(0.01)


def chain_over(client: PerplexityClient) -> Fallback:
    return Fallback([PerplexityProvider(client)], timeouts=FallbackTimeouts(deep=20.0, reasoning=10.0))


@pytest.fixture
async def harness() -> AsyncIterator[DiveHarness]:
    once = RetryPolicy(attempts=1)
    async with FakePerplexity() as facts, FakeGrok() as fake, FakePerplexity() as writer, AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                PerplexityClient(KEY, base_url=server.base_url, retry=once, sleep=short_sleep)
            )
            for server in (facts, writer)
        ]
        posts = await stack.enter_async_context(Grok(grok.KEY, base_url=fake.api_url, retry=once))
        given = {"facts": chain_over(clients[0]), "posts": posts, "synthesis": chain_over(clients[1])}
        yield DiveHarness(facts=facts, grok=fake, writer=writer, given=given)


def by_stage(report: DeepDive) -> dict[Stage, StageResult]:
    return {result.stage: result for result in report.stages}


async def test_the_report_has_three_sections_and_one_list_of_sources(harness: DiveHarness) -> None:
    report = await harness.dive()

    assert [result.stage.heading for result in report.stages] == [
        "THE SITUATION",
        "THE PUBLIC PULSE",
        "MY ANALYSIS",
    ]
    found = by_stage(report)
    assert found[Stage.SITUATION].text == "Example answer with a claim.[1] Another claim — ü.[2]"
    assert found[Stage.PULSE].text == "Most people are glad.[3][4] Some fear the cost.[5]"
    assert [(source.number, source.url) for source in report.sources] == [
        (1, "https://a.example/1"),
        (2, "https://b.example/2"),
        (3, "https://x.com/ada/status/1111"),
        (4, "https://x.com/eve/status/3333"),
        (5, "https://x.com/i/status/2222"),
    ]
    assert report.sentiment == Sentiment(positive=2, negative=1)
    assert (report.persona, report.made_at, harness.paid_requests()) == ("Nikki", NOW, (1, 1, 1))


async def test_each_stage_has_its_seconds_and_dollars(harness: DiveHarness) -> None:
    report = await harness.dive()

    costs = [result.cost_usd for result in report.stages]
    assert all(cost is not None and cost > 0 for cost in costs)
    assert report.cost_usd == pytest.approx(sum(cost or 0 for cost in costs))
    assert all(result.seconds > 0 for result in report.stages)
    assert report.seconds >= max(result.seconds for result in report.stages)


async def test_facts_and_posts_run_concurrently_and_the_analysis_after_both(harness: DiveHarness) -> None:
    harness.facts.hold()
    harness.grok.hold()
    diving = asyncio.create_task(harness.dive())
    await asyncio.gather(harness.facts.wait_for(1), harness.grok.wait_for(1))
    asked_first = harness.paid_requests()
    harness.facts.release()
    harness.grok.release()
    await diving

    assert asked_first == (1, 1, 0)
    assert [update.stage for update in harness.updates[-2:]] == [Stage.ANALYSIS] * 2
    assert [update.result is None for update in harness.updates] == [True, True, False, False, True, False]


async def test_an_engine_is_asked_for_the_topic_and_nothing_else(harness: DiveHarness) -> None:
    engine = FakeProvider("Engine")
    await harness.dive(facts=engine)

    ((question, text),) = [(asked, asked.text) for asked in engine.questions]
    assert (text, question.news, question.model, question.run_id) == ("heat pumps", True, "high", None)


async def test_the_analysis_is_given_both_parts_and_may_not_search(harness: DiveHarness) -> None:
    await harness.dive()

    body = harness.writer.requests[0].json
    system, user = (message["content"] for message in body["input"])
    assert (body["tool_choice"], body.get("tools")) == ("none", None)
    assert "Nikki" in system
    assert all(part in user for part in ("Another claim — ü.[2]", "Most people are glad.[3][4]", "2 positive"))
    assert all(f"[{number}] " in user for number in range(1, 6))


class Writer(FakeProvider):
    """Writes what it is told to."""

    def __init__(self, text: str, *sources: Source) -> None:
        super().__init__("Writer")
        self.text, self.sources = text, sources

    async def answer(self, question: Question) -> Answer:
        return replace(await super().answer(question), text=self.text, sources=self.sources)


@pytest.mark.parametrize(
    ("written", "shown", "dangling"),
    [
        ("It is so.[3] And so.[1]", "It is so.[3] And so.[1]", 0),
        ("Invented.[9] Known.[2]", "Invented. Known.[2]", 1),
        ("Nothing is cited.", "Nothing is cited.", 0),
        ("## MY ANALYSIS\n\nIt is so.[1]", "It is so.[1]", 0),
        ("**MY ANALYSIS:**\nIt is so.[1]", "It is so.[1]", 0),
    ],
)
async def test_the_analysis_keeps_the_numbers_it_was_given_and_no_others(
    harness: DiveHarness, written: str, shown: str, dangling: int
) -> None:
    report = await harness.dive(synthesis=Writer(written))

    assert by_stage(report)[Stage.ANALYSIS].text == shown
    assert (len(report.sources), report.dangling) == (5, dangling)


async def test_an_analysis_with_sources_of_its_own_is_rejected(harness: DiveHarness) -> None:
    report = await harness.dive(synthesis=Writer("The minister resigned.[1]", SOURCE))

    assert by_stage(report)[Stage.ANALYSIS].failure == NO_MODEL
    assert len(report.sources) == 5


async def test_if_a_provider_searches_anyway_the_next_one_writes(harness: DiveHarness) -> None:
    harness.writer.script(AGENT, *[stream_reply(fixture("agent.stream.completed.sse"))] * 2)
    alone = await harness.dive()
    harness.store.results.clear()
    second = Writer("It is so.[3]")
    with_another = await harness.dive(synthesis=Fallback([harness.given["synthesis"], second]))

    assert by_stage(alone)[Stage.ANALYSIS].failure == "The analysis is missing: Perplexity could not finish the answer."
    assert by_stage(with_another)[Stage.ANALYSIS].text == "It is so.[3]"


WRITTEN = json.loads(without_results(fixture("agent.200.json")))
LONG_SECONDS = 60.0
HANG = Fault(hang=True)
EMPTY = json_reply({"id": "r", "status": "completed", "output": [], "usage": {}})
GARBAGE = Fault(chunks=(b'{"half',))
RESET = Fault(reset=True)
STREAM_CUT = stream_reply(sse({"type": "response.created", "response": {"id": "r1"}}))


def seconds_for(*faults: Fault | None) -> dict[Stage, float]:
    """Return how long each stage may take: briefly if it hangs, and otherwise as long as a busy machine needs."""
    return {stage: 0.6 if fault is HANG else LONG_SECONDS for stage, fault in zip(Stage, faults, strict=True)}


@pytest.mark.parametrize(
    ("situation", "pulse", "analysis", "missing"),
    [
        # Each stage in its turn: killed, slow, empty, malformed, refused.
        (RESET, None, None, {"situation"}),
        (HANG, None, None, {"situation"}),
        (EMPTY, None, None, {"situation"}),
        (GARBAGE, None, None, {"situation"}),
        (PERPLEXITY["500"], None, None, {"situation"}),
        (PERPLEXITY["401 key"], None, None, {"situation"}),
        (PERPLEXITY["400"], None, None, {"situation"}),
        (None, RESET, None, {"pulse"}),
        (None, HANG, None, {"pulse"}),
        (None, Fault(), None, {"pulse"}),
        (None, GARBAGE, None, {"pulse"}),
        (None, grok.error_reply(500), None, {"pulse"}),
        (None, grok.error_reply(401), None, {"pulse"}),
        (None, grok.error_reply(422), None, {"pulse"}),
        (None, grok.error_reply(400), None, {"pulse"}),
        (None, json_reply(grok.reply_body("")), None, {"pulse"}),
        (None, None, RESET, {"analysis"}),
        (None, None, HANG, {"analysis"}),
        (None, None, EMPTY, {"analysis"}),
        (None, None, STREAM_CUT, {"analysis"}),
        (None, None, PERPLEXITY["500"], {"analysis"}),
        (None, None, PERPLEXITY["400"], {"analysis"}),
        # Two of three.
        (RESET, None, RESET, {"situation", "analysis"}),
        (None, GARBAGE, HANG, {"pulse", "analysis"}),
    ],
)
async def test_a_failed_stage_keeps_the_other_sections(
    harness: DiveHarness, situation: Fault | None, pulse: Fault | None, analysis: Fault | None, missing: set[str]
) -> None:
    harness.facts.script(AGENT, *filter(None, [situation]))
    harness.grok.script(grok.PATH, *filter(None, [pulse]))
    harness.writer.script(AGENT, *filter(None, [analysis]))
    report = await harness.dive(seconds=seconds_for(situation, pulse, analysis))

    assert {result.stage.value for result in report.stages if result.failure} == missing
    assert all(bool(result.text) != bool(result.failure) for result in report.stages)
    assert all(result.failure is None or "missing" in result.failure for result in report.stages)


@pytest.mark.parametrize(
    ("situation", "pulse"), [(RESET, GARBAGE), (HANG, HANG), (EMPTY, RESET), (PERPLEXITY["401 key"], Fault())]
)
async def test_if_no_stage_succeeds_the_dive_fails(harness: DiveHarness, situation: Fault, pulse: Fault) -> None:
    harness.facts.script(AGENT, situation)
    harness.grok.script(grok.PATH, pulse)

    with pytest.raises(AllProvidersFailed):
        await harness.dive(seconds=seconds_for(situation, pulse, None))

    assert harness.writer.requests == []


async def test_if_only_refusals_came_the_error_is_a_refusal(harness: DiveHarness) -> None:
    harness.facts.script(AGENT, PERPLEXITY["400"])

    with pytest.raises(InvalidRequest):
        await harness.dive(posts=None)


@pytest.mark.parametrize("stage", ["facts", "posts", "synthesis"])
async def test_a_service_that_breaks_fails_only_its_own_stage(
    harness: DiveHarness, stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(FakeProvider):
        async def summarize(self, topic: str, **more: Any) -> PostSummary:
            raise ValueError(topic)

    broken: dict[str, Any] = {stage: Broken("Broken", error=ValueError("heat pumps"))}
    report = await harness.dive(**broken)

    (one,) = [result for result in report.stages if result.failure]
    assert one.stage == {"facts": Stage.SITUATION, "posts": Stage.PULSE, "synthesis": Stage.ANALYSIS}[stage]
    broke, failed = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (broke.message, vars(broke)["error"]) == ("provider.broke", "ValueError")
    assert (failed.message, vars(failed)["stage"], vars(failed)["error"]) == ("stage.failed", one.stage, "RunFailed")
    assert "heat pumps" not in caplog.text


OUT = AllProvidersFailed(
    [
        Attempt(provider="Perplexity", seconds=1.0, error_class="BillingError", summary="is out of credit"),
        Attempt(provider="OpenRouter", seconds=2.0, error_class="TimedOut", summary="did not answer in time"),
    ]
)
REFUSED = ServerError("x", provider="Grok")


@pytest.mark.parametrize(
    ("stage", "missing"),
    [(Stage.SITUATION, "The situation is missing"), (Stage.ANALYSIS, "The analysis is missing")],
)
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OUT, "Perplexity is out of credit; OpenRouter did not answer in time"),
        (REFUSED, "Grok is having trouble"),
        (TimedOut("x"), "it ran out of time"),
        (InvalidRequest.for_field("prompt", "x", "less"), "the services could not answer"),
    ],
)
async def test_a_missing_section_names_the_provider_and_its_failure(
    harness: DiveHarness, stage: Stage, missing: str, error: Exception, why: str
) -> None:
    broken: dict[str, Any] = {"facts" if stage is Stage.SITUATION else "synthesis": FakeProvider("P", error=error)}
    report = await harness.dive(**broken)

    assert str(by_stage(report)[stage].failure) == f"{missing}: {why}."


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        (Stage.SITUATION, "The situation is missing: no service is configured."),
        (Stage.ANALYSIS, "The analysis is missing: no model is configured that could write one."),
    ],
)
def test_a_section_without_a_provider_says_so(stage: Stage, sentence: str) -> None:
    assert failure_text(stage, AllProvidersFailed([])) == sentence


class SilentProvider(FakeProvider):
    """Fails to read posts."""

    async def summarize(self, topic: str, **more: Any) -> PostSummary:
        raise REFUSED


async def test_the_reasons_of_failed_stages_survive_a_restart(harness: DiveHarness) -> None:
    failing: dict[str, Any] = {"facts": FakeProvider("P", error=OUT), "posts": SilentProvider("Grok")}
    raised = []
    for _ in range(2):
        with pytest.raises(AllProvidersFailed) as caught:
            await harness.dive(**failing)
        raised.append(caught.value.attempts)

    assert raised == [OUT.attempts] * 2
    assert len(failing["facts"].questions) == 1


def incomplete(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


CUT = "This part is incomplete: the model stopped early (max_output_tokens)."


async def test_a_part_that_was_cut_says_so(harness: DiveHarness) -> None:
    harness.facts.script(f"{AGENT}/resp_1", json_reply(incomplete(json.loads(fixture("agent.200.json")))))
    harness.grok.script(grok.PATH, json_reply(incomplete(grok.reply_body(grok.sentiment()))))
    harness.writer.script(AGENT, stream_reply(sse({"type": "response.incomplete", "response": incomplete(WRITTEN)})))
    report = await harness.dive()

    assert [result.notes for result in report.stages] == [(CUT,)] * 3
    assert as_document(report).count(CUT) == 3
    assert CUT in harness.writer.requests[0].json["input"][1]["content"]


async def test_facts_without_sources_say_so(harness: DiveHarness) -> None:
    harness.facts.script(f"{AGENT}/resp_1", json_reply(WRITTEN))
    report = await harness.dive()

    assert by_stage(report)[Stage.SITUATION].notes == (UNSOURCED,)


async def test_a_stand_in_says_why_it_served(harness: DiveHarness) -> None:
    report = await harness.dive(
        facts=Fallback([FakeProvider("Perplexity", error=ServerError("x")), FakeProvider("Engine")]),
        synthesis=Fallback([FakeProvider("Perplexity", error=BillingError("x")), Writer("It is so.[1]")]),
    )

    found = by_stage(report)
    assert found[Stage.SITUATION].stand_in == "Perplexity is having trouble; this answer is from Engine."
    assert found[Stage.ANALYSIS].stand_in == "Perplexity is out of credit; this answer is from Writer."
    assert render_sections(report).startswith(
        "## THE SITUATION\n\n_Perplexity is having trouble; this answer is from Engine._\n\n"
    )


async def test_without_a_service_for_posts_the_section_says_so(harness: DiveHarness) -> None:
    report = await harness.dive(posts=None)

    assert by_stage(report)[Stage.PULSE].failure == NO_KEY
    assert (report.sentiment, harness.paid_requests()) == (None, (1, 0, 1))


async def test_a_pulse_without_posts_says_so_and_counts_none(harness: DiveHarness) -> None:
    harness.grok.script(grok.PATH, json_reply(grok.reply_body(grok.sentiment(), fetched=0)))
    report = await harness.dive()

    found = by_stage(report)[Stage.PULSE]
    assert (found.text, found.notes) == ("Most people are glad. Some fear the cost.", (NO_POSTS,))
    assert (report.sentiment, len(report.sources)) == (None, 2)


async def test_passages_are_rejected_as_an_analysis(harness: DiveHarness) -> None:
    results = SearchResults(results=(SOURCE,), provider="Engine")

    class Engine(FakeProvider):
        async def answer(self, question: Question) -> Answer:
            return passages_answer(results, question.text)

    report = await harness.dive(synthesis=Engine("Engine"))

    assert by_stage(report)[Stage.ANALYSIS].failure == NO_MODEL


@pytest.mark.parametrize("topic", ["", "   ", "\u200b", "x" * 4_001])
async def test_a_topic_that_cannot_be_asked_costs_nothing(harness: DiveHarness, topic: str) -> None:
    with pytest.raises(InvalidRequest):
        await harness.dive(topic)

    assert harness.paid_requests() == (0, 0, 0)


@pytest.mark.parametrize("finished", [0, 1, 2, 3])
async def test_after_a_restart_no_finished_stage_is_repeated(harness: DiveHarness, finished: int) -> None:
    before = await harness.dive()
    stages = [*Stage][:finished]
    harness.store.results = {stage: harness.store.results[stage] for stage in stages}
    harness.store.runs = {}
    again = await harness.dive()

    assert harness.paid_requests() == tuple(1 if place < finished else 2 for place in range(3))
    assert [result.text for result in again.stages] == [result.text for result in before.stages]
    assert (again.sources, again.sentiment) == (before.sources, before.sentiment)


async def test_a_saved_run_is_resumed(harness: DiveHarness) -> None:
    harness.facts.hold()
    diving = asyncio.create_task(harness.dive())
    await harness.facts.wait_for(1)
    harness.facts.release()
    await harness.facts.wait_for(2)
    diving.cancel()
    with suppress(asyncio.CancelledError):
        await diving
    await harness.dive()

    assert (harness.paid_requests()[0], harness.facts.cancelled) == (1, [])


async def test_a_background_analysis_is_saved_and_resumed(harness: DiveHarness) -> None:
    harness.writer.script(f"{AGENT}/resp_1", HANG)
    once = RetryPolicy(attempts=1)
    async with PerplexityClient(
        KEY, base_url=harness.writer.base_url, retry=once, sleep=short_sleep, reasoning_effort="high"
    ) as client:
        diving = asyncio.create_task(harness.dive(synthesis=chain_over(client)))
        await harness.writer.wait_for(2)
        saved = {stage: run.id for stage, run in harness.store.runs.items()}
        diving.cancel()
        with suppress(asyncio.CancelledError):
            await diving
        report = await harness.dive(synthesis=chain_over(client))

    assert saved == {Stage.SITUATION: "resp_1", Stage.ANALYSIS: "resp_1"}
    assert (by_stage(report)[Stage.ANALYSIS].failure, harness.paid_requests()) == (None, (1, 1, 1))
    assert harness.writer.cancelled == []


@pytest.mark.parametrize(("passed", "left"), [(0, 420.0), (100, 320.0), (1_000, MIN_RESUME_SECONDS), (-5, 420.0)])
async def test_a_resumed_stage_has_its_remaining_time_and_reports_all_of_it(
    harness: DiveHarness, passed: int, left: float
) -> None:
    begun = BackgroundRun(id="resp_0", age=passed)
    harness.store.runs = {Stage.SITUATION: begun}
    facts = RunsAnew("Facts")
    report = await harness.dive(facts=facts, clock=lambda: 5_000.0)

    (question,) = facts.questions
    assert (question.run_id, question.seconds) == ("resp_0", left)
    assert harness.updates[0] == StageUpdate(stage=Stage.SITUATION, started=5_000.0 - max(0, passed))
    assert (by_stage(report)[Stage.SITUATION].seconds, report.seconds) == (max(0, passed), max(0, passed))
    assert harness.store.runs[Stage.SITUATION] == BackgroundRun(id="resp_9", age=max(0, passed))


class RunsAnew(FakeProvider):
    """Has lost the run that it is asked for, and begins another one."""

    async def answer(self, question: Question) -> Answer:
        assert question.on_run is not None
        await question.on_run("resp_9")
        return await super().answer(question)


async def test_a_run_that_cannot_be_resumed_is_cancelled(harness: DiveHarness) -> None:
    harness.facts.script(f"{AGENT}/resp_1", HANG)
    diving = asyncio.create_task(harness.dive(resumable=False))
    await harness.facts.wait_for(2)
    diving.cancel()
    with suppress(asyncio.CancelledError):
        await diving
    async with asyncio.timeout(60):
        await harness.facts.cancel_requested.wait()

    assert harness.facts.cancelled == ["resp_1"]


async def test_a_cancelled_dive_cancels_its_run(harness: DiveHarness) -> None:
    harness.store.withdrawn = True
    harness.grok.hold()

    with pytest.raises(RequestCancelled):
        await harness.dive()
    async with asyncio.timeout(60):
        await harness.facts.cancel_requested.wait()

    assert (harness.facts.cancelled, harness.store.results) == (["resp_1"], {})


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "sources", "moods", "notes", "aliases", "positive"]), inner)
    ),
    max_leaves=8,
)


@given(counts=st.lists(st.integers(0, 20), min_size=4, max_size=4), written=st.text(max_size=60))
def test_a_saved_result_is_loaded_unchanged(counts: list[int], written: str) -> None:
    positive, neutral, negative, mixed = counts
    result = StageResult(
        stage=Stage.PULSE,
        text=written.replace("\0", ""),
        sources=(SOURCE, replace(SOURCE, number=7, aliases=(8, 9), date="2026-11-20")),
        sentiment=Sentiment(positive=positive, neutral=neutral, negative=negative, mixed=mixed),
        notes=("A note.",),
        failed=OUT.attempts,
        seconds=1.5,
        cost_usd=0.25,
    )

    assert StageResult.from_json(Stage.PULSE, json.loads(json.dumps(result.as_json()))) == result


@given(saved=st.dictionaries(st.sampled_from(["text", "sources", "moods", "notes"]), WILD))
def test_loading_any_json_raises_nothing(saved: JSON) -> None:
    assert StageResult.from_json(Stage.SITUATION, saved).stage is Stage.SITUATION
