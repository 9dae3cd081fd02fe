"""Who dives: the services of a deep dive and the persona that writes, put together once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from perplexity.news.deepdive import deepdive
from perplexity.news.deepdive_types import DeepDive, Persona, StageStore, Update
from perplexity.providers.base import Provider
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.social.pulse import PulseSource


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
