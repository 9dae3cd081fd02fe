"""A private answer to a command, which grows once before its end: what is shown, stopped, ended at a limit, or lost."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import pytest

from bot.settings import Settings
from tests.driver import Driver, Processes, rows, stop_button
from tests.end_to_end.test_stream_crashes import give_back
from tests.end_to_end.test_streaming import SHOWN, TEXT, TS
from tests.fakes.answers import KEEP_ALIVE, beginning, deltas, pages, whole_stream
from tests.fakes.perplexity import sse, stream_reply
from tests.fakes.slack import Fault, Post

FIRST = stream_reply(*beginning(), *deltas(TEXT)[:8], hang=True)
"""The first sentences of an answer, after which nothing comes."""


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.model_copy(update=getattr(request, "param", {}))


async def grown(harness: Driver) -> Post:
    """Wait for the post of the first sentences."""
    await harness.slack.wait_until(lambda: any("still writing…" in post.shown_text for post in harness.slack.posts))
    return next(post for post in harness.slack.posts if "still writing…" in post.shown_text)


async def test_the_first_sentences_come_before_the_answer_and_the_answer_in_their_place(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.2))

    await harness.ask("/ask do heat pumps pay off?")
    await harness.wait_until_settled(1)

    *_, growing, answer = harness.slack.posts
    assert "still writing…" in growing.shown_text
    assert growing.markdown.endswith(("(https://a.example/1)", "(https://b.example/2)"))
    assert SHOWN.startswith(growing.markdown)
    assert growing.payload["blocks"][0] == answer.payload["blocks"][0]
    assert "“do heat pumps pay off?”" in str(growing.payload["blocks"][0])
    assert stop_button(growing.payload)
    assert answer.markdown == SHOWN
    assert all(post.payload["replace_original"] for post in harness.slack.posts)
    assert len(harness.slack.posts) <= 3


async def test_a_public_answer_does_not_grow_in_private(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.15))

    await harness.ask("/ask --public do heat pumps pay off?")
    await harness.wait_until_settled(1)

    assert [post.markdown for post in harness.slack.posts if post.markdown] == [SHOWN]


async def test_a_stop_keeps_what_was_shown(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", FIRST)
    await harness.ask("/ask do heat pumps pay off?")
    growing = await grown(harness)

    asker = replace(harness.person, user="U1")
    async with await asker.click("stop", stop_button(growing.payload), token="stop") as response:
        assert response.status == 200
    stopped = await harness.slack.wait_for_text("You stopped this answer")

    assert stopped.markdown == growing.markdown
    assert "Start again" in stopped.shown_text


async def test_the_sources_of_a_stopped_answer_are_those_of_what_was_shown(harness: Driver) -> None:
    found = sse({"type": "response.reasoning.search_results", "results": pages("a.example", "b.example", "c.example")})
    first, later = deltas(TEXT)[:8], [found, *deltas(" Its price fell.[3] " * 20, size=400)]
    events = [*beginning(), *first, *[KEEP_ALIVE] * 15, *later]
    harness.perplexity.script("/v1/agent", stream_reply(*events, pause=0.1, hang=True))
    await harness.ask("/ask do heat pumps pay off?")
    growing = await grown(harness)
    # What comes meanwhile is not shown. The test is green too if it comes too late.
    await asyncio.sleep(2.0)

    await harness.click_button("stop", stop_button(growing.payload), token="stop")
    stopped = await harness.slack.wait_for_text("You stopped this answer")
    await harness.click(stopped.payload, "sources")

    blocks = harness.slack.modal().blocks
    shown = json.dumps(blocks, ensure_ascii=False)
    assert "2 pages · 2 cited" in shown
    assert "Cited for: “Yes, a heat pump costs less to run" in shown
    assert "Its price fell" not in shown
    assert "c.example" not in shown + stopped.shown_text
    known, searched = blocks[-1]["elements"][0]["text"].splitlines()
    assert re.fullmatch(r"[2-9]\.\d s", known)
    assert searched == "Searched for “q1”"


@pytest.mark.parametrize("settings", [{"answer_provider_seconds": 3.0, "answer_chain_seconds": 3.0}], indirect=True)
@pytest.mark.parametrize("typed", ["/ask why", "/ask --public why", "message"])
async def test_an_answer_that_a_limit_ends_keeps_its_text(harness: Driver, typed: str) -> None:
    harness.perplexity.script("/v1/agent", FIRST)

    if typed == "message":
        await harness.send_direct_message("why", ts=TS)
    else:
        await harness.ask(typed)
    await harness.wait_until_settled(1)

    last = harness.slack.thread("DU1", TS)[-1] if typed == "message" else harness.slack.posts[-1]
    assert last.markdown
    assert SHOWN.startswith(last.markdown)
    assert "This is only a part: I stopped after" in last.shown_text
    assert "Try again" in last.shown_text


async def test_first_sentences_in_doubt_count_as_shown(harness: Driver) -> None:
    harness.slack.fail("response_url", Fault(status=500, body="down"))
    harness.perplexity.script(
        "/v1/agent", stream_reply(*beginning(), *deltas(TEXT)[:8], *[KEEP_ALIVE] * 30, pause=0.05)
    )

    await harness.ask("/ask do heat pumps pay off?")
    await harness.wait_until_settled(1)

    assert not any("still writing…" in post.shown_text for post in harness.slack.posts)
    assert "This is only a part: the answer broke off" in harness.slack.posts[-1].shown_text
    assert [request.path for request in harness.perplexity.requests].count("/v1/agent") == 1


async def test_after_a_crash_the_row_knows_what_was_posted(workspace: Processes) -> None:
    workspace.perplexity.script("/v1/agent", FIRST, stream_reply(*whole_stream(TEXT), pause=0.1))
    process = await workspace.start()
    async with await workspace.person(process).type_command("/ask do heat pumps pay off?") as response:
        assert response.status == 200
    slack = workspace.slack
    await slack.wait_until(lambda: any("still writing…" in post.shown_text for post in slack.posts))
    before = len(slack.posts)
    await process.kill()
    assert await rows(workspace.database, "SELECT response_uses FROM questions") == [(before,)]

    await give_back(workspace.database)
    last = await workspace.start("worker")
    await last.logs("question.settled", 1)
    assert await last.terminate() == 0

    assert len([post for post in slack.posts if "still writing…" in post.shown_text]) <= 2
    assert slack.posts[-1].markdown == SHOWN
    assert len(slack.posts) <= 3
