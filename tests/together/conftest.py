"""Tests that need more than one feature; each module names them, so that a copy without one can leave it out."""

from __future__ import annotations

import pytest

from bot.features import FEATURES

NAMES = {feature.name for feature in FEATURES}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test here that does not name its features, or names others: a copy could not leave it out."""
    for item in items:
        if not item.nodeid.startswith("tests/together/"):
            continue
        named = [name for mark in item.iter_markers("features") for name in mark.args]
        if not named or not NAMES.issuperset(named):
            raise pytest.UsageError(f"{item.nodeid}: name its features in pytest.mark.features, of {sorted(NAMES)}")
