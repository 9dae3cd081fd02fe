"""A deep dive into a topic: the facts, what people say, and an analysis of both, in three stages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from perplexity.attempts import total_cost
from perplexity.deepdive.report import assemble, renumber
from perplexity.deepdive.stages import StageRunner, failed_attempts, failure_text
from perplexity.deepdive.types import DeepDive, Persona, Stage, StageResult, StageStore, StageUpdate
from perplexity.errors import AllProvidersFailed, NothingFound, PerplexityError, RequestCancelled, TimedOut
from perplexity.providers.base import Provider
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.threads import run_in_thread
from perplexity.validation import parse_query
from perplexity.x_posts.types import PostSource

log = logging.getLogger(__name__)


STAGE_SECONDS: Mapping[Stage, float] = {Stage.SITUATION: 420.0, Stage.PULSE: 170.0, Stage.ANALYSIS: 150.0}
"""What each stage may take: ten minutes together, since the first two run side by side."""

GRACE_SECONDS = 5.0
"""A service whose time is over first clears up after itself; after so many more it is cut off."""


async def run_deepdive(
    topic: str,
    *,
    facts: Provider,
    posts: PostSource | None,
    synthesis: Provider,
    store: StageStore,
    now: Callable[[], datetime],
    persona: Persona | None = None,
    on_stage: Callable[[StageUpdate], None] = lambda update: None,
    clock: Callable[[], float] = time.monotonic,
    resumable: bool = True,
    seconds: Mapping[Stage, float] = STAGE_SECONDS,
) -> DeepDive:
    """Return the report. What `store` holds already is not asked for again.

    `facts` answers from news, `posts` reads posts (None: there is nobody to), `synthesis` writes from the two and
    searches nothing. A stage that fails leaves its section with a sentence on what is missing. `on_stage` hears when a
    stage begins and ends. `clock` only goes forward, `now` is the time of day with its zone, `seconds` what each stage
    may take. A run that is not `resumable` is cancelled when the dive is. Raises InvalidRequest for a topic that cannot
    be asked, RequestCancelled when the store does, and the facts' own error where no stage came to anything.
    """
    stages = StageRunner(
        topic=parse_query(topic),
        facts=facts,
        posts=posts,
        synthesis=synthesis,
        store=store,
        now=now,
        clock=clock,
        persona=persona or Persona(),
        resumable=resumable,
        seconds=seconds,
    )
    return await _Dive(stages=stages, on_stage=on_stage, clock=clock).report()


@dataclass(frozen=True, kw_only=True)
class _Dive:
    stages: StageRunner
    on_stage: Callable[[StageUpdate], None]
    clock: Callable[[], float]
    errors: dict[Stage, PerplexityError] = field(default_factory=dict)

    async def report(self) -> DeepDive:
        situation, people = await _side_by_side(
            self._stage(Stage.SITUATION, self.stages.situation), self._stage(Stage.PULSE, self.stages.public_pulse)
        )
        if situation.failure and people.failure:
            error = self.errors.get(Stage.SITUATION) or NothingFound("no stage came to anything")
            error.cost_usd = total_cost([situation.cost_usd, people.cost_usd])
            raise error
        parts, numbering = await run_in_thread(renumber, situation, people)
        analysis = await self._stage(Stage.ANALYSIS, lambda: self.stages.analysis(parts, numbering))
        name = self.stages.persona.name
        return await run_in_thread(assemble, self.stages.topic, situation, people, analysis, persona=name)

    async def _stage(self, stage: Stage, work: Callable[[], Awaitable[StageResult]]) -> StageResult:
        """Return what is kept of the stage, or do it and keep what comes of it before anything else begins."""
        started = self.clock() - await self.stages.elapsed(stage)
        kept = await self.stages.store.get(stage)
        if kept is not None:
            finding = StageResult.from_json(stage, kept)
            if finding.failed:
                self.errors[stage] = AllProvidersFailed(finding.failed)
        else:
            self.on_stage(StageUpdate(stage=stage, started=started))
            done = await self._tried(stage, work)
            finding = replace(done, seconds=self.clock() - started, at=self.stages.now().isoformat())
            await self.stages.store.put(stage, finding.as_json(), seconds=finding.seconds, cost_usd=finding.cost_usd)
        self.on_stage(StageUpdate(stage=stage, started=started, result=finding))
        return finding

    async def _tried(self, stage: Stage, work: Callable[[], Awaitable[StageResult]]) -> StageResult:
        try:
            async with asyncio.timeout(self.stages.seconds[stage] + GRACE_SECONDS):
                return await work()
        except TimeoutError:
            error: PerplexityError = TimedOut("the stage's time is over")
        except RequestCancelled:
            raise
        except PerplexityError as failure:
            error = failure
        self.errors[stage] = error
        log.warning("stage.failed", extra={"stage": stage.value, "error": type(error).__name__})
        return StageResult(
            stage=stage, failure=failure_text(stage, error), failed=failed_attempts(error), cost_usd=error.cost_usd
        )


async def _side_by_side(
    one: Coroutine[Any, Any, StageResult], other: Coroutine[Any, Any, StageResult]
) -> tuple[StageResult, StageResult]:
    """Return both; when one raises, or we are cancelled, the other is cancelled and waited for."""
    tasks = [asyncio.create_task(one), asyncio.create_task(other)]
    try:
        first, second = await asyncio.gather(*tasks)
        return first, second
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, kw_only=True)
class DeepDiveRunner:
    """Takes what `run_deepdive` takes; `now` is the time of day with its zone."""

    facts: Provider
    synthesis: Provider
    posts: PostSource | None = None
    persona: Persona = field(default_factory=Persona)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def run(
        self, topic: str, *, store: StageStore, on_stage: Callable[[StageUpdate], None], resumable: bool = True
    ) -> DeepDive:
        """Return the report. Raises as `run_deepdive` does."""
        return await run_deepdive(
            topic,
            facts=self.facts,
            posts=self.posts,
            synthesis=self.synthesis,
            store=store,
            now=self.now,
            persona=self.persona,
            on_stage=on_stage,
            resumable=resumable,
        )


def text_generators(providers: Sequence[Provider]) -> list[Provider]:
    """Return those whose models can write from what they are given; an engine would search for it."""
    return [provider for provider in providers if provider.name in {PerplexityProvider.name, OpenRouter.name}]
