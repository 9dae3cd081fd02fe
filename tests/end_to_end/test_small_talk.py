"""Greetings and thanks, end to end: one private sentence with three examples, and neither a search nor a question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from bot.blocks.examples import LINES, greeting_message
from tests.driver import TS, Driver, actions, asked_in
from tests.fakes.slack import Post

HELLO, THANKS, GOODBYE, OTHER = (greeting_message(kind).text for kind in ("greeting", "thanks", "goodbye", ""))
LATER = "1795255260.000100"


async def greeting(harness: Driver, reply: str = HELLO) -> Post:
    """Return the app's only post, which greets, or replies otherwise."""
    (post,) = await harness.slack.wait_for(1)
    assert post.payload["text"] == reply
    assert actions(post.payload) == ["examples"] * 3
    return post


def shown_labels(message: Mapping[str, Any]) -> list[str]:
    return [block["elements"][0]["text"]["text"] for block in message["blocks"][1:]]


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("hi", HELLO),
        ("Danke!! :pray:", THANKS),
        ("ok thx bye", THANKS),
        ("qu'est-ce que tu sais faire ?", OTHER),
        ("ayúdame", OTHER),
        ("またね 👋", GOODBYE),
        ("hasta luego", GOODBYE),
        ("", OTHER),
        (" \n ", OTHER),
    ],
)
async def test_a_mention_is_greeted_for_its_author_alone(harness: Driver, said: str, reply: str) -> None:
    await harness.mention(said)

    post = await greeting(harness, reply)
    assert (post.method, post.payload["channel"], post.payload["user"]) == ("chat.postEphemeral", "C1", "U1")
    assert (harness.perplexity.requests, await harness.questions()) == ([], [])


async def test_a_mention_in_a_thread_is_greeted_there(harness: Driver) -> None:
    await harness.mention("thanks!", ts=LATER, thread_ts=TS)

    post = await greeting(harness, THANKS)
    assert (post.method, post.payload["thread_ts"]) == ("chat.postEphemeral", TS)


async def test_a_direct_message_is_greeted_in_its_thread(harness: Driver) -> None:
    await harness.send_direct_message("good morning &amp; thanks :wave:")

    post = await greeting(harness, THANKS)
    assert (post.method, post.payload["channel"], post.payload["thread_ts"]) == ("chat.postMessage", "DU1", TS)
    assert (harness.perplexity.requests, await harness.questions()) == ([], [])


async def test_a_command_is_greeted_in_its_acknowledgement(harness: Driver) -> None:
    shown = await harness.ask("/ask hello there")

    assert (shown["text"], shown["response_type"]) == (HELLO, "ephemeral")
    assert (harness.slack.posts, harness.perplexity.requests, await harness.questions()) == ([], [], [])


async def test_a_search_for_a_greeting_searches(harness: Driver) -> None:
    await harness.ask("/search hello")
    await harness.mention("search hello")
    await harness.wait_until_settled(2)

    assert [request.json["query"] for request in harness.perplexity.requests] == ["hello", "hello"]


async def test_a_greeting_with_a_question_is_a_question(harness: Driver) -> None:
    await harness.mention("hi, what is the capital of Peru")
    await harness.wait_until_settled(1)

    assert asked_in(harness.perplexity.requests[0]) == "hi, what is the capital of Peru"


async def test_the_same_mention_is_greeted_once(harness: Driver) -> None:
    for delivery in ("Ev1", "Ev2"):
        await harness.mention("hello", id=delivery)
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "text": "<@U0APP> hello", "ts": TS}
    async with await harness.person.event(event, id="Ev3"):
        pass
    await harness.send_direct_message("thanks", ts=LATER)
    await harness.slack.wait_for(2)

    assert [post.method for post in harness.slack.posts].count("chat.postEphemeral") == 1


async def test_a_greeting_that_is_edited_to_a_question_is_answered(harness: Driver) -> None:
    await harness.send_direct_message("hi")
    await greeting(harness)
    message = {"type": "message", "user": "U1", "text": "hi, why is the sky blue", "ts": TS, "edited": {"ts": LATER}}
    event = {"subtype": "message_changed", "message": message, "previous_message": message | {"text": "hi"}}
    await harness.send_direct_message("", ts=LATER, **event)
    await harness.wait_until_settled(1)

    assert asked_in(harness.perplexity.requests[0]) == "hi, why is the sky blue"


@pytest.mark.settings(follow_ups="always")
async def test_thanks_without_a_mention_get_no_reply(harness: Driver) -> None:
    await harness.mention("why is the sky blue", ts=TS)
    await harness.wait_until_settled(1)
    posts = len(harness.slack.posts)
    said = {"type": "message", "channel": "C1", "channel_type": "channel", "ts": LATER, "thread_ts": TS}
    assert await harness.event(said | {"text": "thanks!"}, id="Ev2") == 200
    await harness.send_direct_message("thank you", ts="1795255320.000100")
    await harness.slack.wait_for(posts + 1)

    assert [post.payload["channel"] for post in harness.slack.posts[posts:]] == ["DU1"]
    assert len(await harness.questions()) == 1


async def test_an_example_is_answered_privately__once(harness: Driver) -> None:
    shown = await harness.ask("/ask hello")
    assert shown_labels(shown) == list(LINES)
    harness.script_answer("Because of scattering. [1]")
    promised = await harness.told(shown, "examples")
    again = await harness.told(shown, "examples")
    await harness.settle()

    assert "“Why is the sky blue?”" in promised
    assert "already working" in again
    post = harness.last_answer()
    assert "Because of scattering." in post.markdown
    assert (post.payload["response_type"], post.payload["replace_original"]) == ("ephemeral", False)
    assert len(await harness.questions()) == 1


async def test_an_example_in_a_direct_message_is_answered_in_the_thread(harness: Driver) -> None:
    await harness.send_direct_message("hello")
    await greeting(harness)
    (shown,) = harness.slack.thread("DU1", TS)
    harness.script_answer("Because of scattering. [1]")
    await harness.click(shown.payload, "examples", channel="DU1")
    await harness.settle()

    assert "Because of scattering." in harness.slack.thread("DU1", TS)[-1].shown_text


async def test_what_is_no_example_is_not_asked(harness: Driver) -> None:
    shown = await harness.ask("/ask hello")
    forged = json.loads(json.dumps(shown).replace('"value": "Why is the sky blue?"', '"value": "deepdive everything"'))
    await harness.click(forged, "examples")

    assert await harness.questions() == []


async def test_a_database_that_is_slow_greets_late__and_once(harness: Driver) -> None:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        await connection.execute("LOCK TABLE refused_deliveries")
        assert await harness.mention("hello") == 503
    await greeting(harness)
    assert await harness.mention("hello") == 200
    await harness.send_direct_message("thanks", ts=LATER)
    await harness.slack.wait_for(2)

    assert [post.method for post in harness.slack.posts].count("chat.postEphemeral") == 1
