"""What each stage of a deep dive asks of whom, and what comes of the answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from perplexity.costs import charged
from perplexity.errors import NothingFound, PerplexityError, RunFailed
from perplexity.lengths import shortened, within
from perplexity.news import deepdive_prompts as prompts
from perplexity.news.deepdive_numbering import Numbering
from perplexity.news.deepdive_passages import quoting
from perplexity.news.deepdive_types import Finding, Persona, Run, Stage, StageStore
from perplexity.providers.base import Provider
from perplexity.social.pulse import Pulse, PulseSource
from perplexity.stand_in import stand_in
from perplexity.types import Answer, AnswerKind, Question, Source

log: logging.Logger = logging.getLogger(__name__)

Said = TypeVar("Said", Answer, Pulse)

EFFORT = "high"
"""The facts are researched for minutes, in a run that a restart resumes."""

DAYS = 7
"""How far back people's words are looked for."""

LEAST_SECONDS = 30.0
"""For a run that is resumed when its stage's time is over: it may have ended long since, and is paid for."""

NO_KEY = (
    "The public pulse is missing: no service that reads public posts is set up here. "
    "`XAI_API_KEY` or `OPENROUTER_API_KEY` sets one up."
)
PASSAGES = "No model wrote this: these are passages of the pages, word for word."
UNSOURCED = "This part came without sources, so nothing in it can be checked here."
NO_MODEL = "The analysis is missing: no service wrote one from these two parts alone."


@dataclass(frozen=True, kw_only=True)
class Stages:
    """What `deepdive` is handed; `clock` is monotonic. Each stage raises a PerplexityError if it fails."""

    topic: str
    facts: Provider
    pulse: PulseSource | None
    synthesis: Provider
    store: StageStore
    now: Callable[[], datetime]
    clock: Callable[[], float]
    persona: Persona
    resumable: bool
    seconds: Mapping[Stage, float]

    async def situation(self) -> Finding:
        """Ask for the facts."""
        question = Question(messages=prompts.situation(self.topic), model=EFFORT, news=True)
        answer = quoting(await self._asked(self.facts, Stage.SITUATION, question))
        if not answer.text.strip():
            raise NothingFound("the answer came back empty", cost_usd=_cost(answer))
        unsourced = () if answer.sources else (UNSOURCED,)
        return _finding(Stage.SITUATION, answer, sources=answer.sources, notes=(*_notes(answer), *unsourced))

    async def passed(self, stage: Stage) -> float:
        """Return how many seconds ago a stage was begun whose run is to be resumed; 0 where there is none."""
        kept = await self.store.run(stage)
        return max(0.0, kept.age) if kept else 0.0

    async def people(self) -> Finding:
        """Ask what people say."""
        if self.pulse is None:
            return Finding(stage=Stage.PULSE, missing=NO_KEY)
        today = self.now().date()
        since, seconds = today - timedelta(days=DAYS), self.seconds[Stage.PULSE]
        felt = await _of(self.pulse, self.pulse.feel(self.topic, since=since, until=today, seconds=seconds))
        text, cut = within(felt.text)
        return Finding(
            stage=Stage.PULSE,
            text=text,
            sources=felt.posts,
            moods=felt.moods if felt.moods.total else None,
            notes=(*cut, *_cut(felt.incomplete), *filter(None, [felt.degraded])),
            provider=felt.provider,
            cost_usd=felt.cost_usd,
        )

    async def analysis(self, parts: list[Finding], numbering: Numbering) -> Finding:
        """Ask for the analysis of what the first two found."""
        messages = prompts.analysis(self.topic, parts, numbering.sources, persona=self.persona)
        # How hard it thinks is the operator's choice; from "high" on that is a run which outlives us, as the facts' is.
        question = Question(messages=messages, reasoning=True, offline=True)
        answer = await self._asked(self.synthesis, Stage.ANALYSIS, question)
        # Whoever has sources of their own searched, or is none who writes: it would say what the two parts do not.
        if answer.sources or not answer.text.strip():
            return Finding(stage=Stage.ANALYSIS, missing=NO_MODEL, cost_usd=_cost(answer))
        return _finding(Stage.ANALYSIS, answer, notes=tuple(_notes(answer)))

    async def _asked(self, provider: Provider, stage: Stage, question: Question) -> Answer:
        """Ask in the stage's time; where that begins a run, it is kept at once, and a kept one is resumed."""
        kept = await self.store.run(stage)
        begun = self.clock() - (max(0.0, kept.age) if kept else 0.0)

        async def on_run(run_id: str) -> None:
            await self.store.put_run(stage, Run(id=run_id, age=self.clock() - begun))

        wanted = replace(
            question,
            seconds=self._left(stage, begun),
            run_id=kept.id if kept else None,
            resumable=self.resumable,
            on_run=on_run,
        )
        return shortened(await _of(provider, provider.answer(wanted)))

    def _left(self, stage: Stage, begun: float) -> float:
        seconds = self.seconds[stage]
        return max(seconds - (self.clock() - begun), min(seconds, LEAST_SECONDS))


async def _of(service: Provider | PulseSource, saying: Awaitable[Said]) -> Said:
    """Return what a service says. Whatever else it raises than it may is a failure of its own, as in the chain."""
    try:
        return await saying
    except (PerplexityError, TimeoutError):
        raise
    except Exception as error:
        log.error("provider.broke", extra={"provider": service.name, "error": type(error).__name__})
        raise RunFailed("the service broke", provider=service.name) from error


def _finding(stage: Stage, answer: Answer, *, sources: tuple[Source, ...] = (), notes: tuple[str, ...]) -> Finding:
    return Finding(
        stage=stage,
        text=answer.text,
        sources=sources,
        notes=notes,
        stand_in=stand_in(answer),
        provider=answer.provider,
        cost_usd=_cost(answer),
    )


def _cost(answer: Answer) -> float | None:
    """Return the dollars of an answer, with those of whoever was asked before and came to nothing."""
    return charged(answer.usage.cost_usd, answer.failed)


def _notes(answer: Answer) -> Iterator[str]:
    """Yield what the reader should know of how an answer came about."""
    if answer.kind is AnswerKind.PASSAGES and not answer.failed:
        yield PASSAGES
    yield from _cut(answer.incomplete)
    yield from answer.notes


def _cut(incomplete: str | None) -> Iterator[str]:
    if incomplete is not None:
        yield f"This part is incomplete: the model stopped early ({incomplete or 'unknown'})."
