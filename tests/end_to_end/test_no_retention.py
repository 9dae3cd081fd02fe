"""RETENTION_DAYS=0, end to end: no text stays when an answer is posted, and everything that would need it says so."""

from __future__ import annotations

import json

import psycopg
import pytest

from bot.listeners.clicks import TEXT_DELETED
from bot.settings import Settings
from bot.worker.runner import NO_MEMORY
from tests.end_to_end.answer_buttons import ask, mention, told
from tests.end_to_end.conftest import AppHarness
from tests.fakes.personal_data import find_text

WORDS = "canarywords"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"retention_days": 0})


async def kept(harness: AppHarness, text: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        return await find_text(connection, text)


@pytest.mark.parametrize("line", [f"/ask why {WORDS}", f"/search {WORDS}", f"/ask --model high {WORDS}"])
async def test_nothing_is_left_when_the_answer_is_posted(harness: AppHarness, line: str) -> None:
    answer = await ask(harness, line)

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
        ("share", None),
        ("more", "go_deeper"),
        ("sources", None),
        *(("more", one) for one in ("regenerate", "save", "sent")),
    ],
)
async def test_buttons_that_need_the_text_say_that_it_is_gone(
    harness: AppHarness, action: str, value: str | None
) -> None:
    answer = await ask(harness, "/ask why")

    assert await told(harness, answer, action, value) == TEXT_DELETED


async def test_a_button_below_search_results_says_so_too(harness: AppHarness) -> None:
    answer = await ask(harness, "/search why")

    assert await told(harness, answer, "ask_about") == TEXT_DELETED


async def test_a_failure_cannot_be_tried_again(harness: AppHarness) -> None:
    harness.perplexity.fail("/search", status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})
    failed = await ask(harness, f"/search {WORDS}")
    button = next(one for block in failed["blocks"] for one in block.get("elements", ()) if one.get("value"))

    async with await harness.person.click("retry", button["value"]) as response:
        assert response.status == 200
    assert TEXT_DELETED in harness.slack.posts[-1].payload["text"]
    assert await kept(harness, WORDS) == {}


async def test_a_conversation_says_that_it_remembers_nothing(harness: AppHarness) -> None:
    first = await mention(harness, "why")
    await harness.mention("and why not", ts="1795255201.000100", thread_ts="1795255200.000100", id="Ev-2")
    await harness.wait_until_settled(2)

    assert NO_MEMORY not in json.dumps(first, ensure_ascii=False)
    assert NO_MEMORY in json.dumps(harness.slack.thread("C1", "1795255200.000100")[-1].payload, ensure_ascii=False)
    asked = harness.perplexity.requests[-1].json["input"]
    assert "why" not in (asked if isinstance(asked, str) else [one["content"] for one in asked[:-1]])


async def test_thumbs_still_count(harness: AppHarness) -> None:
    answer = await mention(harness, "why")

    assert "Thank" in await told(harness, answer, "feedback", "up")
