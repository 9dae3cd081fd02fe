"""`news` as a process, with its output in a pipe."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.fakes.command import run
from tests.fakes.news_answers import text_reply
from tests.fakes.perplexity import FakePerplexity

TEXT = """\
Parliament passes the budget | 2026-11-20 | It passed by three votes. [1][2]
Volcano erupts in Iceland | 2026-11-21 | Lava flows to the sea. [web:2]
An unsourced story | 2026-11-21 | It is on no page. [9]
"""
PLAIN = """\
1. Parliament passes the budget · a.example · 20 Nov 2026
   https://a.example/1
   It passed by three votes. (also: b.example)

2. Volcano erupts in Iceland · b.example · 21 Nov 2026
   https://b.example/2
   Lava flows to the sea.

Technology news about open chips, as of NOW UTC.

Only 2 stories were found.

1 story left out: no source for it.

Perplexity · 0.0 s · $0.0011
"""
RAW = """\
<result>
- Parliament passes the budget (2026-11-20): It passed by three votes. [1][2]
- Volcano erupts in Iceland (2026-11-21): Lava flows to the sea. [2]
</result>

<references>
- [1] Example A (N/A) [https://a.example/1]
- [2] Example B (N/A) [https://b.example/2]
</references>

As of NOW UTC.
"""


@pytest.fixture(autouse=True)
def _written(fake: FakePerplexity) -> None:
    fake.script("/v1/agent", text_reply(TEXT))


async def news(*arguments: str, settings: dict[str, str]) -> tuple[int, str, str]:
    ended = await run("news", *arguments, settings=settings)
    timeless = re.sub(r"\d+\.\d s", "0.0 s", re.sub(r"of \d{4}-\d\d-\d\d \d\d:\d\d UTC", "of NOW UTC", ended.out))
    return ended.code, timeless, ended.err


async def test_a_pipe_is_given_the_stories(fake: FakePerplexity, settings: dict[str, str]) -> None:
    code, out, err = await news("tech", "open", "chips", settings=settings)

    assert (code, out, err) == (0, PLAIN, "")
    sent = fake.requests[0].json
    assert sent["input"][1]["content"] == "open chips technology news"
    assert sent["tools"][0]["filters"] == {"search_recency_filter": "day"}


async def test_the_topic_may_be_left_out_and_the_category_may_not(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    code, out, err = await news(settings=settings)

    assert (code, out) == (2, "")
    assert "the following arguments are required: CATEGORY;" in err
    assert fake.requests == []


async def test_filters_are_sent(fake: FakePerplexity, settings: dict[str, str]) -> None:
    await news("world", "--recency", "week", "--domain", "-a.com", settings=settings)

    filters = fake.requests[0].json["tools"][0]["filters"]
    assert filters == {"search_recency_filter": "week", "search_domain_filter": ["-a.com"]}


async def test_raw_is_what_a_model_is_given(settings: dict[str, str]) -> None:
    assert await news("tech", "--raw", settings=settings) == (0, RAW, "")


async def test_json_is_everything(settings: dict[str, str]) -> None:
    code, out, _ = await news("tech", "--json", settings=settings)

    told: dict[str, Any] = json.loads(out)
    assert (code, told["category"], told["topic"], told["provider"]) == (0, "technology", "", "Perplexity")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00", told["made_at"])
    assert [(story["headline"], story["date"]) for story in told["stories"]] == [
        ("Parliament passes the budget", "2026-11-20"),
        ("Volcano erupts in Iceland", "2026-11-21"),
    ]


async def test_an_unknown_category_is_reported_on_one_line(fake: FakePerplexity, settings: dict[str, str]) -> None:
    ended = await run("news", "sprots", settings=settings)

    said = "category: 'sprots' is not allowed; did you mean sports? it takes world, business, technology, science, "
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"python -m perplexity news: {said}health, sports, entertainment or politics\n"
    assert fake.requests == []
