"""How often a call is tried again, as the settings have it."""

from __future__ import annotations

from bot.settings import Settings
from perplexity.retry import RetryPolicy


def retry_policy(settings: Settings) -> RetryPolicy:
    """Return how often a call is tried again, and after how long."""
    return RetryPolicy(
        attempts=settings.retry_attempts, base=settings.retry_base_seconds, cap=settings.retry_cap_seconds
    )
