"""A deep dive into a topic: the facts, what people say, and an analysis of both, in three stages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from perplexity.attempts import total
from perplexity.deepdive.report import assembled, numbered
from perplexity.deepdive.stages import Stages, attempts, missing
from perplexity.deepdive.types import DeepDive, Finding, Persona, Stage, StageStore, Update
from perplexity.errors import AllProvidersFailed, NothingFound, PerplexityError, TimedOut, Withdrawn
from perplexity.providers.base import Provider
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.threads import computed
from perplexity.validation import parse_query
from perplexity.x_posts.types import PulseSource

log = logging.getLogger(__name__)


SECONDS: Mapping[Stage, float] = {Stage.SITUATION: 420.0, Stage.PULSE: 170.0, Stage.ANALYSIS: 150.0}
"""What each stage may take: ten minutes together, since the first two run side by side."""

GRACE_SECONDS = 5.0
"""A service whose time is over first clears up after itself; after so many more it is cut off."""


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
    stages = Stages(
        topic=parse_query(topic),
        facts=facts,
        pulse=pulse,
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
    stages: Stages
    on_stage: Callable[[Update], None]
    clock: Callable[[], float]
    errors: dict[Stage, PerplexityError] = field(default_factory=dict)

    async def report(self) -> DeepDive:
        situation, people = await _side_by_side(
            self._stage(Stage.SITUATION, self.stages.situation), self._stage(Stage.PULSE, self.stages.people)
        )
        if situation.missing and people.missing:
            error = self.errors.get(Stage.SITUATION) or NothingFound("no stage came to anything")
            error.cost_usd = total([situation.cost_usd, people.cost_usd])
            raise error
        parts, numbering = await computed(numbered, situation, people)
        analysis = await self._stage(Stage.ANALYSIS, lambda: self.stages.analysis(parts, numbering))
        name = self.stages.persona.name
        return await computed(assembled, self.stages.topic, situation, people, analysis, persona=name)

    async def _stage(self, stage: Stage, work: Callable[[], Awaitable[Finding]]) -> Finding:
        """Return what is kept of the stage, or do it and keep what comes of it before anything else begins."""
        started = self.clock() - await self.stages.passed(stage)
        kept = await self.stages.store.get(stage)
        if kept is not None:
            finding = Finding.of(stage, kept)
            if finding.failed:
                self.errors[stage] = AllProvidersFailed(finding.failed)
        else:
            self.on_stage(Update(stage=stage, started=started))
            done = await self._tried(stage, work)
            finding = replace(done, seconds=self.clock() - started, at=self.stages.now().isoformat())
            await self.stages.store.put(stage, finding.as_json(), seconds=finding.seconds, cost_usd=finding.cost_usd)
        self.on_stage(Update(stage=stage, started=started, finding=finding))
        return finding

    async def _tried(self, stage: Stage, work: Callable[[], Awaitable[Finding]]) -> Finding:
        try:
            async with asyncio.timeout(self.stages.seconds[stage] + GRACE_SECONDS):
                return await work()
        except TimeoutError:
            error: PerplexityError = TimedOut("the stage's time is over")
        except Withdrawn:
            raise
        except PerplexityError as failure:
            error = failure
        self.errors[stage] = error
        log.warning("stage.failed", extra={"stage": stage.value, "error": type(error).__name__})
        return Finding(stage=stage, missing=missing(stage, error), failed=attempts(error), cost_usd=error.cost_usd)


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


@dataclass(frozen=True, kw_only=True)
class Diver:
    """Takes what `deepdive` takes; `now` is the time of day with its zone."""

    facts: Provider
    synthesis: Provider
    pulse: PulseSource | None = None
    persona: Persona = field(default_factory=Persona)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def dive(
        self, topic: str, *, store: StageStore, on_stage: Callable[[Update], None], resumable: bool = True
    ) -> DeepDive:
        """Return the report. Raises as `deepdive` does."""
        return await deepdive(
            topic,
            facts=self.facts,
            pulse=self.pulse,
            synthesis=self.synthesis,
            store=store,
            now=self.now,
            persona=self.persona,
            on_stage=on_stage,
            resumable=resumable,
        )


def writers(providers: Sequence[Provider]) -> list[Provider]:
    """Return those whose models can write from what they are given; an engine would search for it."""
    return [provider for provider in providers if provider.name in {PerplexityProvider.name, OpenRouter.name}]
