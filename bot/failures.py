"""Failures as the asker reads them: one friendly sentence, never an exception's own words."""

from __future__ import annotations

from bot.errors import AgentNotSetUp, NoKey
from perplexity.errors import AllProvidersFailed, InvalidRequest, NothingFound, PerplexityError, TimedOut
from perplexity.nothing_found import found_nothing, with_reasons

IN_TIME = "Sorry, no search service answered in time. Your question is kept."
AT_ALL = "Sorry, no search service could answer this just now. Your question is kept."
NOTHING = "Sorry, nothing was found for this. Other or fewer words may help, and fewer options."
NONE_CONFIGURED = "Sorry, no search service is configured. Your question is kept; please tell the app's admin."
NO_AGENT = "Sorry, there is no agent here yet: please ask the app's admin to set one up. It works without `--agent`."


def sentence_for(error: PerplexityError, *, nothing: str = NOTHING) -> str:
    """Return what happened as mrkdwn, not escaped yet; `nothing` is what to say if nothing was found."""
    if found_nothing(error):
        return with_reasons(nothing, error)
    if isinstance(error, InvalidRequest):
        return _refused(error)
    if isinstance(error, NoKey):
        return error.sentence
    if isinstance(error, AllProvidersFailed):
        return _nobody(error)
    if isinstance(error, AgentNotSetUp):
        return NO_AGENT
    return IN_TIME if isinstance(error, TimedOut) else AT_ALL


def is_refusal(error: PerplexityError) -> bool:
    """Return whether a request was refused, which only its asker should read."""
    return isinstance(error, (InvalidRequest, AgentNotSetUp))


def may_succeed_again(error: PerplexityError) -> bool:
    """Return whether asking the same again may help: not if nothing was found, and that was paid for.

    A service without a key finds nothing also when it refuses to search, and costs nothing.
    """
    return not (isinstance(error, NothingFound) or (found_nothing(error) and error.cost_usd))


def _nobody(error: AllProvidersFailed) -> str:
    if not error.attempts:
        return NONE_CONFIGURED
    kinds = {attempt.error_class for attempt in error.attempts}
    if kinds == {TimedOut.__name__}:
        return IN_TIME
    refused = [one for one in error.attempts if one.error_class == InvalidRequest.__name__ and one.summary]
    return " ".join([AT_ALL, *(f"{one.provider} {one.summary}." for one in refused)])


def _refused(error: InvalidRequest) -> str:
    if error.field is None or error.allowed is None:
        return "Sorry, the search service does not take this request. Try it in other words or with fewer options."
    value = (error.value or "").replace("`", "'")
    return f"Sorry, `{value}` cannot be used as {error.field}: {error.allowed}."
