"""By which service Grok is reached. A further way is a line in `WAYS`."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.retry import RetryPolicy
from perplexity.social.grok import Grok
from perplexity.social.grok_openrouter import GrokAtOpenRouter
from perplexity.social.grok_told import GrokWire
from perplexity.social.grok_wire import XAI
from perplexity.transport import OPEN_SECONDS

WAYS: Mapping[str, GrokWire] = {"xai": XAI(), "openrouter": GrokAtOpenRouter()}
"""By the service's name, the first that there is a key for counts: xAI itself tells how many posts it has read."""


def grok_for(
    keys: Mapping[str, str],
    base_urls: Mapping[str, str],
    *,
    retry: RetryPolicy | None = None,
    open_timeout: float = OPEN_SECONDS,
) -> Grok | None:
    """Return Grok, None where there is no key for it; keys and addresses are by the service's name.

    Raises InvalidRequest for a key or an address that cannot be right.
    """
    for name, wire in WAYS.items():
        if key := keys.get(name):
            return Grok(key, wire=wire, base_url=base_urls.get(name), retry=retry, open_timeout=open_timeout)
    return None
