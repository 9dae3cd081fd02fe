"""A question narrowed to domains shows nothing from elsewhere, whatever the service returns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.driver import Driver
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.slack import Post

CITED = (
    "First.[1] Second.[2] All of it [1-3], also in full width ［２］.\n\n"
    "See [page two](https://b.example/2).[2] More is at https://www.b.example/more and [here](https://sub.a.example/3).[3]"
)


def agent_reply(text: str, *hosts: str) -> dict[str, Any]:
    """Return a response with this text and a page of each host."""
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    pages = [
        {"id": number, "title": f"Page {number}", "url": f"https://{host}/{number}", "snippet": "s", "source": "web"}
        for number, host in enumerate(hosts, start=1)
    ]
    body["output"][0]["results"] = pages
    body["output"][1]["content"][0]["text"] = text
    return body


def shown_text(post: Post) -> str:
    return json.dumps(post.payload.get("blocks"), ensure_ascii=False)


async def posted(harness: Driver, typed: str) -> str:
    await harness.ask(typed)
    (post,) = await harness.slack.wait_for(1)
    return shown_text(post)


@pytest.mark.parametrize(
    ("domains", "there", "gone", "note"),
    [
        ("a.example", "https://a.example/1", "b.example/2", "1 result outside a.example left out."),
        ("-b.example", "https://a.example/1", "b.example/2", "1 result on b.example left out."),
        ("-www.a.example", "https://b.example/2", "a.example/1", "1 result on www.a.example left out."),
    ],
)
async def test_search__leaves_out_pages_from_elsewhere_and_counts_them(
    harness: Driver, domains: str, there: str, gone: str, note: str
) -> None:
    text = await posted(harness, f"/search --domain {domains} python")

    assert there in text
    assert gone not in text
    assert note in text


async def test_search__says_that_nothing_is_left(harness: Driver) -> None:
    text = await posted(harness, "/search --domain nota.example python")

    assert "https://" not in text
    assert "No results. Try it" in text
    assert "2 results outside nota.example left out, so no result is left." in text


async def test_ask__leaves_out_sources_markers_and_links_from_elsewhere(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", json_reply(agent_reply(CITED, "a.example", "b.example", "sub.a.example")))

    text = await posted(harness, "/ask --domain a.example what is it")

    assert (
        "First.[[1]](https://a.example/1) Second. All of it [[1]](https://a.example/1)[[2]](https://sub.a.example/3),"
        " also in full width." in text
    )
    assert "See page two. More is at and here.[[2]](https://sub.a.example/3)" in text
    assert "b.example" not in text
    async with await harness.person.choose(harness.slack.posts[-1].payload, "sources"):
        pass
    details = str(harness.slack.modal().blocks[-1])
    assert "1 source outside a.example left out, with 4 references to it." in details
    assert "2 links outside a.example removed." in details
    assert "left out" not in text


async def test_ask__says_that_no_source_is_left(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", json_reply(agent_reply("It is so.[1][2]", "b.example", "nota.example")))

    text = await posted(harness, "/ask --domain a.example what is it")

    assert "It is so." in text
    assert "https://" not in text
    assert "2 sources outside a.example left out, with 2 references to them; no source is left." in text


async def test_news__contain_no_story_of_another_domain(harness: Driver) -> None:
    lines = "1. Kept | 2026-11-20 | It is so. [1]\n2. Foreign | 2026-11-20 | It is so too. [2]"
    harness.perplexity.script("/v1/agent", json_reply(agent_reply(lines, "a.example", "b.example")))

    text = await posted(harness, "/news world --domain a.example")

    assert "Kept" in text
    assert "Foreign" not in text
    assert "b.example" not in text
    assert "1 source outside a.example left out, with 1 reference to it." in text


async def test_news__without_a_page_of_the_domains_say_why(harness: Driver) -> None:
    harness.perplexity.script(
        "/v1/agent", json_reply(agent_reply("1. Foreign | 2026-11-20 | It is so. [1]", "b.example"))
    )

    text = await posted(harness, "/news world --domain a.example")

    assert "No world news was found (past day, only a.example)." in text
    assert (
        "Perplexity gave no results: 1 source outside a.example left out, with 1 reference to it; no source is left."
        in text
    )


async def test_markers_of_every_kind_are_read_and_a_link_has_one(harness: Driver) -> None:
    text = "A [1-2]. B ［１］. C [２–９]. D [2024-2026]. E `a[1-2]`. F [Page 2](https://b.example/2).[2]"
    harness.perplexity.script("/v1/agent", json_reply(agent_reply(text, "a.example", "b.example")))

    written = await posted(harness, "/ask what is it")

    one, two = "[[1]](https://a.example/1)", "[[2]](https://b.example/2)"
    assert f"A {one}{two}. B {one}. C {two}. D [2024-2026]. E `a[1-2]`. F Page 2.{two}" in written
    assert "without a source" not in written
