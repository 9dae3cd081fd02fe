"""`run_deepdive` as a process: the report on stdout, and on stderr, if it is a terminal, how far it has come."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator

import pytest

from tests.fakes import grok, openrouter
from tests.fakes.command import run, start
from tests.fakes.grok import FakeGrok
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity, Fault
from tests.fakes.terminal import terminal


@pytest.fixture
async def posts() -> AsyncIterator[FakeGrok]:
    async with FakeGrok() as fake:
        yield fake


@pytest.fixture
def settings(settings: dict[str, str], posts: FakeGrok) -> dict[str, str]:
    return settings | {"XAI_API_KEY": grok.KEY, "XAI_BASE_URL": posts.api_url, "PERSONA_NAME": "Ada"}


async def test_the_report_is_written(settings: dict[str, str]) -> None:
    ended = await run("deepdive", "heat", "pumps", settings=settings)
    written = ended.out

    assert (ended.code, ended.err) == (0, "")
    assert [line for line in written.splitlines() if line.startswith("#")] == [
        "# Deep Dive Report: heat pumps",
        "## THE SITUATION",
        "## THE PUBLIC PULSE",
        "## MY ANALYSIS",
    ]
    assert "Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed" in written
    assert "5. Bob fears the cost\n   https://x.com/i/status/2222" in written
    assert "written as Ada" in written


async def test_a_terminal_is_shown_how_far_it_has_come(settings: dict[str, str]) -> None:
    async with terminal("deepdive", "heat", "pumps", settings=settings, streams=["stderr"]) as screen:
        code, written = await screen.wait()

    assert code == 0
    assert written.count("## ") == 3
    assert re.search(r"Researching the facts, listening to what people say … 0 s", screen.shown)
    assert re.search(r"THE SITUATION: done \(\d\.\d s\)\r?\n", screen.shown)
    assert re.search(r"Writing the analysis … \d s", screen.shown)
    assert re.search(r"MY ANALYSIS: done \(\d\.\d s\)\r?\n", screen.shown)
    assert screen.shown.endswith("\r\x1b[K")


async def test_as_json_everything_is_there(settings: dict[str, str]) -> None:
    ended = await run("deepdive", "--json", "heat pumps", settings=settings)

    report = json.loads(ended.out)
    assert report["title"] == "Deep Dive Report: heat pumps"
    assert (ended.code, report["topic"], len(report["findings"]), len(report["sources"])) == (0, "heat pumps", 3, 5)
    assert report["findings"][1]["moods"] == {"positive": 2, "neutral": 0, "negative": 1, "mixed": 0}


async def test_without_a_key_of_xai_openrouter_reads_the_posts(settings: dict[str, str]) -> None:
    async with FakeOpenRouter() as fake:
        others = {"XAI_API_KEY": "", "OPENROUTER_API_KEY": openrouter.KEY, "OPENROUTER_BASE_URL": fake.base_url}
        ended = await run("deepdive", "--json", "heat pumps", settings=settings | others)

    pulse = json.loads(ended.out)["findings"][1]
    assert (ended.code, pulse["provider"], pulse["missing"]) == (0, "Grok at OpenRouter", None)
    assert pulse["moods"] == {"positive": 2, "neutral": 0, "negative": 1, "mixed": 0}


async def test_with_both_keys_xai_reads_them(settings: dict[str, str], posts: FakeGrok) -> None:
    async with FakeOpenRouter() as fake:
        others = {"OPENROUTER_API_KEY": openrouter.KEY, "OPENROUTER_BASE_URL": fake.base_url}
        ended = await run("deepdive", "--json", "heat pumps", settings=settings | others)

    assert json.loads(ended.out)["findings"][1]["provider"] == "Grok"
    assert (len(posts.requests), fake.requests) == (1, [])


async def test_without_either_key_the_report_names_both(settings: dict[str, str]) -> None:
    ended = await run("deepdive", "heat pumps", settings=settings | {"XAI_API_KEY": ""})

    assert ended.code == 0
    assert "Set `XAI_API_KEY` or `OPENROUTER_API_KEY`." in ended.out


async def test_ctrl_c_cancels_the_run_at_the_service(fake: FakePerplexity, settings: dict[str, str]) -> None:
    fake.script("/v1/agent/resp_1", Fault(hang=True))
    async with start("deepdive", "heat pumps", settings=settings) as process, asyncio.timeout(90):
        await fake.wait_for(2)
        process.send_signal(signal.SIGINT)
        _, said = await process.communicate()

    assert (process.returncode, fake.cancelled) == (130, ["resp_1"])
    assert b"Cancelled" in said


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("XAI_API_KEY", "xai-ü", "XAI_API_KEY: it must be ASCII letters, digits and signs without spaces"),
        ("XAI_BASE_URL", "x.example", "XAI_BASE_URL: its value is not allowed; it must be an https address"),
        ("PERPLEXITY_API_KEY", "pplx-ü", "PERPLEXITY_API_KEY: it must be ASCII letters, digits and signs"),
        ("OPEN_TIMEOUT", "soon", "OPEN_TIMEOUT: 'soon' is not allowed"),
    ],
)
async def test_a_malformed_variable_is_named(settings: dict[str, str], variable: str, value: str, said: str) -> None:
    ended = await run("deepdive", "heat", settings={**settings, variable: value})

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"python -m perplexity deepdive: {said}")
