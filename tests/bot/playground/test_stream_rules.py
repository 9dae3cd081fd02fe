"""The stand-in for Slack keeps Slack's rules for streams: a careless bot breaks each once, a careful one none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.limits import MAX_BLOCKS, MAX_MARKDOWN
from fake_slack.timeline import Author, SlackMessage
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

    async def delete(self) -> None:
        await self.client.chat_delete(channel=CHANNEL, ts=self.ts)

    async def turn_to(self, ts: str) -> None:
        """Take a person's message for its own."""
        self.slack.timeline.put(SlackMessage(channel=CHANNEL, ts=ts, author=Author.YOU, text="Why?"))
        self.ts = ts

    async def wait(self, seconds: float) -> None:
        self.slack.advance(seconds)

    async def press_stop(self) -> None:
        self.slack.press_stop(CHANNEL, THREAD)

    async def refuse(self, error: str) -> None:
        """Have the workspace refuse streams."""
        self.slack.workspace.refused["chat.startStream"] = error

    async def lose_scope(self, scope: str) -> None:
        self.slack.workspace.scopes.remove(scope)


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    time = Time(1_795_255_201.0)
    async with FakeSlack(clock=time.clock, tiers=True) as slack, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=session)
        yield Bot(slack=slack, client=client, time=time)


Step = Callable[[Bot], Awaitable[None]]

start, append, stop, update, wait = (
    partial(methodcaller, name) for name in ("start", "append", "stop", "update", "wait")
)
post, delete, press_stop = methodcaller("post"), methodcaller("delete"), methodcaller("press_stop")
text = start(markdown_text="Text")

BROKEN: dict[str, tuple[str, Sequence[Step]]] = {
    "not in a thread": ("invalid_thread_ts", [start(thread_ts="")]),
    "to nobody": ("missing_recipient_user_id", [start(recipient_user_id="")]),
    "to nobody's team": ("missing_recipient_team_id", [start(recipient_team_id="")]),
    "too long": ("msg_too_long", [start(markdown_text="x" * (MAX_MARKDOWN + 1))]),
    "too long in a chunk": (
        "msg_too_long",
        [start(chunks=[STEP]), append(chunks=[{"type": "markdown_text", "text": "x" * (MAX_MARKDOWN + 1)}])],
    ),
    "too long in sum": ("msg_blocks_too_long", [start(markdown_text="x" * 7_000), append("y" * 6_300)]),
    "too long as rendered": ("msg_blocks_too_long", [start(markdown_text="&" * 2_700)]),
    "too long with its blocks": ("msg_blocks_too_long", [start(markdown_text="x" * 11_000), stop(blocks=[TEXT])]),
    "too many blocks as rendered": (
        "msg_blocks_too_many",
        [start(markdown_text=TABLE * MAX_BLOCKS), append("One more.")],
    ),
    "too many blocks in a chunk": (
        "msg_blocks_too_many",
        [start(chunks=[{"type": "blocks", "blocks": [DIVIDER] * (MAX_BLOCKS + 1)}])],
    ),
    "too many blocks in sum": (
        "msg_blocks_too_many",
        [start(chunks=[{"type": "blocks", "blocks": [DIVIDER] * MAX_BLOCKS}]), append(chunks=[STEP])],
    ),
    "chunks after text": ("streaming_mode_mismatch", [text, append(chunks=[STEP])]),
    "text after chunks": ("streaming_mode_mismatch", [start(chunks=[STEP]), stop(markdown_text="Text")]),
    "text and chunks": ("markdown_text_conflict", [start(markdown_text="Text", chunks=[STEP])]),
    "a long title": ("invalid_chunks", [start(chunks=[STEP | {"title": "x" * 257}])]),
    "an unknown status": ("invalid_chunks", [start(chunks=[STEP | {"status": "done"}])]),
    "an unknown chunk": ("invalid_chunks", [start(chunks=[{"type": "text", "text": "x"}])]),
    "a malformed block": ("invalid_blocks", [text, stop(blocks=[{"type": "section"}])]),
    "an empty append": ("no_text", [start(), append("")]),
    "too old to grow": ("message_not_in_streaming_state", [text, *[wait(LIFETIME_SECONDS / 4), append()] * 4]),
    "too old to stop": ("message_not_in_streaming_state", [text, wait(LIFETIME_SECONDS), stop()]),
    "stopped twice": ("message_not_in_streaming_state", [text, stop(), stop()]),
    "not a stream": ("message_not_in_streaming_state", [post, append()]),
    "not its own": ("message_not_owned_by_app", [methodcaller("turn_to", THREAD), append()]),
    "deleted": ("message_not_found", [text, stop(), delete, append()]),
    "stopped by the person": ("stopped_by_user", [text, press_stop, append()]),
    "updated while live": ("streaming_state_conflict", [text, update()]),
    "deleted while live": ("cant_delete_message", [text, delete]),
    "rich text replaced": ("block_mismatch", [text, stop(), update(blocks=[DIVIDER])]),
    "an update in many bytes": ("msg_too_long", [text, stop(), update(text="é" * 2_001)]),
    "no such method": ("unknown_method", [methodcaller("refuse", "unknown_method"), start()]),
    "no such feature": ("feature_not_enabled", [methodcaller("refuse", "feature_not_enabled"), start()]),
    "no scope": ("missing_scope", [methodcaller("lose_scope", "chat:write"), start()]),
    "too many starts": ("ratelimited", [start()] * 21),
    "too many stops": ("ratelimited", [*[start(), stop()] * 20, stop()]),
    "too many appends": ("ratelimited", [start(), *[append()] * 101]),
    "too many updates": ("ratelimited", [post, *[update()] * 51]),
    "too many posts": ("ratelimited", [post] * 6),
}
"""The error, and the steps of which the last one gets it."""


@pytest.mark.parametrize(("error", "steps"), BROKEN.values(), ids=BROKEN)
async def test_a_careless_bot_gets_slacks_error(bot: Bot, error: str, steps: Sequence[Step]) -> None:
    *before, last = steps
    for step in before:
        await step(bot)
    with pytest.raises(SlackApiError) as refused:
        await last(bot)

    assert refused.value.response["error"] == error
    assert bot.slack.answered[-1].error == error


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
