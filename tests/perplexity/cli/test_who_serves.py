"""The command line says who served, and why it was not the first choice."""

from __future__ import annotations

import json

from tests.fakes import brave, openrouter
from tests.fakes.brave import FakeBrave
from tests.fakes.command import run_in_process
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity

NO_CREDIT = {"error": {"type": "insufficient_quota", "message": "You exceeded your current quota", "code": 401}}
HITS = [Hit(title=f"Page {n}", url=f"https://example.com/{n}", body=f"Why {n} is so.") for n in (1, 2)]


async def test_without_any_key_duckduckgo_serves_and_the_key_to_set_is_named(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(HITS) as duckduckgo:
        point_ddgs_at(duckduckgo.url)
        answer = await run_in_process("ask", "why", settings={})
        pages = await run_in_process("search", "why", settings={})

    because = "PERPLEXITY_API_KEY is not set; these are pages from DuckDuckGo"
    assert (answer.code, pages.code, answer.err, pages.err) == (0, 0, "", "")
    assert answer.out.startswith(
        f"{because}, quoted word for word. No answer model is configured.\n\n"
        "Why 1 is so. [1]\n\nWhy 2 is so. [2]\n\nSources:\n1. Page 1 · example.com\n   https://example.com/1\n"
    )
    for written in (answer.out, pages.out):
        assert written.startswith(because)
        last = written.splitlines()[-1]
        assert last.startswith("DuckDuckGo · ")
        assert last.endswith(" s · free")


async def test_the_numbers_of_a_page_cite_nothing(point_ddgs_at: PointDdgsAt) -> None:
    hits = [Hit(title="Page 1", url="https://example.com/1", body="Why 1 is so.[2]"), HITS[1]]
    async with FakeDuckDuckGo(hits) as duckduckgo:
        point_ddgs_at(duckduckgo.url)
        answer = await run_in_process("ask", "why", settings={})

    assert "Why 1 is so.‹2› [1]\n\nSources:" in answer.out


async def test_a_first_choice_that_fails_is_named_with_its_reason(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.fail("/v1/agent", status=401, body=NO_CREDIT)
    fake.fail("/search", status=401, body=NO_CREDIT)
    async with FakeOpenRouter() as routed, FakeBrave() as searched:
        keys = {
            "OPENROUTER_API_KEY": openrouter.KEY,
            "OPENROUTER_BASE_URL": routed.base_url,
            "BRAVE_API_KEY": brave.KEY,
            "BRAVE_BASE_URL": searched.base_url,
        }
        answer = await run_in_process("ask", "why", settings=settings | keys)
        pages = await run_in_process("search", "why", settings=settings | keys)

    assert (answer.code, pages.code) == (0, 0)
    assert answer.out.startswith("Perplexity is out of credit; this answer is from OpenRouter.\n\n")
    assert answer.out.splitlines()[-1].startswith("OpenRouter · perplexity/sonar")
    assert pages.out.startswith("Perplexity is out of credit; these are pages from Brave.\n\n1. ")


async def test_json_lists_the_failed_providers(fake: FakePerplexity, settings: dict[str, str]) -> None:
    fake.fail("/v1/agent", status=401, body=NO_CREDIT)
    async with FakeBrave() as searched:
        keys = {"BRAVE_API_KEY": brave.KEY, "BRAVE_BASE_URL": searched.base_url}
        answer = json.loads((await run_in_process("ask", "--json", "why", settings=settings | keys)).out)

    assert (answer["provider"], answer["kind"]) == ("Brave", "passages")
    assert [(failed["provider"], failed["error_class"]) for failed in answer["failed"]] == [
        ("Perplexity", "BillingError")
    ]


async def test_the_order_can_be_chosen(fake: FakePerplexity, settings: dict[str, str]) -> None:
    async with FakeBrave() as searched:
        keys = {"BRAVE_API_KEY": brave.KEY, "BRAVE_BASE_URL": searched.base_url}
        pages = await run_in_process("search", "--providers", "brave,perplexity", "why", settings=settings | keys)

    assert pages.out.startswith("1. ")
    assert pages.out.splitlines()[-1].startswith("Brave · ")
    assert fake.requests == []


async def test_only_models_are_asked_for_json(fake: FakePerplexity, settings: dict[str, str]) -> None:
    fake.fail("/v1/agent", status=401, body=NO_CREDIT)
    async with FakeBrave() as searched:
        keys = {"BRAVE_API_KEY": brave.KEY, "BRAVE_BASE_URL": searched.base_url}
        ended = await run_in_process("ask", "--schema", "tests/data/cli/schema.json", "why", settings=settings | keys)

    assert (ended.code, ended.out) == (1, "")
    assert "Perplexity is out of credit." in ended.err
    assert searched.requests == []
