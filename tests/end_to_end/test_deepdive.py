"""`/deepdive` through the whole app: the report, how far it has come, the Stop button, and processes that die."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.settings import Settings
from tests.end_to_end.conftest import World
from tests.fakes import grok
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import FakeSlack, Post


@pytest.fixture
async def posts() -> AsyncIterator[FakeGrok]:
    async with FakeGrok() as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, posts: FakeGrok) -> Settings:
    return settings.model_copy(
        update={"xai_api_key": SecretStr(grok.KEY), "xai_base_url": posts.api_url, "persona_name": "Ada"}
    )


def by_response_url(slack: FakeSlack) -> list[Post]:
    return [post for post in slack.posts if post.way == "response_url"]


def is_report(post: Post) -> bool:
    return "MY ANALYSIS" in post.words and "Sources" in post.words


async def test_a_report_comes_in_three_sections_with_one_list_of_sources_and_a_chart(world: World) -> None:
    await world.asks("/deepdive heat pumps")
    await world.settled(1)

    report = world.slack.posts[-1]
    blocks = report.payload["blocks"]
    headings = [block["text"]["text"] for block in blocks if block["type"] == "section"]
    assert headings == ["*THE SITUATION*", "*THE PUBLIC PULSE*", "*MY ANALYSIS*"]
    (chart,) = [block for block in blocks if block["type"] == "data_visualization"]
    assert [point["value"] for point in chart["chart"]["series"][0]["data"]] == [2, 0, 1, 0]
    assert "Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed" in report.words
    assert "In the voice of Ada" in report.words
    assert all(f"{number} <https://" in report.words for number in range(1, 6))
    assert world.slack.refusals == []
