"""Follow-ups, end to end: replies without a mention in threads that the app has answered in."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from tests.driver import Driver, asked_in, rows
from tests.rare import one_in

FIRST, SECOND = "Which EU country has the cheapest electricity?", "And in Switzerland?"
TS, LATER, LATEST = "1795255200.000100", "1795255260.000100", "1795255320.000100"
END = "1795255500.000100"


pytestmark = pytest.mark.settings(follow_ups="always")


async def say(harness: Driver, text: str, /, **event: Any) -> int:
    """Have Slack report a message in a channel, by default a reply in the thread of the first question."""
    said = {"type": "message", "channel": "C1", "channel_type": "channel", "text": text, "ts": LATER, "thread_ts": TS}
    async with await harness.person.event(said | event, id="Ev2") as response:
        return response.status


async def answered(harness: Driver) -> None:
    await harness.mention(FIRST, ts=TS)
    await harness.wait_until_settled(1)


async def finish(harness: Driver, questions: int) -> None:
    """Ask one more question, and wait until it and those before it are settled."""
    await harness.send_direct_message("the end", ts=END)
    await harness.wait_until_settled(questions)


def asked(harness: Driver) -> list[str]:
    """Return the last turn of each request."""
    inputs = [asked_in(request) for request in harness.perplexity.requests]
    return [one if isinstance(one, str) else one[-1]["content"] for one in inputs]


async def test_a_reply_is_answered_in_the_thread_with_the_turns_before_it(harness: Driver) -> None:
    await answered(harness)
    assert await say(harness, SECOND) == 200
    await harness.wait_until_settled(2)

    assert [turn["content"] for turn in asked_in(harness.perplexity.requests[1])][::2] == [FIRST, SECOND]
    shown = harness.slack.thread("C1", TS)
    assert ["“" in post.shown_text for post in shown] == [False, False]


async def test_a_mention_that_slack_reports_as_a_message_too_is_answered_once(harness: Driver) -> None:
    await answered(harness)
    for _ in range(2):
        await say(harness, f"<@U0APP> {SECOND}")
        await harness.mention(SECOND, ts=LATER, thread_ts=TS)
        await say(harness, "And in Norway?", ts=LATEST)
    await finish(harness, 4)

    assert sorted(asked(harness)) == sorted([FIRST, SECOND, "And in Norway?", "the end"])


@pytest.mark.parametrize(
    "event",
    one_in(
        3,
        [
            {"thread_ts": "1795255100.000100"},
            {"channel": "C2"},
            {"thread_ts": None},
            {"thread_ts": LATER},
            {"bot_id": "B2"},
            {"user": "U0APP"},
            {"subtype": "bot_message", "user": None},
            {"bot_profile": {"id": "B3"}},
            {"text": "<@U2> what do you think?"},
            {"channel_type": "mpim"},
        ],
        first=1,
    ),
    ids=str,
)
async def test_other_messages_are_ignored__and_nothing_is_stored_or_logged(
    harness: Driver, database: str, caplog: pytest.LogCaptureFixture, event: dict[str, Any]
) -> None:
    await answered(harness)
    before = await rows(database, "SELECT count(*) FROM questions")
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="bot"):
        assert await say(harness, "Our secret plan", **event) == 200
        assert await rows(database, "SELECT count(*) FROM questions") == before
        assert "secret" not in caplog.text
    await finish(harness, 2)

    assert asked(harness) == [FIRST, "the end"]
    assert await rows(database, "SELECT count(*) FROM user_teams") == [(0,)]


async def test_help_makes_no_thread_of_questions(harness: Driver) -> None:
    await harness.mention("help", ts=TS)
    await harness.wait_until_settled(1)
    await say(harness, "thank you all")
    await finish(harness, 2)

    assert asked(harness) == ["the end"]


async def test_the_preview_of_a_link_asks_nothing_and_an_edit_asks_anew(harness: Driver) -> None:
    await answered(harness)
    harness.perplexity.hold()
    await say(harness, SECOND)
    await harness.perplexity.wait_for(2)
    before = {"type": "message", "user": "U1", "text": SECOND, "ts": LATER, "thread_ts": TS}
    for text in (SECOND, "And in Norway?"):
        now = before | {"text": text, "edited": {"user": "U1", "ts": LATEST}}
        change = {"subtype": "message_changed", "message": now, "previous_message": before, "hidden": True}
        await say(harness, "", ts=LATEST, thread_ts=None, **change)
    await harness.perplexity.wait_for(3)
    harness.perplexity.release()
    await harness.wait_until_settled(3)

    assert asked(harness) == [FIRST, SECOND, "And in Norway?"]


@pytest.mark.parametrize("profile", [{"is_restricted": True}, {"team_id": "T2"}], ids=str)
@pytest.mark.parametrize("known", [True, False])
async def test_someone_who_is_not_answered_hears_nothing(harness: Driver, profile: dict[str, Any], known: bool) -> None:
    await answered(harness)
    harness.slack.workspace.profiles["U2"] = profile
    guest = replace(harness, person=replace(harness.person, user="U2"))
    if known:
        await guest.mention("why", ts="1795255100.000100", channel="C2")
        await harness.wait_until_settled(2)
    posted = len(harness.slack.posts)
    assert await say(guest, SECOND) == 200
    await finish(harness, 3)

    assert {post.payload["channel"] for post in harness.slack.posts[posted:]} == {"DU1"}
    assert asked(harness) == [FIRST, "the end"]


@pytest.mark.settings(follow_ups="mention")
async def test_a_reply_is_ignored_without_a_look_at_the_database(harness: Driver) -> None:
    await answered(harness)
    await say(harness, SECOND)
    await finish(harness, 2)

    assert asked(harness) == [FIRST, "the end"]
