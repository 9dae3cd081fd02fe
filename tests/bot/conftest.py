"""What the tests of the bot share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """Put the root logger back as it was: the command line configures it."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before, level
