"""News, end to end: typed, acknowledged, asked, rendered, delivered."""

from __future__ import annotations

import json

import pytest

from tests.driver import TS, Driver, Message, actions, asked_in
from tests.fakes.news_answers import text_reply

LINES = """\
Chip plant opens in Dresden | 2026-11-20 | It opened on Friday. [1][2]
Rain falls in Spain | 2026-11-21 | It rains & rains. [2]
"""


@pytest.mark.parametrize("typed", ["/news tech chips", "/pplx news tech chips"])
async def test_news__shows_the_stories(harness: Driver, typed: str) -> None:
    harness.perplexity.script("/v1/agent", text_reply(LINES))

    ack = await harness.ask(typed)
    (post,) = await harness.slack.wait_for(1)

    header, first, place, second, _, note, _ = post.payload["blocks"]
    assert "Searching" in ack["text"]
    assert header["elements"][0]["text"] == "*Technology news* · chips · past day"
    assert first["text"]["text"] == ("*1.  <https://a.example/1|Chip plant opens in Dresden>*\nIt opened on Friday.")
    assert place["elements"][0]["text"] == "a.example · 20 Nov 2026 · also: <https://b.example/2|b.example>"
    assert second["text"]["text"].startswith("*2.  <https://b.example/2|Rain falls in Spain>*\n")
    assert note["elements"][0]["text"] == "Only 2 stories were found."
    assert "more" in actions(post.payload)


async def private_news(harness: Driver) -> Message:
    harness.perplexity.script("/v1/agent", text_reply(LINES))
    return await harness.answered("/news tech chips")


async def assert_asked_on(harness: Driver) -> None:
    """Look at what was asked after the news."""
    await harness.settle()

    asked = asked_in(harness.perplexity.requests[-1])
    assert [turn["content"] for turn in asked] == [
        "tech chips",
        "1. Chip plant opens in Dresden. It opened on Friday.\n2. Rain falls in Spain. It rains & rains.",
        "Where is the first?",
    ]


async def test_news__can_be_asked_on_in_a_thread(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", text_reply(LINES))
    await harness.answered_mention("news tech chips")
    await harness.answered_mention("Where is the first?", ts="1795255260.000100", thread_ts=TS)
    await assert_asked_on(harness)


async def test_news__of_an_unknown_category_cost_nothing(harness: Driver) -> None:
    ack = await harness.ask("/news technologie")

    assert "Did you mean technology?" in json.dumps(ack)
    assert harness.perplexity.requests == []
