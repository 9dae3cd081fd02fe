"""Mentions and direct messages, end to end: asked as `/ask` is, answered once, in the thread."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from bot.commands.ask import SAME_LANGUAGE
from bot.commands.conversation import NEXT_INSTRUCTION
from bot.slack.scopes import HISTORIES
from tests.driver import Driver, asked_in
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.slack import Fault, Post
from tests.rare import one_in

TS = "1795255200.000100"
ROOT = "1795255100.000900"
ANSWER = "Example answer"
STOP = '"action_id": "stop"'


async def answer(harness: Driver, *, channel: str = "C1", thread: str = TS, holds: str = ANSWER) -> Post:
    """Wait until a thread holds one message, a whole answer that can no longer be stopped, and return it."""

    def answered() -> list[Post]:
        shown = harness.slack.thread(channel, thread)
        return [post for post in shown if len(shown) == 1 and holds in post.shown_text and STOP not in post.shown_text]

    await harness.slack.wait_until(lambda: bool(answered()))
    return answered()[0]


async def test_a_mention__a_line_at_once_in_the_thread_then_the_answer_in_its_place(harness: Driver) -> None:
    harness.perplexity.hold()
    assert await harness.mention("what is <https://a.example|a.example> &amp; co?") == 200
    (line,) = await harness.slack.wait_for(1)
    harness.perplexity.release()
    post = await answer(harness)

    assert (line.method, line.payload["channel"], line.payload["thread_ts"]) == ("chat.postMessage", "C1", TS)
    assert "Searching the web for " in line.shown_text
    assert post.payload["ts"] == line.payload["ts"]
    assert [block["type"] for block in post.payload["blocks"]][:3] == ["markdown", "context", "actions"]
    assert harness.perplexity.requests[0].json == {
        "effort": "fast",
        "input": [
            {"type": "message", "role": "system", "content": NEXT_INSTRUCTION.content},
            {"type": "message", "role": "system", "content": SAME_LANGUAGE.content},
            {"type": "message", "role": "user", "content": "what is a.example & co?"},
        ],
        "store": False,
        "stream": True,
    }


async def test_a_mention_inside_a_thread_is_answered_in_that_thread(harness: Driver) -> None:
    await harness.mention("why", thread_ts=ROOT)

    assert ANSWER in (await answer(harness, thread=ROOT)).shown_text


async def test_options_work_after_a_mention_as_after_ask(harness: Driver) -> None:
    await harness.mention("—reasoning --recency week --domain a.example compare a and b")
    await answer(harness)

    (request,) = harness.perplexity.requests
    assert (request.json["effort"], asked_in(request)) == ("medium", "compare a and b")
    assert request.json["tools"][0]["filters"] == {
        "search_recency_filter": "week",
        "search_domain_filter": ["a.example"],
    }


async def test_a_direct_message_is_answered_in_its_thread(harness: Driver) -> None:
    await harness.send_direct_message("why is the sky blue")

    post = await answer(harness, channel="DU1")

    assert "“" not in post.shown_text


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("<@U0APP> why", "why"),
        ("<@U0APP>: why", "why"),
        ("<@U0APP>, why", "why"),
        ("  <@U0APP|app>   why", "why"),
        ("hey <@U0APP> why", "hey why"),
        ("why <@U0APP>", "why"),
        ("why does <@U0APP> tell <@U2>?", "why does tell @someone?"),
        ("<@U0APP> a &lt;b&gt; c", "a <b> c"),
        ("<@U0APP> two\nlines", "two\nlines"),
        ("<@U0APP> what is a payload", "what is a payload"),
    ],
)
async def test_the_mention_is_no_part_of_the_question(harness: Driver, typed: str, asked: str) -> None:
    event = {"type": "app_mention", "channel": "C1", "text": typed, "ts": TS}
    assert await harness.event(event) == 200
    await answer(harness)

    assert asked_in(harness.perplexity.requests[0]) == asked


async def test_both_events_of_one_mention__however_often__are_one_answer(harness: Driver) -> None:
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "text": "<@U0APP> why", "ts": TS}
    for _ in range(2):
        await harness.mention("why")
        assert await harness.event(event, id="Ev2") == 200
    await answer(harness)
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await answer(harness, channel="DU1", thread="1795255300.000100")

    assert len(harness.slack.thread("C1", TS)) == 1
    assert [asked_in(request) for request in harness.perplexity.requests] == ["why", "the end"]


@pytest.mark.parametrize(
    "event",
    one_in(
        3,
        [
            {"subtype": "message_changed", "message": {"text": "why", "user": "U1"}},
            {"subtype": "message_deleted"},
            {"subtype": "bot_message"},
            {"subtype": "channel_join"},
            {"bot_id": "B2"},
            {"user": "U0APP"},
            {"user": "USLACKBOT"},
            {"user": ""},
            {"edited": {"user": "U1", "ts": TS}},
            {"hidden": True},
            {"channel_type": "channel"},
            {"channel_type": "channel", "text": "about <@U2>"},
            {"ts": ""},
        ],
        first=2,
    ),
)
async def test_edits_bots_and_the_app_itself_are_never_answered(harness: Driver, event: dict[str, Any]) -> None:
    assert await harness.send_direct_message("why", **event) == 200
    await harness.send_direct_message("the end", ts="1795255300.000100")
    await answer(harness, channel="DU1", thread="1795255300.000100")

    assert [asked_in(request) for request in harness.perplexity.requests] == ["the end"]
    assert {post.payload.get("thread_ts", "1795255300.000100") for post in harness.slack.posts} == {"1795255300.000100"}


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
async def test_a_message_with_a_file_or_shown_in_the_channel_too_is_answered(harness: Driver, subtype: str) -> None:
    await harness.send_direct_message("why", subtype=subtype)

    await answer(harness, channel="DU1")


async def test_help_costs_nothing(harness: Driver) -> None:
    await harness.mention("help")
    await harness.wait_until_settled(1)

    assert "Searching" not in str(harness.slack.posts)
    assert harness.perplexity.requests == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--recency", "`--recency` needs a value"),
        ("search --n 50 rust", "`--n` must be between 1 and 20."),
        ("--recencie week why", "Did you mean `--recency`?"),
        ("--reasoning", "Add a question after the options."),
        ("--mode academic why", "works for searches only"),
    ],
)
async def test_an_invalid_question_is_reported_to_the_asker_only(harness: Driver, typed: str, said: str) -> None:
    await harness.mention(typed)
    (post,) = await harness.slack.wait_for(1)

    assert (post.method, post.payload["user"]) == ("chat.postEphemeral", "U1")
    assert said in post.shown_text
    assert "--public" not in post.shown_text
    assert harness.perplexity.requests == []


async def test_help_in_a_direct_message_shows_lines_as_they_are_typed_there(harness: Driver) -> None:
    await harness.send_direct_message("help")

    post = await answer(harness, channel="DU1", holds="In a direct message, just write.")

    assert [block["type"] for block in post.payload["blocks"]] == ["section", "actions", "actions", "actions"]
    assert "•  ." not in post.shown_text


async def test_the_parts_of_a_long_answer_follow_in_the_thread(harness: Driver) -> None:
    words = [f"w{number}" for number in range(6_000)]
    body = json.loads(fixture("agent.200.json"))
    body["output"][1]["content"][0]["text"] = "\n\n".join(" ".join(words[i : i + 60]) for i in range(0, 6_000, 60))
    harness.perplexity.script("/v1/agent", json_reply(body))

    await harness.mention("tell me everything")
    await harness.slack.wait_until(
        lambda: any(re.search(r"Part (\d+) of \1", post.shown_text) for post in harness.slack.posts)
    )

    shown = harness.slack.thread("C1", TS)
    text = " ".join(block["text"] for post in shown for block in post.payload["blocks"] if block["type"] == "markdown")
    assert re.findall(r"w\d+", text) == words
    assert len(shown) > 2
    assert harness.slack.refusals == []


async def test_try_again_in_a_thread__the_answer_takes_the_failure_s_place(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", FAILURE)
    harness.slack.fail("chat.update", Fault(status=200, body='{"ok": false, "error": "internal_error"}'))
    await harness.mention("why")
    failure = await answer(harness, holds="Try again")
    (button,) = [block for block in failure.payload["blocks"] if block["type"] == "actions"]
    question = button["elements"][0]["value"]

    await harness.click_button("retry", question, message=failure.payload["ts"])
    post = await answer(harness)

    assert post.payload["ts"] == failure.payload["ts"]


LOST = [Fault(status=503, take_message=True), Fault(status=0, take_message=True)]
"""Slack takes the message, and its reply gets lost."""


@pytest.mark.parametrize("fault", LOST)
async def test_the_searching_line_whose_reply_got_lost_is_found_again(harness: Driver, fault: Fault) -> None:
    harness.slack.workspace.scopes += HISTORIES
    harness.slack.fail("chat.postMessage", fault)

    await harness.mention("why")

    await answer(harness)


@pytest.mark.parametrize("fault", LOST)
async def test_the_searching_line_of_a_direct_message_is_found_again(harness: Driver, fault: Fault) -> None:
    harness.slack.fail("chat.postMessage", fault)

    await harness.send_direct_message("why")

    await answer(harness, channel="DU1")


@pytest.mark.parametrize("fault", LOST)
async def test_without_the_scope_to_read_the_pending_message_is_posted_once(harness: Driver, fault: Fault) -> None:
    harness.slack.fail("chat.postMessage", fault)

    await harness.mention("why")
    await harness.slack.wait_until(lambda: any(ANSWER in post.shown_text for post in harness.slack.thread("C1", TS)))

    assert ["Searching" in post.shown_text for post in harness.slack.thread("C1", TS)] == [True, False]


async def test_a_question_that_waited_for_hours_is_answered_in_its_thread(harness: Driver) -> None:
    harness.perplexity.hold()
    await harness.mention("why")
    await harness.perplexity.wait_for(1)
    await harness.execute("UPDATE questions SET received_at = now() - interval '5 hours'")
    harness.perplexity.release()

    assert ANSWER in (await answer(harness)).shown_text


FAILURE = json_reply({"error": {"type": "invalid_api_key", "message": "no"}}, status=401)


async def test_a_failure_whose_reply_got_lost_never_covers_the_answer_of_try_again(
    harness: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    harness.perplexity.script("/v1/agent", FAILURE)
    harness.slack.fail("chat.update", Fault(status=503, take_message=True, seconds=2))
    await harness.mention("why")
    failure = await answer(harness, holds="Try again")

    await harness.click_button("retry", button(failure), message=failure.payload["ts"])
    await answer(harness)
    await wait_until(lambda: "question.superseded" in caplog.messages)

    assert ANSWER in (await answer(harness)).shown_text


async def test_try_again_while_the_first_question_is_not_settled__it_says_no_more(
    harness: Driver, database: str
) -> None:
    harness.perplexity.script("/v1/agent", FAILURE)
    await harness.mention("why")
    failure = await answer(harness, holds="Try again")
    await harness.wait_until_settled(1)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        # As a crash between the post and the settling leaves the row.
        await connection.execute("UPDATE questions SET state = 'delivering', settled_at = NULL")
        await harness.click_button("retry", button(failure), message=failure.payload["ts"])
        await answer(harness)
        rows = await (await connection.execute("SELECT state FROM questions ORDER BY received_at")).fetchall()
    async with harness.session.get(f"{harness.url}/metrics") as response:
        metrics = await response.text()

    assert rows[0] == ("withdrawn",)
    assert 'questions_settled_total{command="ask",state="withdrawn"} 1.0' in metrics


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a log record tells no one that it came
            await asyncio.sleep(0.05)


def button(post: Post) -> str:
    """Return the question that the message's button asks again."""
    (actions,) = [block for block in post.payload["blocks"] if block["type"] == "actions"]
    value: str = actions["elements"][0]["value"]
    return value


@pytest.mark.parametrize("text", ["why \x00 not", "why \ud800 not"])
async def test_text_that_a_database_cannot_hold_is_asked_without_it(harness: Driver, text: str) -> None:
    assert await harness.mention(text) == 200

    assert ANSWER in (await answer(harness)).shown_text


@pytest.mark.parametrize("error", ["message_not_found", "cant_update_message", "edit_window_closed"])
async def test_a_line_that_cannot_be_changed_gives_way_to_a_message(harness: Driver, error: str) -> None:
    harness.slack.fail("chat.update", Fault(status=200, body=json.dumps({"ok": False, "error": error})))

    await harness.mention("why")

    await answer(harness)


async def test_blocks_that_slack_refuses__the_same_words_as_text(harness: Driver) -> None:
    harness.slack.fail("chat.update", Fault(status=200, body='{"ok": false, "error": "invalid_blocks"}'))

    await harness.mention("why")
    post = await answer(harness)

    assert "blocks" not in post.payload
    assert "https://a.example/1" in post.payload["text"]


@pytest.mark.parametrize("error", ["not_in_channel", "channel_not_found", "is_archived"])
async def test_a_thread_that_takes_nothing__a_direct_message(harness: Driver, error: str) -> None:
    refusal = Fault(status=200, body=json.dumps({"ok": False, "error": error}))
    harness.slack.fail("chat.postMessage", refusal, refusal)

    await harness.mention("why")
    (post,) = await harness.slack.wait_for(1)

    assert (post.payload["channel"], "thread_ts" in post.payload) == ("DU1", False)
    assert ANSWER in post.shown_text


async def test_the_challenge_is_answered(harness: Driver) -> None:
    from tests.fakes.person import signed

    body = b'{"type": "url_verification", "challenge": "abc", "token": "deprecated"}'
    headers = signed(body) | {"Content-Type": "application/json"}
    async with harness.session.post(f"{harness.url}/slack/events", data=body, headers=headers) as response:
        assert (response.status, await response.json()) == (200, {"challenge": "abc"})


async def test_many_mentions_at_once_are_all_answered_each_in_its_thread(harness: Driver) -> None:
    stamps = [f"179525{number:04d}.000100" for number in range(20)]
    await asyncio.gather(*(harness.mention(f"question {ts}", ts=ts, user=f"U{ts[6:10]}") for ts in stamps))
    await harness.slack.wait_until(
        lambda: all(any(ANSWER in post.shown_text for post in harness.slack.thread("C1", ts)) for ts in stamps)
    )

    assert [len(harness.slack.thread("C1", ts)) for ts in stamps] == [1] * 20
