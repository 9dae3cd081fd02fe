"""pydantic-ai's failures as ours; none of its own words, which quote what was sent, is kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)

from perplexity.errors import ConnectionFailed, MalformedResponse, PerplexityError, RunFailed, TimedOut
from perplexity.providers.openrouter import DIALECT
from perplexity.wire.errors import error_for
from perplexity.wire.writing import encode

_KINDS: Sequence[tuple[type[Exception], type[PerplexityError], str]] = (
    (ModelTimeoutError, TimedOut, "the model did not answer in time"),
    (ModelRequestTimeout, TimedOut, "the model did not answer in time"),
    (ModelConnectionError, ConnectionFailed, "no connection to the model"),
    (ContentFilterError, RunFailed, "the model's answer was held back"),
    (UnexpectedModelBehavior, MalformedResponse, "the model's answer cannot be read"),
    (UsageLimitExceeded, RunFailed, "the run took all its steps without an answer"),
    (Exception, RunFailed, "the run did not come to an end"),
)
"""The first that fits holds; a class stands before those that it inherits from."""


def explained(error: Exception, *, provider: str, now: float) -> PerplexityError:
    """Return the failure of a run as one of ours. `now` is in seconds since 1970.

    The library's own failures are AgentRunError; what else it raises, such as an IndexError for a response without a
    choice, and what a tool of somebody else's raises, is a run that did not come to an end.
    """
    if isinstance(error, ModelHTTPError):
        return _of_status(error, provider=provider, now=now)
    kind, message = next((ours, message) for theirs, ours, message in _KINDS if isinstance(error, theirs))
    return kind(message, provider=provider)


def _of_status(error: ModelHTTPError, *, provider: str, now: float) -> PerplexityError:
    """Classify a status as for any other endpoint; OpenRouter's statuses are those of its imitators."""
    told = {"message": error.body} if isinstance(error.body, str) else error.body
    body = encode({"error": told}, default=str).encode(errors="replace") if told else b""
    return error_for(error.status_code, error.headers or {}, body, provider=provider, dialect=DIALECT, now=now)
