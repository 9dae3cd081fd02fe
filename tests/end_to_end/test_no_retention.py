"""RETENTION_DAYS=0, end to end: no text stays when an answer is posted, and everything that would need it says so."""

from __future__ import annotations

import json

import psycopg
import pytest

from bot.listeners.clicks import TEXT_DELETED
from bot.worker.runner import NO_MEMORY
from tests.driver import Driver
from tests.fakes.personal_data import find_text

WORDS = "canarywords"


pytestmark = pytest.mark.settings(retention_days=0)


async def kept(harness: Driver, text: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        return await find_text(connection, text)


@pytest.mark.parametrize("line", [f"/ask why {WORDS}", f"/search {WORDS}", f"/ask --model high {WORDS}"])
async def test_nothing_is_left_when_the_answer_is_posted(harness: Driver, line: str) -> None:
    answer = await harness.answered(line)

    assert answer["blocks"]
    assert await kept(harness, WORDS) == {}
    assert await kept(harness, "a.example") == {}
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        rows = await connection.execute(
            "SELECT state, cost_usd IS NOT NULL, text_deleted_at = settled_at FROM questions"
        )
        assert await rows.fetchall() == [("answered", True, True)]


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("more", "go_deeper"),
        ("sources", None),
        *(("more", one) for one in ("regenerate", "sent")),
    ],
)
async def test_buttons_that_need_the_text_say_that_it_is_gone(harness: Driver, action: str, value: str | None) -> None:
    answer = await harness.answered("/ask why")

    assert await harness.told(answer, action, value) == TEXT_DELETED


async def test_a_failure_cannot_be_tried_again(harness: Driver) -> None:
    harness.perplexity.fail("/search", status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})
    failed = await harness.answered(f"/search {WORDS}")
    button = next(one for block in failed["blocks"] for one in block.get("elements", ()) if one.get("value"))

    await harness.click_button("retry", button["value"])
    assert TEXT_DELETED in harness.slack.posts[-1].payload["text"]
    assert await kept(harness, WORDS) == {}


async def test_a_conversation_says_that_it_remembers_nothing(harness: Driver) -> None:
    first = await harness.answered_mention("why")
    await harness.mention("and why not", ts="1795255201.000100", thread_ts="1795255200.000100", id="Ev-2")
    await harness.wait_until_settled(2)

    assert NO_MEMORY not in json.dumps(first, ensure_ascii=False)
    assert NO_MEMORY in json.dumps(harness.slack.thread("C1", "1795255200.000100")[-1].payload, ensure_ascii=False)
    asked = harness.perplexity.requests[-1].json["input"]
    assert "why" not in (asked if isinstance(asked, str) else [one["content"] for one in asked[:-1]])
