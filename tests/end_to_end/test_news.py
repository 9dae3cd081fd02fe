"""News, end to end: typed, acknowledged, asked, rendered, delivered."""

from __future__ import annotations

import json

import pytest

from tests.end_to_end.conftest import AppHarness
from tests.fakes.news_answers import text_reply

LINES = """\
Chip plant opens in Dresden | 2026-11-20 | It opened on Friday. [1][2]
Rain falls in Spain | 2026-11-21 | It rains & rains. [2]
"""


@pytest.mark.parametrize("typed", ["/news tech chips", "/pplx news tech chips"])
async def test_news__shows_the_stories_and_when_they_were_asked_for(harness: AppHarness, typed: str) -> None:
    harness.perplexity.script("/v1/agent", text_reply(LINES))

    ack = await harness.ask(typed)
    (post,) = await harness.slack.wait_for(1)

    header, first, second, note, grey, menu = post.payload["blocks"]
    assert "Searching" in ack["text"]
    assert header["elements"][0]["text"].startswith("*Technology news* · chips · past day · as of <!date^")
    assert first["text"]["text"] == (
        "*1.  <https://a.example/1|Chip plant opens in Dresden>*\n"
        "a.example · 20 Nov 2026 · also: <https://b.example/2|b.example>\n"
        "It opened on Friday."
    )
    assert second["text"]["text"].startswith("*2.  <https://b.example/2|Rain falls in Spain>*\n")
    assert note["elements"][0]["text"] == "Only 2 stories were found."
    assert grey["elements"][0]["text"].endswith("only visible to you")
    assert [option["value"] for option in menu["elements"][0]["options"]] == ["sent"]


async def test_news__of_an_unknown_category_cost_nothing(harness: AppHarness) -> None:
    ack = await harness.ask("/news technologie")

    assert "Did you mean technology?" in json.dumps(ack)
    assert harness.perplexity.requests == []
