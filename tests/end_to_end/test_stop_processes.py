"""Stop, with the web process and the worker apart, while the question waits, runs in the background or is streamed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
from aiohttp import ClientSession

from tests.driver import Processes, asked_in, stop_button
from tests.end_to_end.test_streaming import SHOWN, TEXT, TS, markdown
from tests.fakes.answers import beginning, deltas
from tests.fakes.perplexity import FakePerplexity, stream_reply
from tests.fakes.process import Process
from tests.fakes.slack import FakeSlack


async def click_stop(workspace: Processes, web: Process, question: str) -> None:
    async with await replace(workspace.person(web), user="U1").click("stop", question, token="stop") as response:
        assert response.status == 200


async def send(workspace: Processes, web: Process, text: str) -> None:
    async with await replace(workspace.person(web), user="U1").send_direct_message(text, ts=TS) as response:
        assert response.status == 200


def button(slack: FakeSlack) -> str:
    """Return the question that the thread's Stop button would stop."""
    shown = [message for message in slack.thread("DU1", TS) if '"stop"' in message.shown_text]
    return stop_button(shown[0].payload)


async def wait_for_state(workspace: Processes, state: str) -> None:
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(workspace.database) as connection:
        while True:
            rows = await connection.execute("SELECT state FROM questions")
            if [found for (found,) in await rows.fetchall()] == [state]:
                return
            await connection.commit()
            await asyncio.sleep(0.05)


async def test_a_background_run_says_how_long_it_takes_and_is_cancelled_by_a_stop(
    slack: FakeSlack, session: ClientSession, database: str
) -> None:
    async with FakePerplexity(polls=1000) as perplexity:
        workspace = Processes(slack=slack, perplexity=perplexity, session=session, database=database)
        web, worker = await workspace.start("run", "--no-worker"), await workspace.start("worker")
        await send(workspace, web, "--model high why?")
        await slack.wait_until(lambda: any(" s" in m.payload["text"] for m in slack.thread("DU1", TS)))

        await click_stop(workspace, web, button(slack))
        async with asyncio.timeout(60):
            await perplexity.cancel_requested.wait()
        await slack.wait_until(lambda: "*Stopped" in slack.thread("DU1", TS)[0].shown_text)

        (message,) = slack.thread("DU1", TS)
        assert "Start again" in message.shown_text
        assert '"stop"' not in message.shown_text
        await wait_for_state(workspace, "stopped")
        await worker.terminate()
        await web.terminate()


async def test_a_stream_of_another_process_is_stopped_and_keeps_its_text(workspace: Processes) -> None:
    slack = workspace.slack
    workspace.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    web, worker = await workspace.start("run", "--no-worker"), await workspace.start("worker")
    await send(workspace, web, "do heat pumps pay off?")
    await slack.wait_until(lambda: bool(slack.streams("DU1", TS)))

    await click_stop(workspace, web, button(slack))
    await slack.wait_until(
        lambda: [("You stopped" in message.shown_text) for message in slack.thread("DU1", TS)] == [True]
    )

    (message,) = slack.thread("DU1", TS)
    assert SHOWN.startswith(markdown(message.payload))
    await wait_for_state(workspace, "stopped")
    await worker.terminate()
    await web.terminate()


async def test_a_question_in_the_queue_is_stopped_before_it_costs_anything(workspace: Processes) -> None:
    web = await workspace.start("run", "--no-worker")
    person = replace(workspace.person(web), user="U1")
    async with await person.type_command("/ask why", trigger="t1") as response:
        question = stop_button(await response.json())

    await click_stop(workspace, web, question)
    worker = await workspace.start("worker")
    await wait_for_state(workspace, "stopped")
    async with await person.type_command("/ask and then", trigger="t2") as response:
        assert response.status == 200
    await workspace.slack.wait_until(lambda: "t2" in workspace.answers_by_trigger())

    assert [asked_in(request) for request in workspace.perplexity.requests] == ["and then"]
    assert workspace.answers_by_trigger().keys() == {"stop", "t2"}
    await worker.terminate()
    await web.terminate()
