"""A person's own data in the home tab, end to end: sent as a file, or erased; others' stays."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import psycopg
import pytest

from tests.driver import Driver
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.personal_data import find_text
from tests.fakes.slack import Fault

pytestmark = pytest.mark.features("data_requests", "digests", "home", "settings")


@pytest.fixture
async def two_people(harness: Driver) -> Driver:
    """Return an app that two people have used, one of whom has the home tab open."""
    for user in ("U1", "U2"):
        own = harness.as_user(user)
        await own.answered(f"/ask why {user}")
        await own.answered(f'/pplx watch technology "{user}" daily 9:00')
        await own.answered("/pplx settings language de")
    await harness.open_home("why U1")
    return harness


async def kept(harness: Driver, user: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        found = await find_text(connection, f'"{user}"')
    return {table: count for table, count in found.items() if user == "U1" or not table.startswith("audit")}


async def test_everything_of_the_person_is_erased_after_a_confirmation(two_people: Driver) -> None:
    harness, other = two_people, await kept(two_people, "U2")
    assert {"questions", "digests", "person_settings", "homes"} <= set(await kept(harness, "U1"))
    erase = harness.slack.home("U1").content["blocks"][-1]["elements"][-1]
    assert (erase["style"], erase["confirm"]["style"], erase["confirm"]["deny"]["text"]) == (
        "danger",
        "danger",
        "Cancel",
    )
    await harness.press_home("erase_own_data")
    text = await harness.home("I’ve erased everything that I kept about you in this workspace.")

    assert "why U1" not in text
    assert await kept(harness, "U1") == {}
    assert await kept(harness, "U2") == other


async def test_what_is_being_answered_is_stopped(two_people: Driver, perplexity: FakePerplexity) -> None:
    harness = two_people
    perplexity.hold()
    await harness.ask("/ask the open one", trigger="open")
    await harness.slack.wait_until(lambda: len(perplexity.requests) >= 3)
    posts = len(harness.slack.posts)
    await harness.press_home("erase_own_data")
    await harness.home("I’ve erased everything that I kept about you in this workspace.")
    perplexity.release()
    await replace(harness, person=replace(harness.person, user="U2")).answered("/ask another")

    assert await kept(harness, "U1") == {}
    assert not [post for post in harness.slack.posts[posts:] if "the open one" in post.shown_text]


async def test_a_file_with_everything_comes_in_the_direct_messages(two_people: Driver) -> None:
    harness = two_people
    await harness.press_home("export_own_data")
    await harness.home("I’ll send it to our messages: a file with everything")
    await harness.slack.wait_until(lambda: "files.completeUploadExternal" in [name for name, _ in harness.slack.calls])
    (content,) = harness.slack.files.values()
    rows = [json.loads(line) for line in content.splitlines()]
    assert {"questions", "digests", "person_settings", "homes"} <= {row["table"] for row in rows}
    assert "why U1" in str(rows)
    assert "U2" not in str(rows)


def sent_files(harness: Driver) -> int:
    return [name for name, _ in harness.slack.calls].count("files.completeUploadExternal")


async def test_one_file_at_a_time_is_made_for_a_person(two_people: Driver) -> None:
    harness = two_people
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        await connection.execute("LOCK TABLE digest_seen")
        for _ in range(4):
            await harness.press_home("export_own_data")
        query = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'digest_seen'::regclass"
        while not (waiting := await (await connection.execute(query)).fetchall()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert len(waiting) == 1
    await harness.slack.wait_until(lambda: sent_files(harness) > 0)
    assert sent_files(harness) == 1

    async with asyncio.timeout(20):
        while sent_files(harness) < 2:
            await harness.press_home("export_own_data")


async def test_of_a_channel_s_settings_a_person_gets_only_that_they_are_named(two_people: Driver) -> None:
    harness = two_people
    harness.slack.workspace.admins.add("U1")
    await harness.answered("/pplx settings channel askers U1 U2")
    await harness.answered("/pplx settings channel deny evil.example")
    await harness.press_home("export_own_data")
    await harness.slack.wait_until(lambda: "files.completeUploadExternal" in [name for name, _ in harness.slack.calls])
    (content,) = harness.slack.files.values()
    rows = [json.loads(line) for line in content.splitlines()]

    assert [one["row"] for one in rows if one["table"] == "channel_settings"] == [
        {"team_id": "T1", "channel_id": "C1", "names_you": True}
    ]


async def test_without_files_an_admin_is_named(two_people: Driver) -> None:
    harness = two_people
    harness.slack.fail("files.getUploadURLExternal", Fault(status=200, body='{"ok": false, "error": "missing_scope"}'))
    await harness.press_home("export_own_data")

    refusal = "I couldn’t send you the file. Please ask an admin for it."
    await harness.home(refusal)
    # The click's own update of the tab may come later, and that of an answer.
    await harness.answered("/ask what then")
    await harness.home("what then", refusal)
    await harness.open_home("what then", without=refusal)


async def test_what_was_sent_for_any_question_is_in_its_menu(harness: Driver, perplexity: FakePerplexity) -> None:
    await harness.answered("/news technology")
    async with await harness.person.open_home() as response:
        assert response.status == 200
    await harness.home("What was sent")
    await harness.press(harness.slack.home("U1"), "more", "sent")

    shown = json.dumps(harness.slack.modal("U1").blocks, ensure_ascii=False)
    assert all(one.path in shown for one in perplexity.requests)
    assert "technology" in shown
