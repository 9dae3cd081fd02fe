"""Sentences for the asker on errors, and whether asking again may help."""

from __future__ import annotations

from math import ceil

from bot.errors import AgentNotSetUp, BudgetUnknown, NoKey, Refused
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import (
    AllProvidersFailed,
    AuthenticationError,
    BillingError,
    InvalidRequest,
    NothingFound,
    PerplexityError,
    TimedOut,
    attempt_reasons,
)
from perplexity.notes import is_empty_result, with_reasons

NO_RESULTS = N_("Sorry, I found nothing for this. Try other or fewer words, or fewer options.")
ALL_FAILED = N_("Sorry, no search service could answer this just now. I’ve kept your question, so you can try again.")
TIMED_OUT = N_("Sorry, no search service answered in time. I’ve kept your question, so you can try again.")

ADMIN_ERRORS = {AuthenticationError.__name__, BillingError.__name__}
"""The names of the errors of a service that last until an admin acts."""


def user_message(error: PerplexityError, *, nothing: str = "") -> str:
    """Return a sentence on an error as mrkdwn, not escaped yet; `nothing` replaces the sentence for no results."""
    if is_empty_result(error):
        return with_reasons(nothing or _(NO_RESULTS), error)
    if isinstance(error, InvalidRequest):
        return _invalid_request(error)
    if isinstance(error, (NoKey, Refused)):
        return error.sentence
    if isinstance(error, AllProvidersFailed):
        return _all_failed(error)
    if isinstance(error, AgentNotSetUp):
        return _("Sorry, no agent is set up here. Ask without `--agent`, or ask the app’s admin to set one up.")
    return _(TIMED_OUT if isinstance(error, TimedOut) else ALL_FAILED)


def is_refusal(error: PerplexityError) -> bool:
    """Return whether a request was refused; only its asker should read a refusal."""
    return isinstance(error, (InvalidRequest, AgentNotSetUp, Refused))


def is_retryable(error: PerplexityError) -> bool:
    """Return whether asking the same again may help; False for `Refused`, and for a paid search without results.

    Repeating a free search in which no service found anything may help: a service that is used without a key also
    returns no results if it refuses to search.
    """
    if isinstance(error, BudgetUnknown):
        return True
    return not (isinstance(error, (NothingFound, Refused)) or (is_empty_result(error) and error.cost_usd))


def _all_failed(error: AllProvidersFailed) -> str:
    if not error.attempts:
        return _("Sorry, no search service is configured. I’ve kept your question. Please tell the app’s admin.")
    kinds = {attempt.error_class for attempt in error.attempts}
    if kinds == {TimedOut.__name__}:
        return _(TIMED_OUT)
    reasons = "; ".join(attempt_reasons(error.attempts))
    if kinds & ADMIN_ERRORS:
        said = _(
            "Sorry, no search service could answer this just now: {reasons}. I’ve kept your question. "
            "Please tell the app’s admin."
        )
    elif error.retry_after:
        said = _(
            "Sorry, no search service could answer this just now: {reasons}. I’ve kept your question, "
            "so you can try again in {seconds} seconds."
        )
    else:
        said = _(
            "Sorry, no search service could answer this just now: {reasons}. I’ve kept your question, "
            "so you can try again."
        )
    return said.format(reasons=reasons, seconds=ceil(error.retry_after or 0.0))


def _invalid_request(error: InvalidRequest) -> str:
    if error.field is None or error.allowed is None:
        return _("Sorry, the search service doesn’t accept this request. Try other words or fewer options.")
    value = (error.value or "").replace("`", "'")
    said = _("Sorry, `{value}` cannot be used as {field}: {allowed}.")
    return said.format(value=value, field=error.field, allowed=error.allowed)
