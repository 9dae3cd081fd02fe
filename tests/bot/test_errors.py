"""What the asker reads when an answer failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.errors import ALL_FAILED, NO_RESULTS, TIMED_OUT, user_message
from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    InvalidRequest,
    NothingFound,
    PerplexityError,
    ServerError,
    TimedOut,
)


def attempt(error: type[PerplexityError]) -> Attempt:
    return Attempt(provider="P", seconds=1, error_class=error.__name__, summary=error.summary)


def waiting(error: AllProvidersFailed, *, seconds: float) -> AllProvidersFailed:
    error.retry_after = seconds
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            AllProvidersFailed([]),
            "Sorry, no search service is configured. I’ve kept your question. Please tell the app’s admin.",
        ),
        (AllProvidersFailed([attempt(TimedOut), attempt(TimedOut)]), TIMED_OUT),
        (AllProvidersFailed([attempt(NothingFound)]), NO_RESULTS),
        (
            AllProvidersFailed([replace(attempt(NothingFound), summary="gave no results: 2 left out")]),
            f"{NO_RESULTS} P gave no results: 2 left out.",
        ),
        (
            AllProvidersFailed([replace(attempt(AuthenticationError), provider="A"), attempt(ConnectionFailed)]),
            (
                "Sorry, no search service could answer this just now: A does not accept the configured key; "
                "P could not be reached. I’ve kept your question. Please tell the app’s admin."
            ),
        ),
        (
            AllProvidersFailed([attempt(ConnectionFailed), attempt(ConnectionFailed)]),
            (
                "Sorry, no search service could answer this just now: P could not be reached. "
                "I’ve kept your question, so you can try again."
            ),
        ),
        (
            AllProvidersFailed(
                [attempt(BillingError), replace(attempt(InvalidRequest), summary="does not take mode sec")]
            ),
            (
                "Sorry, no search service could answer this just now: P is out of credit; P does not take mode sec. "
                "I’ve kept your question. Please tell the app’s admin."
            ),
        ),
        (
            waiting(AllProvidersFailed([replace(attempt(ServerError), error_class="Resting")]), seconds=11.2),
            (
                "Sorry, no search service could answer this just now: P is having trouble. "
                "I’ve kept your question, so you can try again in 12 seconds."
            ),
        ),
        (TimedOut("secret words"), TIMED_OUT),
        (
            ServerError("secret words"),
            ALL_FAILED,
        ),
        (
            InvalidRequest.for_field("domain", "a`b", "use a host name"),
            "Sorry, `a'b` cannot be used as domain: use a host name.",
        ),
    ],
)
def test_each_failure_is_one_sentence(error: PerplexityError, sentence: str) -> None:
    assert user_message(error) == sentence


def test_error_messages_of_the_service_are_not_shown() -> None:
    assert "secret words" not in user_message(InvalidRequest("secret words", provider="P", status=400))
