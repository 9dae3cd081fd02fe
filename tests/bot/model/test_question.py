"""The values of a question."""

from __future__ import annotations

from uuid import UUID

from bot.model.question import reference


def test_a_reference_is_short_and_readable() -> None:
    assert reference(UUID("a7f319c2-0000-4000-8000-000000000000")) == "a7f3-19c2"
