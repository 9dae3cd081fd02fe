"""The wall clock, and the arrival time of the current request."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime

ARRIVED: ContextVar[float | None] = ContextVar("ARRIVED", default=None)
"""The arrival time of the current request on the monotonic clock; None outside a request."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
