"""Posts to a response_url and by chat methods, against a Slack on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.delivery import OutgoingPart, direct_message_route
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import (
    Chat,
    Found,
    LookupForbidden,
    NotFound,
    PostResult,
    Rejected,
    ResponseUrls,
    Retryable,
    RouteClosed,
    Sent,
    error_name,
    is_slack_url,
)
from tests.fakes.rows import BEGAN, row
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault

MESSAGE = OutgoingMessage(text="hello")


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession(timeout=ClientTimeout(total=60)) as shared:
        yield shared


@pytest.fixture
async def hasty_session() -> AsyncIterator[ClientSession]:
    async with ClientSession(timeout=ClientTimeout(total=0.5)) as shared:
        yield shared


@pytest.fixture
def chat(slack: FakeSlack, session: ClientSession) -> Chat:
    return Chat(AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=session))


@pytest.mark.parametrize(
    ("fault", "meaning"),
    [
        (Fault(status=200, body="ok"), Sent()),
        (Fault(status=200, body='{"ok": true}'), Sent()),
        (Fault(status=200, body='{"ok": false, "error": "expired_url"}'), RouteClosed(error="expired_url")),
        (Fault(status=200, body="<html>hello</html>"), Retryable(error="not_slack_s", maybe_posted=True)),
        (Fault(status=302, body="<html>moved</html>"), Retryable(error="not_slack_s", maybe_posted=True)),
        (Fault(status=404, body="used_url"), RouteClosed(error="used_url")),
        (Fault(status=403, body="<html>no</html>"), RouteClosed(error="http_403")),
        (Fault(status=400, body="invalid_blocks"), Rejected(error="invalid_blocks")),
        (Fault(status=429, headers={"Retry-After": "3"}), Retryable(error="ratelimited", seconds=3.0)),
        (Fault(status=429), Retryable(error="ratelimited")),
        (Fault(status=503), Retryable(error="http_503", maybe_posted=True)),
        (Fault(status=0), Retryable(error="ServerDisconnectedError", maybe_posted=True)),
    ],
)
async def test_a_reply_to_a_response_url(
    slack: FakeSlack, session: ClientSession, fault: Fault, meaning: PostResult
) -> None:
    slack.fail("response_url", fault)
    ways = ResponseUrls(session)

    posted = await ways.post(slack.response_url("t"), MESSAGE, audience=Audience.ASKER, replace=False)

    assert posted == meaning


async def test_no_reply_to_a_response_url(slack: FakeSlack, hasty_session: ClientSession) -> None:
    slack.fail("response_url", Fault(status=200, seconds=2))
    ways = ResponseUrls(hasty_session)

    posted = await ways.post(slack.response_url("t"), MESSAGE, audience=Audience.ASKER, replace=False)

    assert posted == Retryable(error="timeout", maybe_posted=True)


@pytest.mark.parametrize(
    ("fault", "meaning"),
    [
        (Fault(status=200, body='{"ok": false, "error": "account_inactive"}'), RouteClosed(error="account_inactive")),
        (Fault(status=200, body='{"ok": false, "error": "msg_too_long"}'), Rejected(error="msg_too_long")),
        (Fault(status=200, body='{"ok": false, "error": "internal_error"}'),
         Retryable(error="internal_error", maybe_posted=True)),
        (Fault(status=200, body="<html>hello</html>"), Retryable(error="http_200", maybe_posted=True)),
        (Fault(status=200, body="hello"), Retryable(error="AttributeError", maybe_posted=True)),
        (Fault(status=200, body="{cut"), Retryable(error="SlackApiError", maybe_posted=True)),
        (Fault(status=429, body='{"ok": false, "error": "ratelimited"}', headers={"Retry-After": "3"}),
         Retryable(error="ratelimited", seconds=3.0)),
        (Fault(status=200, body='{"ok": false, "error": "rate_limited"}'), Retryable(error="rate_limited")),
        (Fault(status=502, body="<html>bad gateway</html>"), Retryable(error="http_502", maybe_posted=True)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_reply_to_a_call(chat: Chat, slack: FakeSlack, fault: Fault, meaning: PostResult, method: str) -> None:
    slack.fail(method, fault)

    if method == "chat.update":
        posted = await chat.update("C1", "1.2", MESSAGE)
    else:
        posted = await chat.post("C1", MESSAGE, question="q", part=0)

    assert posted == meaning


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_no_reply_to_a_call(slack: FakeSlack, hasty_session: ClientSession, method: str) -> None:
    slack.fail(method, Fault(status=200, seconds=2))
    chat = Chat(AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=hasty_session))

    if method == "chat.update":
        posted = await chat.update("C1", "1.2", MESSAGE)
    else:
        posted = await chat.post("C1", MESSAGE, question="q", part=0)

    assert posted == Retryable(error="TimeoutError", maybe_posted=True)


@pytest.mark.parametrize("thread", [None, "1.1"])
async def test_a_post_is_found_by_its_question_and_part(chat: Chat, thread: str | None) -> None:
    for part in (0, 1):
        await chat.post("D1", MESSAGE, question="q", part=part, thread_ts=thread)
    await chat.post("D1", MESSAGE, question="other", part=2, thread_ts=thread)

    found = [await chat.find("D1", question="q", part=part, thread_ts=thread, since=BEGAN) for part in (0, 1, 2)]

    assert [type(looked) for looked in found] == [Found, Found, NotFound]
    assert found[0] != found[1]


async def test_a_part_on_the_second_page_of_a_thread_is_found(chat: Chat) -> None:
    for part in range(250):
        await chat.post("D1", MESSAGE, question="q", part=part, thread_ts="1.1")

    assert isinstance(await chat.find("D1", question="q", part=249, thread_ts="1.1", since=BEGAN), Found)


@pytest.mark.parametrize("thread", [None, "1.1"])
async def test_without_the_scope_a_lookup_is_forbidden(chat: Chat, thread: str | None) -> None:
    await chat.post("C1", MESSAGE, question="q", part=0, thread_ts=thread)

    assert await chat.find("C1", question="q", part=0, thread_ts=thread, since=BEGAN) == LookupForbidden()


@pytest.mark.parametrize("thread", [None, "1.1"])
async def test_a_history_that_cannot_be_read_is_retried(chat: Chat, slack: FakeSlack, thread: str | None) -> None:
    slack.fail("conversations.history" if thread is None else "conversations.replies", Fault(status=503))

    looked = await chat.find("D1", question="q", part=0, thread_ts=thread, since=BEGAN)

    assert looked == Retryable(error="http_503")


async def test_a_direct_message_that_cannot_be_opened_is_retried(chat: Chat, slack: FakeSlack) -> None:
    slack.fail("conversations.open", Fault(status=200, body='{"ok": true}'))
    letter = OutgoingPart(row=row(), number=0, message=MESSAGE, audience=Audience.ASKER)
    deleted: list[QuestionRow] = []

    async def delete_pending(row: QuestionRow) -> None:
        deleted.append(row)

    direct = direct_message_route(chat, delete_pending=delete_pending)
    assert await direct.post(letter) == Retryable(error="SlackClientError", maybe_posted=True)
    assert deleted == []


@pytest.mark.parametrize(
    ("url", "api", "allowed"),
    [
        ("https://hooks.slack.com/commands/1", "https://slack.com/api/", True),
        ("https://hooks.slack-gov.com/x", "https://slack.com/api/", True),
        ("https://slack.com/x", "https://slack.com/api/", False),
        ("https://evil.example/x", "https://slack.com/api/", False),
        ("http://127.0.0.1:4/r", "http://127.0.0.1:4/api/", True),
        ("http://127.0.0.1:5/r", "http://127.0.0.1:4/api/", False),
        (None, "https://slack.com/api/", False),
    ],
)
def test_only_slack_s_own_addresses_are_posted_to(url: str | None, api: str, allowed: bool) -> None:
    assert is_slack_url(url, slack_api_url=api) is allowed


@pytest.mark.parametrize(
    "url",
    [
        "https://[",
        "https://[::1",
        "https://hooks.slack.com]/",
        "https://hooks.slack.com/\x00",
        "https://hooks.slack.com/ü",
        "https://hooks.slack.com/\ud800",
        "https://hooks.slack.com/a b",
        "https://hooks.slack.com\n/",
        "//[",
        "[",
        "",
        "https://hooks.slack.com\u2100/",
    ],
)
def test_a_malformed_url_is_not_posted_to(url: str) -> None:
    assert not is_slack_url(url, slack_api_url="https://slack.com/api/")
    assert not is_slack_url(url, slack_api_url="http://127.0.0.1:1/api/")


@given(st.text() | st.text(alphabet="htps:/[]@.#?%1") | st.text().map(lambda text: f"https://{text}"))
def test_no_other_text_is_a_slack_url(url: str) -> None:
    assert is_slack_url(url, slack_api_url="https://slack.com/api/") is False


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("channel_not_found", "channel_not_found"),
        ("x" * 60, "x" * 60),
        ("x" * 61, None),
        ("", None),
        ("xoxb-1-SECRET", None),
        ("Not_Found", None),
        ("a b", None),
        ("a\n", None),
        ("é", None),
        (None, None),
        (5, None),
        (["a"], None),
        ({"a": 1}, None),
    ],
)
async def test_only_a_valid_error_name_is_kept(
    chat: Chat, slack: FakeSlack, session: ClientSession, said: object, name: str | None
) -> None:
    assert error_name(said) == name
    refused = json.dumps({"ok": False, "error": said})
    slack.fail("chat.postMessage", Fault(status=200, body=refused))
    slack.fail("response_url", Fault(status=404, body=refused))

    by_chat = await chat.post("C1", MESSAGE, question="q", part=0)
    by_url = await ResponseUrls(session).post(slack.response_url("t"), MESSAGE, audience=Audience.ASKER, replace=False)

    for result in (by_chat, by_url):
        assert not isinstance(result, Sent)
        assert re.fullmatch(r"[a-z_]{1,60}|http_[0-9]{3}", result.error)
        assert name is None or result.error == name
