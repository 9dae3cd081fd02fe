"""The wall clock."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the wall clock's time with its zone."""
    return datetime.now(UTC)
