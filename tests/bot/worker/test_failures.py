"""What the asker reads when an answer failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.worker.worker import AT_ALL, IN_TIME, NONE_CONFIGURED, NOTHING, sentence_for
from perplexity.attempts import Attempt
from perplexity.errors import (
    AllProvidersFailed,
    BillingError,
    InvalidRequest,
    NothingFound,
    PerplexityError,
    ServerError,
    TimedOut,
)


def attempt(error: type[PerplexityError]) -> Attempt:
    return Attempt(provider="P", seconds=1, error_class=error.__name__, summary=error.summary)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (AllProvidersFailed([]), NONE_CONFIGURED),
        (AllProvidersFailed([attempt(TimedOut), attempt(TimedOut)]), IN_TIME),
        (AllProvidersFailed([attempt(NothingFound)]), NOTHING),
        (
            AllProvidersFailed([replace(attempt(NothingFound), summary="gave no results: 2 left out")]),
            f"{NOTHING} P gave no results: 2 left out.",
        ),
        (AllProvidersFailed([attempt(TimedOut), attempt(BillingError)]), AT_ALL),
        (
            AllProvidersFailed(
                [attempt(BillingError), replace(attempt(InvalidRequest), summary="does not take mode sec")]
            ),
            f"{AT_ALL} P does not take mode sec.",
        ),
        (TimedOut("secret words"), IN_TIME),
        (ServerError("secret words"), AT_ALL),
        (
            InvalidRequest.for_field("domain", "a`b", "use a host name"),
            "Sorry, `a'b` cannot be used as domain: use a host name.",
        ),
    ],
)
def test_each_failure_is_one_sentence(error: PerplexityError, sentence: str) -> None:
    assert sentence_for(error) == sentence


def test_what_the_service_said_is_not_repeated() -> None:
    assert "secret words" not in sentence_for(InvalidRequest("secret words", provider="P", status=400))
