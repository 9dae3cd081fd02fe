"""Asks at the start which models are still served, so that a retired one is replaced before somebody meets it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from perplexity.errors import PerplexityError
from perplexity.providers.base import Provider
from perplexity.providers.openrouter import OpenRouter

log = logging.getLogger(__name__)


async def check_models(providers: Sequence[Provider]) -> None:
    """Have OpenRouter look at its list; each retired model is logged. Where the list cannot be read, all are used."""
    for provider in providers:
        if isinstance(provider, OpenRouter):
            try:
                await provider.check_models()
            except PerplexityError as error:
                log.warning("models.unknown", extra={"provider": provider.name, "error": type(error).__name__})
