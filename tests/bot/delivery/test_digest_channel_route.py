"""The route of a digest: posted once to its channel, with a callback if the channel is closed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.delivery import OutgoingPart, Route, digest_route
from bot.model.message import Audience
from bot.model.question import QuestionRow
from bot.slack.messages import Chat, Retryable, RouteClosed, Sent
from bot.slack.scopes import HISTORIES
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
def route(slack: FakeSlack, closed: list[str]) -> Route:
    async def on_closed(_: QuestionRow, error: str) -> None:
        closed.append(error)

    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return digest_route(Chat(client), on_closed=on_closed)


def part(**changes: Any) -> OutgoingPart:
    digest = row(surface="digest", response_url=None)
    return replace(OutgoingPart(row=digest, number=0, message=message(1), audience=Audience.CHANNEL), **changes)


def _to(channel: str, **changes: Any) -> OutgoingPart:
    return part(row=row(surface="digest", response_url=None, channel_id=channel), **changes)


def test_only_public_parts_of_digests_are_accepted(route: Route) -> None:
    assert route.accepts(part())
    assert not route.accepts(part(audience=Audience.ASKER))
    assert not route.accepts(part(row=row(surface="slash")))


@pytest.mark.parametrize(
    ("channel", "also", "posts"),
    [("D1", (), 1), ("C1", HISTORIES, 1), ("C1", (), 2)],
    ids=["direct message", "a channel whose history may be read", "a channel by the manifest's scopes"],
)
async def test_a_part_that_may_be_posted_is_looked_up_if_allowed_and_otherwise_posted_again(
    route: Route, slack: FakeSlack, channel: str, also: tuple[str, ...], posts: int
) -> None:
    slack.workspace.scopes += also
    first = await route.post(_to(channel))
    again = await route.post(_to(channel, maybe_posted=True))

    assert isinstance(first, Sent)
    assert isinstance(again, Sent)
    assert [(post.payload["channel"], post.payload.get("thread_ts")) for post in slack.posts] == [
        (channel, None)
    ] * posts


async def test_a_post_that_cannot_be_looked_up_is_reported_as_unverifiable(route: Route, slack: FakeSlack) -> None:
    slack.fail("chat.postMessage", *[Fault(status=503, take_message=True)] * 2)

    assert await route.post(part()) == Retryable(error="http_503", maybe_posted=True)
    assert await route.post(part(maybe_posted=True)) == Retryable(
        error="http_503", maybe_posted=True, unverifiable=True
    )


async def test_a_closed_channel_is_reported_and_an_unavailable_slack_is_not(
    route: Route, slack: FakeSlack, closed: list[str]
) -> None:
    slack.fail("chat.postMessage", Fault(status=500, body="oops"))
    assert isinstance(await route.post(part()), Retryable)
    assert closed == []
    slack.fail("chat.postMessage", Fault(status=200, body=json.dumps({"ok": False, "error": "is_archived"})))
    assert await route.post(part()) == RouteClosed(error="is_archived")
    assert closed == ["is_archived"]
