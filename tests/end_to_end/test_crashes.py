"""Real processes, killed, stopped and cut off from their database under load: every question is answered, once."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from bot.storage.postmaster import Postmaster
from bot.storage.questions import QuestionStore, connection_pool
from tests.driver import Processes
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.process import Process
from tests.fakes.slack import FakeSlack, Post

QUESTIONS = 50
MAY_BE_SAVED = "may not have been saved"
"""What an acknowledgement says if the reply to the write was lost: such a question may be answered."""


async def sent_by_question(workspace: Processes) -> dict[str, list[str]]:
    """Return what was sent for each question, word for word, by its text."""
    async with connection_pool(workspace.database) as pool, pool.connection() as connection:
        rows = await (await connection.execute("SELECT id, text FROM questions")).fetchall()
        kept = {row["text"]: await QuestionStore(pool).sent(row["id"]) for row in rows}
    return {text: [one.body for one in sent.requests] if sent else [] for text, sent in kept.items()}


async def what_was_sent(workspace: Processes, process: Process, answer: Post) -> str:
    """Return what the asker of an answer reads after choosing **What was sent**."""
    number = int(str(answer.payload["token"]).removeprefix("t"))
    person = workspace.person(process, number)
    async with await person.choose(answer.payload, "more", "sent", token="sent", channel="C1") as response:
        assert response.status == 200
    return json.dumps(workspace.slack.modal(person.user).blocks, ensure_ascii=False)


def each_once(count: int) -> Counter[str]:
    return Counter(f"t{number}" for number in range(count))


async def test_kill_9_with_questions_waiting__all_are_answered_once_after_a_restart(workspace: Processes) -> None:
    workspace.perplexity.hold()
    first = await workspace.start()
    await asyncio.gather(*(workspace.ask(first, n) for n in range(QUESTIONS)))
    await workspace.perplexity.wait_for(QUESTIONS, seconds=60)
    await first.kill()
    workspace.perplexity.release()

    second = await workspace.start()
    await workspace.slack.wait_for(QUESTIONS, seconds=60)
    shown = await what_was_sent(workspace, second, workspace.slack.posts[-1])
    code = await second.terminate()

    assert (workspace.answers_by_trigger(), code) == (each_once(QUESTIONS), 0)
    # What the killed process had sent is known, too.
    sent = await sent_by_question(workspace)
    assert {len(bodies) for bodies in sent.values()} == {2}
    assert Counter(chain(*sent.values())) == Counter(served.content for served in workspace.perplexity.served)
    assert "2 requests" in shown
    assert "I was interrupted 1 time" in shown


async def test_sigterm_with_questions_waiting__all_are_answered_once(workspace: Processes) -> None:
    workspace.perplexity.hold()
    first = await workspace.start()
    await asyncio.gather(*(workspace.ask(first, n) for n in range(QUESTIONS)))
    await workspace.perplexity.wait_for(QUESTIONS, seconds=60)
    code = await first.terminate()
    workspace.perplexity.release()

    second = await workspace.start()
    await workspace.slack.wait_for(QUESTIONS, seconds=60)
    await second.terminate()

    assert (workspace.answers_by_trigger(), code) == (each_once(QUESTIONS), 0)


async def test_sigterm_with_answers_on_their_way__they_are_drained(workspace: Processes) -> None:
    workspace.perplexity.hold()
    process = await workspace.start()
    await asyncio.gather(*(workspace.ask(process, n) for n in range(5)))
    await workspace.perplexity.wait_for(5)
    ending = asyncio.create_task(process.terminate())
    workspace.perplexity.release()

    code = await ending

    assert (workspace.answers_by_trigger(), code) == (each_once(5), 0)


async def test_a_suspended_worker_that_wakes_up_late_posts_nothing(workspace: Processes) -> None:
    workspace.perplexity.hold()
    web = await workspace.start("run")
    await workspace.ask(web, 0)
    await workspace.perplexity.wait_for(1)
    web.process.send_signal(signal.SIGSTOP)
    other = await workspace.start("run")
    await workspace.perplexity.wait_for(2, seconds=30)
    workspace.perplexity.release()
    await workspace.slack.wait_for(1, seconds=30)
    web.process.send_signal(signal.SIGCONT)

    await workspace.ask(other, 1)
    await workspace.slack.wait_for(2, seconds=30)
    await asyncio.gather(web.terminate(), other.terminate())

    assert workspace.answers_by_trigger() == each_once(2)


async def test_a_worker_that_is_suspended_with_turns__all_are_answered_once_at_the_rate(workspace: Processes) -> None:
    workspace.settings["PROVIDER_LIMITS"] = "perplexity.answer=3/s"
    workspace.perplexity.hold()
    one = await workspace.start("run")
    await asyncio.gather(*(workspace.ask(one, n) for n in range(8)))
    await workspace.perplexity.wait_for(1)
    one.process.send_signal(signal.SIGSTOP)  # with turns, some of which have not been used
    two = await workspace.start("run")
    workspace.perplexity.release()
    await workspace.slack.wait_until(lambda: workspace.answers_by_trigger() == each_once(8), seconds=60)
    one.process.send_signal(signal.SIGCONT)

    await workspace.ask(two, 8)
    await workspace.slack.wait_until(lambda: workspace.answers_by_trigger()["t8"] == 1, seconds=60)
    await asyncio.gather(one.terminate(), two.terminate())

    left, in_a_second = await workspace.most_left()
    assert workspace.answers_by_trigger() == each_once(9)
    assert in_a_second <= 3
    assert left >= 10


async def test_the_same_delivery_to_two_processes_is_one_answer(workspace: Processes) -> None:
    one, two = await workspace.start(), await workspace.start("run", "--no-worker")
    await asyncio.gather(*(workspace.ask(process, 0) for process in (one, two, one, two)))
    await workspace.slack.wait_for(1)
    await asyncio.gather(one.terminate(), two.terminate())

    assert workspace.answers_by_trigger() == each_once(1)
    assert len(workspace.perplexity.requests) == 1


async def report(workspace: Processes, process: Process, number: int, *, kind: str) -> None:
    """Have Slack report one of the two events of a mention."""
    ts = f"1795255{number:03d}.000100"
    event = {"type": kind, "channel": "C1", "text": f"<@U0APP> question {number}", "ts": ts}
    channel_type = {"channel_type": "channel"} if kind == "message" else {}
    async with await workspace.person(process, number).event(event | channel_type, id=f"{kind}{number}") as response:
        assert response.status == 200


def all_answered(workspace: Processes, count: int) -> bool:
    threads = [workspace.slack.thread("C1", f"1795255{number:03d}.000100") for number in range(count)]
    return all(any("Example answer" in post.shown_text for post in thread) for thread in threads)


async def test_a_mention_as_two_events_twice_each_on_two_processes_is_one_answer(workspace: Processes) -> None:
    one, two = await workspace.start(), await workspace.start()
    await asyncio.gather(
        *(
            report(workspace, process, number, kind=kind)
            for number in range(10)
            for process in (one, two)
            for kind in ("app_mention", "message")
        )
    )
    await workspace.slack.wait_until(lambda: all_answered(workspace, 10))
    await asyncio.gather(one.terminate(), two.terminate())

    assert [len(workspace.slack.thread("C1", f"1795255{number:03d}.000100")) for number in range(10)] == [1] * 10
    assert len(workspace.perplexity.requests) == 10


async def test_kill_9_with_mentions_waiting__each_line_becomes_its_answer(workspace: Processes) -> None:
    workspace.perplexity.hold()
    first = await workspace.start()
    await asyncio.gather(*(report(workspace, first, number, kind="app_mention") for number in range(10)))
    await workspace.perplexity.wait_for(10)
    await first.kill()
    workspace.perplexity.release()

    second = await workspace.start()
    await workspace.slack.wait_until(lambda: all_answered(workspace, 10), seconds=60)
    await second.terminate()

    assert [len(workspace.slack.thread("C1", f"1795255{number:03d}.000100")) for number in range(10)] == [1] * 10
    # A line may say meanwhile what is searched for.
    assert Counter(post.method for post in workspace.slack.posts)["chat.postMessage"] == 10


async def test_kill_9_during_deep_research__it_is_resumed_and_paid_once(
    slack: FakeSlack, session: ClientSession, database: str
) -> None:
    async with FakePerplexity(polls=4) as perplexity:
        workspace = Processes(slack=slack, perplexity=perplexity, session=session, database=database)
        first = await workspace.start()
        async with await workspace.person(first).type_command("/ask --model high why", trigger="t0") as response:
            assert response.status == 200
        await perplexity.wait_for(3)
        await first.kill()
        second = await workspace.start()
        await slack.wait_until(lambda: bool(workspace.answers_by_trigger()), seconds=60)
        await second.terminate()

    begun = [request for request in perplexity.requests if request.method == "POST"]
    assert (len(begun), begun[0].json["background"], begun[0].json["store"]) == (1, True, True)
    assert workspace.answers_by_trigger() == each_once(1)


class OwnServer:
    """A Postgres of this test's own, to be stopped and started; nothing starts it again in between."""

    def __init__(self, data: Path) -> None:
        self._postmaster = Postmaster(pgdata=data.resolve() / "postgres", stopping=lambda: False)
        self._postmaster.start()
        self.conninfo = self._postmaster.conninfo

    async def stop(self) -> None:
        await asyncio.to_thread(self._postmaster.stop)

    async def start(self) -> None:
        await asyncio.to_thread(self._postmaster.start)


@pytest.fixture
async def own_server(data_dir: Path) -> AsyncIterator[OwnServer]:
    server = OwnServer(data_dir)
    yield server
    await server.stop()


async def test_the_database_is_gone_for_twenty_seconds_under_load__every_ack_is_true(
    slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession, own_server: OwnServer
) -> None:
    workspace = Processes(slack=slack, perplexity=perplexity, session=session, database=own_server.conninfo)
    process = await workspace.start()
    kept: set[int] = set()
    refused: dict[int, str] = {}
    slowest = 0.0
    loop = asyncio.get_running_loop()

    async def ask(number: int) -> None:
        nonlocal slowest
        started = loop.time()
        text = await workspace.ask(process, number)
        slowest = max(slowest, loop.time() - started)
        if "Searching" in text:
            kept.add(number)
        else:
            refused[number] = text

    async with asyncio.TaskGroup() as asking:
        outage = asking.create_task(_outage(own_server, seconds=20))
        number = 0
        while not outage.done() or number < 120:
            asking.create_task(ask(number))
            number += 1
            await asyncio.sleep(0.2)
    await slack.wait_for(len(kept), seconds=60)
    await process.terminate()

    answered = workspace.answers_by_trigger()
    unsure = {f"t{n}" for n, text in refused.items() if MAY_BE_SAVED in text}
    assert {trigger: count for trigger, count in answered.items() if trigger not in unsure} == {
        f"t{n}": 1 for n in kept
    }
    assert max(answered.values()) == 1
    assert len(kept) + len(refused) == number
    assert len(refused) > 50
    assert slowest < 3


async def _outage(server: OwnServer, *, seconds: float) -> None:
    await asyncio.sleep(2)
    await server.stop()
    await asyncio.sleep(seconds)
    await server.start()


async def test_the_port_is_taken__one_line_and_exit_1(workspace: Processes) -> None:
    process = await workspace.start()

    with pytest.raises(AssertionError, match="not ready"):
        await workspace.start("run", port=process.port)
    await process.terminate()


async def test_nothing_is_served_after_the_end(workspace: Processes) -> None:
    process = await workspace.start()
    await process.terminate()

    with pytest.raises(ClientError):
        await workspace.ask(process, 0)
