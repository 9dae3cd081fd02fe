"""One answer that is shown while it is made, what is done when Slack refuses, and how long the loop waits."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from itertools import product

import pytest

from bot.slack.messages import Chat
from perplexity.types import TextDelta
from tests.benchmarks.answers import answer_text
from tests.fakes.live_answers import EditedStatus, LiveWorkspace
from tests.fakes.recordings import recorded, written
from tests.fakes.time import run_in_virtual_time
from tests.rare import one_in

LONG = written(replace(recorded("answer"), text=answer_text(11_000)), per_second=200)
"""An answer of three messages."""


async def refused_later() -> LiveWorkspace:
    """Answer in a workspace that lets the app start one stream only."""
    workspace = LiveWorkspace()
    workspace.refuse_after(1, "chat.startStream", "restricted_action")
    await workspace.answer(LONG)
    return workspace


def test_a_long_answer_goes_on_in_another_message() -> None:
    async def answer() -> LiveWorkspace:
        workspace = LiveWorkspace()
        await workspace.answer(LONG)
        return workspace

    workspace = run_in_virtual_time(answer())

    assert len(workspace.times("chat.startStream")) == len(workspace.times("chat.stopStream")) == 3
    assert workspace.times("chat.update")[-1] < workspace.times("chat.startStream")[1]


def test_a_second_message_that_is_refused_is_not_tried_again_and_again() -> None:
    workspace = run_in_virtual_time(refused_later())

    assert len(workspace.times("chat.startStream")) == 2


async def longest_step(text: str, delta: int) -> float:
    """Show an answer that comes in deltas of so many characters; return the most seconds that one step computed."""
    workspace, longest, read = LiveWorkspace(), 0.0, asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - began)
            if live.text.length == len(text) and (live.has_shown_text or not live.text.is_due):
                read.set()

    question = await workspace.ask()
    live = workspace.live.answer(question, EditedStatus(Chat(workspace.client), question))
    async with live:
        watching = asyncio.create_task(watch())
        for place in range(0, len(text), delta):
            live.on_event(TextDelta(text=text[place : place + delta]))
            await asyncio.sleep(0)
        await asyncio.wait_for(read.wait(), 60)
    watching.cancel()
    return longest


@pytest.mark.parametrize(
    ("repeated", "delta"), one_in(3, product(["`", "[", "| a | b |\n", "word "], [4_096, 1_000_000]))
)
def test_the_event_loop_does_not_wait_for_a_long_text_to_be_read(repeated: str, delta: int) -> None:
    text = (repeated * 1_000_000)[:1_000_000]

    asyncio.run(longest_step(text[:5_000], delta))
    assert any(asyncio.run(longest_step(text, delta)) < 0.005 for _ in range(3))
