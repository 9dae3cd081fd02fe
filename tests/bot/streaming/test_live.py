"""One answer that is shown while it is made, by a virtual clock: what is done when Slack refuses."""

from __future__ import annotations

from dataclasses import replace

from tests.benchmarks.answers import answer_text
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import recorded, written
from tests.fakes.time import run_in_virtual_time

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
