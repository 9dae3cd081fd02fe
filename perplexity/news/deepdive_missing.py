"""Why a stage of a deep dive came to nothing: for the report, and to be kept with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perplexity.errors import AllProvidersFailed, PerplexityError, TimedOut
from perplexity.news.deepdive_types import Stage
from perplexity.types import Attempt

NO_WRITER = "no service that can write one from these two parts is set up"
"""Why the analysis is missing where nobody could even be asked."""

_WHAT = {Stage.SITUATION: "The situation", Stage.PULSE: "The public pulse", Stage.ANALYSIS: "The analysis"}


def missing(stage: Stage, error: PerplexityError) -> str:
    """Say that a stage came to nothing, and why."""
    return f"{_WHAT[stage]} is missing: {_why(stage, error)}."


def attempts(error: PerplexityError) -> tuple[Attempt, ...]:
    """Return who was tried and failed, none where the error names nobody."""
    if isinstance(error, AllProvidersFailed):
        return error.attempts
    if error.provider is None:
        return ()
    kind, cost_usd = type(error).__name__, error.cost_usd
    return (Attempt(provider=error.provider, seconds=0.0, error_class=kind, summary=error.summary, cost_usd=cost_usd),)


def reasons(failed: Iterable[Attempt]) -> str:
    """Return each failure once, in words: `Perplexity is out of credit; Brave gave no results`."""
    return "; ".join(dict.fromkeys(f"{attempt.provider} {attempt.summary or 'failed'}" for attempt in failed))


def _why(stage: Stage, error: PerplexityError) -> str:
    if failed := attempts(error):
        return reasons(failed)
    if isinstance(error, AllProvidersFailed):
        return NO_WRITER if stage is Stage.ANALYSIS else "no service is set up"
    if isinstance(error, TimedOut):
        return "its time was over before an answer came"
    return "the services that were asked could not answer"
