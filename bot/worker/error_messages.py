"""What the asker is told of an error, and whether asking again may help."""

from __future__ import annotations

from bot.errors import AgentNotSetUp, BudgetUnknown, NoKey, Refused
from bot.texts import failures
from perplexity.attempts import attempt_reasons
from perplexity.errors import (
    AllProvidersFailed,
    AuthenticationError,
    BillingError,
    InvalidRequest,
    NothingFound,
    PerplexityError,
    TimedOut,
)
from perplexity.notes import is_empty_result, with_reasons

ADMIN_ERRORS = {AuthenticationError.__name__, BillingError.__name__}
"""Errors of a service that last until an admin does something."""


def user_message(error: PerplexityError, *, nothing: str = failures.NO_RESULTS) -> str:
    """Return what happened as mrkdwn, not escaped yet; `nothing` is what to say if nothing was found."""
    if is_empty_result(error):
        return with_reasons(nothing, error)
    if isinstance(error, InvalidRequest):
        return _invalid_request(error)
    if isinstance(error, (NoKey, Refused)):
        return error.sentence
    if isinstance(error, AllProvidersFailed):
        return _all_failed(error)
    if isinstance(error, AgentNotSetUp):
        return failures.NO_AGENT
    return failures.TIMED_OUT if isinstance(error, TimedOut) else failures.ALL_FAILED


def is_refusal(error: PerplexityError) -> bool:
    """Return whether a request was refused, which only its asker should read."""
    return isinstance(error, (InvalidRequest, AgentNotSetUp, Refused))


def is_retryable(error: PerplexityError) -> bool:
    """Return whether asking the same again may help: not if it was refused, or nothing was found and that was paid for.

    A service without a key finds nothing also when it refuses to search, and costs nothing.
    """
    if isinstance(error, BudgetUnknown):
        return True
    return not (isinstance(error, (NothingFound, Refused)) or (is_empty_result(error) and error.cost_usd))


def _all_failed(error: AllProvidersFailed) -> str:
    if not error.attempts:
        return failures.NONE_CONFIGURED
    kinds = {attempt.error_class for attempt in error.attempts}
    if kinds == {TimedOut.__name__}:
        return failures.TIMED_OUT
    return failures.all_failed("; ".join(attempt_reasons(error.attempts)), tell_admin=bool(kinds & ADMIN_ERRORS))


def _invalid_request(error: InvalidRequest) -> str:
    if error.field is None or error.allowed is None:
        return failures.NOT_TAKEN
    return failures.not_allowed((error.value or "").replace("`", "'"), error.field, allowed=error.allowed)
