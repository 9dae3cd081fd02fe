"""Guests and people from elsewhere are refused, unless a channel is open to them; so is who cannot be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.listeners.intake import MEMBER_FORBIDDEN, MEMBERS_ONLY
from bot.settings import Settings
from bot.slack.scopes import CHANNEL_HISTORY
from tests.driver import Driver, asked_in
from tests.fakes.person import Person
from tests.fakes.slack import FakeSlack, refusal

pytestmark = pytest.mark.trust(21)

GUESTS: Mapping[str, dict[str, Any]] = {
    "a guest": {"is_restricted": True},
    "a guest of one channel": {"is_ultra_restricted": True},
    "someone who is invited": {"is_invited_user": True},
    "a stranger": {"is_stranger": True},
    "someone of another workspace": {"team_id": "T2"},
    "someone of another organization": {"team_id": "T2", "enterprise_user": {"enterprise_id": "E9"}},
    "a bot": {"is_bot": True},
    "a workflow": {"is_workflow_bot": True},
    "a connector": {"is_connector_bot": True},
    "of a kind that names no workspace": {"team_id": None},
    "of a kind whose workspace is no text": {"team_id": ["T1"]},
}


def guest(harness: Driver, profile: Mapping[str, Any], *, user: str = "U7") -> Person:
    harness.slack.workspace.profiles[user] = dict(profile)
    return replace(harness.person, user=user)


async def set_external(harness: Driver, external: bool | None) -> None:
    """Have a channel be open to outsiders, be closed, or be as the settings of the app say."""
    await harness.execute("DELETE FROM channel_settings")
    if external is not None:
        await harness.execute(
            "INSERT INTO channel_settings (team_id, channel_id, user_id, settings) VALUES ('T1', 'C1', 'U9', %s)",
            json.dumps({"external": external}),
        )


async def ask_everywhere(harness: Driver, person: Person, *, number: int = 1) -> None:
    """Ask by a command, a mention and a direct message, and wait until all came to their end."""
    before = len(await harness.questions())
    async with await person.type_command("/ask why", trigger=f"guest{number}") as response:
        assert response.status == 200
        refused_at_once = MEMBERS_ONLY in await response.text()
    async with await person.mention("why", ts=f"179525520{number}.000100"):
        pass
    async with await person.send_direct_message("why", ts=f"179525520{number}.000200", channel="DU7"):
        pass
    await harness.wait_until_settled(before + (2 if refused_at_once else 3))


def said(harness: Driver) -> str:
    return json.dumps([post.payload for post in harness.slack.posts], ensure_ascii=False)


@pytest.mark.parametrize("kind", GUESTS)
async def test_an_outsider_is_refused_everywhere(harness: Driver, kind: str) -> None:
    await ask_everywhere(harness, guest(harness, GUESTS[kind]))

    assert harness.perplexity.requests == []
    assert said(harness).count(MEMBERS_ONLY) >= 3


UNKNOWN = {
    "no scope": ("missing_scope", MEMBER_FORBIDDEN),
    "no permission": ("no_permission", MEMBER_FORBIDDEN),
    "not there": ("user_not_found", MEMBERS_ONLY),
    "not visible": ("user_not_visible", MEMBERS_ONLY),
}


@pytest.mark.parametrize("why", UNKNOWN)
async def test_who_cannot_be_known_is_refused_everywhere(harness: Driver, why: str) -> None:
    error, sentence = UNKNOWN[why]
    harness.slack.fail("users.info", *[refusal(error)] * 20)
    await ask_everywhere(harness, replace(harness.person, user="U7"))

    assert harness.perplexity.requests == []
    assert said(harness).count(json.dumps(sentence, ensure_ascii=False).strip('"')) >= 3


async def test_an_open_channel_needs_no_profile(harness: Driver) -> None:
    await set_external(harness, True)
    harness.slack.fail("users.info", *[refusal("missing_scope")] * 20)
    await ask_everywhere(harness, replace(harness.person, user="U7"))

    assert len(harness.perplexity.requests) == 2


async def test_a_channel_that_is_open_answers_outsiders_there_and_nowhere_else(harness: Driver) -> None:
    await set_external(harness, True)
    person = guest(harness, GUESTS["a guest"])
    await ask_everywhere(harness, person)

    # The command and the mention are asked in the channel; the direct message is not.
    assert len(harness.perplexity.requests) == 2
    elsewhere = replace(person, sent={"channel_id": "C2"})
    async with await elsewhere.type_command("/ask why", trigger="elsewhere") as response:
        assert MEMBERS_ONLY in await response.text()
    await ask_everywhere(harness, person, number=2)
    assert len(harness.perplexity.requests) == 4

    await set_external(harness, None)
    await ask_everywhere(harness, person, number=3)
    assert len(harness.perplexity.requests) == 4


async def assert_refused(harness: Driver, line: str) -> None:
    """Have an outsider type what is no question, in a channel that is open."""
    await set_external(harness, True)
    person = guest(harness, GUESTS["a stranger"])
    harness.slack.workspace.channels["C1"] = {"creator": "U7"}
    before = len(await harness.questions())
    async with await person.type_command(line, trigger="x") as response:
        assert response.status == 200
    await harness.wait_until_settled(before + 1)

    assert MEMBERS_ONLY in harness.slack.posts[-1].shown_text


async def test_an_open_channel_is_open_for_questions_alone(harness: Driver) -> None:
    await assert_refused(harness, "/pplx status")


@pytest.mark.settings(allow_external_users=True)
async def test_a_channel_can_be_closed(harness: Driver) -> None:
    person = guest(harness, GUESTS["a guest"])
    await ask_everywhere(harness, person)
    assert len(harness.perplexity.requests) == 3
    await set_external(harness, False)
    await ask_everywhere(harness, person, number=2)

    # The direct message is answered as before.
    assert len(harness.perplexity.requests) == 4


ROOT = "1795255200.000000"


class TestThreads:
    @pytest.fixture
    def settings(self, settings: Settings, slack: FakeSlack) -> Settings:
        slack.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
        return settings.model_copy(update={"thread_history": "full"})

    @pytest.mark.parametrize("external", [None, True])
    async def test_what_outsiders_wrote_in_a_thread_goes_along_with_no_question(
        self, harness: Driver, external: bool | None
    ) -> None:
        await set_external(harness, external)
        harness.slack.workspace.profiles["U7"] = {"is_stranger": True}
        harness.slack.write("U7", "Their secret", ts=ROOT, thread_ts=ROOT, user_team="T2")
        harness.slack.write("U2", "Our words", ts="1795255210.000000", thread_ts=ROOT)
        await harness.mention("Who is right?", ts="1795255290.000100", thread_ts=ROOT)
        await harness.wait_until_settled(1)

        sent = json.dumps(asked_in(harness.perplexity.requests[0]))
        assert "Our words" in sent
        assert "Their secret" not in sent
