"""The key and the address that a tool uses: those handed in, else those of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.errors import MissingKey

KEYS = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
BASE_URL = "PERPLEXITY_BASE_URL"


@dataclass(frozen=True, kw_only=True)
class Access:
    """A key and the address of the service that takes it."""

    api_key: str = field(repr=False)
    base_url: str

    @classmethod
    def found(cls, api_key: str | None, base_url: str | None, environ: Mapping[str, str]) -> Access:
        """Return what was handed in, or the first that the environment holds. Raises MissingKey without a key."""
        given = [api_key] if api_key is not None else [environ.get(name) for name in KEYS]
        key = next((kept for name in given if (kept := (name or "").strip())), None)
        if key is None:
            raise MissingKey(f"api_key: there is none; set {KEYS[0]} (or {KEYS[1]}), or hand one in", field="api_key")
        return cls(api_key=key, base_url=base_url or environ.get(BASE_URL) or "https://api.perplexity.ai")
