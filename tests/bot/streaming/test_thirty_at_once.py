"""Thirty answers of one workspace at once, by a virtual clock: Slack's limits, and how long nothing new is shown."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from itertools import cycle, islice, pairwise

import pytest

from bot.blocks.growing import render_answer_text
from bot.model.message import OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import Chat, Sent
from fake_slack.tiers import PER_MINUTE
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import Recording, bursts, steady
from tests.fakes.time import run_in_virtual_time

COUNT = 30

STREAMED_BY = ("chat.startStream", "chat.appendStream", "chat.stopStream")
SHOWN_BY = (*STREAMED_BY, "chat.postMessage", "chat.update")

LONGEST_OF_STREAM = 25.0
"""Seconds that a stream does not grow when twenty share a hundred appends a minute; an equal share is one in twelve."""

LONGEST_OF_EDITS = 48.0
"""Seconds that a message is not edited: statuses of thirty answers share twenty edits a minute, ten texts the rest."""

SAME = [steady("answer", per_second=20)]
SEARCHED_FOR_LONG = [steady("answer", per_second=20, begins=40.0)]
MIXED = [
    *(steady(text, per_second=rate) for text in ("answer", "situation", "table") for rate in (20, 80, 200)),
    steady("answer", per_second=20).pause(3.0),
    bursts("table"),
]


LONGEST_IN_CHANNELS = 105.0
"""The same if all thirty are shown by edits, of which thirty are kept for the finished answers."""

LATEST = 0.5
"""Seconds after its last words in which an answer is complete."""


async def answer_all(
    recordings: Sequence[Recording], *, apart: float = 0.0, surface: str = "im", others: int = 0
) -> tuple[LiveWorkspace, list[QuestionRow]]:
    """Answer questions, one each so many seconds; `others` edits are made by other commands after half a minute."""
    workspace = LiveWorkspace()

    async def answer(number: int, recording: Recording) -> QuestionRow:
        await asyncio.sleep(number * apart)
        return await workspace.answer(recording, number=number, surface=surface)

    async def edit_others() -> None:
        chat = Chat(workspace.client)
        sent = await chat.post("C99", OutgoingMessage(text="Searching"), question="", part=0)
        assert isinstance(sent, Sent)
        await asyncio.sleep(30)
        for _ in range(others):
            await chat.update("C99", sent.ts or "", OutgoingMessage(text="Found"))

    questions, _ = await asyncio.gather(
        asyncio.gather(*(answer(*one) for one in enumerate(recordings))), edit_others() if others else asyncio.sleep(0)
    )
    return workspace, questions


def most_in_a_minute(times: Sequence[float]) -> int:
    """Return the most times in any 60 seconds."""
    ordered = sorted(times)
    return max(bisect_left(ordered, begin + 60) - place for place, begin in enumerate(ordered))


def longest_silence(workspace: LiveWorkspace, channel: str, methods: Sequence[str]) -> float:
    times = sorted(at for method in methods for at in workspace.times(method, channel))
    return max((after - before for before, after in pairwise(times)), default=0.0)


def assert_whole(workspace: LiveWorkspace, question: QuestionRow, recording: Recording) -> None:
    thread = workspace.slack.thread(question.channel_id, question.thread_ts or "")
    assert "".join(message.markdown for message in thread) == render_answer_text(recording.answer)[0]
    assert not any(word in message.shown_text for message in thread for word in ("Searching", '"plan"', '"stop"'))


@pytest.mark.parametrize(
    ("surface", "recordings", "apart"),
    [
        pytest.param("im", SAME, 0.0, id="at-once"),
        pytest.param("im", MIXED, 0.0, id="mixed", marks=pytest.mark.rare),
        pytest.param("im", MIXED, 0.3, id="one-by-one", marks=pytest.mark.rare),
        pytest.param("im", SAME, 2.0, id="for-a-minute", marks=pytest.mark.rare),
        pytest.param("im", SEARCHED_FOR_LONG, 0.0, id="after-long-searches", marks=pytest.mark.rare),
        pytest.param("mention", MIXED, 0.3, id="in-channels", marks=pytest.mark.rare),
        pytest.param("mention", SEARCHED_FOR_LONG, 0.0, id="in-channels-after-long-searches"),
    ],
)
def test_thirty_answers_at_once_keep_slack_s_limits_and_all_arrive(
    surface: str, recordings: list[Recording], apart: float
) -> None:
    shown = list(islice(cycle(recordings), COUNT))

    workspace, questions = run_in_virtual_time(answer_all(shown, apart=apart, surface=surface))

    assert not [call for call in workspace.slack.answered if call.error]
    methods = {call.method for call in workspace.slack.answered}
    counts = {method: most_in_a_minute(workspace.times(method)) for method in methods}
    assert not {method: count for method, count in counts.items() if count > PER_MINUTE[method]}
    for question, recording in zip(questions, shown, strict=True):
        assert_whole(workspace, question, recording)
        longest = LONGEST_OF_EDITS if surface == "im" else LONGEST_IN_CHANNELS
        assert longest_silence(workspace, question.channel_id, SHOWN_BY) <= longest
        assert longest_silence(workspace, question.channel_id, STREAMED_BY) <= LONGEST_OF_STREAM
        if surface == "mention":
            asked, *_ = workspace.times("chat.postMessage", question.channel_id)
            *_, complete = workspace.times("chat.update", question.channel_id)
            assert complete - asked - recording.deltas[-1][0] <= LATEST


def test_a_finished_answer_that_slack_has_no_edit_left_for_waits_as_long_as_slack_says() -> None:
    workspace, questions = run_in_virtual_time(answer_all(SAME * 20, surface="mention", others=50))

    refused = 0
    for question in questions:
        assert_whole(workspace, question, SAME[0])
        calls = [call for call in workspace.slack.answered if call.arguments.get("channel") == question.channel_id]
        edits = [call for call in calls if call.method == "chat.update"]
        assert edits[-1].error == ""
        for before, after in pairwise(edits):
            if before.error:
                refused += 1
                assert after.at - before.at >= before.retry_after
    assert refused > 5
