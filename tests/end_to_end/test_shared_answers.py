"""Everyone presses the same button: what the app itself offers is answered once a workspace and hour."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.rows import dict_row

from bot.blocks.examples import EXAMPLES, examples
from bot.commands import routing
from tests.driver import Driver, Processes
from tests.fakes.service import json_reply

PROMPT = routing.EXAMPLES[1].message
NEWS = routing.EXAMPLES[2].message
GERMAN = "Vergleiche PostgreSQL und MySQL bei der Volltextsuche."
BUTTON = next(iter(examples()))
TS = "1795255200.{:06}"
FROM = re.compile(r"From <!date\^\d+\^\{time\}\|\d\d:\d\d UTC>\.")


async def press(harness: Driver, number: int, text: str = PROMPT, **more: Any) -> None:
    """Press a suggested prompt as one of many people: Slack sends it as their direct message."""
    person = replace(harness.person, user=f"U{number}")
    place = {"ts": TS.format(number), "channel": f"DU{number}"}
    async with await person.send_direct_message(text, **place | more) as response:
        assert response.status == 200


def rows(
    harness: Driver, query: LiteralString = "SELECT * FROM questions ORDER BY received_at"
) -> list[dict[str, Any]]:
    with psycopg.connect(harness.database, row_factory=dict_row) as connection:
        return connection.execute(query).fetchall()


def shown_to(harness: Driver, number: int) -> str:
    """Return all that was shown to a person."""
    return "\n".join(post.shown_text for post in harness.slack.posts if post.payload.get("channel") == f"DU{number}")


async def begun(harness: Driver, questions: int) -> None:
    """Wait until work on so many questions has begun."""
    async with asyncio.timeout(60):
        while True:
            if len(rows(harness, "SELECT FROM questions WHERE state IN ('working', 'delivering')")) >= questions:
                return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("text", "locale"), [(PROMPT, "en-US"), (NEWS, "en-US"), (GERMAN, "de-DE")])
async def test_one_call_answers_everyone_in_the_hour_and_only_the_first_pays(
    harness: Driver, text: str, locale: str
) -> None:
    harness.slack.workspace.profiles |= {f"U{number}": {"locale": locale} for number in (1, 2, 3)}
    await press(harness, 1, text)
    await harness.wait_until_settled(1)
    await press(harness, 2, text)
    await press(harness, 3, text)
    await harness.wait_until_settled(3)

    assert len(harness.perplexity.requests) == 1
    assert [row["state"] for row in rows(harness)] == ["answered"] * 3
    assert [row["cost_usd"] == 0 for row in rows(harness)] == [False, True, True]
    assert {row["user_id"] for row in rows(harness, "SELECT user_id FROM ledger")} == {"U1"}
    noted = re.compile(FROM.pattern.replace("From", "Von")) if locale == "de-DE" else FROM
    assert [bool(noted.search(shown_to(harness, number))) for number in (1, 2, 3)] == [False, True, True]
    assert len({str(row["result"]["answer"]["text"]) for row in rows(harness) if "answer" in row["result"]}) <= 1


async def test_the_example_button_and_the_typed_question_share_too(harness: Driver) -> None:
    for number, user in enumerate(("U1", "U2")):
        await harness.as_user(user).click_button(EXAMPLES, BUTTON, token=f"k{number}", channel=f"C{number}")
        await harness.wait_until_settled(number + 1)
    await press(harness, 3, BUTTON)
    await harness.wait_until_settled(3)

    assert len(harness.perplexity.requests) == 1
    assert FROM.search(shown_to(harness, 3))


async def test_two_who_press_in_one_second_are_one_call(harness: Driver) -> None:
    harness.perplexity.hold()
    for number in range(1, 6):
        await press(harness, number)
    await begun(harness, 5)
    harness.perplexity.release()
    await harness.wait_until_settled(5)

    assert len(harness.perplexity.requests) == 1
    assert sorted(row["cost_usd"] == 0 for row in rows(harness)) == [False, *[True] * 4]


async def test_only_the_one_who_asks_waits_for_a_turn_at_the_service(harness: Driver) -> None:
    for number in range(1, 11):
        await press(harness, number)
    await harness.wait_until_settled(10)

    assert len(harness.perplexity.requests) == 1
    assert {row["queue"] for row in rows(harness)} == {"default"}


async def test_two_processes_make_one_call(workspace: Processes) -> None:
    one, other = await workspace.start(), await workspace.start()
    workspace.perplexity.hold()
    for number in range(20):
        process = one if number % 2 else other
        person = workspace.person(process, number)
        async with await person.type_command(f"/ask {PROMPT}", trigger=f"t{number}") as response:
            assert response.status == 200
    await workspace.perplexity.wait_for(1)
    workspace.perplexity.release()
    await workspace.slack.wait_until(lambda: workspace.answers_by_trigger().total() >= 20, seconds=90)

    assert len(workspace.perplexity.requests) == 1
    assert set(workspace.answers_by_trigger().values()) == {1}


async def test_if_the_first_fails_the_next_one_asks(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", json_reply({"error": {"message": "no", "code": 400}}, status=400))
    harness.perplexity.hold()
    await press(harness, 1)
    await harness.perplexity.wait_for(1)
    await press(harness, 2)
    await begun(harness, 2)
    harness.perplexity.release()
    await harness.wait_until_settled(2)

    assert [row["state"] for row in rows(harness)] == ["failed", "answered"]
    assert len(harness.perplexity.requests) == 2


async def test_if_the_first_is_stopped_the_next_one_asks_for_all(harness: Driver) -> None:
    harness.perplexity.hold()
    await press(harness, 1)
    await harness.perplexity.wait_for(1)
    for number in (2, 3):
        await press(harness, number)
    await begun(harness, 3)
    (first, *_) = rows(harness)
    await harness.as_user("U1").click_button("stop", str(first["id"]), channel="DU1")
    await harness.perplexity.wait_for(2)
    harness.perplexity.release()
    await harness.wait_until_settled(3)

    assert [row["state"] for row in rows(harness)] == ["stopped", "answered", "answered"]
    assert len(harness.perplexity.requests) == 2


async def test_one_who_waits_can_stop(harness: Driver) -> None:
    harness.perplexity.hold()
    await press(harness, 1)
    await harness.perplexity.wait_for(1)
    await press(harness, 2)
    await begun(harness, 2)
    (_, second) = rows(harness)
    await harness.as_user("U2").click_button("stop", str(second["id"]), channel="DU2")
    harness.perplexity.release()
    await harness.wait_until_settled(2)

    assert [row["state"] for row in rows(harness)] == ["answered", "stopped"]
    assert len(harness.perplexity.requests) == 1


async def test_after_an_hour_it_is_asked_anew(harness: Driver) -> None:
    await press(harness, 1)
    await harness.wait_until_settled(1)
    with psycopg.connect(harness.database) as connection:
        connection.execute("UPDATE shared_answers SET at = at - interval '1 hour'")
    await press(harness, 2)
    await harness.wait_until_settled(2)

    assert len(harness.perplexity.requests) == 2
    assert not FROM.search(shown_to(harness, 2))


@pytest.mark.parametrize(
    "insert",
    [
        "person_settings (team_id, user_id, settings) VALUES ('T1', 'U2', '{\"language\": \"de\"}')",
        "person_settings (team_id, user_id, settings) VALUES ('T1', 'U2', '{\"model\": \"high\"}')",
        "channel_settings (team_id, channel_id, user_id, settings) VALUES ('T1', 'DU2', 'U9', '{\"deny\": [\"a.b\"]}')",
    ],
)
async def test_other_settings_are_another_question(harness: Driver, insert: LiteralString) -> None:
    with psycopg.connect(harness.database) as connection:
        connection.execute(f"INSERT INTO {insert}")
    await press(harness, 1)
    await press(harness, 2)
    await harness.wait_until_settled(2)

    assert len([request for request in harness.perplexity.requests if request.method == "POST"]) == 2


PRIVATE: Mapping[str, str] = {
    "another word": f"{PROMPT} Please.",
    "another case": PROMPT.upper(),
    "an option": f"{PROMPT} --recency week",
    "one's own": "What does our merger with Example Inc. mean?",
}


@pytest.mark.parametrize("text", PRIVATE.values(), ids=PRIVATE)
async def test_what_a_person_wrote_is_never_shared(harness: Driver, text: str) -> None:
    await press(harness, 1, text)
    await press(harness, 2, text)
    await harness.wait_until_settled(2)

    assert len(harness.perplexity.requests) == 2
    assert rows(harness, "SELECT * FROM shared_answers") == []


async def test_what_depends_on_a_thread_is_never_shared(harness: Driver) -> None:
    """Neither is an answer that another one's turns went along with, nor does such a question get one."""
    await press(harness, 1, "which database is the secret project Zebra on?")
    await harness.wait_until_settled(1)
    await press(harness, 1, PROMPT, ts=TS.format(500), thread_ts=TS.format(1))
    await harness.wait_until_settled(2)
    assert rows(harness, "SELECT * FROM shared_answers") == []

    await press(harness, 2)
    await harness.wait_until_settled(3)
    await press(harness, 1, PROMPT, ts=TS.format(600), thread_ts=TS.format(1))
    await harness.wait_until_settled(4)

    assert len(harness.perplexity.requests) == 4
    assert "Zebra" in str(harness.perplexity.requests[3].json)
    assert "Zebra" not in str(rows(harness, "SELECT * FROM shared_answers"))


async def test_a_prompt_begins_a_conversation_so_it_is_shared_after_another_question(harness: Driver) -> None:
    await press(harness, 1)
    await press(harness, 2, "which database is the secret project Zebra on?")
    await harness.wait_until_settled(2)
    await press(harness, 2, PROMPT, ts=TS.format(700))
    await harness.wait_until_settled(3)

    assert len(harness.perplexity.requests) == 2
    assert FROM.search(shown_to(harness, 2))


async def test_the_buttons_below_work_for_the_others(harness: Driver) -> None:
    await press(harness, 1)
    await harness.wait_until_settled(1)
    await press(harness, 2)
    await harness.wait_until_settled(2)
    answer = harness.last_in("DU2", TS.format(2))
    await harness.as_user("U2").click(answer, "sources", channel="DU2")
    details = harness.slack.modal("U2").blocks[-1]["elements"][0]["text"]
    await harness.as_user("U2").click(answer, "more", "regenerate", channel="DU2")
    await harness.wait_until_settled(3)
    await press(harness, 2, "and which of them is older?", ts=TS.format(800), thread_ts=TS.format(2))
    await harness.wait_until_settled(4)

    assert "free" in details
    assert len(harness.perplexity.requests) == 3
    assert "Example answer with a claim" in str(harness.perplexity.requests[2].json)
    assert not FROM.search(harness.slack.thread("DU2", TS.format(2))[1].shown_text)
