"""What pages, titles and people write is data: it changes no channel, no visibility, no tool, no spending."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests.driver import Driver, asked_in
from tests.fakes.attacks import ATTACKS, attacks
from tests.fakes.judge import harms_of_message
from tests.fakes.perplexity import fixture, json_reply

pytestmark = pytest.mark.trust(12)

PEOPLE = 40
"""Each has a few questions at once."""


def reply_with(texts: Sequence[str]) -> dict[str, Any]:
    """Return a response in which the first text is the answer, and the others are a page's title, excerpt and date."""
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    said, *rest = texts
    filled = cycle(rest or [said])
    body["output"][0]["results"] = [
        {"id": n, "title": next(filled), "url": f"https://s{n}.example/p", "snippet": next(filled), "source": "web"}
        for n in (1, 2)
    ]
    body["output"][1]["content"][0]["text"] = f"{said} [1][2]"
    return body


async def counts(database: str, *names: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        found = {}
        for name in names:
            row = await (await connection.execute(SQL("SELECT count(*) FROM {}").format(Identifier(name)))).fetchone()
            assert row is not None
            found[name] = int(row[0])
        return found


def groups() -> Iterator[list[str]]:
    """Yield the whole corpus, five texts a question, injections first among the answers."""
    orders, others = list(attacks("order").values()), [text for name, text in ATTACKS.items() if "order" not in name]
    sizes = max(1, len(others) // len(orders))
    for number, order in enumerate(orders):
        yield [order, *others[number * sizes : (number + 1) * sizes]]


async def test_the_corpus_as_answers_and_pages_changes_nothing_but_the_text(harness: Driver) -> None:
    listed = list(groups())
    assert sum(map(len, listed)) >= 200
    harness.perplexity.script("/v1/agent", *(json_reply(reply_with(texts)) for texts in listed))

    def is_answered(token: str) -> bool:
        return any(post.payload.get("token") == token for post in harness.slack.posts)

    async def person(number: int) -> list[Mapping[str, Any]]:
        asks = replace(harness.person, user=f"UP{number}")
        shown = []
        for turn in range(number, len(listed), PEOPLE):
            async with await asks.type_command("/ask what is it?", trigger=f"t{turn}") as response:
                shown.append(await response.json())
            await harness.slack.wait_until(partial(is_answered, f"t{turn}"))
        return shown

    shown = await asyncio.gather(*(person(number) for number in range(PEOPLE)))
    await harness.wait_until_settled(len(listed))

    allowed = {f"https://s{n}.example/p" for n in (1, 2)}
    for post in harness.slack.posts:
        assert harms_of_message(post.payload, allowed) == []
    for acknowledgement in (one for answers in shown for one in answers):
        assert harms_of_message(acknowledgement, set()) == []
    # One private answer for each question, where it was asked, and nothing anywhere else.
    assert {post.method for post in harness.slack.posts} == {"response_url"}
    assert {post.payload["response_type"] for post in harness.slack.posts} == {"ephemeral"}
    assert sorted({post.payload["token"] for post in harness.slack.posts}) == sorted(
        f"t{n}" for n in range(len(listed))
    )
    called = {method for method, _ in harness.slack.calls}
    assert called <= {"response_url", "auth.test", "users.info", "files.list"}
    # One request for each, of the same effort and with the same tools.
    bodies = [request.json for request in harness.perplexity.requests]
    assert len(bodies) == len(listed)
    assert {body.get("effort") for body in bodies} == {"fast"}
    assert {json.dumps(body.get("tools")) for body in bodies} == {"null"}
    changed = await counts(harness.database, "digests", "channel_settings", "person_settings", "shares")
    assert set(changed.values()) == {0}


@pytest.mark.parametrize(
    "name", [name for name in attacks("order") if name.startswith(("order channel", "order tool"))]
)
async def test_nothing_that_a_model_writes_is_a_call(name: str) -> None:
    """Whatever a model writes, the app's own tools for models refuse what they do not have."""
    from perplexity.tools.formats import reply_openai_chat

    call = {"id": "1", "function": {"name": "chat.postMessage", "arguments": json.dumps({"text": ATTACKS[name]})}}
    told = await reply_openai_chat(call, ())
    assert "there is no tool" in str(told["content"])


THREAD = "1795255200.000000"


class TestThreads:
    @pytest.fixture
    def settings(self, settings: Any, slack: Any) -> Any:
        from bot.slack.scopes import CHANNEL_HISTORY

        slack.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
        return settings.model_copy(update={"thread_history": "full"})

    async def test_what_people_wrote_in_a_thread_is_quoted_as_data(self, harness: Driver) -> None:
        orders = list(attacks("order").items())[::12]
        for number, (_, text) in enumerate(orders):
            ts = THREAD if number == 0 else f"17952552{number:02}.000000"
            harness.slack.write("U2", text, ts=ts, thread_ts=THREAD)
        await harness.mention("Who is right?", ts="1795255290.000100", thread_ts=THREAD)
        await harness.wait_until_settled(1)

        (request,) = harness.perplexity.requests
        data = next(turn["content"] for turn in request.json["input"] if "Person 1" in turn["content"])
        assert asked_in(request)[-1]["content"] == "Who is right?"
        quoted = data.splitlines()[2:]
        # Each is one line that begins with who said it; none of them closes the part.
        assert all(line.startswith(("Person 1: “", "[")) for line in quoted)
        assert len([line for line in quoted if line.startswith("Person")]) >= len(orders) - 1
        assert not any(tag in data for tag in ("</message>", "</result>", "</pages>"))
