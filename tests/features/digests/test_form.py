"""The form for digests, end to end: what opens it, what it sets up and where, and what is said about wrong values."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from bot.features.digests.surface import digest_view
from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.model.schedule import ZONES
from bot.views.base import TOO_LATE
from fake_slack.limits import check_view
from fake_slack.views import View
from tests.driver import Driver, Message, records
from tests.fakes.news_answers import BUDGET, news_answer, text_reply
from tests.fakes.slack import Fault

TOPIC = "databases"


async def press(harness: Driver, view: View, name: str, *chosen: str, **values: Any) -> View:
    """Press the button for the rest of the form, or choose when; return the form as it is then."""
    await harness.press(view, name, *chosen, **values)
    return harness.modal()


async def more(harness: Driver) -> View:
    return await press(harness, await harness.open_by("/pplx watch"), "digest_more")


async def digests(database: str) -> list[dict[str, Any]]:
    return await records(database, "SELECT * FROM digests ORDER BY number")


async def test_a_digest_is_set_up_in_the_channel_of_the_command(harness: Driver, database: str) -> None:
    harness.slack.workspace.zones["U1"] = "Asia/Tokyo"
    topic = 'the "sun" & weekdays 9:00'
    view = await press(harness, await more(harness), "when", "chosen", topic=topic)
    assert view.state["topic"]["topic"]["value"] == topic
    values = {"category": "science", "days": ["mon", "wed"], "time": "17:30", "always": ["always"]}
    assert await harness.submit(view, **values) == {}
    await harness.wait_until_settled(1)

    (digest,) = await digests(database)
    assert (digest["channel_id"], digest["user_id"], digest["category"]) == ("C1", "U1", "science")
    assert digest["topic"] == "the 'sun' & weekdays 9:00"
    assert "Asia/Tokyo" in str(digest)
    answer = harness.slack.posts[-1]
    assert (answer.method, "Monday, Wednesday at 17:30" in answer.shown_text) == ("response_url", True)
    assert "When nothing is new, I’ll say so (Monday, Wednesday)." in answer.shown_text
    assert harness.slack.refusals == []


async def test_it_can_be_posted_in_the_direct_message_and_by_another_clock(harness: Driver, database: str) -> None:
    view = await more(harness)
    assert await harness.submit(view, topic=TOPIC, when="daily", place="directly", zone="America/New_York") == {}
    await harness.wait_until_settled(1)

    (digest,) = await digests(database)
    assert (digest["channel_id"], "America/New_York" in str(digest)) == ("DU1", True)
    shown = json.dumps(list(harness.slack.shown.values()))
    assert ("You asked for a digest:" in shown, "databases, every day at 9:00" in shown) == (True, True)


async def test_a_button_opens_it_for_the_direct_message(harness: Driver, database: str) -> None:
    await harness.person.click("digest_modal", "")
    assert await harness.submit(harness.slack.modal(), topic=TOPIC) == {}
    await harness.wait_until_settled(1)

    assert [digest["channel_id"] for digest in await digests(database)] == ["DU1"]
    assert "Digest 1 (databases) is set up." in harness.slack.posts[-1].shown_text
    assert "direct message" not in harness.slack.posts[-1].shown_text

    harness.perplexity.script("/v1/agent", news_answer(BUDGET))
    await harness.ask("/pplx watch run 1")
    await harness.wait_until_settled(3)
    (made,) = [post for post in harness.slack.posts if BUDGET in post.shown_text]
    assert (made.payload["channel"], "*databases* · 1 new story" in made.shown_text) == ("DU1", True)


async def news(harness: Driver, typed: str) -> Message:
    harness.perplexity.script("/v1/agent", text_reply("Rain falls in Spain | 2026-11-21 | It rains. [1]"))
    return await harness.answered(typed)


@pytest.mark.parametrize(("typed", "topic"), [("/news tech --lang de open chips", "open chips"), ("/news tech", "")])
async def test_below_news_it_is_filled_in__every_weekday_at_nine_here(
    harness: Driver, database: str, typed: str, topic: str
) -> None:
    harness.slack.workspace.zones["U1"] = "Asia/Tokyo"
    message = await news(harness, typed)
    assert await harness.told(message, "digest_modal") == ""
    assert await harness.submit(harness.modal()) == {}
    await harness.wait_until_settled(2)

    (digest,) = await digests(database)
    assert (digest["channel_id"], digest["category"], digest["topic"]) == ("C1", "technology", topic)
    assert "Asia/Tokyo" in str(digest)
    assert "I’ll post it here weekdays at 9:00 (Asia/Tokyo" in harness.slack.posts[-1].shown_text


async def test_below_private_news_only_their_asker_opens_it(harness: Driver) -> None:
    message = await news(harness, "/news tech")
    assert await harness.as_user("U2").told(message, "digest_modal") == NOT_YOUR_ANSWER
    await harness.execute("DELETE FROM questions")

    assert await harness.told(message, "digest_modal") == UNKNOWN_ANSWER


@pytest.mark.parametrize("channel", ["D5", "DU1"])
async def test_in_a_direct_message_there_is_no_choice_of_a_place(harness: Driver, channel: str) -> None:
    person = replace(harness.person, sent={"channel_id": channel})
    await person.type_command("/pplx watch")

    assert "place" not in {block["block_id"] for block in harness.slack.modal().blocks}


@pytest.mark.parametrize("zone", [None, "Mars/Olympus", "Pacific/Chatham"])
async def test_a_zone_that_is_unknown_is_not_chosen__and_a_rare_one_is_listed(
    harness: Driver, zone: str | None
) -> None:
    if zone is not None:
        harness.slack.workspace.zones["U1"] = zone
    view = await more(harness)

    chosen = view.state["--zone"]["--zone"]["selected_option"]
    assert (chosen and chosen["value"]) == (zone if zone == "Pacific/Chatham" else None)


async def test_a_category_alone_is_a_digest_and_neither_is_none(harness: Driver, database: str) -> None:
    view = await more(harness)
    assert await harness.submit(view) == {"topic": "Type a topic, or choose a category."}
    assert await harness.submit(view, category="science") == {}
    await harness.wait_until_settled(1)

    assert [(digest["category"], digest["topic"]) for digest in await digests(database)] == [("science", "")]


async def test_a_topic_without_a_category_is_searched_in_all_news(harness: Driver, database: str) -> None:
    assert await harness.submit(await harness.open_by("/pplx watch"), topic=TOPIC) == {}
    await harness.wait_until_settled(1)

    assert [(digest["category"], digest["topic"]) for digest in await digests(database)] == [("", TOPIC)]
    assert "Digest 1 (databases)" in harness.slack.posts[-1].shown_text


async def test_an_empty_topic_is_explained_below_its_field(harness: Driver, database: str) -> None:
    errors = await harness.submit(await harness.open_by("/pplx watch"), topic="\u200b")

    assert (list(errors), await digests(database)) == (["topic"], [])


@pytest.mark.parametrize(
    ("state", "block"),
    [
        ({}, "when"),
        (
            {"when": {"when": {"selected_option": {"value": "chosen"}}}, "days": {"days": {"selected_options": []}}},
            "days",
        ),
        ({"when": {"when": {"selected_option": {"value": "daily"}}}}, "time"),
    ],
)
async def test_what_slack_should_have_asked_for_is_asked_for(
    harness: Driver, state: dict[str, Any], block: str
) -> None:
    view = await harness.open_by("/pplx watch")
    sent = {"view": view.as_slack(harness.slack.workspace.owner()) | {"state": {"values": state}}}
    async with await replace(harness.person, sent=sent).submit(view, {"topic": TOPIC}) as response:
        assert list((await response.json())["errors"]) == [block]


async def test_days_that_could_not_be_shown_are_asked_for_before_it_is_set_up(harness: Driver, database: str) -> None:
    view = await harness.open_by("/pplx watch")
    harness.slack.fail("views.update", Fault(status=500))
    view = await press(harness, view, "when", "chosen", topic=TOPIC)
    assert "days" not in {block["block_id"] for block in view.blocks}

    assert await harness.submit(view, topic=TOPIC) == {}
    assert await harness.submit(harness.modal(), days=["sun"]) == {}
    await harness.wait_until_settled(1)
    assert [digest["topic"] for digest in await digests(database)] == [TOPIC]


async def test_submitted_twice_it_is_set_up_once(harness: Driver, database: str) -> None:
    view = await harness.open_by("/pplx watch")
    for response in await asyncio.gather(
        *(harness.person.submit(view, {"topic": TOPIC}, token=str(n)) for n in range(2))
    ):
        assert response.status == 200
    await harness.wait_until_settled(1)

    assert len(await digests(database)) == 1


async def test_a_guest_sets_up_nothing(harness: Driver, database: str) -> None:
    harness.slack.workspace.profiles["U1"] = {"is_restricted": True}
    harness.slack.fail("users.info", Fault(status=500))
    assert await harness.submit(await harness.open_by("/pplx watch"), topic=TOPIC) == {}
    await harness.wait_until_settled(1)

    assert await digests(database) == []
    assert "full members" in harness.slack.posts[-1].shown_text


async def test_a_lost_trigger_is_explained_and_the_help_shown(harness: Driver) -> None:
    harness.slack.views.issue_trigger("U1", id="t1")
    harness.slack.views.expire_triggers()
    shown = await harness.ask("/pplx watch")

    assert (TOO_LATE in shown["text"], "weekdays 9:00" in json.dumps(shown)) == (True, True)


async def test_help_still_shows_the_help(harness: Driver) -> None:
    for typed in ("/pplx watch help", "/pplx help watch"):
        assert "weekdays 9:00" in json.dumps(await harness.ask(typed))
    assert harness.slack.views.stack("U1") == ()


async def test_a_slow_slack_does_not_keep_the_form_from_opening_and_the_zone_is_looked_up_later(
    harness: Driver, database: str
) -> None:
    harness.slack.workspace.zones["U1"] = "Asia/Tokyo"
    profile = '{"ok": true, "user": {"id": "U1", "team_id": "T1"}}'
    harness.slack.fail("users.info", Fault(status=200, body=profile, seconds=2))
    view = await more(harness)
    assert view.state["--zone"]["--zone"]["selected_option"] is None
    assert await harness.submit(view, topic=TOPIC) == {}
    await harness.wait_until_settled(1)

    assert "Asia/Tokyo" in str(await digests(database))


async def test_without_the_database_the_form_says_so(harness: Driver, database: str) -> None:
    view = await harness.open_by("/pplx watch")
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE questions IN ACCESS EXCLUSIVE MODE")
        assert "I can’t reach my database just now" in (await harness.submit(view, topic=TOPIC))["topic"]


@pytest.mark.parametrize("zone", [ZONES[0], "Pacific/Chatham", "UTC", None])
@pytest.mark.parametrize(
    "metadata", [{}, {"url": "u", "channel": "C1", "name": "x" * 80}, {"url": "u", "channel": "C1", "more": True}]
)
def test_the_form_of_a_digest_is_valid(zone: str | None, metadata: dict[str, Any]) -> None:
    for when in ("", "daily", "chosen"):
        assert check_view(digest_view(zone=zone, metadata=metadata, entered={"when": when})) == []


def test_the_form_of_a_digest_asks_for_topic_when_and_where() -> None:
    view = digest_view(metadata={"url": "u", "channel": "C1", "name": "general"})
    *fields, more = view["blocks"]

    assert [block["label"]["text"] for block in fields] == ["Topic", "When", "At", "Where"]
    assert [option["text"]["text"] for option in fields[1]["element"]["options"]] == [
        "Every weekday", "Every day", "Choose days",
    ]  # fmt: skip
    assert more["elements"][0]["text"]["text"] == "More"
