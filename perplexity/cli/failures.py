"""A failure as one line that says what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.cli.lines import why_empty
from perplexity.cli.printable import on_one_line
from perplexity.errors import AllProvidersFailed, PerplexityError
from perplexity.tools.access import VARIABLES
from perplexity.types import Attempt

_ADVICE: Mapping[str, str] = {
    "AuthenticationError": "Check {key}.",
    "BillingError": "Add credit to the account of {key}.",
    "RateLimitError": "Wait a moment, then try again.",
    "ConnectionFailed": "Check the network, and HTTPS_PROXY where there is a proxy.",
    "TimedOut": "Try again, or ask for less.",
    "NothingFound": "Ask in other words, or with fewer filters.",
}
_ELSE = "Try again in a minute."


def explain(error: PerplexityError) -> str:
    """Return what happened, by provider, and what to do about the first of the failures."""
    if isinstance(error, AllProvidersFailed) and error.attempts:
        first = error.attempts[0]
        return on_one_line(f"Nobody could answer: {why_empty(error.attempts)}. {_advice(first)}")
    if isinstance(error, AllProvidersFailed):
        return "Nobody can be asked: no service is configured that could answer this. Set PERPLEXITY_API_KEY."
    name = error.provider or "Perplexity"
    attempt = Attempt(provider=name, seconds=0.0, error_class=type(error).__name__)
    return on_one_line(f"{name} {error.summary}. {_advice(attempt)}")


def _advice(attempt: Attempt) -> str:
    keys, _ = VARIABLES.get(attempt.provider.lower(), (("the key",), ""))
    return _ADVICE.get(attempt.error_class or "", _ELSE).format(key=keys[0])
