"""The stand-in for Slack keeps Slack's rules for streams: a careless bot breaks each once, a careful one none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.slack.limits import MAX_BLOCKS, MAX_MARKDOWN
from bot.playground.slack.timeline import Author, Message
from tests.fakes.slack import BOT_TOKEN, FakeSlack
from tests.fakes.time import Time

LIFETIME_SECONDS = 306
CHANNEL, DIRECT, THREAD = "C1", "DU1", "1795255200.000100"
TO_ASKER = {"recipient_user_id": "U1", "recipient_team_id": "T1"}
DIVIDER = {"type": "divider"}
TABLE = "| a |\n|---|\n| 1 |\n\n"
STEP = {"type": "task_update", "id": "1", "title": "Searched the web", "status": "complete"}
TEXT = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3000}}


@dataclass
class Bot:
    """A bot that streams into one thread of a channel."""

    slack: FakeSlack
    client: AsyncWebClient
    time: Time
    ts: str = ""

    async def start(self, **more: Any) -> None:
        call = {"channel": CHANNEL, "thread_ts": THREAD, **TO_ASKER, **more}
        self.ts = (await self.client.chat_startStream(**call))["ts"]

    async def append(self, text: str = "More. ", **more: Any) -> None:
        call = {"channel": CHANNEL, "ts": self.ts} | (more or {"markdown_text": text})
        await self.client.chat_appendStream(**call)

    async def stop(self, **more: Any) -> None:
        await self.client.chat_stopStream(**{"channel": CHANNEL, "ts": self.ts, **more})

    async def update(self, **more: Any) -> None:
        await self.client.chat_update(**{"channel": CHANNEL, "ts": self.ts, "text": "Instead", **more})

    async def post(self) -> None:
        call = {"channel": CHANNEL, "text": "x", "unfurl_links": False, "unfurl_media": False}
        self.ts = (await self.client.api_call("chat.postMessage", json=call))["ts"]

    def seen_by(self, user: str) -> list[str]:
        """Return the app's texts in the channel as a person sees them."""
        seen = self.slack.timeline.seen_by(user, CHANNEL)
        return [message.text for message in seen if message.author is Author.APP]


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    time = Time(1_795_255_201.0)
    async with FakeSlack(clock=time.clock, tiers=True) as slack, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=session)
        yield Bot(slack=slack, client=client, time=time)


async def not_in_a_thread(bot: Bot) -> None:
    await bot.start(thread_ts="")


async def to_nobody(bot: Bot) -> None:
    await bot.start(recipient_user_id="")


async def to_nobodys_team(bot: Bot) -> None:
    await bot.start(recipient_team_id="")


async def too_long(bot: Bot) -> None:
    await bot.start(markdown_text="x" * (MAX_MARKDOWN + 1))


async def too_long_in_a_chunk(bot: Bot) -> None:
    await bot.start(chunks=[STEP])
    await bot.append(chunks=[{"type": "markdown_text", "text": "x" * (MAX_MARKDOWN + 1)}])


async def too_long_in_sum(bot: Bot) -> None:
    await bot.start(markdown_text="x" * 7_000)
    await bot.append("y" * 6_300)


async def too_long_as_rendered(bot: Bot) -> None:
    await bot.start(markdown_text="&" * 2_700)


async def too_long_with_its_blocks(bot: Bot) -> None:
    await bot.start(markdown_text="x" * 11_000)
    await bot.stop(blocks=[TEXT])


async def too_many_blocks_as_rendered(bot: Bot) -> None:
    await bot.start(markdown_text=TABLE * MAX_BLOCKS)
    await bot.append("One more.")


async def too_many_blocks_in_a_chunk(bot: Bot) -> None:
    await bot.start(chunks=[{"type": "blocks", "blocks": [DIVIDER] * (MAX_BLOCKS + 1)}])


async def too_many_blocks_in_sum(bot: Bot) -> None:
    await bot.start(chunks=[{"type": "blocks", "blocks": [DIVIDER] * MAX_BLOCKS}])
    await bot.append(chunks=[STEP])


async def chunks_after_text(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.append(chunks=[STEP])


async def text_after_chunks(bot: Bot) -> None:
    await bot.start(chunks=[STEP])
    await bot.stop(markdown_text="Text")


async def text_and_chunks(bot: Bot) -> None:
    await bot.start(markdown_text="Text", chunks=[STEP])


async def a_long_title(bot: Bot) -> None:
    await bot.start(chunks=[STEP | {"title": "x" * 257}])


async def an_unknown_status(bot: Bot) -> None:
    await bot.start(chunks=[STEP | {"status": "done"}])


async def an_unknown_chunk(bot: Bot) -> None:
    await bot.start(chunks=[{"type": "text", "text": "x"}])


async def a_malformed_block(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.stop(blocks=[{"type": "section"}])


async def an_empty_append(bot: Bot) -> None:
    await bot.start()
    await bot.append("")


async def too_old_to_grow(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    for _ in range(4):
        bot.slack.advance(LIFETIME_SECONDS / 4)
        await bot.append()


async def too_old_to_stop(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    bot.slack.advance(LIFETIME_SECONDS)
    await bot.stop()


async def stopped_twice(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.stop()
    await bot.stop()


async def not_a_stream(bot: Bot) -> None:
    await bot.post()
    await bot.append()


async def not_its_own(bot: Bot) -> None:
    bot.slack.timeline.put(Message(channel=CHANNEL, ts=THREAD, author=Author.YOU, text="Why?"))
    bot.ts = THREAD
    await bot.append()


async def deleted(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.stop()
    await bot.client.chat_delete(channel=CHANNEL, ts=bot.ts)
    await bot.append()


async def stopped_by_the_person(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    bot.slack.press_stop(CHANNEL, THREAD)
    await bot.append()


async def updated_while_live(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.update()


async def deleted_while_live(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.client.chat_delete(channel=CHANNEL, ts=bot.ts)


async def rich_text_replaced(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.stop()
    await bot.update(blocks=[DIVIDER])


async def an_update_in_many_bytes(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    await bot.stop()
    await bot.update(text="é" * 2_001)


async def no_such_method(bot: Bot) -> None:
    bot.slack.workspace.refused["chat.startStream"] = "unknown_method"
    await bot.start()


async def no_such_feature(bot: Bot) -> None:
    bot.slack.workspace.refused["chat.startStream"] = "feature_not_enabled"
    await bot.start()


async def no_scope(bot: Bot) -> None:
    bot.slack.workspace.scopes.remove("chat:write")
    await bot.start()


async def too_many_starts(bot: Bot) -> None:
    for _ in range(21):
        await bot.start()


async def too_many_stops(bot: Bot) -> None:
    for _ in range(20):
        await bot.start()
        await bot.stop()
    await bot.stop()


async def too_many_appends(bot: Bot) -> None:
    await bot.start()
    for _ in range(101):
        await bot.append()


async def too_many_updates(bot: Bot) -> None:
    await bot.post()
    for _ in range(51):
        await bot.update()


async def too_many_posts(bot: Bot) -> None:
    for _ in range(6):
        await bot.post()


BROKEN: dict[Callable[[Bot], Awaitable[None]], str] = {
    not_in_a_thread: "invalid_thread_ts",
    to_nobody: "missing_recipient_user_id",
    to_nobodys_team: "missing_recipient_team_id",
    too_long: "msg_too_long",
    too_long_in_a_chunk: "msg_too_long",
    too_long_in_sum: "msg_blocks_too_long",
    too_long_as_rendered: "msg_blocks_too_long",
    too_long_with_its_blocks: "msg_blocks_too_long",
    too_many_blocks_as_rendered: "msg_blocks_too_many",
    too_many_blocks_in_a_chunk: "msg_blocks_too_many",
    too_many_blocks_in_sum: "msg_blocks_too_many",
    chunks_after_text: "streaming_mode_mismatch",
    text_after_chunks: "streaming_mode_mismatch",
    text_and_chunks: "markdown_text_conflict",
    a_long_title: "invalid_chunks",
    an_unknown_status: "invalid_chunks",
    an_unknown_chunk: "invalid_chunks",
    a_malformed_block: "invalid_blocks",
    an_empty_append: "no_text",
    too_old_to_grow: "message_not_in_streaming_state",
    too_old_to_stop: "message_not_in_streaming_state",
    stopped_twice: "message_not_in_streaming_state",
    not_a_stream: "message_not_in_streaming_state",
    not_its_own: "message_not_owned_by_app",
    deleted: "message_not_found",
    stopped_by_the_person: "stopped_by_user",
    updated_while_live: "streaming_state_conflict",
    deleted_while_live: "cant_delete_message",
    rich_text_replaced: "block_mismatch",
    an_update_in_many_bytes: "msg_too_long",
    no_such_method: "unknown_method",
    no_such_feature: "feature_not_enabled",
    no_scope: "missing_scope",
    too_many_starts: "ratelimited",
    too_many_stops: "ratelimited",
    too_many_appends: "ratelimited",
    too_many_updates: "ratelimited",
    too_many_posts: "ratelimited",
}


@pytest.mark.parametrize("break_the_rule", BROKEN, ids=lambda rule: rule.__name__)
async def test_a_careless_bot_gets_slacks_error(bot: Bot, break_the_rule: Callable[[Bot], Awaitable[None]]) -> None:
    with pytest.raises(SlackApiError) as refused:
        await break_the_rule(bot)

    assert refused.value.response["error"] == BROKEN[break_the_rule]
    assert bot.slack.answered[-1].error == BROKEN[break_the_rule]


async def test_a_careful_bot_gets_no_error(bot: Bot) -> None:
    answer = "Yes, & it <is>. " * 100
    source = {"type": "url", "url": "https://a.example/1", "text": "a.example"}
    await bot.start(chunks=[STEP | {"status": "in_progress", "details": "8 pages"}])
    await bot.append(chunks=[{"type": "markdown_text", "text": "## Answer\n\n"}])
    for piece in answer.split():
        if bot.slack.tiers is not None and len(bot.slack.answered) % 90 == 0:
            bot.slack.advance(60)
        await bot.append(chunks=[{"type": "markdown_text", "text": f"{piece} "}])
    await bot.append(chunks=[STEP | {"details": ", all read", "sources": [source]}])
    await bot.stop(blocks=[TEXT], metadata={"event_type": "answer", "event_payload": {}}, session_status="active")
    await bot.update(text="*Answer*", blocks=[{"type": "markdown", "text": "**Answer**"}])

    assert {call.error for call in bot.slack.answered} == {""}


async def test_a_stream_grows_for_its_recipient_and_for_others_only_at_the_stop(bot: Bot) -> None:
    seen = []
    await bot.start(markdown_text="One ")
    await bot.append("two ")
    seen.append((bot.seen_by("U1"), bot.seen_by("U2")))
    await bot.stop(markdown_text="three")
    seen.append((bot.seen_by("U1"), bot.seen_by("U2")))

    assert seen == [(["One two"], ["One"]), (["One two three"], ["One two three"])]


async def test_in_a_direct_message_everyone_sees_a_stream_grow_and_no_recipient_is_needed(bot: Bot) -> None:
    await bot.client.chat_startStream(channel=DIRECT, thread_ts=THREAD, markdown_text="One")
    message = bot.slack.timeline.seen_by("U1", DIRECT)[-1]
    await bot.client.chat_appendStream(channel=DIRECT, ts=message.ts, markdown_text=" two")

    assert [m.text for m in bot.slack.timeline.seen_by("U1", DIRECT)] == ["Why?", "One two"]


async def test_a_stream_that_ends_by_itself_is_shown_to_everyone(bot: Bot) -> None:
    await bot.start(markdown_text="One ")
    await bot.append("two")
    bot.slack.advance(LIFETIME_SECONDS)

    assert bot.seen_by("U2") == ["One two"]


async def test_an_ended_stream_can_be_updated(bot: Bot) -> None:
    await bot.start(markdown_text="Half")
    bot.slack.advance(LIFETIME_SECONDS)
    await bot.update(text="Whole")

    assert bot.seen_by("U2") == ["Whole"]


async def test_after_the_person_s_stop_the_bot_can_still_close_the_stream(bot: Bot) -> None:
    await bot.start(markdown_text="Half")
    event = bot.slack.press_stop(CHANNEL, THREAD, user="U1")
    await bot.stop(blocks=[DIVIDER])

    assert (event["type"], event["thread_ts"], event["streaming_message_ts"]) == (
        "agent_session_stopped",
        THREAD,
        [bot.ts],
    )
    assert bot.slack.press_stop(CHANNEL, THREAD)["streaming_message_ts"] == []


async def test_a_thread_s_history_says_whether_a_stream_is_live(bot: Bot) -> None:
    states = []
    bot.slack.workspace.scopes.append("channels:history")
    await bot.start(markdown_text="**One** [two](https://a.example)")
    for seconds in (0, LIFETIME_SECONDS):
        bot.slack.advance(seconds)
        replies = (await bot.client.conversations_replies(channel=CHANNEL, ts=THREAD))["messages"]
        states.append((replies[-1]["ts"], replies[-1]["text"], replies[-1]["streaming_state"]))

    text = "*One* <https://a.example|two>"
    assert states == [(bot.ts, text, "in_progress"), (bot.ts, text, "completed")]


async def test_tasks_keep_their_place_and_collect_their_details(bot: Bot) -> None:
    await bot.start(chunks=[STEP | {"status": "in_progress", "details": "a"}])
    await bot.append(chunks=[{"type": "markdown_text", "text": "Text"}, {"type": "blocks", "blocks": [DIVIDER]}])
    await bot.append(chunks=[STEP | {"details": "b", "title": "Read 8 pages"}])
    [stream] = bot.slack.streams(CHANNEL, THREAD)
    card, text, divider = stream.blocks()

    assert (card["type"], card["title"], card["status"]) == ("task_card", "Read 8 pages", "complete")
    assert card["details"]["elements"][0]["elements"][0]["text"] == "ab"
    assert (text["text"], divider["type"], stream.markdown) == ("Text", "divider", "Text")


async def test_a_plan_has_all_its_tasks_in_one_block(bot: Bot) -> None:
    plan = {"type": "plan_update", "title": "Answering"}
    await bot.start(task_display_mode="plan", chunks=[plan, STEP | {"status": "pending"}, STEP | {"id": "2"}])
    [stream] = bot.slack.streams(CHANNEL, THREAD)
    [block] = stream.blocks()

    assert (block["title"], [(task["task_id"], task["status"]) for task in block["tasks"]]) == (
        "Answering",
        [("1", "pending"), ("2", "complete")],
    )


async def test_too_fast_a_bot_is_told_when_to_come_back(bot: Bot) -> None:
    refusals = []
    for _ in range(2):
        for _ in range(20):
            await bot.start()
        bot.slack.advance(20.5)
        with pytest.raises(SlackApiError) as refused:
            await bot.start()
        refusals.append((refused.value.response.status_code, refused.value.response.headers["Retry-After"]))
        bot.slack.advance(39.5)

    assert refusals == [(429, "40")] * 2


async def test_a_channel_takes_one_post_a_second_after_a_burst(bot: Bot) -> None:
    for seconds in (0, 0, 0, 0, 0, 1, 1, 3, 0, 0):
        bot.slack.advance(seconds)
        await bot.post()
    with pytest.raises(SlackApiError, match="ratelimited"):
        await bot.post()


async def test_a_stream_can_grow_until_its_last_second(bot: Bot) -> None:
    await bot.start(markdown_text="Text")
    bot.slack.advance(LIFETIME_SECONDS - 1)
    await bot.append()
    await bot.stop()


async def test_slacks_own_helper_can_stream(bot: Bot) -> None:
    stream = await bot.client.chat_stream(channel=CHANNEL, thread_ts=THREAD, buffer_size=10, **TO_ASKER)
    for word in ["One", "two", "three", "four", "five", "six."]:
        await stream.append(markdown_text=f"{word} ")
    await stream.append(chunks=[STEP])
    await stream.stop(markdown_text="Done.", blocks=[DIVIDER])
    [streamed] = bot.slack.streams(CHANNEL, THREAD)

    assert streamed.markdown == "One two three four five six. Done."
    assert [block["type"] for block in streamed.blocks()] == ["markdown", "task_card", "markdown", "divider"]
    assert bot.slack.posts == []


async def test_calls_at_the_same_time_lose_nothing(bot: Bot) -> None:
    await bot.start()
    await asyncio.gather(*(bot.append(f"{number} ") for number in range(30)))
    [stream] = bot.slack.streams(CHANNEL, THREAD)

    assert sorted(stream.markdown.split(), key=int) == [str(number) for number in range(30)]
