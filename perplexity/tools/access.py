"""The keys and the addresses that a tool uses: those handed in, else those of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.errors import MissingKey
from perplexity.providers.setup import Setup

KEYS = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
BASE_URL = "PERPLEXITY_BASE_URL"

VARIABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "perplexity": (KEYS, BASE_URL),
    "openrouter": (("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL"),
    "brave": (("BRAVE_API_KEY",), "BRAVE_BASE_URL"),
}
"""The variables of each provider's key, the first that is set counts, and of its address."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """A key and the address of the service that takes it."""

    api_key: str = field(repr=False)
    base_url: str

    @classmethod
    def found(cls, api_key: str | None, base_url: str | None, environ: Mapping[str, str]) -> Access:
        """Return what was handed in, or the first that the environment holds. Raises MissingKey without a key."""
        key = _first(environ, KEYS) if api_key is None else api_key.strip()
        if not key:
            raise MissingKey(f"api_key: there is none; set {KEYS[0]} (or {KEYS[1]}), or hand one in", field="api_key")
        return cls(api_key=key, base_url=base_url or environ.get(BASE_URL) or "https://api.perplexity.ai")


def setup_from(environ: Mapping[str, str]) -> Setup:
    """Return what the providers need whose keys the environment holds."""
    return Setup(
        keys={name: key for name, (keys, _) in VARIABLES.items() if (key := _first(environ, keys))},
        base_urls={name: url for name, (_, variable) in VARIABLES.items() if (url := environ.get(variable))},
    )


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((key for name in names if (key := environ.get(name, "").strip())), "")
