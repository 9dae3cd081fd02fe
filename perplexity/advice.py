"""A failure as one line that says what to do about it, for whoever holds the keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perplexity.errors import AllProvidersFailed, PerplexityError
from perplexity.stand_in import reasons_of
from perplexity.tools.access import VARIABLES
from perplexity.types import Attempt

_ADVICE: Mapping[str, str] = {
    "AuthenticationError": "Check {key}.",
    "BillingError": "Add credit to the account of {key}.",
    "RateLimitError": "Wait a moment, then try again.",
    "ConnectionFailed": "Check the network, and HTTPS_PROXY where there is a proxy.",
    "TimedOut": "Try again, or ask for less.",
    "MissingExtra": "Install it, or set PERPLEXITY_API_KEY.",
    "NothingFound": "Ask in other words, or with fewer filters.",
}
_ELSE = "Try again in a minute."
_NOBODY = "Nobody can be asked: no service is configured that could answer this. Set PERPLEXITY_API_KEY."


def advise(error: PerplexityError) -> str:
    """Return what happened, by provider, and what to do about the first of the failures."""
    if isinstance(error, AllProvidersFailed):
        return _of_all(error.attempts) if error.attempts else _NOBODY
    name = error.provider or "Perplexity"
    return f"{name} {error.summary}. {_what_to_do(name, type(error).__name__)}"


def _of_all(attempts: Sequence[Attempt]) -> str:
    first, why = attempts[0], "; ".join(reasons_of(attempts))
    return f"Nobody could answer: {why}. {_what_to_do(first.provider, first.error_class or '')}"


def _what_to_do(provider: str, error_class: str) -> str:
    keys, _ = VARIABLES.get(provider.split(maxsplit=1)[0].lower(), (("its key",), ""))
    return _ADVICE.get(error_class, _ELSE).format(key=keys[0])
