"""Clicks on a digest's buttons: what they ask for, and what is said when that cannot be done."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import cast
from uuid import UUID

import pytest
from psycopg import OperationalError

from bot.listeners.actions import DATABASE_DOWN, apply_digest_button
from bot.listeners.intake import Journal
from bot.model.digest import DigestAction, DigestResult, NotOwner
from bot.storage.questions import Questions
from tests.fakes.digest_service import FakeDigests

DIGEST = UUID(int=5)
BODY = {"user": {"id": "U1"}, "channel": {"id": "C1"}, "response_url": "https://hooks.slack.com/1"}


class Away(FakeDigests):
    """A database that is away, or hangs."""

    hangs = False

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Fail."""
        if self.hangs:
            await asyncio.Event().wait()
        raise OperationalError("away")


class Hanging(Away):
    hangs = True


async def click(verb: str, watching: FakeDigests, *, value: str = str(DIGEST)) -> str:
    """Click a button and return what is said."""
    action = {"action_id": f"digest_{verb}", "value": value, "action_ts": "1.3"}
    journal = Journal(questions=cast("Questions", None), seconds=0.2)
    return (await apply_digest_button(BODY, action, journal=journal, watching=watching)).text


@pytest.mark.parametrize("verb", list(DigestAction))
async def test_a_click_asks_for_what_its_button_says(verb: DigestAction) -> None:
    watching = FakeDigests(outcome=NotOwner())
    said = await click(verb, watching)

    assert watching.asked == [(verb, DIGEST, "U1", "1.3")]
    assert said == "Only the person who set up this digest can change it."


@pytest.mark.parametrize("value", ["", "x", "<!channel>"])
async def test_a_button_that_names_no_digest_is_an_old_one(value: str) -> None:
    watching = FakeDigests()

    assert await click("pause", watching, value=value) == "This digest was deleted."
    assert watching.asked == []


@pytest.mark.parametrize("watching", [Away(), Hanging()])
async def test_a_database_that_is_away_is_said_in_time(watching: FakeDigests) -> None:
    assert await asyncio.wait_for(click("run", watching), 2) == DATABASE_DOWN
