"""All errors of the library, as one small tree, and `Attempt`, which describes one call of a provider.

PerplexityError
├── InvalidRequest         never sent, or refused by the service; no other provider is tried if an option may be wrong
│   └── MissingKey         no API key was passed in, and none is set
├── ConnectionFailed       no connection, or it broke before the answer was complete
├── TimedOut               the deadline passed
├── MalformedResponse      not in the documented form: HTML, empty, not JSON, too large
│   └── StreamTruncated    a stream that ended without its terminal event
├── RunFailed              the service accepted, then failed or gave an unusable answer; or a call failed unexpectedly
├── MissingExtra           a package that an extra of this distribution installs is missing; an ImportError too
├── RequestCancelled       the caller no longer wants the answer: no other provider is asked
├── NotPermitted           the caller's own limits do not allow the call: no provider is asked
├── NothingFound           no usable results; a service that needs no key may also refuse a search in this way
├── APIError               the service answered with an error status
│   ├── AuthenticationError
│   ├── BillingError       out of credit; Perplexity sends it as a 401
│   ├── EndpointRetired
│   ├── RateLimitError
│   └── ServerError
└── AllProvidersFailed     no provider of the chain answered; has every attempt

An error never contains the API key, a request header or the text of a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal, Self

from perplexity.scope import N_, say
from perplexity.version import DISTRIBUTION


class PerplexityError(Exception):
    """Any failure of a search or an answer.

    `provider` is the provider's name, `status` the HTTP status, `type` the service's own error type, `request_id` its
    request id, `retry_after` seconds to wait, `cost_usd` the dollars that the failure cost; each of them is None if it
    is not known. `summary` finishes the sentence "Perplexity …" and may be shown to a user. `began` is True if the
    service had begun to answer; it may charge for such an answer.
    """

    summary: str = N_("failed")
    began: bool = False

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        status: int | None = None,
        type: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        cost_usd: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.status = status
        self.type = type
        self.request_id = request_id
        self.retry_after = retry_after
        self.cost_usd = cost_usd


class InvalidRequest(PerplexityError):
    """A value that the service does not accept.

    `field` is the name of the field, `value` the value that was given, and `allowed` says what the field takes; each is
    None if it is not known.
    """

    summary = N_("refused the request")

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
        provider: str | None = None,
        status: int | None = None,
        type: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, provider=provider, status=status, type=type, request_id=request_id)
        self.field = field
        self.value = value
        self.allowed = allowed

    @classmethod
    def for_field(cls, field: str, value: object, allowed: str) -> InvalidRequest:
        """Return the error whose message names the field, the value that was given and what is allowed."""
        shown = str(value)
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        return cls(f"{field}: {shown!r} is not allowed; {allowed}", field=field, value=shown, allowed=allowed)


class MissingKey(InvalidRequest):
    """No API key was passed in, and none is set in the environment."""

    summary = N_("has no key")


class ConnectionFailed(PerplexityError):
    """No connection could be made, or it broke before the response was complete.

    `sent` says whether the service may have seen the request.
    """

    summary = N_("could not be reached")
    sent: bool = True


class TimedOut(PerplexityError):
    """The deadline passed before the service had answered."""

    summary = N_("did not answer in time")


class MalformedResponse(PerplexityError):
    """The response is not in the documented form: HTML, empty, not JSON, or larger than the cap (`too_large`)."""

    summary = N_("sent an unreadable answer")
    too_large: bool = False


class StreamTruncated(MalformedResponse):
    """A stream ended without its terminal event, so its text may be a part of an answer."""

    summary = N_("broke off in the middle of the answer")


class RunFailed(PerplexityError):
    """The service accepted the request and then failed or gave an unusable answer; or a call failed unexpectedly."""

    summary = N_("could not finish the answer")


class MissingExtra(PerplexityError, ImportError):
    """A package that belongs to the extra `extra` of this distribution is missing; `command` installs the extra."""

    summary = N_("needs an extra that is not installed")
    extra: str = ""
    command: str = ""

    @classmethod
    def for_extra(cls, extra: str) -> MissingExtra:
        """Return the error for a missing extra, with the command that installs it."""
        command = f"pip install '{DISTRIBUTION}[{extra}]'"
        error = cls(f"this needs the extra {extra!r}, which is not installed: {command}")
        error.extra, error.command = extra, command
        return error


class RequestCancelled(PerplexityError):
    """The caller cancelled the question while it was being answered, by raising this from one of its hooks."""

    summary = N_("was cancelled")


class NotPermitted(PerplexityError):
    """The caller's own limits, such as a budget, do not allow the call; no other provider is asked in its place."""

    summary = N_("was not asked")


class NothingFound(PerplexityError):
    """There are no usable results. A service that needs no key may also refuse a search by returning none."""

    summary = N_("gave no results")

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Add a provider's notes to `summary`, such as how many pages were left out, and return the error."""
        if said := "; ".join(note.rstrip(".") for note in notes):
            self.summary = f"{say(NothingFound.summary)}: {said}"
        return self


class APIError(PerplexityError):
    """The service answered with an error status that no subclass describes."""

    summary = N_("answered with an error")


class AuthenticationError(APIError):
    """The key is wrong, revoked, or of a kind that may not call this endpoint."""

    summary = N_("does not accept the configured key")


class BillingError(APIError):
    """The account is out of credit. Perplexity reports it as HTTP 401 with type `insufficient_quota`."""

    summary = N_("is out of credit")


class EndpointRetired(APIError):
    """The service no longer offers this key the endpoint or the model. Perplexity now answers at `/v1/agent`."""

    summary = N_("has retired this endpoint")


class RateLimitError(APIError):
    """Too many requests; `retry_after` is the seconds to wait, None if they are not known."""

    summary = N_("is limiting requests")


class ServerError(APIError):
    """A 5xx status, an error page of a proxy in front of the service, or an error type that means such a failure."""

    summary = N_("is having trouble")


class AllProvidersFailed(PerplexityError):
    """Every configured provider failed; `attempts` holds the attempts in order."""

    summary = N_("and every other search service failed")

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        tried = "; ".join(f"{a.provider}: {a.error_class}" for a in attempts) or "no provider is configured"
        super().__init__(tried, cost_usd=cost_with_failures(None, attempts))
        self.attempts: tuple[Attempt, ...] = tuple(attempts)


@contextmanager
def named_errors(provider: str) -> Iterator[None]:
    """Set the provider's name on each PerplexityError that the block raises without one."""
    try:
        yield
    except PerplexityError as error:
        error.provider = error.provider or provider
        raise


RequestKind = Literal["search", "answer"]
"""The kinds of requests: `search` for ranked pages, `answer` for a written answer."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call of a provider; `error_class` and `summary` are None if it answered.

    `kind` is the kind of the request; `cost_usd` is its cost, None if the provider does not report it. If a provider
    was skipped after repeated failures, `error_class` is `Resting` and `seconds` is 0. A `search_only` provider has no
    model that could write an answer.
    """

    provider: str
    seconds: float
    kind: RequestKind = "answer"
    error_class: str | None = None
    summary: str | None = None
    cost_usd: float | None = None
    search_only: bool = False


_DECIMALS = 12
"""The decimal places that a sum is rounded to. Services report at most ten; further digits are rounding errors."""


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the known costs; None if no cost is known."""
    known = [cost for cost in costs if cost is not None]
    return (known[0] if len(known) == 1 else round(fsum(known), _DECIMALS)) if known else None


def cost_with_failures(own: float | None, failed: Iterable[Attempt]) -> float | None:
    """Return the cost of a reply, `own`, plus the costs of the attempts that `failed` before; None if none is known."""
    return total_cost([own, *(attempt.cost_usd for attempt in failed)])


def without_costs(failed: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts without their costs, for use next to a sum that includes these costs."""
    return tuple(replace(attempt, cost_usd=None) for attempt in failed)


def attempt_reasons(failed: Iterable[Attempt]) -> list[str]:
    """Return the reasons of the failed attempts, each reason once, such as "Perplexity could not be reached"."""
    return list(dict.fromkeys(f"{attempt.provider} {say(attempt.summary or N_('failed'))}" for attempt in failed))
