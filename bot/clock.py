"""The wall clock, and when the current request arrived."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime

ARRIVED: ContextVar[float | None] = ContextVar("ARRIVED", default=None)
"""When the current request arrived, on the monotonic clock; None outside a request."""


def utc_now() -> datetime:
    """Return the wall clock's time with its zone."""
    return datetime.now(UTC)
