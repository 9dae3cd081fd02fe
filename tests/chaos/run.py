"""One fault from its first question to its figures."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.chaos.evidence import BOOKINGS, bookings, calls, charges, copies
from tests.chaos.faults import Fault, Scale
from tests.chaos.harness import JOBS, ChaosHarness, open_harness
from tests.chaos.judge import Booking, Copy, Figures, NoticeKind, QuestionRecord, audit_ledger, faults, judge, recovered
from tests.chaos.postgres import Postgres
from tests.chaos.storm import Storm

PROBE_SECONDS = 0.25
PROBES_FOR_SECONDS = 45.0


@dataclass(kw_only=True)
class Row:
    """The result of one fault: its figures, and how soon all was well again, in seconds."""

    name: str
    figures: Figures
    acked_after: float
    """From the end of the fault until every web process had taken a fresh question."""
    answered_after: float
    """From the end of the fault until such a question was answered."""
    settled_after: float
    """From the end of the fault until the last question that was taken before it has its answer or its failure."""
    lag: float
    wrong: list[str] = field(default_factory=list)
    restarts: int = 0
    jobs: int = 0
    """Jobs that are left when every question is settled."""

    @classmethod
    def broken(cls, name: str, why: str, *, seed: int) -> Row:
        """Return the row of a fault that could not be run to its end."""
        return cls(
            name=name,
            figures=Figures(),
            acked_after=math.inf,
            answered_after=math.inf,
            settled_after=math.inf,
            lag=0.0,
            wrong=[f"it could not be run: {why}"],
            seed=seed,
        )

    seed: int = 0


async def run_storm(fault: Fault, postgres: Postgres, *, template: str, seed: int, short: bool) -> Row:
    """Let a storm rage, and judge what is left of it."""
    name = f"chaos_storm_{seed}"
    async with open_harness(
        postgres, template=template, name=name, seed=seed, streams_in_channels=fault.streams_in_channels, polls=4
    ) as harness:
        storm = Storm(harness=harness, seed=seed)
        await storm.rage(seconds=scale_of(fault, short=short).seconds)
        over = time.monotonic()
        left = await harness.wait_until_drained(seconds=fault.drain_seconds)
        figures = Figures(n=storm.questions)
        wrong = [*await storm.judge(figures), *([f"open at the end: {left}"] if left else [])]
        row = Row(
            name=fault.name, figures=figures, acked_after=0.0, answered_after=0.0,
            settled_after=time.monotonic() - over, lag=max(harness.lags), wrong=wrong, seed=seed,
        )  # fmt: skip
        row.jobs = int(str((await harness.query(JOBS))[0][0]))
    _save_evidence(harness, row)
    await postgres.query("postgres", f"DROP DATABASE {name} WITH (FORCE)")
    return row


async def run(fault: Fault, postgres: Postgres, *, template: str, seed: int, short: bool, n: int | None) -> Row:
    """Run a fault and judge it."""
    scale = scale_of(fault, short=short)
    count = n or (fault.short_n if short else fault.n)
    name = "chaos_" + fault.name.replace("-", "_")
    async with open_harness(
        postgres,
        template=template,
        name=name,
        seed=seed,
        host=fault.host,
        streams_in_channels=fault.streams_in_channels,
        questions_at_once=fault.questions_at_once,
        rate=replace(fault.rate, taken=deque()) if fault.rate is not None else None,
    ) as harness:
        over = await _strike_under_load(harness, fault, scale, count)
        left = await harness.wait_until_drained(seconds=fault.drain_seconds)
        if fault.look is not None and not left:
            await fault.look(harness)
            left = await harness.wait_until_drained(seconds=fault.drain_seconds)
        ledger = list(bookings(await harness.query(BOOKINGS)))
        row = _row(harness, fault, ledger, over=over, left=left, seed=seed)
        row.jobs = int(str((await harness.query(JOBS))[0][0]))
    _save_evidence(harness, row)
    await postgres.query("postgres", f"DROP DATABASE {name} WITH (FORCE)")
    return row


def scale_of(fault: Fault, *, short: bool) -> Scale:
    """Return how long a fault's parts take in the form that runs."""
    return fault.short if short and fault.short is not None else fault.full


async def _strike_under_load(harness: ChaosHarness, fault: Fault, scale: Scale, count: int) -> float:
    """Ask, strike and probe; return when the fault was over."""

    async def load() -> None:
        seconds = fault.load_seconds or fault.before + scale.seconds + fault.behind
        await harness.load.run(count, seconds=seconds)
        harness.load_over.set()

    loading = asyncio.create_task(load())
    await asyncio.sleep(fault.before)
    await fault.strike(harness, scale)
    over = time.monotonic()
    await asyncio.gather(loading, *(_probe(harness, web, since=over) for web in range(len(harness.webs))))
    return over


async def _probe(harness: ChaosHarness, web: int, *, since: float) -> None:
    """Ask one web process again and again until it takes a question."""
    while time.monotonic() - since < PROBES_FOR_SECONDS:
        question = await harness.load.probe(web)
        if question.deliveries[-1].notice is NoticeKind.TAKEN:
            return
        await asyncio.sleep(PROBE_SECONDS)


def _row(harness: ChaosHarness, fault: Fault, ledger: Sequence[Booking], *, over: float, left: str, seed: int) -> Row:
    asked = [question.asked for question in harness.load.questions]
    shown = list(copies(harness.slack, {question.ts: question.id for question in harness.load.questions}))
    made = [
        *calls(harness.perplexity.served, provider="perplexity"),
        *calls(harness.brave.served, provider="brave"),
    ]
    figures = judge(asked, shown, made, harness.interruptions)
    audit_ledger(figures, [*charges(harness.perplexity.served), *charges(harness.brave.served)], ledger)
    acked_after, answered_after = _recovery(asked, shown, over, webs=len(harness.webs))
    wrong = faults(figures, may_refuse=fault.refuses, may_be_late=fault.kills_webs)
    if fault.back_seconds is not None and acked_after > fault.back_seconds:
        wrong.append(f"requests taken again only after {acked_after:.1f} s")
    wrong += harness.wrong
    if left:
        wrong.append(f"open at the end: {left}")
    restarts = sum(member.unexpected for member in harness.members)
    if restarts:
        wrong.append(f"{restarts} processes ended by themselves")
    if harness.slack.refusals:
        wrong.append(f"Slack refused {len(harness.slack.refusals)} messages")
    return Row(
        name=fault.name,
        figures=figures,
        acked_after=acked_after,
        answered_after=answered_after,
        settled_after=_settled(asked, shown, over),
        lag=max(harness.lags),
        wrong=wrong,
        restarts=restarts,
        seed=seed,
    )


def _recovery(asked: list[QuestionRecord], shown: list[Copy], over: float, *, webs: int) -> tuple[float, float]:
    probes = [
        one.deliveries[-1]
        for one in asked
        if one.again and one.deliveries and one.deliveries[-1].notice is NoticeKind.TAKEN
    ]
    acked = max((one.at + one.seconds - over for one in probes), default=math.inf) if len(probes) >= webs else math.inf
    ids = {one.id for one in asked if one.again}
    return acked, recovered((copy.at for copy in shown if copy.question in ids and copy.is_outcome), since=over)


def _settled(asked: list[QuestionRecord], shown: list[Copy], over: float) -> float:
    before = {one.id for one in asked if one.taken and one.deliveries[0].at < over}
    first: dict[str, float] = {}
    for copy in shown:
        if copy.is_outcome and copy.question in before:
            first[copy.question] = min(copy.at, first.get(copy.question, math.inf))
    return max([0.0, *(at - over for at in first.values())])


def _save_evidence(harness: ChaosHarness, row: Row) -> None:
    """Keep what explains the figures."""
    folder = Path(".artifacts/chaos") / row.name
    folder.mkdir(parents=True, exist_ok=True)
    for member in harness.members:
        lines = [line for process in member.past for line in [*process.output, *process.log, "---"]]
        (folder / f"{member.name}.log").write_text("\n".join(lines), encoding="utf-8")
    about = {question.id: asdict(question) for question in harness.load.questions}
    posts = [
        {"at": post.at, "way": post.method, "acknowledged": post.acknowledged, "payload": post.payload}
        for post in harness.slack.posts
    ]
    calls_made = [asdict(one) for service in (harness.perplexity, harness.brave) for one in service.served]
    told = {
        "questions": about,
        "posts": posts,
        "shown": list(harness.slack.shown.values()),
        "calls": calls_made,
        "interruptions": [asdict(interruption) for interruption in harness.interruptions],
    }
    (folder / "evidence.json").write_text(json.dumps(told, default=str, ensure_ascii=False), encoding="utf-8")
