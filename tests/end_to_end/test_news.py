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
    assert actions(post.payload) == ["follow_up", "share", "digest_modal", "more"]


async def private_news(harness: Driver) -> Message:
    harness.perplexity.script("/v1/agent", text_reply(LINES))
    return await harness.answered("/news tech chips")


async def test_news__are_shared_story_by_story(harness: Driver) -> None:
    await harness.click(await private_news(harness), "share")
    sections = harness.slack.modal().blocks[1]["element"]["options"]
    assert [option["text"]["text"] for option in sections] == ["Chip plant opens in Dresden", "Rain falls in Spain"]
    requests = len(harness.perplexity.requests)
    await harness.submit(parts=["0", "1"])
    await harness.slack.wait_until(lambda: any(post.method == "chat.postMessage" for post in harness.slack.posts))

    (shared,) = (post for post in harness.slack.posts if post.method == "chat.postMessage")
    assert "<https://a.example/1|Chip plant opens in Dresden>" in shared.shown_text
    assert "It rains &amp; rains." in shared.shown_text
    assert "tech chips" in shared.shown_text
    assert len(harness.perplexity.requests) == requests


@pytest.mark.parametrize("place", ["command", "thread"])
async def test_news__can_be_asked_on(harness: Driver, place: str) -> None:
    if place == "command":
        await harness.click(await private_news(harness), "follow_up")
        await harness.submit(question="Where is the first?")
    else:
        harness.perplexity.script("/v1/agent", text_reply(LINES))
        await harness.answered_mention("news tech chips")
        await harness.answered_mention("Where is the first?", ts="1795255260.000100", thread_ts=TS)
    await harness.settle()

    asked = asked_in(harness.perplexity.requests[-1])
    assert [turn["content"] for turn in asked] == [
        "tech chips",
        "1. Chip plant opens in Dresden. It opened on Friday.\n2. Rain falls in Spain. It rains & rains.",
        "Where is the first?",
    ]


async def test_news__of_an_unknown_category_cost_nothing(harness: Driver) -> None:
    ack = await harness.ask("/news technologie")

    assert "Did you mean technology?" in json.dumps(ack)
    assert harness.perplexity.requests == []
