"""The page of the retries says what the code does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from perplexity import errors
from perplexity.errors import APIError, PerplexityError
from perplexity.fallback import BreakerPolicy
from perplexity.models import FallbackTimeouts, Timeouts, resolve
from perplexity.retry import is_retryable
from tests.docs.pages import ROOT, rows

PAGE = ROOT / "docs" / "retries.md"
TRIED = rows(PAGE, section="What is tried again")
ALL = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PerplexityError)}


def _raised(error: type[PerplexityError], happened: str) -> Iterator[PerplexityError]:
    statuses = [int(status) for status in re.findall(r"\d{3}", happened)]
    yield from (error("", status=status) for status in statuses)
    if not statuses:
        yield error("")


@pytest.mark.parametrize("row", TRIED, ids=lambda row: row[0])
def test_an_error_is_tried_again_as_the_page_says(row: tuple[str, ...]) -> None:
    happened, kind, again, next_asked = row
    error = getattr(errors, kind.strip("`"))

    assert {is_retryable(raised) for raised in _raised(error, happened)} == {again == "yes"}
    stops = issubclass(error, (errors.InvalidRequest, errors.NotPermitted, errors.RequestCancelled))
    # What only a service refuses may be no fault of the request: tests/perplexity/test_fallback.py tries which.
    assert next_asked == ("only if nothing was chosen" if error is errors.InvalidRequest else "no" if stops else "yes")


def test_every_error_is_there() -> None:
    named = {getattr(errors, kind.strip("`")) for _, kind, _, _ in TRIED}

    assert named == ALL - {PerplexityError, errors.AllProvidersFailed}
    assert APIError in named


def test_the_time_limits_are_the_code_s() -> None:
    one, chain = Timeouts(), FallbackTimeouts()

    shown = [tuple(re.findall(r"(\d+) s\b", " ".join(row))) for row in rows(PAGE, section="How long it takes at most")]
    real = [(one.search, chain.search)] + [
        (one.for_effort(effort), chain.for_effort(effort))
        for effort in ("fast", resolve("openai/gpt-6-luna").effort, "xhigh")
    ]
    assert shown == [(f"{first:g}", f"{second:g}") for first, second in real]
    assert f"minus {chain.reserve_per_provider:g} seconds" in PAGE.read_text(encoding="utf-8").replace("\n", " ")
    assert f"at least {chain.minimum:g} seconds" in PAGE.read_text(encoding="utf-8").replace("\n", " ")


def test_the_rest_of_a_service_is_the_code_s() -> None:
    policy, page = BreakerPolicy(), PAGE.read_text(encoding="utf-8").replace("\n", " ")

    assert f"failed {policy.failures} times in a row is skipped for {policy.seconds:g} seconds" in page
    assert f"another {policy.seconds:g} seconds" in page
