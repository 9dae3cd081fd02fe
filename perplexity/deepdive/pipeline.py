"""The three stages of a deep dive, in order, with their time limits; saved stages are not repeated."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from perplexity.deepdive.report import assemble, renumber
from perplexity.deepdive.stages import DiveServices, StageRunner, failed_attempts, failure_text
from perplexity.deepdive.types import DeepDive, Persona, Stage, StageResult, StageStore, StageUpdate
from perplexity.errors import (
    AllProvidersFailed,
    NothingFound,
    NotPermitted,
    PerplexityError,
    RequestCancelled,
    TimedOut,
    total_cost,
)
from perplexity.fallback import Fallback
from perplexity.models import FallbackTimeouts
from perplexity.providers import text_generators
from perplexity.providers.base import OnAttempt, Provider, ProviderConfig
from perplexity.steps import Reporting, SteppedPosts
from perplexity.threads import run_in_thread
from perplexity.types import parse_query
from perplexity.x_posts.client import build_grok

log = logging.getLogger(__name__)


GRACE_SECONDS = 5.0
"""The seconds that a service has to clean up after its stage's deadline, before it is cancelled."""


@dataclass(frozen=True, kw_only=True)
class _Pipeline(StageRunner):
    on_stage: Callable[[StageUpdate], None]
    errors: dict[Stage, PerplexityError] = field(default_factory=dict)

    async def report(self) -> DeepDive:
        situation, pulse = await _run_both(
            self._run_stage(Stage.SITUATION, self.situation),
            self._run_stage(Stage.PULSE, self.public_pulse),
        )
        if situation.failure and pulse.failure:
            error = self.errors.get(Stage.SITUATION) or NothingFound("no stage succeeded")
            error.cost_usd = total_cost([situation.cost_usd, pulse.cost_usd])
            raise error
        parts, source_list = await run_in_thread(renumber, situation, pulse)
        analysis = await self._run_stage(Stage.ANALYSIS, lambda: self.analysis(parts, source_list))
        name = self.persona.name
        return await run_in_thread(assemble, self.topic, situation, pulse, analysis, persona=name)

    async def _run_stage(self, stage: Stage, work: Callable[[], Awaitable[StageResult]]) -> StageResult:
        """Return the saved result of the stage; if none is saved, run the stage and save its result at once."""
        started = self.clock() - await self.elapsed(stage)
        saved = await self.store.get(stage)
        if saved is not None:
            result = StageResult.from_json(stage, saved)
            if result.failed:
                self.errors[stage] = AllProvidersFailed(result.failed)
        else:
            self.on_stage(StageUpdate(stage=stage, started=started))
            done = await self._try_stage(stage, work)
            result = replace(done, seconds=self.clock() - started, at=self.now().isoformat())
            await self.store.put(stage, result.as_json(), seconds=result.seconds, cost_usd=result.cost_usd)
        self.on_stage(StageUpdate(stage=stage, started=started, result=result))
        return result

    async def _try_stage(self, stage: Stage, work: Callable[[], Awaitable[StageResult]]) -> StageResult:
        try:
            async with asyncio.timeout(self.seconds[stage] + GRACE_SECONDS):
                return await work()
        except TimeoutError:
            error: PerplexityError = TimedOut("the stage ran out of time")
        except (NotPermitted, RequestCancelled):
            raise
        except PerplexityError as failure:
            error = failure
        self.errors[stage] = error
        log.warning("stage.failed", extra={"stage": stage.value, "error": type(error).__name__})
        return StageResult(
            stage=stage, failure=failure_text(stage, error), failed=failed_attempts(error), cost_usd=error.cost_usd
        )


async def _run_both(
    one: Coroutine[Any, Any, StageResult], other: Coroutine[Any, Any, StageResult]
) -> tuple[StageResult, StageResult]:
    """Return both results. If one raises, or the caller is cancelled, cancel the other and wait for its end."""
    tasks = [asyncio.create_task(one), asyncio.create_task(other)]
    try:
        first, second = await asyncio.gather(*tasks)
        return first, second
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, kw_only=True)
class DeepDiveRunner(DiveServices):
    """Runs deep dives with the services in its fields."""

    async def run(
        self, topic: str, *, store: StageStore, on_stage: Callable[[StageUpdate], None], resumable: bool = True
    ) -> DeepDive:
        """Run a deep dive and return its report. Stages that `store` holds are not repeated.

        If a stage fails, a sentence in its section says what is missing. `on_stage` is called when a stage begins and
        when it ends. If `resumable` is False, a background run is cancelled together with the dive. Raises
        InvalidRequest for an invalid topic, NotPermitted, RequestCancelled if the store raises it, and, if the first
        two stages both fail, the error of the first one.
        """
        dive = _Pipeline(topic=parse_query(topic), store=store, on_stage=on_stage, resumable=resumable, **vars(self))
        return await dive.report()


@asynccontextmanager
async def open_deepdive_runner(
    providers: Sequence[Provider],
    config: ProviderConfig,
    *,
    facts: Provider,
    persona: Persona,
    on_attempt: OnAttempt,
    timeouts: FallbackTimeouts | None = None,
) -> AsyncIterator[DeepDiveRunner]:
    """Open a deep-dive runner, which asks `facts` for the situation, Grok for posts, and a model for the analysis.

    Grok is used at xAI if `config` has a key named "xai", otherwise at OpenRouter; without a key for either, no posts
    are read. Those `providers` that have a model write the analysis; `timeouts` are the limits of their fallback chain.
    `on_attempt` is called after each attempt to write the analysis or to read posts. Raises InvalidRequest.
    """
    async with AsyncExitStack() as stack:
        grok = build_grok(
            config.keys,
            config.base_urls,
            retry=config.retry,
            open_timeout=config.open_timeout,
            ca_bundle=config.ca_bundle,
        )
        posts = None
        if grok is not None:
            await stack.enter_async_context(grok)
            posts = SteppedPosts(source=grok, steps=[Reporting(name=grok.name, on_attempt=on_attempt)])
        yield DeepDiveRunner(
            facts=facts,
            posts=posts,
            synthesis=Fallback(
                text_generators(providers),
                timeouts=timeouts,
                reasoning_effort=config.reasoning_effort,
                on_attempt=on_attempt,
                limiter=config.limiter,
            ),
            persona=persona,
        )
