"""Reading threads: page by page, or as much as Slack allows an app that is sold."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.messages import Retryable
from bot.slack.scopes import CHANNEL_HISTORY
from bot.slack.threads import CAPPED_SIZE, MAX_PAGES, PAGE_SIZE, Page, ThreadReader, is_by_person
from tests.fakes.slack import BOT_TOKEN, FakeSlack

ROOT = "1795255200.000000"


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        fake.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
        yield fake


def reader(slack: FakeSlack, *, capped: bool = False, allowed: bool = True) -> ThreadReader:
    async def may_read() -> bool:
        return allowed

    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return ThreadReader(client=client, capped=capped, may_read=may_read)


def fill(slack: FakeSlack, count: int) -> None:
    """Write a thread of so many messages."""
    for number in range(count):
        slack.write("U2", str(number), ts=f"1795255200.{number:06}", thread_ts=ROOT)


@pytest.mark.parametrize(
    ("written", "capped", "read", "complete"),
    [
        (3, False, 3, True),
        (PAGE_SIZE + 1, False, PAGE_SIZE + 1, True),
        (MAX_PAGES * PAGE_SIZE + 1, False, MAX_PAGES * PAGE_SIZE, False),
        (CAPPED_SIZE, True, CAPPED_SIZE, True),
        (CAPPED_SIZE + 1, True, CAPPED_SIZE, False),
    ],
)
async def test_a_thread_is_read_from_its_beginning(
    slack: FakeSlack, written: int, capped: bool, read: int, complete: bool
) -> None:
    fill(slack, written)

    page = await reader(slack, capped=capped).read("C1", ROOT)

    assert isinstance(page, Page)
    assert [message["text"] for message in page.messages] == [str(number) for number in range(read)]
    assert page.complete is complete


async def test_a_thread_is_not_read_if_this_minute_s_call_was_made(slack: FakeSlack) -> None:
    fill(slack, 1)

    assert isinstance(await reader(slack, capped=True, allowed=False).read("C1", ROOT), Retryable)
    assert slack.calls == []
    assert isinstance(await reader(slack, allowed=False).read("C1", ROOT), Page)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"user": "U1"}, True),
        ({"user": "U1", "subtype": "file_share", "edited": {"ts": "1.1"}}, True),
        ({"user": "U1", "bot_id": "B1"}, False),
        ({"user": "U1", "bot_profile": {"name": "Workflow"}}, False),
        ({"user": "U1", "subtype": "bot_message"}, False),
        ({"user": "U1", "subtype": "tombstone"}, False),
        ({"user": "U1", "subtype": ["x"]}, False),
        ({"user": "USLACKBOT"}, False),
    ],
)
def test_messages_of_people_are_recognized(message: dict[str, object], expected: bool) -> None:
    assert is_by_person(message) is expected
