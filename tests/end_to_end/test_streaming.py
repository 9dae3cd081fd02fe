"""Answers that are shown while they are made, end to end: streamed in direct messages, edited elsewhere."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import psycopg
import pytest

from bot.blocks.growing import render_answer_text
from bot.model.question import load_result
from bot.settings import Settings
from fake_slack.streams import Ending
from fake_slack.timeline import Author, SlackMessage
from perplexity.types import Answer
from tests.driver import Driver, stop_button
from tests.fakes.answers import KEEP_ALIVE, beginning, deltas, end, whole_stream
from tests.fakes.perplexity import stream_reply
from tests.fakes.slack import Fault, refusal
from tests.rare import one_in

TS = "1795255200.000100"
TEXT = (
    "**Yes, a heat pump costs less to run** than a gas boiler in most buildings.[1] "
    "The price of electricity decides the rest.[2]\n\n"
    "- It needs a low flow temperature[1]\n- It needs an installer\n\nAsk two of them, and compare their offers."
)
SHOWN = (
    "**Yes, a heat pump costs less to run** than a gas boiler in most buildings.[[1]](https://a.example/1) "
    "The price of electricity decides the rest.[[2]](https://b.example/2)\n\n"
    "- It needs a low flow temperature[[1]](https://a.example/1)\n- It needs an installer\n\n"
    "Ask two of them, and compare their offers."
)


def markdown(payload: dict[str, Any]) -> str:
    return "".join(block["text"] for block in payload["blocks"] if block["type"] == "markdown")


def methods(harness: Driver) -> list[str]:
    return [name for name, _ in harness.slack.calls if name.startswith("chat.")]


async def test_a_direct_message_is_answered_by_a_stream(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.25))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)

    (stream,) = harness.slack.streams("DU1", TS)
    assert stream.ending is Ending.STOPPED
    assert stream.markdown == SHOWN
    assert len([name for name in methods(harness) if name == "chat.appendStream"]) >= 2
    (message,) = harness.slack.thread("DU1", TS)
    kinds = [block["type"] for block in message.payload["blocks"]]
    assert kinds[:3] == ["markdown", "context", "actions"]
    assert "<https://a.example/1|a.example>" in message.shown_text
    assert "$" not in message.shown_text
    assert "Searching" not in message.shown_text
    assert not harness.slack.refusals


async def test_the_first_clause_is_shown_while_the_rest_is_written(harness: Driver) -> None:
    first, rest = deltas(TEXT)[:4], deltas(TEXT)[4:]
    events = [*beginning(), *first, *[KEEP_ALIVE] * 20, *rest, end(TEXT)]
    harness.perplexity.script("/v1/agent", stream_reply(*events, pause=0.05))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))

    (stream,) = harness.slack.streams("DU1", TS)
    assert stream.markdown.startswith("**Yes, a heat pump costs less to run**")
    assert "compare their offers" not in stream.markdown
    await harness.wait_until_settled(1)


async def test_what_is_searched_for_and_read_is_shown_first(harness: Driver) -> None:
    events = [*beginning(queries=("heat pump <@U1> cost",)), *[KEEP_ALIVE] * 60, *deltas(TEXT), end(TEXT)]
    harness.perplexity.script("/v1/agent", stream_reply(*events, pause=0.05))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(lambda: "chat.update" in methods(harness))

    (status,) = harness.slack.thread("DU1", TS)
    (plan,) = [block for block in status.payload["blocks"] if block["type"] == "plan"]
    searched, reading = plan["tasks"]
    assert "heat pump" in searched["title"]
    assert "<@U1>" not in json.dumps(plan)
    assert (reading["title"], [source["text"] for source in reading["sources"]]) == (
        "Reading 2 pages",
        ["a.example", "b.example"],
    )
    assert stop_button(status.payload)
    await harness.wait_until_settled(1)


async def test_in_a_channel_the_placeholder_is_edited(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.15))

    await harness.mention("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)

    assert "chat.startStream" not in methods(harness)
    edits = [arguments for name, arguments in harness.slack.calls if name == "chat.update"]
    first = markdown({"blocks": edits[0]["blocks"]})
    assert first
    assert SHOWN.startswith(first)
    (message,) = harness.slack.thread("C1", TS)
    assert markdown(message.payload) == SHOWN


@pytest.mark.parametrize("error", ["unknown_method", "feature_not_enabled", "invalid_thread_ts"])
async def test_without_streams_the_placeholder_is_edited(harness: Driver, error: str) -> None:
    harness.slack.lasting["chat.startStream"] = refusal(error)
    replies = [stream_reply(*whole_stream(TEXT), pause=0.1) for _ in range(2)]
    harness.perplexity.script("/v1/agent", *replies)

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)
    await harness.send_direct_message("new and heaters?", ts="1795255300.000100")
    await harness.wait_until_settled(2)

    for thread in (TS, "1795255300.000100"):
        (message,) = harness.slack.thread("DU1", thread)
        assert markdown(message.payload) == SHOWN
    remembered = error != "invalid_thread_ts"
    assert methods(harness).count("chat.startStream") == (1 if remembered else 2)


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.model_copy(update=getattr(request, "param", {}))


@pytest.mark.parametrize("settings", [{"channel_streaming": True}], indirect=True)
async def test_channels_without_streams_leave_those_of_direct_messages(harness: Driver) -> None:
    harness.slack.fail("chat.startStream", refusal("channel_type_not_supported"))
    for number in (1, 2):
        harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.1))
        await harness.mention("do heat pumps pay off?", ts=f"1795255300.00010{number}")
        await harness.wait_until_settled(number)
    assert methods(harness).count("chat.startStream") == 1

    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.1))
    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(3)

    assert len(harness.slack.streams("DU1", TS)) == 1


@pytest.mark.parametrize("settings", [{"channel_streaming": True}], indirect=True)
async def test_a_stream_that_cannot_be_ended_goes_when_slack_is_available_again(harness: Driver) -> None:
    harness.slack.workspace.scopes.append("channels:history")
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    await harness.mention("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("C1", TS)))
    async with await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection:
        await connection.execute("UPDATE questions SET streams = '{}'")
        # Each tries three times, the worker that writes it and the clear-up. No one may delete an open stream.
        harness.slack.fail("chat.stopStream", *[Fault(status=500, body="down")] * 6)
        gone = {"type": "message", "user": "U1", "text": "<@U0APP> do heat pumps pay off?", "ts": TS}
        event: dict[str, Any] = {
            "type": "message", "subtype": "message_deleted", "channel": "C1", "channel_type": "channel",
        }  # fmt: skip
        event |= {"ts": "1795255300.000200", "hidden": True, "deleted_ts": TS, "previous_message": gone}
        assert await harness.event(event) == 200

        async with asyncio.timeout(60):
            while harness.slack.thread("C1", TS):  # noqa: ASYNC110 - theirs
                await asyncio.sleep(0.1)


FAULTS = {
    "expired": refusal("message_not_in_streaming_state"),
    "too-long": refusal("msg_too_long"),
    "mode": refusal("streaming_mode_mismatch"),
    "http-500": Fault(status=500, body="down"),
    "lost-reply": Fault(status=0, serve_first=True),
    "limited": Fault(status=429, headers={"Retry-After": "1"}),
    "empty": Fault(status=200, body=""),
}


@pytest.mark.parametrize(
    ("method", "fault"),
    one_in(
        2,
        [
            *(("chat.startStream", name) for name in ("expired", "http-500", "lost-reply", "limited")),
            *(("chat.appendStream", name) for name in FAULTS),
            *(("chat.stopStream", name) for name in ("expired", "http-500", "lost-reply", "limited")),
        ],
        first=1,
    ),
)
async def test_whatever_a_call_is_answered_with_the_answer_is_there_once(
    harness: Driver, method: str, fault: str
) -> None:
    harness.slack.fail(method, FAULTS[fault])
    pause = 0.1 if method == "chat.appendStream" else 0.05
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=pause))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)

    shown = harness.slack.thread("DU1", TS)
    assert [markdown(message.payload) for message in shown] == [SHOWN]
    assert "<https://a.example/1|a.example>" in shown[0].shown_text
    assert len(harness.perplexity.requests) == 1


async def test_a_text_that_the_service_corrects_is_corrected(harness: Driver) -> None:
    wrong = TEXT.replace("Ask two", "Ask three")
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(wrong), end(TEXT), pause=0.1))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)

    (message,) = harness.slack.thread("DU1", TS)
    assert markdown(message.payload) == SHOWN


@pytest.mark.parametrize("surface", ["im", "mention"])
async def test_a_stop_keeps_what_was_said(harness: Driver, surface: str) -> None:
    first = deltas(TEXT)[:6]
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *first, hang=True))
    channel = "DU1" if surface == "im" else "C1"
    send = harness.send_direct_message if surface == "im" else harness.mention
    await send("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(
        lambda: any(
            ("a heat pump" in message.shown_text and "Stop" not in message.shown_text) or "**Yes" in message.shown_text
            for message in harness.slack.thread(channel, TS)
        )
    )
    question = next(
        stop_button(message.payload) for message in harness.slack.thread(channel, TS) if '"stop"' in message.shown_text
    )

    await harness.as_user("U1").click_button("stop", question, token="stop")
    await harness.slack.wait_until(
        lambda: (
            "You stopped this answer" in "".join(m.shown_text for m in harness.slack.thread(channel, TS))
            and len(harness.slack.thread(channel, TS)) == 1
        )
    )

    (message,) = harness.slack.thread(channel, TS)
    assert markdown(message.payload)
    assert SHOWN.startswith(markdown(message.payload))
    assert "Start again" in message.shown_text
    assert '"stop"' not in message.shown_text


@pytest.mark.parametrize("surface", ["slash", "mention"])
async def test_a_stop_while_slack_confirms_the_first_text_keeps_it(harness: Driver, surface: str) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT), hang=True))
    late = Fault(status=200, body='{"ok": true}', take_message=True, seconds=2.0)
    if surface == "slash":
        harness.slack.fail("response_url", late, late)  # one for the pages, one for the text
        await harness.ask("/ask do heat pumps pay off?")
    else:
        harness.slack.fail("chat.update", late)
        await harness.mention("do heat pumps pay off?", ts=TS)

    def shown() -> list[str]:
        posts = harness.slack.posts if surface == "slash" else harness.slack.thread("C1", TS)
        return [markdown(post.payload) for post in posts]

    await harness.slack.wait_until(lambda: any("**Yes" in text for text in shown()))
    text = shown()[-1]
    await harness.click_button("stop", await question_id(harness), token="stop")
    await harness.settle()
    await harness.wait_for_rows("SELECT count(*) FROM questions WHERE uncleared_since IS NOT NULL", [(0,)])

    last = harness.slack.posts[-1] if surface == "slash" else harness.slack.thread("C1", TS)[-1]
    assert "You stopped this answer" in last.shown_text
    assert markdown(last.payload) == text


@pytest.mark.parametrize("surface", ["im", "mention"])
async def test_of_a_stopped_answer_what_was_shown_is_kept(harness: Driver, surface: str) -> None:
    text = " ".join(f"Pump {number} pays off.[1]" for number in range(300))
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(text), pause=0.05))
    channel = "DU1" if surface == "im" else "C1"
    send = harness.send_direct_message if surface == "im" else harness.mention
    await send("do heat pumps pay off?", ts=TS)
    thread = partial(harness.slack.thread, channel, TS)
    await harness.slack.wait_until(lambda: any("Pump 1 " in message.shown_text for message in thread()))
    # What comes meanwhile is not shown.
    await asyncio.sleep(0.5)

    await harness.click_button("stop", await question_id(harness), token="stop")
    await harness.slack.wait_until(lambda: any("You stopped this answer" in one.shown_text for one in thread()))

    (message,) = [message for message in thread() if markdown(message.payload)]
    ((result,),) = await harness.rows("SELECT result FROM questions")
    kept = load_result(result)
    assert isinstance(kept, Answer)
    assert render_answer_text(kept)[0] == markdown(message.payload)
    assert text.startswith(kept.text)


async def question_id(harness: Driver) -> str:
    """Return the id of the only question."""
    ((found,),) = await harness.rows("SELECT id FROM questions")
    return str(found)


async def test_a_private_command_shows_its_progress_once(harness: Driver) -> None:
    events = [*beginning(), *[KEEP_ALIVE] * 30, *deltas(TEXT, size=1_000), end(TEXT)]
    harness.perplexity.script("/v1/agent", stream_reply(*events, pause=0.1))

    await harness.ask("/ask do heat pumps pay off?")
    await harness.wait_until_settled(1)

    progress, answer = harness.slack.posts
    assert "“q1”" in progress.shown_text
    assert stop_button(progress.payload)
    assert markdown(answer.payload) == SHOWN


async def test_slack_s_own_stop_ends_the_answer_and_keeps_what_was_said(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True))
    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))

    event = harness.slack.press_stop("DU1", TS)
    assert await harness.event(event) == 200
    await harness.slack.wait_until(
        lambda: (
            "You stopped this answer" in "".join(m.shown_text for m in harness.slack.thread("DU1", TS))
            and len(harness.slack.thread("DU1", TS)) == 1
        )
    )

    (message,) = harness.slack.thread("DU1", TS)
    assert SHOWN.startswith(markdown(message.payload))
    await harness.wait_until_settled(1)


async def test_another_person_s_stop_is_ignored(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.2))
    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.slack.wait_until(lambda: bool(harness.slack.streams("DU1", TS)))
    (ts,) = [message["ts"] for message in harness.slack.shown.values() if "plan" not in json.dumps(message)][-1:]

    event = {"type": "agent_session_stopped", "channel": "DU1", "thread_ts": TS, "user": "U2"}
    assert await harness.event(event | {"streaming_message_ts": [ts], "event_ts": ts}) == 200
    await harness.wait_until_settled(1)

    (message,) = harness.slack.thread("DU1", TS)
    assert markdown(message.payload) == SHOWN


DOWN = Fault(status=503, body="down")
BUSY = Fault(status=429, headers={"Retry-After": "1"})


@pytest.mark.parametrize(
    "faults",
    one_in(
        2,
        [
            {"chat.appendStream": [DOWN], "chat.stopStream": [DOWN]},
            {"chat.stopStream": [DOWN, DOWN]},
            {"chat.stopStream": [BUSY, BUSY, BUSY]},
            {"chat.delete": [DOWN]},
            {"chat.delete": [BUSY]},
            {"chat.appendStream": [Fault(status=200, seconds=7.0, serve_first=True)]},
            {"chat.startStream": [Fault(status=200, seconds=8.0, serve_first=True)]},
            {"chat.startStream": [Fault(status=0, serve_first=True)], "conversations.replies": [DOWN, BUSY]},
        ],
        first=1,
    ),
    ids=[
        "append-and-stop",
        "stop-twice",
        "stop-busy",
        "delete",
        "delete-busy",
        "append-slow",
        "start-slow",
        "start-and-lookup",
    ],
)
async def test_after_several_failures_too_the_answer_is_there_once(
    harness: Driver, faults: dict[str, list[Fault]]
) -> None:
    for method, scripted in faults.items():
        harness.slack.fail(method, *scripted)
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.2))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)
    await harness.slack.wait_until(lambda: len(harness.slack.thread("DU1", TS)) == 1)

    (message,) = harness.slack.thread("DU1", TS)
    assert markdown(message.payload) == SHOWN
    assert '"stop"' not in message.shown_text
    assert all(stream.ending for stream in harness.slack.streams("DU1", TS))


async def test_an_answer_that_cannot_replace_the_placeholder_is_posted_and_the_placeholder_deleted(
    harness: Driver,
) -> None:
    harness.slack.lasting["chat.update"] = Fault(status=429, headers={"Retry-After": "90"})
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT)))

    await harness.mention("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(1)

    assert [message.markdown for message in harness.slack.thread("C1", TS)] == [SHOWN]


async def test_the_app_s_message_that_began_the_thread_stays(harness: Driver) -> None:
    root = "1795255100.000100"
    harness.slack.timeline.put(
        SlackMessage(channel="DU1", ts=root, author=Author.APP, text="Another question's answer")
    )
    harness.slack.fail("chat.startStream", Fault(status=0, serve_first=True))
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.1))

    await harness.send_direct_message("do heat pumps pay off?", ts=TS, thread_ts=root)
    await harness.wait_until_settled(1)

    assert harness.slack.timeline.find("DU1", root) is not None
    (message,) = harness.slack.thread("DU1", root)
    assert markdown(message.payload) == SHOWN
