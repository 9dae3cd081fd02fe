"""The form for digests, end to end: what opens it, what it sets up and where, and what is said about wrong values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from bot.playground.limits import check_view
from bot.playground.views import View
from bot.views.base import TOO_LATE
from tests.end_to_end.conftest import AppHarness
from tests.fakes.slack import Fault


async def open_form(harness: AppHarness) -> View:
    async with await harness.person.type_command("/pplx watch", trigger=str(uuid4())) as response:
        assert (response.status, await response.text()) == (200, "")
    view = harness.slack.modal()
    assert check_view(dict(view.content)) == []
    return view


async def submit(harness: AppHarness, view: View, **values: Any) -> Mapping[str, str]:
    """Submit the form; return what it says below its inputs."""
    named = {
        name if name in {"category", "topic", "days", "time", "place"} else f"--{name}": v for name, v in values.items()
    }
    async with await harness.person.submit(view, named, token=str(uuid4())) as response:
        assert response.status == 200
    left = harness.slack.views.find(view.id)
    assert left is None or not left.failure
    return {} if left is None else left.errors


async def digests(database: str) -> list[dict[str, Any]]:
    async with await psycopg.AsyncConnection.connect(database, row_factory=dict_row) as connection:
        return await (await connection.execute("SELECT * FROM digests ORDER BY number")).fetchall()


async def test_a_digest_is_set_up_in_the_channel_of_the_command(harness: AppHarness, database: str) -> None:
    harness.slack.workspace.zones["U1"] = "Asia/Tokyo"
    values = {"category": "science", "topic": 'the "sun" & weekdays 9:00', "days": ["mon", "wed"], "time": "17:30"}
    assert await submit(harness, await open_form(harness), **values, always=["wed"]) == {}
    await harness.wait_until_settled(1)

    (digest,) = await digests(database)
    assert (digest["channel_id"], digest["user_id"], digest["category"]) == ("C1", "U1", "science")
    assert digest["topic"] == "the 'sun' & weekdays 9:00"
    assert "Asia/Tokyo" in str(digest)
    answer = harness.slack.posts[-1]
    assert (answer.method, "Monday, Wednesday at 17:30" in answer.shown_text) == ("response_url", True)
    assert harness.slack.refusals == []


async def test_it_can_be_posted_in_the_direct_message_and_by_another_clock(harness: AppHarness, database: str) -> None:
    view = await open_form(harness)
    assert await submit(harness, view, place="directly", zone="America/New_York") == {}
    await harness.wait_until_settled(1)

    (digest,) = await digests(database)
    assert (digest["channel_id"], "America/New_York" in str(digest)) == ("DU1", True)
    shown = json.dumps(list(harness.slack.shown.values()))
    assert ("You asked for a digest:" in shown, "World, weekdays at 9:00" in shown) == (True, True)


async def test_a_button_opens_it_for_the_direct_message(harness: AppHarness, database: str) -> None:
    await harness.person.click("digest_modal", "")
    assert await submit(harness, harness.slack.modal()) == {}
    await harness.wait_until_settled(1)

    assert [digest["channel_id"] for digest in await digests(database)] == ["DU1"]


@pytest.mark.parametrize("channel", ["D5", "DU1"])
async def test_in_a_direct_message_there_is_no_choice_of_a_place(harness: AppHarness, channel: str) -> None:
    person = replace(harness.person, sent={"channel_id": channel})
    await person.type_command("/pplx watch")

    assert "place" not in {block["block_id"] for block in harness.slack.modal().blocks}


@pytest.mark.parametrize("zone", [None, "Mars/Olympus", "Pacific/Chatham"])
async def test_a_zone_that_is_unknown_is_not_chosen__and_a_rare_one_is_listed(
    harness: AppHarness, zone: str | None
) -> None:
    if zone is not None:
        harness.slack.workspace.zones["U1"] = zone
    view = await open_form(harness)

    chosen = view.state["--zone"]["--zone"]["selected_option"]
    assert (chosen and chosen["value"]) == (zone if zone == "Pacific/Chatham" else None)


@pytest.mark.parametrize(
    ("values", "block", "said"),
    [
        ({"topic": "\u200b"}, "topic", "That text is empty"),
        ({"days": ["mon"], "always": ["fri"]}, "--always", "This digest doesn’t run on “fri”. Its days are Monday."),
    ],
)
async def test_a_wrong_value_is_explained_below_its_field(
    harness: AppHarness, database: str, values: dict[str, Any], block: str, said: str
) -> None:
    errors = await submit(harness, await open_form(harness), **values)

    assert (list(errors), said in errors[block]) == ([block], True), errors
    assert await digests(database) == []


@pytest.mark.parametrize(
    ("state", "block"),
    [({}, "days"), ({"days": {"days": {"selected_options": [{"value": "mon"}]}}}, "time")],
)
async def test_what_slack_should_have_asked_for_is_asked_for(
    harness: AppHarness, state: dict[str, Any], block: str
) -> None:
    view = await open_form(harness)
    sent = {"view": view.as_slack(harness.slack.workspace.owner()) | {"state": {"values": state}}}
    async with await replace(harness.person, sent=sent).submit(view) as response:
        assert list((await response.json())["errors"]) == [block]


async def test_submitted_twice_it_is_set_up_once(harness: AppHarness, database: str) -> None:
    view = await open_form(harness)
    for response in await asyncio.gather(*(harness.person.submit(view, {}, token=str(n)) for n in range(2))):
        assert response.status == 200
    await harness.wait_until_settled(1)

    assert len(await digests(database)) == 1


async def test_a_guest_sets_up_nothing(harness: AppHarness, database: str) -> None:
    harness.slack.workspace.profiles["U1"] = {"is_restricted": True}
    harness.slack.fail("users.info", Fault(status=500))
    assert await submit(harness, await open_form(harness)) == {}
    await harness.wait_until_settled(1)

    assert await digests(database) == []
    assert "full members" in harness.slack.posts[-1].shown_text


async def test_a_lost_trigger_is_explained_and_the_help_shown(harness: AppHarness) -> None:
    harness.slack.views.issue_trigger("U1", id="t1")
    harness.slack.views.expire_triggers()
    shown = await harness.ask("/pplx watch")

    assert (TOO_LATE in shown["text"], "weekdays 9:00" in json.dumps(shown)) == (True, True)


async def test_help_still_shows_the_help(harness: AppHarness) -> None:
    for typed in ("/pplx watch help", "/pplx help watch"):
        assert "weekdays 9:00" in json.dumps(await harness.ask(typed))
    assert harness.slack.views.stack("U1") == ()


async def test_a_slow_slack_does_not_keep_the_form_from_opening_and_the_zone_is_looked_up_later(
    harness: AppHarness, database: str
) -> None:
    harness.slack.workspace.zones["U1"] = "Asia/Tokyo"
    profile = '{"ok": true, "user": {"id": "U1", "team_id": "T1"}}'
    harness.slack.fail("users.info", Fault(status=200, body=profile, seconds=2))
    view = await open_form(harness)
    assert view.state["--zone"]["--zone"]["selected_option"] is None
    assert await submit(harness, view) == {}
    await harness.wait_until_settled(1)

    assert "Asia/Tokyo" in str(await digests(database))


async def test_without_the_database_the_form_says_so(harness: AppHarness, database: str) -> None:
    view = await open_form(harness)
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE questions IN ACCESS EXCLUSIVE MODE")
        assert "I can’t reach my database just now" in (await submit(harness, view))["topic"]
