"""`agent`: a model that searches before it answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.fakes.command import run, run_in_process
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, calls
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.terminal import terminal

SCRIPT = (calls("search_pages", query="heat pumps"), Says(text="They are warm [1]."))


@pytest.fixture
async def model() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer(SCRIPT * 2) as server:
        yield server


@pytest.fixture
def settings(settings: dict[str, str], model: FakeModelServer) -> dict[str, str]:
    return settings | {"AGENT_MODEL": MODEL, "AGENT_BASE_URL": model.base_url, "AGENT_API_KEY": KEY}


async def test_it_searches_and_answers_with_its_sources(
    settings: dict[str, str], fake: FakePerplexity, model: FakeModelServer
) -> None:
    ended = await run("agent", "--recency", "week", "how", "warm", settings=settings)

    as_of, text, sources, footer = ended.out.strip().split("\n\n")
    assert (ended.code, ended.err) == (0, "")
    assert as_of.startswith("Newest source: 1 Nov 2026")
    assert text == "They are warm [1]."
    assert sources.splitlines()[1:3] == ["1. Example A · a.example · 1 Nov 2026", "   https://a.example/1"]
    assert footer.startswith(f"Agent · {MODEL} · ")
    assert fake.requests[0].json["search_recency_filter"] == "week"
    assert model.keys[0] == f"Bearer {KEY}"


async def test_it_writes_every_form(settings: dict[str, str]) -> None:
    answer = json.loads((await run_in_process("agent", "--json", "how warm", settings=settings)).out)
    raw = (await run_in_process("agent", "--raw", "how warm", settings=settings)).out

    assert (answer["text"], answer["provider"], answer["model"]) == ("They are warm [1].", "Agent", MODEL)
    assert raw.startswith("<result>\nThey are warm [1].\n</result>")


async def test_a_terminal_is_shown_its_steps_and_then_the_answer(settings: dict[str, str]) -> None:
    async with terminal("agent", "how warm", settings=settings, streams=["stdout", "stderr"]) as screen:
        code, _ = await screen.wait()

    assert code == 0
    for step in ("Thinking … ", "Searching for heat pumps … "):
        assert step in screen.shown
    assert "They are warm [1]." in screen.shown.rpartition("\r\x1b[K")[2]


@pytest.mark.parametrize(
    ("changed", "code", "told"),
    [
        ({"AGENT_MODEL": " "}, 1, "AGENT_MODEL is not set; set it to the model"),
        (
            {"AGENT_BASE_URL": "", "AGENT_API_KEY": ""},
            1,
            "AGENT_API_KEY is not set; OpenRouter also accepts OPENROUTER_API_KEY",
        ),
        ({"AGENT_BASE_URL": "http://u:p/w@a.example"}, 2, "AGENT_BASE_URL: 'http://a.example' is not allowed; it must"),
        ({"AGENT_API_KEY": "two words"}, 2, "AGENT_API_KEY: it must be ASCII"),
    ],
)
async def test_a_variable_that_lacks_or_cannot_be_right_is_named(
    changed: dict[str, str], code: int, told: str, settings: dict[str, str]
) -> None:
    ended = await run_in_process("agent", "why", settings=settings | changed)

    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert told in ended.err
    assert "two words" not in ended.err
    assert "p/w" not in ended.err
