"""What providers are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.models import Effort, Limits
from perplexity.proxies import ProxyFor, proxy_for
from perplexity.retry import RetryPolicy
from perplexity.transport import OPEN_SECONDS, Session
from perplexity.types import API


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything that any provider may want; a provider whose part is missing is not made.

    `keys` and `base_urls` are by the provider's name in lower case. `api` is Perplexity's interface for answers.
    The rest is as for `PerplexityClient`.
    """

    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    api: API = "agent"
    reasoning_effort: Effort = "medium"
    limits: Limits = field(default_factory=Limits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    session: Session | None = None
    proxy: ProxyFor = proxy_for
    open_timeout: float = OPEN_SECONDS

    def address(self, name: str, default: str) -> str:
        """Return the address of a provider's service."""
        return self.base_urls.get(name) or default
