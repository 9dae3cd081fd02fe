"""How soon the first text is shown, by a virtual clock and recorded deltas."""

from __future__ import annotations

from statistics import median

import pytest

from bot.blocks.growing import render_answer_text
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import Recording, bursts, steady
from tests.fakes.time import run_in_virtual_time
from tests.rare import one_in

LATEST = 0.25 + 1e-6
"""Seconds after the first clause, with two calls to Slack of 120 ms on the way at most."""

RECORDINGS = [
    recording
    for text in ("answer", "situation", "analysis", "table")
    for recording in (
        *(steady(text, per_second=rate) for rate in (20, 80, 200)),
        *(steady(text, per_second=80).pause(3.0, after=part) for part in (0.1, 0.5)),
        bursts(text),
    )
]


async def first_text(recording: Recording) -> float:
    """Return the seconds from the question until the first text is shown; the whole text follows."""
    workspace = LiveWorkspace()
    question = await workspace.answer(recording)
    (stream,) = workspace.slack.streams(question.channel_id, question.thread_ts or "")
    assert stream.markdown == render_answer_text(recording.answer)[0]
    return since_asked(workspace)


async def first_text_by_helper(recording: Recording) -> float:
    workspace = LiveWorkspace()
    await workspace.answer_by_helper(recording)
    return since_asked(workspace)


def since_asked(workspace: LiveWorkspace) -> float:
    return workspace.times("chat.startStream")[0] - workspace.times("chat.postMessage")[0]


@pytest.mark.parametrize("recording", one_in(3, RECORDINGS), ids=lambda recording: recording.name)
def test_the_first_clause_is_shown_at_once(recording: Recording) -> None:
    assert run_in_virtual_time(first_text(recording)) - recording.first_clause <= LATEST


@pytest.mark.rare
def test_the_first_clause_is_shown_at_once_whatever_is_done_to_the_status() -> None:
    recordings = [steady("situation", per_second=80, begins=0.5 + number * 0.05) for number in range(80)]

    delays = [run_in_virtual_time(first_text(recording)) - recording.first_clause for recording in recordings]

    assert max(delays) > min(delays)  # in some an edit was under way
    assert max(delays) <= LATEST


@pytest.mark.rare
def test_text_is_shown_three_times_sooner_than_by_the_helper_of_the_sdk() -> None:
    ratios = []
    for recording in RECORDINGS:
        ours, helpers = (run_in_virtual_time(show(recording)) for show in (first_text, first_text_by_helper))
        ratios.append((helpers - recording.begins) / (ours - recording.begins))

    assert median(ratios) >= 3.0
