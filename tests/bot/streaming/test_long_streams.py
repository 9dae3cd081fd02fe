"""Answers that outlive a stream of Slack's, or are longer than a message: they go on in the next one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, product

import pytest

from bot.blocks.elements import context
from bot.blocks.growing import render_answer_text
from bot.streaming.live import ROLL_OVER_SECONDS
from fake_slack.streams import LIFETIME_SECONDS, Ending, Stream
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import Recording, recorded
from tests.fakes.slack import Post
from tests.fakes.time import run_in_virtual_time
from tests.rare import one_in

ELEVEN_MINUTES = 660.0
BELOW = (context("Perplexity · 11 min"),)
PARAGRAPHS = "\n\n".join(f"Paragraph {number} says what is known, and no more than that.[1]" for number in range(60))
CODE = "\n\n".join(
    f"Step {step}:\n\n```python\n" + "\n".join(f"value_{step}_{line} = {line}" for line in range(60)) + "\n```"
    for step in range(3)
)
LIST = "\n".join(f"- Item {number} of a long list, with **bold** words and a source[2]" for number in range(40))
LONG = f"{PARAGRAPHS}\n\n{CODE}\n\n{LIST}\n\n" * 3


def written(text: str, *, seconds: float, silent: tuple[float, float] = (0.0, 0.0)) -> Recording:
    """Return an answer that is written evenly for so many seconds, except in the time that is `silent`."""
    pieces = [text[place : place + 24] for place in range(0, len(text), 24)]
    times = [2.0 + seconds * number / len(pieces) for number in range(len(pieces))]
    begin, end = silent
    deltas = tuple((end if begin < at < end else at, piece) for at, piece in zip(times, pieces, strict=True))
    return Recording(name="long", answer=replace(recorded("answer"), text=text), deltas=deltas)


async def stream(recording: Recording) -> list[Stream]:
    """Stream an answer and return its messages, after which the thread has no other."""
    workspace = LiveWorkspace(below=BELOW)
    question = await workspace.answer(recording)
    streams = workspace.slack.streams(question.channel_id, question.thread_ts or "")
    assert len(workspace.slack.thread(question.channel_id, question.thread_ts or "")) == len(streams)
    assert not workspace.slack.refusals
    assert not [call for call in workspace.slack.answered if call.error]
    return streams


def words(text: str) -> str:
    """Return what of a text must be there once: all but space, and the lines that begin and end code."""
    return re.sub(r"```\w*|[\s\u2060]", "", text)


def check(streams: list[Stream], recording: Recording) -> None:
    golden, _ = render_answer_text(recording.answer)
    assert words("".join(one.markdown for one in streams)) == words(golden)
    assert [one.ending for one in streams] == [Ending.STOPPED] * len(streams)
    assert [one.closing for one in streams] == [()] * (len(streams) - 1) + [BELOW]
    assert all(one.markdown.count("```") % 2 == 0 for one in streams)


@pytest.mark.parametrize(
    ("text", "silent"),
    one_in(4, product([PARAGRAPHS, CODE, LIST], [(0.0, 0.0), (100.0, 260.0), (230.0, 480.0)])),
    ids=map("-".join, product(["paragraphs", "code", "list"], ["even", "pause", "long-pause"])),
)
def test_a_stream_of_eleven_minutes_rolls_over(text: str, silent: tuple[float, float]) -> None:
    recording = written(text, seconds=ELEVEN_MINUTES, silent=silent)

    streams = run_in_virtual_time(stream(recording))

    check(streams, recording)
    assert len(streams) >= 2 if silent[1] else len(streams) == 3
    gaps = [later.started - earlier.started for earlier, later in pairwise(streams)]
    assert min(gaps) >= ROLL_OVER_SECONDS
    assert silent[1] or max(gaps) < LIFETIME_SECONDS


@pytest.mark.parametrize(
    ("silent", "stopped_at", "messages"),
    [((0.0, 0.0), 400.0, 2), ((100.0, 460.0), 400.0, 1), ((330.0, 600.0), 550.0, 2)],
    ids=["while-written", "after-the-first-message", "after-the-second-message"],
)
def test_a_stop_between_two_rollovers_keeps_the_text_of_each_message(
    silent: tuple[float, float], stopped_at: float, messages: int
) -> None:
    recording = written(PARAGRAPHS, seconds=ELEVEN_MINUTES, silent=silent)
    fed = "".join(text for at, text in recording.deltas if at < stopped_at)

    async def stop() -> list[Post]:
        workspace = LiveWorkspace()
        question = await workspace.answer(recording, stopped_at=stopped_at)
        assert all(one.ending for one in workspace.slack.streams(question.channel_id, question.thread_ts or ""))
        return workspace.slack.thread(question.channel_id, question.thread_ts or "")

    shown = run_in_virtual_time(stop())

    texts = [post.markdown for post in shown]
    assert len([text for text in texts if text]) == messages
    text = words("".join(texts))
    assert words(render_answer_text(recording.answer)[0]).startswith(text)
    assert text.count("Paragraph") >= fed.count("Paragraph") - 1
    assert ["You stopped this answer" in post.shown_text for post in shown] == [False] * (len(shown) - 1) + [True]
    assert not any(word in post.shown_text for post in shown for word in ('"stop"', "plan", "Searching"))


@pytest.mark.parametrize("seconds", one_in(2, [20.0, 300.0]))
def test_a_text_longer_than_a_message_goes_on_in_the_next(seconds: float) -> None:
    recording = written(LONG, seconds=seconds)

    streams = run_in_virtual_time(stream(recording))

    check(streams, recording)
    assert len(streams) >= 3
