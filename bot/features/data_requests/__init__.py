"""Data requests: what is kept of a person is exported or erased, by an operator."""

from __future__ import annotations

from bot.feature import Core, Feature, Running
from bot.features.data_requests.commands import ERASE, EXPORT


def start(core: Core) -> Running:
    """Start nothing."""
    return Running()


FEATURE = Feature(name="data_requests", start=start, cli=(EXPORT, ERASE))
