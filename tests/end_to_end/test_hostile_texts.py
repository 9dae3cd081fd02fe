"""Texts made to be slow: while the app works on one of them, it answers everything else at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from bot.blocks.answer import answer_messages
from bot.model.message import Audience
from perplexity.threads import run_in_thread
from perplexity.types import Answer, Source
from tests.driver import Driver
from tests.fakes.answers import whole_stream
from tests.fakes.news_answers import text_reply
from tests.fakes.perplexity import stream_reply
from tests.rare import one_in

MOST_SECONDS = 0.25
MOST_COMPUTED_SECONDS = 1.0
"""To read one of the longest texts as a whole takes several times as much."""

COLUMNS = "\n".join(["|a" * 1_500, "|-" * 1_500, *["|b"] * 200])
ANSWERS = {
    "a table of 1,500 columns": COLUMNS,
    "prices": "$1 " * 12_000 + "a$",
    "a megabyte of words": "word [1] and [9] " * 60_000,
    "a megabyte of backticks": "` `` " * 200_000,
}
STREAMED = {
    "signs of a quotation": (">" * 16_000, 4_000),
    "spaces": (" " * 16_000, 4_000),
    "tabs": ("\t" * 16_000, 400),
    "spaces after a formula that is open": ("\n$$\n" + " " * 16_000, 4_000),
    "quotations in quotations": ("> > > > a\n>\n" * 1_200, 40),
    "one sign after the other": (">" * 4_000, 1),
}
"""What follows the first sentence, and how much of it comes at a time."""
LINES = {
    "spaces": f"1. A{' ' * 40_000}x | b | c [1]",
    "denials": "There " + "is no " * 7_000,
}


async def assert_answers(harness: Driver, work: Callable[[int], Awaitable[object]], *, share: float = 0.25) -> None:
    """Fail if `/healthz` waits while something is done; the best of six counts.

    On a busy machine the work takes longer, and so may a request, but no more than this share of it. What the event
    loop's thread computes without a pause is measured too, which other programs have no part in.
    """
    found = []
    for turn in range(6):
        times: list[float] = []
        busy: list[float] = []
        began = time.perf_counter()
        probing = asyncio.gather(_probe(harness, times), _watch(busy))
        await work(turn)
        while not times or not busy:  # noqa: ASYNC110 - the first probe is still running
            await asyncio.sleep(0.005)
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)
        found.append((max(times), max(busy), time.perf_counter() - began))
        waited, computed, took = found[-1]
        if computed < MOST_COMPUTED_SECONDS and waited < max(MOST_SECONDS, took * share):
            return
    raise AssertionError(f"waited, computed on the event loop, of a work of so many seconds: {found}")


async def _probe(harness: Driver, times: list[float]) -> None:
    while True:
        started = time.perf_counter()
        async with harness.session.get(f"{harness.url}/healthz") as response:
            assert response.status == 200
        times.append(time.perf_counter() - started)
        await asyncio.sleep(0.002)


async def _watch(busy: list[float]) -> None:
    """Note the processor's seconds that the event loop's thread uses between two of its turns."""
    before = time.thread_time()
    while True:
        await asyncio.sleep(0.002)
        busy.append(-before + (before := time.thread_time()))


@pytest.mark.parametrize("name", one_in(4, ANSWERS))
async def test_an_answer_that_is_slow_to_render_stops_nothing_else(harness: Driver, name: str) -> None:
    async def asked(turn: int) -> None:
        harness.perplexity.script("/v1/agent", text_reply(ANSWERS[name]))
        assert await harness.mention("<@U0APP> what is new?", ts=f"1795255200.00010{turn}") == 200
        await harness.wait_until_settled(turn + 1)

    await assert_answers(harness, asked)


@pytest.mark.parametrize("name", one_in(3, STREAMED))
async def test_an_answer_that_is_slow_to_read_while_it_is_written_stops_nothing_else(
    harness: Driver, name: str
) -> None:
    odd, size = STREAMED[name]
    text = f"This first sentence is shown while the rest of the answer is written.\n{odd}x and then. A last sentence."
    events = whole_stream(text, size=size)

    async def asked(turn: int) -> None:
        harness.perplexity.script("/v1/agent", stream_reply(*events, pause=1.0 / len(events)))
        await harness.send_direct_message("what is new?", ts=f"1795255200.00010{turn}")
        await harness.wait_until_settled(turn + 1)

    # The text takes a second to arrive, and what holds the loop makes that longer.
    await assert_answers(harness, asked, share=0)


@pytest.mark.parametrize("name", LINES)
async def test_news_that_are_slow_to_read_stop_nothing_else(harness: Driver, name: str) -> None:
    async def asked(turn: int) -> None:
        harness.perplexity.script("/v1/agent", text_reply(LINES[name]))
        await harness.ask("/news tech", trigger=f"t{turn}")
        await harness.wait_until_settled(turn + 1)

    await assert_answers(harness, asked)


@pytest.mark.parametrize("repeated", ["='", "--a='x ", "<@U1> ", " "])
async def test_a_mention_of_40_000_characters_stops_nothing_else(harness: Driver, repeated: str) -> None:
    text = repeated * (40_000 // len(repeated))

    async def asked(turn: int) -> None:
        assert await harness.mention(f"<@U0APP> a {text}x", ts=f"1795255200.00010{turn}") == 200
        await harness.wait_until_settled(turn + 1)

    await assert_answers(harness, asked)


async def test_a_command_that_is_too_long_is_refused_at_once(harness: Driver) -> None:
    shown: list[object] = []

    async def asked(turn: int) -> None:
        shown.append(await harness.ask(f"/search {'=' * 30_000}", trigger=f"t{turn}"))

    await assert_answers(harness, asked)
    assert "30,000 characters" in str(shown)
    assert harness.perplexity.requests == []


async def test_a_megabyte_is_rendered_in_a_thread() -> None:
    """A task that ticks on the loop plays what a worker must not miss, such as its heartbeat."""
    source = Source(number=1, title="A", url="https://a.example/1")
    answer = Answer(text="**word** [1] [x](http://a.b) $1 `` ` |a|\n" * 26_000, sources=(source,), provider="P")

    async def longest_tick() -> float:
        waits: list[float] = []

        async def ticking() -> None:
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.005)
                waits.append(time.perf_counter() - before)

        ticks = asyncio.create_task(ticking())
        try:
            parts = await run_in_thread(answer_messages, answer, audience=Audience.ASKER)
        finally:
            ticks.cancel()
        assert "Only the first" in str(parts[0].blocks)
        return max(waits)

    assert min([await longest_tick() for _ in range(3)]) < MOST_SECONDS
