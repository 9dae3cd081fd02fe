"""What the environment says of Perplexity: the same for a client, the tools and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from perplexity.errors import InvalidRequest, MissingKey
from perplexity.transport import OPEN_SECONDS, checked_open_timeout
from perplexity.types import API

KEYS = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
BASE_URL = "PERPLEXITY_BASE_URL"
API_VARIABLE = "PERPLEXITY_API"
OPEN_TIMEOUT = "OPEN_TIMEOUT"

DEFAULT_BASE_URL = "https://api.perplexity.ai"


@dataclass(frozen=True, kw_only=True)
class Access:
    """A key, the address of the service that takes it, which of its APIs answers, and the seconds for connecting."""

    api_key: str = field(repr=False)
    base_url: str
    api: API
    open_timeout: float

    @classmethod
    def found(
        cls,
        environ: Mapping[str, str],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        api: API | None = None,
        open_timeout: float | None = None,
    ) -> Access:
        """Return what was handed in, and for what was not what the environment holds, or the default.

        Raises MissingKey without a key, InvalidRequest for a variable whose value is not allowed.
        """
        key = first(environ, *KEYS) if api_key is None else api_key.strip()
        if not key:
            raise MissingKey(f"api_key: there is none; set {KEYS[0]} (or {KEYS[1]}), or hand one in", field="api_key")
        return cls(
            api_key=key,
            base_url=base_url or first(environ, BASE_URL) or DEFAULT_BASE_URL,
            api=api or api_of(environ),
            open_timeout=open_timeout_of(environ) if open_timeout is None else open_timeout,
        )


def api_of(environ: Mapping[str, str]) -> API:
    """Return the API that PERPLEXITY_API names, `agent` if it is not set. Raises InvalidRequest."""
    named = first(environ, API_VARIABLE) or "agent"
    for api in get_args(API):
        if api == named:
            return api  # type: ignore[no-any-return]
    raise InvalidRequest.of(API_VARIABLE, named, "it takes agent or sonar")


def open_timeout_of(environ: Mapping[str, str]) -> float:
    """Return the seconds that OPEN_TIMEOUT names, the default if it is not set. Raises InvalidRequest."""
    named = first(environ, OPEN_TIMEOUT)
    if not named:
        return OPEN_SECONDS
    try:
        return checked_open_timeout(float(named))
    except (ValueError, InvalidRequest):
        raise InvalidRequest.of(OPEN_TIMEOUT, named, "it takes a number of seconds above 0, at most 3600") from None


def first(environ: Mapping[str, str], *names: str) -> str:
    """Return the value of the first variable that is set; one that is empty or blank counts as unset."""
    return next((value for name in names if (value := environ.get(name, "").strip())), "")
