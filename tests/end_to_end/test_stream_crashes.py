"""A worker that is killed at any call of a streamed answer: the next one leaves one whole answer and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from tests.driver import Processes, execute
from tests.end_to_end.test_streaming import SHOWN, TEXT, TS
from tests.fakes.answers import whole_stream
from tests.fakes.halted_query import halted_query
from tests.fakes.perplexity import stream_reply
from tests.fakes.process import Process


@dataclass(frozen=True)
class At:
    """A call of Slack's, counted in each process: the worker dies before it is done, or else before the reply."""

    method: str
    number: int
    served: bool

    def __str__(self) -> str:
        return f"{'after' if self.served else 'before'}-{self.method.split('.')[1]}-{self.number}"


def each(method: str, number: int = 1) -> list[At]:
    """Return both moments of a call."""
    return [At(method, number, False), At(method, number, True)]


ONCE = [
    *((at, 1) for at in each("chat.postMessage")),
    *((at, 2) for method in ("chat.update", "chat.startStream", "chat.delete") for at in each(method)),
    *((at, 2) for number in (1, 2) for at in each("chat.appendStream", number)),
    *((at, 1) for at in each("chat.stopStream")),
]
"""Where the first worker dies, and how many requests the service gets: none again for an answer that is kept."""

STARTED, WRITTEN, KEPT = (At(f"chat.{name}Stream", 1, True) for name in ("start", "append", "stop"))

TWICE = [
    (STARTED, At("chat.stopStream", 1, True), 2),
    (STARTED, At("chat.delete", 1, True), 2),
    (STARTED, At("chat.startStream", 1, True), 3),
    (WRITTEN, At("chat.stopStream", 1, True), 2),
    (WRITTEN, At("chat.update", 1, True), 2),
    (WRITTEN, At("chat.delete", 1, True), 2),
    (KEPT, At("chat.stopStream", 1, True), 1),
    (KEPT, At("chat.update", 1, True), 1),
    (KEPT, At("chat.delete", 1, True), 1),
]
OFTEN = {(STARTED, "chat.stopStream"), (WRITTEN, "chat.update"), (KEPT, "chat.delete")}
"""Where the first worker and the one that goes on die, and how many requests the service gets; `OFTEN` are the cases
that every run of the suite tries."""


async def give_back(database: str) -> None:
    """Give the jobs of killed workers back, which the sweep does after some silence: see `test_crashes.py`."""
    await execute(database, "UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL WHERE status = 'doing'")


async def answer_until(workspace: Processes, *deaths: At) -> None:
    """Ask a question, and kill each worker as soon as it has made its call, which gets no reply."""
    for number, at in enumerate(deaths):
        halt = workspace.slack.halt(at.method, at.number, served=at.served)
        process = await workspace.start()
        if number == 0:
            await ask(workspace, process)
        async with asyncio.timeout(60):
            await halt.reached.wait()
        await process.kill()
        await give_back(workspace.database)


async def ask(workspace: Processes, process: Process, *, channel: str = "DU1") -> None:
    person = workspace.person(process)
    send = person.send_direct_message if channel == "DU1" else person.mention
    async with await send("do heat pumps pay off?", ts=TS) as response:
        assert response.status == 200


async def the_answer_is_there_once(workspace: Processes, *, channel: str = "DU1") -> None:
    """Start a worker, let it do what is left, and look at the thread."""
    last = await workspace.start("worker")
    await last.logs("question.settled", 1)
    assert await last.terminate() == 0
    shown = workspace.slack.thread(channel, TS)
    assert [message.markdown for message in shown] == [SHOWN]
    assert shown[0].shown_text.count("|a.example>") == 1
    assert "Searching" not in shown[0].shown_text
    assert '"stop"' not in shown[0].shown_text
    assert all(stream.ending for stream in workspace.slack.streams(channel, TS))


def script(workspace: Processes) -> None:
    """Have the service write the first answer slowly, so that all calls are needed, and the others fast."""
    fast = stream_reply(*whole_stream(TEXT), pause=0.05)
    workspace.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT, size=30), pause=0.4), fast, fast)


@pytest.mark.parametrize(("at", "requests"), ONCE, ids=str)
async def test_kill_9_at_any_call_of_a_stream__one_answer_is_left(workspace: Processes, at: At, requests: int) -> None:
    script(workspace)

    await answer_until(workspace, at)
    await the_answer_is_there_once(workspace)

    assert len(workspace.perplexity.requests) == requests


@pytest.mark.parametrize(
    ("first", "second", "requests"),
    [pytest.param(*case, marks=[] if (case[0], case[1].method) in OFTEN else pytest.mark.rare) for case in TWICE],
    ids=str,
)
async def test_kill_9_again_while_the_next_worker_clears_up__one_answer_is_left(
    workspace: Processes, first: At, second: At, requests: int
) -> None:
    script(workspace)

    await answer_until(workspace, first, second)
    await the_answer_is_there_once(workspace)

    assert len(workspace.perplexity.requests) == requests


@pytest.mark.parametrize("streams", [False, True], ids=["edited", "streamed"])
async def test_kill_9_of_a_worker_at_a_call_for_a_channel__one_answer_is_left(
    workspace: Processes, streams: bool
) -> None:
    """The web process is another one, and goes on."""
    workspace = in_channel(workspace, streams=streams)
    halt = workspace.slack.halt("chat.startStream" if streams else "chat.update", served=True)
    web, worker = await workspace.start("run", "--no-worker"), await workspace.start("worker")
    await ask(workspace, web, channel="C1")
    async with asyncio.timeout(60):
        await halt.reached.wait()

    await worker.kill()
    await give_back(workspace.database)
    await the_answer_is_there_once(workspace, channel="C1")


@pytest.mark.parametrize(
    ("streams", "change"),
    [
        (False, "NEW.shown > OLD.shown"),
        (True, "cardinality(NEW.streams) > cardinality(OLD.streams)"),
    ],
    ids=["edit", "start-of-a-stream"],
)
async def test_kill_9_of_a_worker_whose_record_is_lost__one_answer_is_left(
    workspace: Processes, streams: bool, change: str
) -> None:
    workspace = in_channel(workspace, streams=streams)
    web = await workspace.start("run", "--no-worker")
    async with halted_query(workspace.database, change) as halted:
        worker = await workspace.start("worker")
        await ask(workspace, web, channel="C1")
        async with asyncio.timeout(60):
            await halted.reached()
        await worker.kill()
        await halted.roll_back()

    await give_back(workspace.database)
    await the_answer_is_there_once(workspace, channel="C1")


def in_channel(workspace: Processes, *, streams: bool) -> Processes:
    """Return the workspace with an app that may read threads in channels, and perhaps streams there."""
    script(workspace)
    workspace.slack.workspace.scopes.append("channels:history")
    return replace(workspace, settings={"CHANNEL_STREAMING": "true"} if streams else {})
