"""The app's own errors, the sentences that tell an asker about an error, and whether asking again may help."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    AuthenticationError,
    BillingError,
    InvalidRequest,
    NothingFound,
    NotPermitted,
    PerplexityError,
    TimedOut,
    attempt_reasons,
)
from perplexity.notes import is_empty_result, with_reasons


class UsageError(Exception):
    """A command cannot be parsed; the asker is told at once, privately.

    `problem` is one or two sentences of mrkdwn, not escaped yet, that name the option, the value and the allowed
    values. Code is in backticks; values from the asker contain no backticks. `option` is the name of the option with
    the wrong value, empty if the text after the options is wrong.
    """

    def __init__(self, problem: str, *, option: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.option = option


class Interrupted(Exception):
    """A question returned to the queue too often because its workers died or were stopped."""


class AgentNotSetUp(PerplexityError):
    """No agent is configured; the message names the missing setting, for the log."""

    summary = N_("is not set up")


class Refused(PerplexityError):
    """The request is not possible here; `sentence` tells the asker why, in mrkdwn that is not escaped yet."""

    summary = N_("was not asked")

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class SpendingRefused(Refused, NotPermitted):
    """A paid call may not be made now, and was not made."""


class BudgetUsedUp(SpendingRefused):
    """The call's possible cost does not fit into a budget."""


class SpendingPaused(SpendingRefused):
    """An admin has paused all spending."""


class QuestionErased(SpendingRefused):
    """The question was erased with all of its asker's data while it was being answered."""


class BudgetUnknown(SpendingRefused):
    """The database is unavailable, so the remaining budgets are unknown."""


class NoKey(AllProvidersFailed):
    """No key is set, and no service without a key can be reached.

    `sentence` tells the asker what to do, in mrkdwn that is not escaped yet.
    """

    def __init__(self, attempts: Sequence[Attempt], *, sentence: str) -> None:
        super().__init__(attempts)
        self.sentence = sentence


class SocketRefused(Exception):
    """Slack does not let the app open a Socket Mode connection; the text is the name of Slack's error."""


class CannotListen(Exception):
    """The server cannot listen on its address; the cause is the operating system's error."""


class NotClearedUp(Exception):
    """Messages or runs of a closed question may remain in Slack or at a service.

    `seconds` is how long to wait before the next try, 0 if this is not known.
    """

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(seconds)
        self.seconds = seconds or 0.0


class NotOurs(Exception):
    """Only another process can answer a question.

    If only a newer version of the app knows the question's command, the error's text is this command. Otherwise the
    text is the id of the question's workspace: the workspace belongs to another installation, or only other processes
    have the key that decrypts its token.
    """


class Undecryptable(Exception):
    """A ciphertext was changed, was made for another column, or was made with a key that is not in the ring."""


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


def is_refusal(error: Exception) -> bool:
    """Return whether a request was refused; only its asker should read a refusal."""
    return isinstance(error, (InvalidRequest, AgentNotSetUp, Refused))


def is_retryable(error: PerplexityError) -> bool:
    """Return whether asking the same again may help.

    Return False for `NothingFound`, for `Refused` except `BudgetUnknown`, and if no service found anything in a paid
    search. A free search may find something later: a service that is used without a key also returns no results if it
    refuses to search.
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
