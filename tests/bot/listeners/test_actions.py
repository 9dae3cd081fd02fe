"""Clicks while the database hangs, and Slack as well: acknowledged in time anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from uuid import UUID

import pytest

from bot.model.digest import DigestAction, DigestResult
from tests.bot.listeners.clicks import assert_acknowledged
from tests.fakes.digest_service import FakeDigests


class Hanging(FakeDigests):
    """Digests whose database never answers."""

    async def apply_button(
        self, action: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Hang."""
        await asyncio.Event().wait()
        raise AssertionError(id)


@pytest.mark.parametrize(
    "action",
    [
        "retry",
        "stop",
        "sources",
        "go_deeper",
        "more_results",
        *(f"digest_{action}" for action in DigestAction),
    ],
)
async def test_a_click_is_acknowledged_while_everything_hangs(action: str) -> None:
    await assert_acknowledged(action, digests=Hanging())
