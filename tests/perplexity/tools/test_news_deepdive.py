"""news_deepdive: who reads the posts for the tool, by the keys that the environment holds when it is called."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from perplexity.tools.news_deepdive import TOOL
from tests.fakes import grok, openrouter
from tests.fakes.grok import FakeGrok
from tests.fakes.openrouter import FakeOpenRouter

COUNTED = "Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed"


@pytest.fixture(autouse=True)
def facts(services: object) -> object:
    return services


@pytest.fixture
async def router(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as fake:
        monkeypatch.setenv("OPENROUTER_BASE_URL", fake.base_url)
        yield fake


@pytest.fixture
async def xai(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeGrok]:
    async with FakeGrok() as fake:
        monkeypatch.setenv("XAI_BASE_URL", fake.api_url)
        yield fake


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ({}, (0, 0)),
        ({"XAI_API_KEY": " "}, (0, 0)),
        ({"OPENROUTER_API_KEY": openrouter.KEY}, (0, 1)),
        ({"XAI_API_KEY": f" {grok.KEY}\n"}, (1, 0)),
        ({"XAI_API_KEY": grok.KEY, "OPENROUTER_API_KEY": openrouter.KEY}, (1, 0)),
    ],
    ids=["no key", "an empty key", "OpenRouter's", "xAI's", "both"],
)
async def test_posts_are_read_by_xai_or_else_by_openrouter(
    router: FakeOpenRouter,
    xai: FakeGrok,
    monkeypatch: pytest.MonkeyPatch,
    keys: dict[str, str],
    asked: tuple[int, int],
) -> None:
    for name, key in keys.items():
        monkeypatch.setenv(name, key)
    told = await TOOL(topic="heat pumps")

    assert (len(xai.requests), len(router.requests)) == asked
    assert (COUNTED in told) == any(asked)
    assert ("Set `XAI_API_KEY` or `OPENROUTER_API_KEY`." in told) != any(asked)


async def test_a_key_that_openrouter_refuses_leaves_the_report_standing(
    router: FakeOpenRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-wrong")
    told = await TOOL(topic="heat pumps")

    assert "The public pulse is missing: Grok at OpenRouter does not accept the configured key." in told
    assert "## MY ANALYSIS" in told


@pytest.mark.parametrize(
    "malformed",
    [
        ("XAI_API_KEY", "xai-ü", "it must be ASCII letters, digits and signs without spaces"),
        ("XAI_BASE_URL", "x.example", "its value is not allowed; it must be an https address"),
    ],
)
async def test_a_malformed_variable_of_xai_is_named_and_openrouter_reads_the_posts(
    router: FakeOpenRouter,
    xai: FakeGrok,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    malformed: tuple[str, str, str],
) -> None:
    variable, value, wrong = malformed
    for name, key in {"XAI_API_KEY": grok.KEY, "OPENROUTER_API_KEY": openrouter.KEY, variable: value}.items():
        monkeypatch.setenv(name, key)
    told = await TOOL(topic="heat pumps")

    assert (len(xai.requests), len(router.requests)) == (0, 1)
    assert COUNTED in told
    note = told.split("\n\n")[-1]
    assert note.startswith(f"{variable}: {wrong}")
    assert note.endswith("; xai is not used.")
    assert ("environment.malformed", variable) in [(r.message, vars(r).get("setting")) for r in caplog.records]
    assert value not in told + caplog.text
