"""Stop, end to end: a click ends the work on a question at once, also at the service, and nothing is posted for it."""

from __future__ import annotations

import asyncio
import logging

import psycopg
import pytest

from tests.driver import Driver, execute, stop_button, wait_for_log
from tests.fakes.slack import Fault

QUESTION = "what is <new> about wheels?"
TS = "1795255200.000100"


async def click(harness: Driver, question: str, *, user: str = "U1", token: str = "stop") -> str:
    """Click Stop and return what the click was answered with."""
    await harness.as_user(user).click_button("stop", question, token=token)
    post, *_ = [post for post in harness.slack.posts if post.payload.get("token") == token]
    return post.shown_text


async def let_go(caplog: pytest.LogCaptureFixture) -> None:
    """Wait until the worker has ended its work on a question, which the service still holds."""
    await wait_for_log(caplog, "question.superseded")


async def ended_streams(harness: Driver, database: str) -> int:
    """Return how many streams were looked for, or counted as ended."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        rows = await connection.execute("SELECT coalesce(sum(cardinality(stops)), 0)::int FROM slack_calls")
        ((counted,),) = await rows.fetchall()
    return int(counted) + sum(method == "conversations.replies" for method, _ in harness.slack.calls)


@pytest.mark.parametrize(
    "typed", [f"/ask {QUESTION}", "/search wheels", "/news technology", f"/ask --public {QUESTION}"]
)
async def test_a_command_is_stopped_by_a_button_of_its_acknowledgement(
    harness: Driver, caplog: pytest.LogCaptureFixture, database: str, typed: str
) -> None:
    caplog.set_level(logging.WARNING)
    harness.perplexity.hold()
    question = stop_button(await harness.ask(typed))
    await harness.perplexity.wait_for(1)

    assert "*Stopped" in await click(harness, question)
    await let_go(caplog)
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    # The worker replaces the message, too: the reply to a click can be lost.
    assert all("*Stopped" in post.shown_text for post in harness.slack.posts)
    assert "*Stopped" in await click(harness, question, token="again")
    assert harness.slack.posts[-1].payload["replace_original"]
    assert not await ended_streams(harness, database)


async def test_a_mention_is_stopped_by_a_button_of_its_placeholder_and_by_an_admin(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    harness.perplexity.hold()
    await harness.mention(QUESTION, ts=TS)
    (placeholder,) = await harness.slack.wait_for(1)
    question = stop_button(placeholder.payload)
    await harness.perplexity.wait_for(1)

    assert "Only the person who asked, or an admin" in await click(harness, question, user="U2", token="other")
    harness.slack.workspace.admins.add("U3")
    assert "*Stopped" in await click(harness, question, user="U3")
    await let_go(caplog)
    harness.perplexity.release()
    await harness.wait_until_settled(1)

    assert len(harness.perplexity.requests) == 1


async def test_a_run_that_is_just_beginning_is_cancelled_once_it_has_an_id(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    harness.perplexity.hold()
    question = stop_button(await harness.ask(f"/ask --model high {QUESTION}"))
    await harness.perplexity.wait_for(1)

    await click(harness, question)
    await let_go(caplog)
    harness.perplexity.release()
    async with asyncio.timeout(60):
        await harness.perplexity.cancel_requested.wait()

    assert harness.perplexity.cancelled == ["resp_1"]
    assert [request.path for request in harness.perplexity.requests] == ["/v1/agent", "/v1/agent/resp_1/cancel"]


async def test_each_of_several_questions_is_stopped(harness: Driver) -> None:
    harness.perplexity.hold()
    asked = [stop_button(await harness.ask(f"/ask question {number}", trigger=f"t{number}")) for number in range(3)]
    await harness.perplexity.wait_for(3)

    for number, question in enumerate(asked):
        await click(harness, question, token=f"stop{number}")
    await harness.wait_until_settled(3)
    harness.perplexity.release()

    assert all("*Stopped" in post.shown_text for post in harness.slack.posts)
    assert {post.payload["token"] for post in harness.slack.posts} == {f"stop{number}" for number in range(3)}


async def move_stop(database: str, by: str) -> None:
    """Move the time when every question was settled."""
    await execute(database, "UPDATE questions SET settled_at = now() + %s::interval", by)


async def test_a_double_click_on_stop_does_not_start_it_again(harness: Driver, database: str) -> None:
    harness.perplexity.hold()
    question = stop_button(await harness.ask(f"/ask {QUESTION}"))
    await harness.perplexity.wait_for(1)
    assert "Start again" in await click(harness, question)
    harness.perplexity.release()

    await move_stop(database, "1 minute")
    await harness.click_button("retry", question, token="second")
    assert [post for post in harness.slack.posts if post.payload.get("token") == "second"] == []
    await move_stop(database, "-3 seconds")
    await harness.click_button("retry", question, token="later")
    await harness.wait_until_settled(2)

    later = [post for post in harness.slack.posts if post.payload.get("token") == "later"]
    assert "Example answer" in later[-1].shown_text


async def test_a_slow_slack_is_not_taken_for_a_stranger_or_a_database(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U3")
    harness.slack.lasting["users.info"] = Fault(status=200, seconds=2.0, serve_first=True)
    harness.perplexity.hold()
    question = stop_button(await harness.ask(f"/ask {QUESTION}"))

    assert "couldn’t check whether you are an admin" in await click(harness, question, user="U3")

    harness.slack.lasting.clear()
    harness.perplexity.release()
    await harness.wait_until_settled(1)


async def test_a_press_for_doctor_live_deletes_the_message_with_the_button(harness: Driver) -> None:
    message = {"channel": "C1", "text": "Press this button.", "unfurl_links": False, "unfurl_media": False}
    posted, _ = await harness.slack.answer("chat.postMessage", message, token=harness.slack.token)
    await harness.click_button("live_press", "press", message=posted["ts"])

    assert harness.slack.shown == {}
    assert [post.payload["text"] for post in harness.slack.posts[-1:]] == ["Your press has arrived."]
