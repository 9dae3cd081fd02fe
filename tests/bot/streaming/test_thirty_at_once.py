"""Thirty answers of one workspace at once, by a virtual clock: Slack's limits, and how long nothing new is shown."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from itertools import cycle, islice, pairwise

import pytest

from bot.blocks.streaming import render_answer_text
from bot.model.question import QuestionRow
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import Recording, bursts, steady
from tests.fakes.tiers import PER_MINUTE
from tests.fakes.time import run_in_virtual_time

COUNT = 30

STREAMED_BY = ("chat.startStream", "chat.appendStream", "chat.stopStream")
SHOWN_BY = (*STREAMED_BY, "chat.postMessage", "chat.update")

LONGEST_OF_STREAM = 25.0
"""Seconds that a stream does not grow when twenty share a hundred appends a minute; an equal share is one in twelve."""

LONGEST_OF_EDITS = 48.0
"""Seconds that a message is not edited: statuses of thirty answers share twenty edits a minute, ten texts the rest."""

SAME = [steady("answer", per_second=20)]
MIXED = [
    *(steady(text, per_second=rate) for text in ("answer", "situation", "table") for rate in (20, 80, 200)),
    steady("answer", per_second=20).pause(3.0),
    bursts("table"),
]


async def answer_all(recordings: Sequence[Recording], *, apart: float) -> tuple[LiveWorkspace, list[QuestionRow]]:
    workspace = LiveWorkspace()

    async def answer(number: int, recording: Recording) -> QuestionRow:
        await asyncio.sleep(number * apart)
        return await workspace.answer(recording, number=number)

    return workspace, await asyncio.gather(*(answer(*one) for one in enumerate(recordings)))


def most_in_a_minute(times: Sequence[float]) -> int:
    """Return the most times in any 60 seconds."""
    ordered = sorted(times)
    return max(bisect_left(ordered, begin + 60) - place for place, begin in enumerate(ordered))


def longest_silence(workspace: LiveWorkspace, channel: str, methods: Sequence[str]) -> float:
    times = sorted(at for method in methods for at in workspace.times(method, channel))
    return max((after - before for before, after in pairwise(times)), default=0.0)


@pytest.mark.parametrize(
    ("recordings", "apart"),
    [
        pytest.param(SAME, 0.0, id="at-once"),
        pytest.param(MIXED, 0.0, id="mixed"),
        pytest.param(MIXED, 0.3, id="one-by-one"),
        pytest.param(SAME, 2.0, id="for-a-minute"),
        pytest.param([steady("answer", per_second=20, begins=40.0)], 0.0, id="after-long-searches"),
    ],
)
def test_thirty_answers_at_once_keep_slack_s_limits_and_all_arrive(recordings: list[Recording], apart: float) -> None:
    shown = list(islice(cycle(recordings), COUNT))

    workspace, questions = run_in_virtual_time(answer_all(shown, apart=apart))

    assert not [call for call in workspace.slack.answered if call.error]
    methods = {call.method for call in workspace.slack.answered}
    counts = {method: most_in_a_minute(workspace.times(method)) for method in methods}
    assert not {method: count for method, count in counts.items() if count > PER_MINUTE[method]}
    for question, recording in zip(questions, shown, strict=True):
        thread = workspace.slack.thread(question.channel_id, question.thread_ts or "")
        assert "".join(message.markdown for message in thread) == render_answer_text(recording.answer)[0]
        assert longest_silence(workspace, question.channel_id, SHOWN_BY) <= LONGEST_OF_EDITS
        assert longest_silence(workspace, question.channel_id, STREAMED_BY) <= LONGEST_OF_STREAM
