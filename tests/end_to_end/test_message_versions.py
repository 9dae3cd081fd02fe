"""A message, its edits and its deletion, end to end: whatever their order, the last version is asked, once."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import psycopg
import pytest

from tests.driver import Driver, asked_in

MESSAGE, EDITED, EDITED_AGAIN, DELETED = 0, 1, 2, 3
"""The versions of a message, in the order in which a person makes them."""

ORDERS = [*permutations([MESSAGE, EDITED, EDITED_AGAIN]), *permutations([MESSAGE, EDITED, EDITED_AGAIN, DELETED])]


@dataclass(frozen=True, kw_only=True)
class Written:
    """One person's direct message, and what Slack reports of it."""

    harness: Driver
    number: int

    @property
    def ts(self) -> str:
        return f"17952552{self.number:02}.000100"

    @property
    def channel(self) -> str:
        return f"DU{self.number}"

    async def wait_until_shown(self, messages: int) -> None:
        """Wait until the app shows so many messages in its thread."""
        slack = self.harness.slack
        await slack.wait_until(lambda: len(slack.thread(self.channel, self.ts)) == messages)

    def text(self, version: int) -> str:
        return f"what is new about wheels {self.number}.{version}?"

    async def report(self, version: int) -> None:
        """Have Slack report a version of the message, as often as it takes: a 503 is delivered again."""
        message: dict[str, Any] = {"type": "message", "user": f"U{self.number}", "ts": self.ts}
        told = {"type": "message", "channel": self.channel, "channel_type": "im", "ts": self.ts}
        edited = {"edited": {"user": f"U{self.number}", "ts": f"{float(self.ts) + version:.6f}"}}
        match version:
            case 0:
                event = message | told | {"text": self.text(0)}
            case 3:
                gone = message | {"text": self.text(2)}
                event = told | {"subtype": "message_deleted", "deleted_ts": self.ts, "previous_message": gone}
            case _:
                versions = {
                    "message": message | {"text": self.text(version)} | edited,
                    "previous_message": message | {"text": self.text(version - 1)},
                }
                event = told | {"subtype": "message_changed", "hidden": True} | versions
        person = replace(self.harness.person, user=f"U{self.number}")
        async with asyncio.timeout(60):
            while True:
                async with await person.event(event) as response:
                    if response.status == 200:
                        return
                    assert response.status == 503


async def rows(database: str) -> dict[str, list[tuple[str, str]]]:
    """Return the state and the text of each question, by its channel."""
    found: dict[str, list[tuple[str, str]]] = {}
    async with await psycopg.AsyncConnection.connect(database) as connection:
        listed = await connection.execute("SELECT channel_id, state, text FROM questions ORDER BY received_at")
        async for channel, state, text in listed:
            found.setdefault(channel, []).append((state, text))
    return found


@pytest.mark.parametrize("at_once", [False, True])
async def test_whatever_the_order_the_last_version_is_asked_and_none_of_a_deleted_message(
    harness: Driver, database: str, at_once: bool
) -> None:
    """Each is delivered twice or once, while the service holds its answers."""
    harness.perplexity.hold()
    chance = random.Random(7)  # noqa: S311 - no secret
    written = {n: Written(harness=harness, number=n) for n in range(10, 10 + len(ORDERS))}
    for (n, message), order in zip(written.items(), ORDERS, strict=True):
        again = chance.sample(order, len(order) // 2)
        deliveries = [*order, *again] if at_once or n % 2 else [v for v in order for _ in range(1 + (v in again))]
        if at_once:
            await asyncio.gather(*(message.report(version) for version in deliveries))
        else:
            for version in deliveries:
                await message.report(version)

    found = await rows(database)
    harness.perplexity.release()
    await harness.settle()
    answered = await rows(database)

    for (n, message), order in zip(written.items(), ORDERS, strict=True):
        closed = [text for state, text in found.get(message.channel, []) if state == "withdrawn"]
        others = [text for state, text in found.get(message.channel, []) if state != "withdrawn"]
        assert others == ([] if DELETED in order else [message.text(EDITED_AGAIN)]), (n, order)
        assert len({*closed, *others}) == len([*closed, *others]), (n, order)
        assert [text for state, text in answered.get(message.channel, []) if state == "answered"] == others
        await message.wait_until_shown(len(others))
    asked = [asked_in(request) for request in harness.perplexity.requests]
    assert len(asked) == len(set(asked))


async def test_at_most_one_version_is_answered_while_answers_come(harness: Driver, database: str) -> None:
    """Edits and deletions meet questions that are being answered."""
    chance = random.Random(8)  # noqa: S311 - no secret
    written = [Written(harness=harness, number=n) for n in range(10, 22)]

    async def change(message: Written) -> None:
        order = [*range(chance.choice([EDITED_AGAIN, DELETED]) + 1)]
        chance.shuffle(order)
        for version in order:
            await message.report(version)

    await asyncio.gather(*map(change, written))
    await harness.settle()

    for message in written:
        ends = [state for state, _ in (await rows(database)).get(message.channel, [])]
        assert len([state for state in ends if state != "withdrawn"]) <= 1, ends
