"""Slack drops events beyond 30,000 an hour, and says so each minute: each is counted, and an admin gets one message."""

from __future__ import annotations

import asyncio
import json
import logging

import psycopg
import pytest

from tests.driver import Driver, wait_for_log
from tests.fakes.person import signed
from tests.fakes.slack import Fault

ADMIN = "U0ADMIN"


pytestmark = pytest.mark.settings(admin_user_ids=ADMIN)


async def drop_events(harness: Driver, *, minute: object, **more: object) -> int:
    """Send what Slack sends in a minute in which it drops events."""
    named = {"token": "deprecated", "type": "app_rate_limited", "team_id": "T1", "api_app_id": "A1"}
    body = json.dumps(named | {"minute_rate_limited": minute} | more).encode()
    headers = signed(body) | {"Content-Type": "application/json"}
    async with harness.session.post(f"{harness.url}/slack/events", data=body, headers=headers) as response:
        return response.status


async def counted(harness: Driver) -> float:
    async with harness.session.get(f"{harness.url}/metrics") as response:
        lines = (await response.text()).splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("events_limited_total"))


async def test_an_admin_gets_one_message_and_each_minute_is_counted(harness: Driver) -> None:
    for minute in range(3):
        assert await drop_events(harness, minute=1795255200 + 60 * minute) == 200
    (told,) = await harness.slack.wait_for(1)
    await harness.mention("still there?")
    await harness.wait_until_settled(1)

    assert told.payload["channel"] == f"D{ADMIN}"
    assert "30,000 events an hour" in told.payload["text"]
    assert [post for post in harness.slack.posts if "30,000" in post.shown_text] == [told]
    assert await counted(harness) == 3


async def test_an_hour_later_it_is_told_again(harness: Driver) -> None:
    await drop_events(harness, minute=1795255200)
    await harness.slack.wait_for(1)
    with psycopg.connect(harness.database) as connection:
        connection.execute("DELETE FROM refused_deliveries")  # as the retention does after an hour

    await drop_events(harness, minute=1795258800)
    assert len(await harness.slack.wait_for(2)) == 2


async def test_who_cannot_be_told_is_in_the_log(harness: Driver, caplog: pytest.LogCaptureFixture) -> None:
    harness.slack.fail("conversations.open", Fault(status=200, body='{"ok": false, "error": "user_not_found"}'))
    harness.slack.fail("users.list", Fault(status=200, body='{"ok": false, "error": "missing_scope"}'))

    with caplog.at_level(logging.WARNING, logger="bot"):
        assert await drop_events(harness, minute=1795255200) == 200
        await wait_for_log(caplog, "events.not_told")

    assert "events.limited" in caplog.messages
    assert harness.slack.posts == []


@pytest.mark.parametrize("more", [{"team_id": "T2"}, {"api_app_id": "A2"}], ids=str)
async def test_that_of_another_workspace_or_app_is_refused(harness: Driver, more: dict[str, str]) -> None:
    await harness.mention("hello there, how do bees fly?")
    await harness.wait_until_settled(1)

    assert await drop_events(harness, minute=1795255200, **more) == 403
    assert await counted(harness) == 0


async def test_odd_minutes_do_no_harm(harness: Driver) -> None:
    for minute in (None, "soon", -1, 10**30):
        assert await drop_events(harness, minute=minute) == 200
    await asyncio.wait_for(harness.slack.wait_for(1), 60)
