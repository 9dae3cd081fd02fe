"""Who may have a report as a file: its asker, and those who read it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.listeners.intake import MEMBERS_ONLY
from tests.driver import Driver, rows
from tests.fakes.slack import Post


def file_button(post: Post) -> str:
    buttons = [element for block in post.payload["blocks"] for element in block.get("elements", ())]
    (value,) = [one["value"] for one in buttons if one.get("action_id") == "as_file"]
    return str(value)


async def click_for_file(harness: Driver, value: str, **more: Any) -> str:
    """Click, and return what is said to the person who clicked."""
    person = replace(harness.person, **{name: more.pop(name) for name in ("user", "team", "sent") if name in more})
    token = f"file{len(harness.slack.posts)}"
    async with await person.click("as_file", value, token=token, **more) as response:
        assert response.status == 200
    said = [post for post in harness.slack.posts if post.payload.get("token") == token]
    return said[0].shown_text


NOT_THEIRS = "Only the person who asked"


COMING = "send you the report as a file"


@pytest.mark.parametrize(
    ("command", "clicker", "told"),
    [
        ("/deepdive heat pumps", {"channel": "C9"}, COMING),
        ("/deepdive heat pumps", {"user": "U2"}, NOT_THEIRS),
        ("/deepdive --public heat pumps", {"user": "U2"}, COMING),
        ("/deepdive --public heat pumps", {"user": "U2", "channel": "C9"}, NOT_THEIRS),
        ("/deepdive --public heat pumps", {"user": "U3", "team": "T2"}, MEMBERS_ONLY),
    ],
)
async def test_a_report_is_for_its_asker_and_for_those_who_read_it(
    harness: Driver, command: str, clicker: dict[str, Any], told: str
) -> None:
    harness.slack.workspace.admins.add("U2")
    await harness.ask(command)
    await harness.wait_until_settled(1)

    assert told in await click_for_file(harness, file_button(harness.slack.posts[-1]), **clicker)
    if told != COMING:
        assert harness.slack.files == {}


async def test_everyone_in_its_channel_may_have_a_report_that_a_mention_asked_for(harness: Driver) -> None:
    await harness.mention("deepdive heat pumps")
    await harness.wait_until_settled(1)
    button = file_button(harness.slack.posts[-1])

    assert COMING in await click_for_file(harness, button, user="U2")
    assert NOT_THEIRS in await click_for_file(harness, button, user="U2", channel="C2")


async def test_a_double_click_sends_one_file__and_others_get_theirs(harness: Driver) -> None:
    await harness.ask("/deepdive --public heat pumps")
    await harness.wait_until_settled(1)
    button = file_button(harness.slack.posts[-1])

    said = await asyncio.gather(*(_click(harness, button, token=f"double{n}") for n in range(2)))
    other = await click_for_file(harness, button, user="U2")
    await harness.slack.wait_until(lambda: _files_sent(harness) == 2)
    await asyncio.sleep(0.2)

    assert sorted(COMING in one for one in said) == [False, True]
    assert COMING in other
    assert _files_sent(harness) == 2


async def test_a_guest_gets_no_file_although_everyone_reads_the_report(harness: Driver) -> None:
    await harness.ask("/deepdive --public heat pumps")
    await harness.wait_until_settled(1)
    harness.slack.workspace.profiles["U2"] = {"is_restricted": True}
    await click_for_file(harness, file_button(harness.slack.posts[-1]), user="U2")
    await harness.slack.wait_for_text(MEMBERS_ONLY)

    assert harness.slack.files == {}


async def _click(harness: Driver, value: str, *, token: str) -> str:
    await harness.click_button("as_file", value, token=token)
    return next(post.shown_text for post in harness.slack.posts if post.payload.get("token") == token)


def _files_sent(harness: Driver) -> int:
    return [method for method, _ in harness.slack.calls].count("files.completeUploadExternal")


async def test_a_click_counts_in_the_workspace_that_was_asked_in(harness: Driver, database: str) -> None:
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)
    await harness.execute("UPDATE questions SET team_id = 'T9'")
    ((question,),) = await rows(database, "SELECT id FROM questions")
    (told,) = await harness.click_button("as_file", str(question))

    assert NOT_THEIRS in told.shown_text
    assert harness.slack.files == {}
