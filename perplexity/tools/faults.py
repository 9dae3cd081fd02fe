"""A failure as the text that a model is given in place of a result. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.errors import AllProvidersFailed, PerplexityError, TimedOut
from perplexity.nothing_found import found_nothing, with_reasons
from perplexity.stand_in import reasons_of
from perplexity.tools.base import Failure


def explain(name: str, error: PerplexityError, *, seconds: float) -> Failure:
    """Return the failure of the tool of that name in square brackets; `seconds` is the time that it had."""
    if error.status is not None:
        told = f"returned status code {error.status}"
    elif isinstance(error, TimedOut):
        told = f"timed out after {seconds:g} seconds"
    else:
        told = f"{error.summary}: {error.message}"
    return Failure(f"[{name} API {told}]", cost_usd=error.cost_usd)


def explain_chain(
    name: str, error: PerplexityError, *, seconds: float, nothing: str, notes: Sequence[str] = ()
) -> Failure:
    """Return the failure of a tool over the chain; `nothing` is what it says when nothing was found.

    `notes` are sentences that follow the reasons.
    """
    if found_nothing(error):
        return Failure(f"[{' '.join([f'{name}: {with_reasons(nothing, error)}', *notes])}]", cost_usd=error.cost_usd)
    if isinstance(error, AllProvidersFailed):
        why = "; ".join(reasons_of(error.attempts)) or "no service is configured"
        told = " ".join([f"{name} failed: {why}{'.' if notes else ''}", *notes])
        return Failure(f"[{told}]", cost_usd=error.cost_usd)
    return explain(name, error, seconds=seconds)
