"""What a terminal's stderr shows while an answer is made; nothing if it is a pipe."""

from __future__ import annotations

import asyncio
import io
import re

import pytest

from perplexity.cli.progress import ProgressLine
from perplexity.types import Restarted, RunStarted, SearchQueries, Source, Sources, TextDelta
from tests.fakes.answers import beginning, pages, whole_stream
from tests.fakes.command import run
from tests.fakes.perplexity import FakePerplexity, fixture, json_reply, sse, stream_reply
from tests.fakes.terminal import terminal

RECORDED = fixture("agent.stream.completed.sse")
CREATED = sse({"type": "response.created", "response": {"id": "resp_1"}})


async def test_steps_and_seconds_are_shown_and_cleared() -> None:
    stream, now, ticked = io.StringIO(), [0.0], asyncio.Event()

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 12:
            ticked.set()
            await asyncio.Event().wait()

    progress = ProgressLine(stream, is_shown=True, clock=lambda: now[0], sleep=sleep)
    async with progress.running("Searching the web"):
        progress.show_event(RunStarted(id="resp_1"))
        progress.show_event(SearchQueries(queries=("heat\x1b[2J pumps", "prices")))
        progress.show_event(Sources(sources=(Source(number=1, title="A", url="https://a.example/"),)))
        progress.show_event(TextDelta(text="secret"))
        progress.show_event(TextDelta(text="secret"))
        await asyncio.wait_for(ticked.wait(), 60)

    shown = stream.getvalue().split("\r\x1b[K")
    assert shown[1:6] == [
        "Searching the web … 0 s",
        "Researching … 0 s",
        "Searching “heat␛[2J pumps”, “prices” … 0 s",
        "Reading 1 page: a.example … 0 s",
        "Writing the answer … 0 s",
    ]
    assert shown[-2:] == ["Writing the answer … 12 s", ""]
    assert len(asyncio.all_tasks()) == 1


async def test_what_a_run_says_again_and_again_is_one_step() -> None:
    stream = io.StringIO()
    progress = ProgressLine(stream, is_shown=True, clock=lambda: 0.0)
    known = [Source(number=n, title="A", url=f"https://www.{n % 5}.example/{n}") for n in range(1, 8)]
    polls = [(("a", "b"), known[:2]), (("a", "b"), known[:2]), (("a", "b", "c", "d"), known)]
    async with progress.running("Searching the web"):
        for queries, found in polls:
            progress.show_event(SearchQueries(queries=queries))
            progress.show_event(Sources(sources=tuple(found)))
        progress.show_event(Restarted())
        progress.show_event(SearchQueries(queries=("a",)))

    assert [line.partition(" … ")[0] for line in stream.getvalue().split("\r\x1b[K")[1:-1]] == [
        "Searching the web",
        "Searching “a”, “b”",
        "Reading 2 pages: 1.example, 2.example",
        "Searching “b”, “c”, “d”",
        "Reading 7 pages: 1.example, 2.example, 3.example, 4.example",
        "Searching the web",
        "Searching “a”",
    ]


@pytest.mark.parametrize("streams", [["stdout", "stderr"], ["stdout"]])
async def test_a_terminal_shows_the_searches_and_the_pages_and_then_the_text(
    streams: list[str], fake: FakePerplexity, settings: dict[str, str]
) -> None:
    first = beginning(queries=("heat pump cost", "gas cost"))
    fake.script("/v1/agent", stream_reply(*first, *whole_stream("Yes, it pays off.[1] It does.")[3:], pause=0.15))

    async with terminal("ask", "why", settings=settings, streams=streams) as screen:
        code, _ = await screen.wait()

    shown = screen.shown
    places = [shown.find(text) for text in ("“heat pump cost”, “gas cost”", "Reading 2 pages: a.example", "Yes, it")]
    assert (code, places) == (0, sorted(places))
    assert places[0] > 0


async def test_a_run_in_the_background_says_what_it_searches_for_and_reads(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    found = {"type": "search_results", "queries": ["heat pump cost"], "results": pages("a.example", "b.example")}
    run = {"id": "resp_1", "object": "response", "status": "in_progress", "output": [found]}
    fake.script("/v1/agent/resp_1", json_reply(run), json_reply(run))

    arguments = ("ask", "--model", "high", "why")
    async with terminal(*arguments, settings=settings, streams=["stdout", "stderr"]) as screen:
        code, _ = await screen.wait(seconds=60)

    assert code == 0
    assert "Searching “heat pump cost” … " in screen.shown
    assert "Reading 2 pages: a.example, b.example … " in screen.shown


async def test_a_long_step_is_cut_to_one_line() -> None:
    stream = io.StringIO()
    progress = ProgressLine(stream, is_shown=True)
    async with progress.running("字" * 500):
        pass

    (line,) = [text for text in stream.getvalue().split("\r\x1b[K") if text]
    assert line.endswith("… … 0 s")
    assert line.count("字") in range(30, 38)


async def test_what_is_not_shown_writes_nothing() -> None:
    stream = io.StringIO()
    progress = ProgressLine(stream, is_shown=False)
    async with progress.running("Searching the web"):
        progress.show("Thinking")
        progress.print_above("done")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("arguments", [["--model", "high"], ["--effort", " High"], ["-r"]])
async def test_a_terminal_s_stderr_is_shown_what_is_done(arguments: list[str], settings: dict[str, str]) -> None:
    async with terminal("ask", *arguments, "--json", "why", settings=settings, streams=["stderr"]) as screen:
        code, written = await screen.wait()

    assert (code, written[0]) == (0, "{")
    assert "Searching the web … 0 s" in screen.shown
    assert "Reading 2 pages: a.example, b.example … " in screen.shown
    assert screen.shown.endswith("\r\x1b[K")


@pytest.mark.parametrize("arguments", [["--model", "high"], ["-r"], []])
async def test_a_pipe_is_shown_nothing(arguments: list[str], settings: dict[str, str]) -> None:
    ended = await run("ask", *arguments, "why", settings=settings)

    assert (ended.code, ended.err) == (0, "")


async def test_in_one_terminal_the_answer_takes_the_place_of_the_steps(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.script("/v1/agent", stream_reply(*(RECORDED[n : n + 400] for n in range(0, len(RECORDED), 400)), pause=0.02))

    async with terminal("ask", "why", settings=settings, streams=["stdout", "stderr"]) as screen:
        code, _ = await screen.wait()

    steps, cleared, answer = screen.shown.rpartition("\r\x1b[K")
    assert (code, cleared) == (0, "\r\x1b[K")
    assert "Reading 2 pages: a.example, b.example … " in steps
    assert "Example answer with a claim" not in steps
    assert "Example answer with a claim.[1]" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", answer)
    assert "step" not in answer


async def test_a_terminal_that_cannot_clear_a_line_is_shown_no_steps(settings: dict[str, str]) -> None:
    dumb = settings | {"TERM": "dumb"}
    async with terminal("ask", "--json", "why", settings=dumb, streams=["stderr"]) as screen:
        code, _ = await screen.wait()

    assert (code, screen.shown) == (0, "")


@pytest.mark.parametrize("arguments", [("news", "tech"), ("search", "heat", "pumps")])
async def test_news_and_searches_show_that_they_are_under_way(
    arguments: tuple[str, ...], settings: dict[str, str]
) -> None:
    async with terminal(*arguments, settings=settings, streams=["stderr"]) as screen:
        await screen.wait()

    assert screen.shown.startswith("\r\x1b[KSearching the web … 0 s")
    assert screen.shown.endswith("\r\x1b[K")
