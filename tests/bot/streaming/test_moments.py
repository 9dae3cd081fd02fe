"""What is seen of an answer of eight seconds, and when, on each surface, by a virtual clock and a recorded text."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest

from bot.blocks.growing import render_answer_text
from bot.slack.messages import MAX_USES, PostResult, Retryable, Sent
from bot.streaming.live import USES_BEFORE_END
from tests.fakes.live_answers import LiveWorkspace
from tests.fakes.recordings import BEGINS, recorded, written
from tests.fakes.time import run_in_virtual_time
from tests.rare import one_in

log = logging.getLogger(__name__)

SECONDS = 8.0
ANSWER = recorded("situation")
RECORDING = written(ANSWER, per_second=len(ANSWER.text) / (SECONDS - BEGINS))
SHOWN = render_answer_text(ANSWER)[0]

_SENTENCE = re.compile(r"[.!?](\*\*)?(\[\d+\])*\s")
LATEST = 1.5
"""Seconds between the first sentence of the service and the first text that is seen."""


def first_sentence() -> float:
    """Return when the service had written the first sentence."""
    text = ""
    for at, piece in RECORDING.deltas:
        text += piece
        if _SENTENCE.search(text):
            return at
    raise AssertionError("the text has no sentence")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a person sees from a moment on, in seconds since the question."""

    at: float
    messages: int
    stops: int
    text: str
    status: str

    def __str__(self) -> str:
        shown = f"{len(self.text):4} characters" if self.text else self.status
        return f"{self.at:5.2f} s | {self.messages} message | {self.stops} Stop | {shown}"


def seen(at: float, shown: list[Mapping[str, Any]], *, streams: int = 0) -> Seen:
    """Return what is seen in messages; Slack has a Stop of its own below a stream."""
    blocks = [block for payload in shown for block in payload.get("blocks") or ()]
    said = json.dumps(blocks, ensure_ascii=False)
    text = "".join(block["text"] for block in blocks if block["type"] == "markdown")
    status = " ".join(str(payload.get("text", "")) for payload in shown)
    return Seen(at=at, messages=len(shown), stops=said.count('"action_id": "stop"') + streams, text=text, status=status)


async def watch(surface: str) -> list[Seen]:
    """Answer a question, and return each thing that is seen of the answer."""
    workspace, clock, looks = LiveWorkspace(), asyncio.get_running_loop().time, list[Seen]()

    def look() -> Seen:
        if surface == "slash":
            return seen(clock(), [vars(message) for _, message in workspace.urls.posts[-1:]])
        (question,) = workspace.questions.rows.values()
        place = question.channel_id, question.thread_ts or ""
        streams = [stream for stream in workspace.slack.streams(*place) if not stream.ending]
        return seen(clock(), [post.payload for post in workspace.slack.thread(*place)], streams=len(streams))

    async def keep_looking() -> None:
        while True:
            await asyncio.sleep(0.01)
            if workspace.questions.rows and (not looks or replace(look(), at=looks[-1].at) != looks[-1]):
                looks.append(look())

    looking = asyncio.create_task(keep_looking())
    await workspace.answer(RECORDING, surface=surface)
    await asyncio.sleep(0.1)
    looking.cancel()
    return looks


@pytest.mark.parametrize("surface", ["slash", "mention", "im"])
def test_what_is_seen_of_an_answer_of_eight_seconds(surface: str) -> None:
    moments = run_in_virtual_time(watch(surface))
    table = "\n".join(map(str, moments))
    log.info("%s: the first sentence was complete after %.2f s\n%s", surface, first_sentence(), table)

    texts = [moment for moment in moments if moment.text]
    while_written = [moment for moment in texts if moment.at < SECONDS]
    assert texts[0].at - first_sentence() <= LATEST
    assert all(SHOWN.startswith(moment.text) for moment in texts)
    assert while_written
    assert {moment.messages for moment in while_written[1:]} <= {1}
    assert {moment.stops for moment in while_written[1:]} <= {1}
    assert (texts[-1].text, texts[-1].stops, texts[-1].messages) == (SHOWN, 0, 1)
    if surface == "slash":
        status, text, _ = [moment for moment in moments if moment.messages]
        assert (status.text, " s" in status.status.split(" · ")[-1]) == ("", False)
        assert re.search(r"[.!?:](\*\*)?(\[\[\d+\]\]\([^)]*\))*$", text.text)


BUSY = Retryable(error="ratelimited", seconds=1.0)
DOWN = Retryable(error="http_500", maybe_posted=True)
RESET = Retryable(error="ServerDisconnectedError", maybe_posted=True)
REFUSED = Retryable(error="ClientConnectorError")
TAKEN = Sent()


@pytest.mark.parametrize(
    ("before", "results"), one_in(8, product([0, 1, 2], product([TAKEN, BUSY, DOWN, RESET, REFUSED], repeat=3)))
)
def test_a_response_url_is_never_used_too_often(before: int, results: tuple[PostResult, ...]) -> None:
    """Whatever its posts come to, and whatever a worker that died had posted `before`."""

    async def answer() -> LiveWorkspace:
        workspace = LiveWorkspace()
        workspace.urls.results, workspace.urls.uses = list(results), before
        await workspace.answer(RECORDING, surface="slash", uses=before)
        return workspace

    workspace = run_in_virtual_time(answer())

    (row,) = workspace.questions.rows.values()
    before_end = [message for at, message in workspace.urls.posts if at < SECONDS]
    assert before + len(before_end) <= USES_BEFORE_END
    assert workspace.urls.uses <= row.response_uses + 1 <= MAX_USES
    assert seen(0.0, [vars(workspace.urls.posts[-1][1])]).text == SHOWN
