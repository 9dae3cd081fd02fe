"""Whose questions are answered while Slack does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.installation import Installation
from bot.listeners.intake import MAX_PAUSE_SECONDS, MAX_WAIT_SECONDS, Admission
from bot.model.membership import Affiliation
from bot.slack.messages import Chat
from bot.slack.users import Profiles
from bot.storage.installation import WorkspaceStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import DatabaseRetry, connection_pool
from tests.fakes import rows
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.time import Time

DOWN = Fault(status=503, body="oops")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The admission before auth.test has answered, with its Slack and its clock."""

    admission: Admission
    slack: FakeSlack
    time: Time


@pytest.fixture
async def setup(database: str) -> AsyncIterator[Setup]:
    time = Time(0.0)
    async with FakeSlack() as slack, connection_pool(database) as pool:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
        workspaces = WorkspaceStore(pool)
        admission = Admission(
            chat=Chat(client),
            installation=Installation(client=client, workspaces=workspaces, token_hash="x"),
            workspaces=workspaces,
            preferences=PreferenceStore(pool),
            profiles=Profiles(client, clock=time.clock),
            database_retry=DatabaseRetry(seconds=1),
            clock=time.clock,
            sleep=time.sleep,
        )
        yield Setup(admission=admission, slack=slack, time=time)


async def test_if_slack_stays_down_the_question_fails_without_a_refusal(setup: Setup) -> None:
    setup.slack.fail("users.info", *[DOWN] * 100)
    outcome = await setup.admission.refused(rows.row(messages=None, outcome=None), user_team="")

    assert outcome is not None
    assert (outcome.state, outcome.error) == ("failed", "AskerUnknown")
    assert "ask again later" in outcome.messages[0].text
    assert MAX_WAIT_SECONDS - MAX_PAUSE_SECONDS <= setup.time.now <= MAX_WAIT_SECONDS
    assert max(setup.time.slept) == MAX_PAUSE_SECONDS


async def test_a_retry_after_of_hours_is_shortened(setup: Setup) -> None:
    setup.slack.fail("users.info", Fault(status=429, body="{}", headers={"Retry-After": "7200"}))

    assert await setup.admission.affiliation_of("U1", team_id="T1", user_team="") is Affiliation.INTERNAL
    assert setup.time.slept == [MAX_PAUSE_SECONDS]


async def test_before_auth_test_answers_the_workspace_of_the_request_counts(setup: Setup) -> None:
    row = rows.row(messages=None, outcome=None)

    assert await setup.admission.refused(row, user_team="") is None
    refused = await setup.admission.refused(replace(row, team_id="T2"), user_team="")
    assert refused is not None
    assert refused.error == "OutsideAsker"


async def test_a_digest_s_owner_was_checked_when_they_set_it_up(setup: Setup) -> None:
    setup.slack.workspace.profiles["U1"] = {"is_restricted": True}

    assert await setup.admission.refused(rows.row(surface="digest"), user_team="") is None
    assert setup.slack.calls == []
