"""How long a worker waits for a Slack that does not say who someone is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.admission import MAX_PAUSE_SECONDS, MAX_WAIT_SECONDS, Admission
from bot.listeners.installation import Installation
from bot.model.membership import Affiliation
from bot.slack.users import Profiles
from bot.storage.database import DatabaseRetry
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import connection_pool
from tests.fakes import rows
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.time import Time

AWAY = Fault(status=503, body="oops")


@dataclass(frozen=True, kw_only=True)
class Door:
    """The admission, before auth.test has answered, a Slack behind it, and its clock."""

    admission: Admission
    slack: FakeSlack
    time: Time


@pytest.fixture
async def door(database: str) -> AsyncIterator[Door]:
    time = Time(0.0)
    async with FakeSlack() as slack, connection_pool(database) as pool:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
        workspaces = WorkspaceStore(pool)
        admission = Admission(
            client=client,
            installation=Installation(client=client, workspaces=workspaces, token_hash="x"),
            workspaces=workspaces,
            profiles=Profiles(client, clock=time.clock),
            patience=DatabaseRetry(seconds=1),
            clock=time.clock,
            sleep=time.sleep,
        )
        yield Door(admission=admission, slack=slack, time=time)


async def test_a_slack_that_stays_away_fails_the_question_and_refuses_nobody(door: Door) -> None:
    door.slack.fail("users.info", *[AWAY] * 100)
    outcome = await door.admission.refused(rows.row(messages=None, outcome=None))

    assert outcome is not None
    assert (outcome.state, outcome.error) == ("failed", "AskerUnknown")
    assert "ask again later" in outcome.messages[0].text
    assert MAX_WAIT_SECONDS - MAX_PAUSE_SECONDS <= door.time.now <= MAX_WAIT_SECONDS
    assert max(door.time.slept) == MAX_PAUSE_SECONDS


async def test_a_slack_that_asks_for_hours_is_asked_again_before(door: Door) -> None:
    door.slack.fail("users.info", Fault(status=429, body="{}", headers={"Retry-After": "7200"}))

    assert await door.admission.affiliation_of("U1", team_id="T1") is Affiliation.INTERNAL
    assert door.time.slept == [MAX_PAUSE_SECONDS]


async def test_before_auth_test_answers_the_workspace_of_the_request_counts(door: Door) -> None:
    asked = rows.row(messages=None, outcome=None)

    assert await door.admission.refused(asked) is None
    refused = await door.admission.refused(replace(asked, team_id="T2"))
    assert refused is not None
    assert refused.error == "OutsideAsker"


async def test_a_digest_s_owner_was_checked_when_they_set_it_up(door: Door) -> None:
    door.slack.profiles["U1"] = {"is_restricted": True}

    assert await door.admission.refused(rows.row(surface="digest")) is None
    assert door.slack.calls == []
