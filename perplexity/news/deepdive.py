"""A deep dive into a topic: the facts, what people say, and an analysis of both, in three stages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from perplexity.errors import InvalidRequest, NothingFound, PerplexityError, TimedOut, Withdrawn
from perplexity.news import deepdive_prompts as prompts
from perplexity.news.deepdive_assembly import assembled, numbered
from perplexity.news.deepdive_numbering import Numbering
from perplexity.news.deepdive_types import DeepDive, Finding, Persona, Stage, StageStore, Update
from perplexity.providers.base import Provider
from perplexity.queries import parse_query
from perplexity.social.pulse import PulseSource
from perplexity.types import Answer, AnswerKind, Question

EFFORT = "high"
"""The facts are researched for minutes, in a run that a restart resumes."""

SECONDS: Mapping[Stage, float] = {Stage.SITUATION: 420.0, Stage.PULSE: 170.0, Stage.ANALYSIS: 150.0}
"""What each stage may take: ten minutes together, since the first two run side by side."""

GRACE_SECONDS = 5.0
"""A service whose time is over first clears up after itself; after so many more it is cut off."""

DAYS = 7
"""How far back people's words are looked for."""

NO_KEY = (
    "The public pulse is missing: no service that reads public posts is set up here. "
    "`XAI_API_KEY` or `OPENROUTER_API_KEY` sets one up."
)
PASSAGES = "No model wrote this: these are passages of the pages, word for word."
NO_MODEL = "The analysis is missing: no service that can write one from these two parts is set up, or none answered."


async def deepdive(
    topic: str,
    *,
    facts: Provider,
    pulse: PulseSource | None,
    synthesis: Provider,
    store: StageStore,
    now: Callable[[], datetime],
    persona: Persona | None = None,
    on_stage: Callable[[Update], None] = lambda update: None,
    clock: Callable[[], float] = time.monotonic,
    resumable: bool = True,
    seconds: Mapping[Stage, float] = SECONDS,
) -> DeepDive:
    """Return the report. What `store` holds already is not asked for again.

    `facts` answers from news, `pulse` reads posts (None: there is nobody to), `synthesis` writes from the two and
    searches nothing. A stage that fails leaves its section with a sentence on what is missing. `on_stage` hears when a
    stage begins and ends. `clock` only goes forward, `now` is the time of day with its zone, `seconds` what each stage
    may take. A run that is not `resumable` is cancelled when the dive is. Raises InvalidRequest for a topic that cannot
    be asked, Withdrawn when the store does, and the facts' own error where no stage came to anything.
    """
    dive = _Dive(
        topic=parse_query(topic),
        facts=facts,
        pulse=pulse,
        synthesis=synthesis,
        store=store,
        now=now,
        persona=persona or Persona(),
        on_stage=on_stage,
        clock=clock,
        resumable=resumable,
        seconds=seconds,
    )
    return await dive.report()


@dataclass(frozen=True, kw_only=True)
class _Dive:
    topic: str
    facts: Provider
    pulse: PulseSource | None
    synthesis: Provider
    store: StageStore
    now: Callable[[], datetime]
    persona: Persona
    on_stage: Callable[[Update], None]
    clock: Callable[[], float]
    resumable: bool
    seconds: Mapping[Stage, float]
    errors: dict[Stage, PerplexityError] = field(default_factory=dict)

    async def report(self) -> DeepDive:
        situation, people = await _side_by_side(
            self._stage(Stage.SITUATION, self._situation), self._stage(Stage.PULSE, self._people)
        )
        if situation.missing and people.missing:
            raise self.errors.get(Stage.SITUATION) or NothingFound("no stage came to anything")
        parts, numbering = numbered(situation, people)
        analysis = await self._stage(Stage.ANALYSIS, lambda: self._analysis(parts, numbering))
        return assembled(self.topic, situation, people, analysis, persona=self.persona.name)

    async def _stage(self, stage: Stage, work: Callable[[], Awaitable[Finding]]) -> Finding:
        """Return what is kept of the stage, or do it and keep what comes of it before anything else begins."""
        started = self.clock()
        kept = await self.store.get(stage)
        if kept is not None:
            finding = Finding.of(stage, kept)
        else:
            self.on_stage(Update(stage=stage, started=started))
            done = await self._tried(stage, work)
            finding = replace(done, seconds=self.clock() - started, at=self.now().isoformat())
            await self.store.put(stage, finding.as_json(), seconds=finding.seconds, cost_usd=finding.cost_usd)
        self.on_stage(Update(stage=stage, started=started, finding=finding))
        return finding

    async def _tried(self, stage: Stage, work: Callable[[], Awaitable[Finding]]) -> Finding:
        try:
            async with asyncio.timeout(self.seconds[stage] + GRACE_SECONDS):
                return await work()
        except TimeoutError:
            error: PerplexityError = TimedOut("the stage's time is over")
        except PerplexityError as failure:
            # Only the first stage asks in the asker's own words, so only there they can be at fault.
            if isinstance(failure, Withdrawn) or (isinstance(failure, InvalidRequest) and stage is Stage.SITUATION):
                raise
            error = failure
        self.errors[stage] = error
        return Finding(stage=stage, missing=_missing(stage, error))

    async def _asked(self, provider: Provider, stage: Stage, question: Question) -> Answer:
        """Ask in the stage's time; where that begins a run, it is kept at once, and a kept one is resumed."""

        async def on_run(run_id: str) -> None:
            await self.store.put_run(stage, run_id)

        kept, seconds = await self.store.run(stage), self.seconds[stage]
        return await provider.answer(
            replace(question, seconds=seconds, run_id=kept, resumable=self.resumable, on_run=on_run)
        )

    async def _situation(self) -> Finding:
        question = Question(messages=prompts.situation(self.topic), model=EFFORT, news=True)
        answer = await self._asked(self.facts, Stage.SITUATION, question)
        passages = (PASSAGES,) if answer.kind is AnswerKind.PASSAGES else ()
        if not answer.text.strip():
            raise NothingFound("the answer came back empty")
        return Finding(
            stage=Stage.SITUATION,
            text=answer.text,
            sources=answer.sources,
            notes=(*passages, *answer.notes),
            provider=answer.provider,
            cost_usd=answer.usage.cost_usd,
        )

    async def _people(self) -> Finding:
        if self.pulse is None:
            return Finding(stage=Stage.PULSE, missing=NO_KEY)
        today = self.now().date()
        since, seconds = today - timedelta(days=DAYS), self.seconds[Stage.PULSE]
        felt = await self.pulse.feel(self.topic, since=since, until=today, seconds=seconds)
        return Finding(
            stage=Stage.PULSE,
            text=felt.text,
            sources=felt.posts,
            moods=felt.moods if felt.moods.total else None,
            notes=(felt.degraded,) if felt.degraded else (),
            provider=felt.provider,
            cost_usd=felt.cost_usd,
        )

    async def _analysis(self, parts: list[Finding], numbering: Numbering) -> Finding:
        messages = prompts.analysis(self.topic, parts, numbering.sources, persona=self.persona)
        # How hard it thinks is the operator's choice; from "high" on that is a run which outlives us, as the facts' is.
        question = Question(messages=messages, reasoning=True, offline=True)
        answer = await self._asked(self.synthesis, Stage.ANALYSIS, question)
        # Whoever has sources of their own searched, or is none who writes: it would say what the two parts do not.
        if answer.sources or not answer.text.strip():
            return Finding(stage=Stage.ANALYSIS, missing=NO_MODEL, cost_usd=answer.usage.cost_usd)
        return Finding(stage=Stage.ANALYSIS, text=answer.text, provider=answer.provider, cost_usd=answer.usage.cost_usd)


async def _side_by_side(
    one: Coroutine[Any, Any, Finding], other: Coroutine[Any, Any, Finding]
) -> tuple[Finding, Finding]:
    """Return both; when one raises, or we are cancelled, the other is cancelled and waited for."""
    tasks = [asyncio.create_task(one), asyncio.create_task(other)]
    try:
        first, second = await asyncio.gather(*tasks)
        return first, second
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _missing(stage: Stage, error: PerplexityError) -> str:
    if stage is Stage.ANALYSIS:
        return NO_MODEL
    what = "The situation" if stage is Stage.SITUATION else "The public pulse"
    why = f"{error.provider} {error.summary}" if error.provider else "the services that were asked could not answer"
    return f"{what} is missing: {why}."
