"""A failure as the text that a model is given in place of a result. Pure."""

from __future__ import annotations

from perplexity.errors import PerplexityError, TimedOut


def explain(name: str, error: PerplexityError, *, seconds: float) -> str:
    """Return the failure of the tool of that name in square brackets; `seconds` is the time that it had."""
    if error.status is not None:
        return f"[{name} API returned status code {error.status}]"
    if isinstance(error, TimedOut):
        return f"[{name} API timed out after {seconds:g} seconds]"
    return f"[{name} API {error.summary}: {error.message}]"
