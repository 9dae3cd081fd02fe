"""What tests of the buttons below answers do: ask, click, submit, and look at what people see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg

from tests.end_to_end.conftest import AppHarness
from tests.fakes.answers import beginning, deltas, end
from tests.fakes.perplexity import json_reply, stream_reply
from tests.fakes.slack import Post

Message = dict[str, Any]
"""A message as it is shown; one without a `ts` is ephemeral."""

TS = "1795255200.000100"

TOLD = ("Answering “", "Looking for more pages on “", "Thinking longer about “", "Trying again.")
"""What a click below a private answer is answered with at once."""


def script_answer(harness: AppHarness, text: str, *, sites: Sequence[str] = ("a.example", "b.example")) -> None:
    """Answer the next question with this text."""
    events = [*beginning(sites=sites), *deltas(text, size=1_000), end(text, sites=sites)]
    harness.perplexity.script("/v1/agent", stream_reply(*events))


def script_pages(harness: AppHarness, count: int, *, snippet: str = "What page {} says.") -> None:
    """Find this many pages at the next search."""
    pages = [
        {"title": f"Page {n}", "url": f"https://p{n}.example/", "snippet": snippet.format(n), "date": "2026-11-01"}
        for n in range(1, count + 1)
    ]
    harness.perplexity.script("/search", json_reply({"id": "1", "results": pages}))


async def questions(harness: AppHarness) -> list[tuple[str, str, str]]:
    """Return the asker, the state and the text of each question, in order."""
    rows = "SELECT user_id, state, text FROM questions ORDER BY received_at"
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        found = await (await connection.execute(rows)).fetchall()
        return [(str(user), str(state), str(text)) for user, state, text in found]


async def settle(harness: AppHarness) -> None:
    """Wait until every question came to its end."""
    await harness.wait_until_settled(len(await questions(harness)))


async def ask(harness: AppHarness, typed: str) -> Message:
    """Type a command, and return its answer, of however many messages, as one ephemeral message."""
    before = len(harness.slack.posts)
    await harness.ask(typed, trigger=str(uuid4()))
    await settle(harness)
    posted = harness.slack.posts[before:]
    return {"blocks": [block for post in posted for block in post.payload["blocks"]]}


async def mention(harness: AppHarness, text: str, *, ts: str = TS, **more: Any) -> Message:
    """Mention the app, and return its answer in the thread."""
    assert await harness.mention(text, ts=ts, id=str(uuid4()), **more) == 200
    await settle(harness)
    return last_in(harness, "C1", more.get("thread_ts", ts))


def last_in(harness: AppHarness, channel: str, thread_ts: str) -> Message:
    """Return the app's last message in a thread."""
    return harness.slack.thread(channel, thread_ts)[-1].payload


def last_answer(harness: AppHarness) -> Post:
    """Return the last post, except notices that an answer will follow: Slack may take one after the answer itself."""
    return [post for post in harness.slack.posts if not _is_notice(post)][-1]


def _is_notice(post: Post) -> bool:
    return str(post.payload["text"]).startswith(TOLD)


async def click(
    harness: AppHarness,
    message: Mapping[str, Any],
    action: str,
    value: object = None,
    *,
    user: str = "U1",
    channel: str = "C1",
    token: str = "",
) -> list[Post]:
    """Use an element of a message; return what was sent to the address of this click until it was acknowledged."""
    token, person = token or str(uuid4()), replace(harness.person, user=user)
    async with await person.choose(message, action, value, token=token, channel=channel) as response:
        assert response.status == 200
    return [post for post in harness.slack.posts if post.payload.get("token") == token]


async def told(harness: AppHarness, message: Mapping[str, Any], action: str, value: object = None, **more: Any) -> str:
    """Use an element of a message; return what the person is told, empty for nothing.

    The answer to a question that is asked by the click may come before it is told that it will.
    """
    replies = await click(harness, message, action, value, **more)
    return "".join(str(post.payload["text"]) for post in [post for post in replies if _is_notice(post)] or replies)


async def submit(harness: AppHarness, *, user: str = "U1", token: str = "", **values: Any) -> dict[str, str]:
    """Submit the modal that a person sees; return what it says below its inputs."""
    view = harness.slack.modal(user)
    person = replace(harness.person, user=user)
    async with await person.submit(view, values, token=token or str(uuid4())) as response:
        assert response.status == 200
    left = harness.slack.views.find(view.id)
    return {} if left is None else dict(left.errors)


async def delete_questions(harness: AppHarness) -> None:
    """Delete every question, as a retention does."""
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        await connection.execute("DELETE FROM questions")


def actions(message: Mapping[str, Any]) -> list[str]:
    """Return the ids of a message's buttons."""
    elements = [element for block in message.get("blocks", ()) for element in block.get("elements", ())]
    return [str(element["action_id"]) for element in elements if "action_id" in element]
