"""Clicks on a digest's buttons: what they do, and the reply if that is not possible."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial
from typing import cast
from uuid import UUID

import pytest
from psycopg import OperationalError

from bot.features.digests import surface
from bot.features.digests.model import DigestAction, DigestResult, NotOwner
from bot.features.digests.service import DigestService, StopNotices
from bot.features.digests.surface import all_digests
from bot.listeners.clicks import DATABASE_DOWN
from bot.listeners.context import Register
from bot.slack.users import Profiles
from tests.bot.listeners.clicks import RecordingListeners, assert_acknowledged
from tests.fakes.listeners import returning
from tests.features.digests.fake_service import FakeDigests

DIGEST = UUID(int=5)


class Failing(FakeDigests):
    """A database that fails, or hangs."""

    hangs = False

    async def apply_button(
        self, action: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Fail."""
        if self.hangs:
            await asyncio.Event().wait()
        raise OperationalError("down")


class Hanging(Failing):
    hangs = True


def buttons_of(digests: FakeDigests) -> Register:
    """Return the listeners of the buttons of these digests."""
    return partial(
        surface.register,
        profiles=cast("Profiles", None),
        digests=cast("DigestService", digests),
        notices=cast("StopNotices", digests),
        all_rows=all_digests(returning(())),
    )


async def click(action: str, digests: FakeDigests, *, value: str = str(DIGEST)) -> str:
    """Click a button and return the reply."""
    listeners = RecordingListeners(listeners=[buttons_of(digests)])
    await listeners.click(f"digest_{action}", value=value)
    (reply,) = listeners.replies
    return reply


@pytest.mark.parametrize("action", list(DigestAction))
async def test_a_click_does_what_its_button_says(action: DigestAction) -> None:
    digests = FakeDigests(outcome=NotOwner())

    assert await click(action, digests) == "Only the person who set up this digest can change it."
    assert digests.calls == [(action, DIGEST, "U1", "1.1")]


@pytest.mark.parametrize("value", ["", "x", "<!channel>"])
async def test_a_button_without_a_digest_s_id_is_an_old_one(value: str) -> None:
    digests = FakeDigests()

    assert await click("pause", digests, value=value) == "This digest was deleted."
    assert digests.calls == []


@pytest.mark.parametrize("digests", [Failing(), Hanging()])
async def test_a_database_that_fails_is_reported_in_time(digests: FakeDigests) -> None:
    assert await asyncio.wait_for(click("run", digests), 3) == DATABASE_DOWN


@pytest.mark.parametrize("action", list(DigestAction))
async def test_a_click_is_acknowledged_while_everything_hangs(action: DigestAction) -> None:
    await assert_acknowledged(f"digest_{action}", listeners=[buttons_of(Hanging())])
