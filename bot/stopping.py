"""Ends at the services what is under way for a question that was stopped."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bot.background import Background
from bot.storage.patience import AWAY
from bot.storage.stages import Stages
from perplexity.errors import PerplexityError
from perplexity.providers.base import Provider
from perplexity.providers.perplexity import PerplexityProvider

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """Cancels runs in the background, which go on though nobody is connected.

    What is asked over an open connection ends with it, when the worker notices.
    """

    stages: Stages
    providers: Sequence[Provider]
    background: Background

    def begin(self, question_id: UUID) -> None:
        """Have a question's runs cancelled; not waited for, since a click wants its answer at once."""
        self.background.begin(self._cancel_runs(question_id))

    async def _cancel_runs(self, question_id: UUID) -> None:
        try:
            for run_id in await self.stages.runs(question_id):
                await self._cancel(run_id)
        except (PerplexityError, *AWAY) as error:
            log.warning("run.not_cancelled", extra={"question": str(question_id), "error": type(error).__name__})

    async def _cancel(self, run_id: str) -> None:
        for provider in self.providers:
            if isinstance(provider, PerplexityProvider):
                await provider.cancel(run_id)
