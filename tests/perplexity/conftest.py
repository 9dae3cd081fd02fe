"""What the tests of the package share: an address for the `ddgs` library."""

from __future__ import annotations

import pytest
from ddgs.engines.duckduckgo import Duckduckgo

from tests.fakes.duckduckgo import PointDdgsAt


@pytest.fixture
def point_ddgs_at(monkeypatch: pytest.MonkeyPatch) -> PointDdgsAt:
    """Return a function that has the `ddgs` library fetch its results from a URL; it has no setting for that."""
    return lambda url: monkeypatch.setattr(Duckduckgo, "search_url", url)
