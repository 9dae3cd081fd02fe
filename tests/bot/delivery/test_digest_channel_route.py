"""A digest's way: into its channel, once, and what is told when that is closed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.routes import DigestChannelRoute, OutgoingPart
from bot.model.message import Audience
from bot.slack.messages import Chat, Retryable, RouteClosed, Sent
from bot.slack.scopes import HISTORIES
from bot.storage.questions import QuestionRow
from tests.fakes.rows import message, row
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def closed() -> list[str]:
    return []


@pytest.fixture
def way(slack: FakeSlack, closed: list[str]) -> DigestChannelRoute:
    async def on_closed(_: QuestionRow, error: str) -> None:
        closed.append(error)

    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return DigestChannelRoute(chat=Chat(client), surface="digest", on_closed=on_closed)


def letter(**changes: Any) -> OutgoingPart:
    digest = row(surface="digest", response_url=None)
    return replace(OutgoingPart(row=digest, number=0, message=message(1), audience=Audience.CHANNEL), **changes)


def _to(channel: str, **changes: Any) -> OutgoingPart:
    return letter(row=row(surface="digest", response_url=None, channel_id=channel), **changes)


def test_only_what_a_digest_says_to_everyone_goes_there(way: DigestChannelRoute) -> None:
    assert way.accepts(letter())
    assert not way.accepts(letter(audience=Audience.ASKER))
    assert not way.accepts(letter(row=row(surface="slash")))


@pytest.mark.parametrize(
    ("channel", "also", "posts"),
    [("D1", (), 1), ("C1", HISTORIES, 1), ("C1", (), 2)],
    ids=["direct message", "a channel whose history may be read", "a channel by the manifest's scopes"],
)
async def test_a_letter_in_doubt_is_looked_for_where_the_app_may_look_and_else_posted_again(
    way: DigestChannelRoute, slack: FakeSlack, channel: str, also: tuple[str, ...], posts: int
) -> None:
    slack.scopes += also
    first = await way.post(_to(channel))
    again = await way.post(_to(channel, maybe_posted=True))

    assert isinstance(first, Sent)
    assert isinstance(again, Sent)
    assert [(post.payload["channel"], post.payload.get("thread_ts")) for post in slack.posts] == [
        (channel, None)
    ] * posts


async def test_where_nobody_can_look_it_is_said_how_blind_a_further_try_is(
    way: DigestChannelRoute, slack: FakeSlack
) -> None:
    slack.fail("chat.postMessage", *[Fault(status=503, accept=True)] * 2)

    assert await way.post(letter()) == Retryable(error="http_503", maybe_posted=True)
    assert await way.post(letter(maybe_posted=True)) == Retryable(error="http_503", maybe_posted=True, unverifiable=True)


async def test_a_channel_that_is_closed_is_told_and_one_that_is_away_is_not(
    way: DigestChannelRoute, slack: FakeSlack, closed: list[str]
) -> None:
    slack.fail("chat.postMessage", Fault(status=500, body="oops"))
    assert isinstance(await way.post(letter()), Retryable)
    assert closed == []
    slack.fail("chat.postMessage", Fault(status=200, body=json.dumps({"ok": False, "error": "is_archived"})))
    assert await way.post(letter()) == RouteClosed(error="is_archived")
    assert closed == ["is_archived"]
