"""The app answers no bot and not itself, and at most so many times a minute in one thread."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.driver import Driver, asked_in

pytestmark = pytest.mark.trust(22)

TS = "1795255200.000100"


@pytest.mark.parametrize(
    "event",
    [
        {"bot_id": "B2"},
        {"bot_profile": {"id": "B2"}, "bot_id": "B2"},
        {"user": "U0APP"},
        {"user": "USLACKBOT"},
        {"subtype": "bot_message"},
        {"subtype": "message_changed", "message": {"text": "<@U0APP> why", "user": "U1", "bot_id": "B2"}},
        {"subtype": "channel_join"},
        {"edited": {"user": "U1", "ts": TS}},
        {"hidden": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["app_mention", "message"])
async def test_bots_edits_and_the_app_itself_are_not_answered(
    harness: Driver, kind: str, event: dict[str, Any]
) -> None:
    place = {"channel": "DU1", "channel_type": "im"} if kind == "message" else {"channel": "C1"}
    message = {"type": kind, "text": "<@U0APP> why", "ts": TS} | place | event
    assert await harness.event(message) == 200
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await harness.wait_until_settled(1)

    assert [asked_in(request) for request in harness.perplexity.requests] == ["the end"]


async def test_a_person_who_is_a_bot_by_profile_is_not_answered(harness: Driver) -> None:
    harness.slack.workspace.profiles["U5"] = {"is_bot": True}
    assert await harness.as_user("U5").mention("why") == 200
    await harness.wait_until_settled(1)

    assert harness.perplexity.requests == []


async def test_a_thread_gets_six_answers_a_minute__and_one_notice(harness: Driver) -> None:
    for number in range(15):
        person = replace(harness.person, user=f"U{number}")
        async with await person.mention("again", ts=f"1795255200.00{number:04d}", thread_ts="1.1") as response:
            assert response.status == 200
    await harness.wait_until_settled(6)

    notices = [arguments for method, arguments in harness.slack.calls if method == "chat.postEphemeral"]
    assert (len(harness.perplexity.requests), len(notices)) == (6, 1)
    assert "per minute" in notices[0]["text"]
    # Another thread is not held up.
    await harness.mention("elsewhere", ts="1795255300.000100", thread_ts="2.1")
    await harness.wait_until_settled(7)
    assert asked_in(harness.perplexity.requests[-1]) == "elsewhere"
