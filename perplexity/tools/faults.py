"""A failure as the text that a model is given in place of a result. Pure."""

from __future__ import annotations

from perplexity.errors import PerplexityError, TimedOut
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
