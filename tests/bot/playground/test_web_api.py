"""The Web API stand-in, asked by Slack's own client."""

from __future__ import annotations

import time
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.timeline import Timeline
from fake_slack.web_api import METHODS, WebApi
from fake_slack.workspace import BOT_ID, BOT_USER_ID, DIRECT, GENERAL, TEAM_ID, USER_ID, Workspace
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import BOT_TOKEN, Site

WORKSPACE = Workspace(scopes=["chat:write", "channels:history"])
DIVIDER = {"type": "divider"}
HEADING = {"type": "markdown", "text": "# Heading\n\nText"}
METADATA = {"event_type": "answer_part", "event_payload": {"question": "q", "part": 0}}


async def test_auth_test_says_who_the_bot_is(client: AsyncWebClient, site: Site) -> None:
    answer = await client.auth_test()

    assert (answer["ok"], answer["team_id"], answer["user_id"], answer["bot_id"]) == (
        True,
        TEAM_ID,
        BOT_USER_ID,
        BOT_ID,
    )


async def test_a_direct_message_can_be_opened_posted_and_found_by_its_metadata(
    client: AsyncWebClient, browser: BrowserClient
) -> None:
    channel = (await client.conversations_open(users=USER_ID))["channel"]["id"]
    posted = await client.chat_postMessage(
        channel=channel, text="Part two", blocks=[{"type": "divider"}], unfurl_links=False, metadata=METADATA
    )
    history = await client.conversations_history(channel=channel, limit=15, include_all_metadata=True)
    plain = await client.conversations_history(channel=channel)

    assert channel == DIRECT.id
    assert [(m["ts"], m["metadata"]) for m in history["messages"]] == [(posted["ts"], METADATA)]
    assert "metadata" not in plain["messages"][0]
    assert [m["channel"] for m in await browser.shown()] == [DIRECT.id]


async def test_a_persons_id_posts_to_the_direct_message(client: AsyncWebClient) -> None:
    assert (await client.chat_postMessage(channel=USER_ID, text="Hi"))["channel"] == DIRECT.id


async def test_an_update_changes_the_message_in_place_and_keeps_its_metadata(
    client: AsyncWebClient, browser: BrowserClient
) -> None:
    posted = await client.chat_postMessage(channel=GENERAL.id, text="Searching…", metadata=METADATA, thread_ts="1.2")
    updated = await client.chat_update(channel=GENERAL.id, ts=posted["ts"], text="The answer")

    assert (updated["ts"], updated["message"]["metadata"]) == (posted["ts"], METADATA)
    assert [(m["text"], m["thread_ts"]) for m in await browser.shown()] == [("The answer", "1.2")]


async def test_a_deleted_message_is_gone(client: AsyncWebClient, browser: BrowserClient) -> None:
    posted = await client.chat_postMessage(channel=GENERAL.id, text="Oops")
    await client.chat_delete(channel=GENERAL.id, ts=posted["ts"])

    assert await browser.shown() == []


async def test_an_ephemeral_message_is_private_and_in_no_history(
    client: AsyncWebClient, browser: BrowserClient
) -> None:
    await client.chat_postEphemeral(channel=GENERAL.id, user=USER_ID, text="Psst")

    assert await browser.texts() == [("app", "Psst", True)]
    assert (await client.conversations_history(channel=GENERAL.id))["messages"] == []


async def test_history_is_newest_first_and_a_thread_oldest_first(
    client: AsyncWebClient, browser: BrowserClient
) -> None:
    root = (await client.chat_postMessage(channel=GENERAL.id, text="root"))["ts"]
    await client.chat_postMessage(channel=GENERAL.id, text="reply", thread_ts=root)
    await client.chat_postMessage(channel=GENERAL.id, text="next")
    await browser.say("aloud")
    history = await client.conversations_history(channel=GENERAL.id, limit=2)
    thread = await client.conversations_replies(channel=GENERAL.id, ts=root)

    assert [(m["text"], m["user"]) for m in history["messages"]] == [("aloud", USER_ID), ("next", BOT_USER_ID)]
    assert history["has_more"] is True
    assert [m["text"] for m in thread["messages"]] == ["root", "reply"]


async def test_the_person_is_an_owner_of_the_workspace(client: AsyncWebClient) -> None:
    user = (await client.users_info(user=USER_ID))["user"]

    assert (user["id"], user["is_admin"], user["is_owner"]) == (USER_ID, True, True)


@pytest.mark.parametrize(
    ("zone", "known", "offset"),
    [
        ("Asia/Tokyo", "Asia/Tokyo", 9 * 3600),
        ("Asia/Kolkata", "Asia/Kolkata", 5 * 3600 + 1800),
        ("Mars/Phobos", "Etc/UTC", 0),
        ("../../etc/passwd", "Etc/UTC", 0),
        ("", "Etc/UTC", 0),
    ],
)
async def test_the_person_s_time_zone_is_that_of_their_page(
    browser: BrowserClient, client: AsyncWebClient, zone: str, known: str, offset: int
) -> None:
    await browser.post("say", {"channel": GENERAL.id, "text": "hello", "zone": zone})
    user = (await client.users_info(user=USER_ID))["user"]

    assert (user["tz"], user["tz_offset"]) == (known, offset)


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("views.shut", {}, "unknown_method"),
        ("chat.postMessage", {"channel": "C1", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": GENERAL.id}, "no_text"),
        ("chat.postMessage", {"channel": GENERAL.id, "text": "x" * 4001, "blocks": [DIVIDER]}, "msg_too_long"),
        ("chat.postMessage", {"channel": GENERAL.id, "text": "x", "blocks": [DIVIDER] * 51},
         "msg_blocks_too_long"),
        ("chat.postMessage", {"channel": GENERAL.id, "text": "x", "blocks": [DIVIDER] * 49 + [HEADING]},
         "msg_blocks_too_long"),
        ("chat.postMessage", {"channel": GENERAL.id, "blocks": "{"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": GENERAL.id, "blocks": {}}, "invalid_arguments"),
        ("chat.postMessage", {"channel": GENERAL.id, "text": "x", "metadata": "[]"}, "invalid_arguments"),
        ("chat.postEphemeral", {"channel": GENERAL.id, "user": "U1", "text": "x"}, "user_not_in_channel"),
        ("chat.update", {"channel": GENERAL.id, "ts": "1.1", "text": "x"}, "message_not_found"),
        ("chat.delete", {"channel": GENERAL.id, "ts": "1.1"}, "message_not_found"),
        ("conversations.open", {"users": "U1"}, "user_not_found"),
        ("conversations.history", {"channel": "C1"}, "channel_not_found"),
        ("conversations.history", {"channel": GENERAL.id, "limit": 1000}, "invalid_limit"),
        ("conversations.history", {"channel": GENERAL.id, "cursor": "x"}, "invalid_cursor"),
        ("conversations.members", {"channel": "C1"}, "channel_not_found"),
        ("conversations.replies", {"channel": GENERAL.id, "ts": "1.1"}, "thread_not_found"),
        ("users.info", {"user": "U1"}, "user_not_found"),
    ],
)  # fmt: skip
async def test_a_refusal_names_slacks_error(
    client: AsyncWebClient, method: str, arguments: dict[str, Any], error: str
) -> None:
    with pytest.raises(SlackApiError) as refused:
        await client.api_call(method, json=arguments)

    assert (refused.value.response.status_code, refused.value.response["error"]) == (200, error)


@pytest.mark.parametrize("method", ["chat_update", "chat_delete"])
async def test_only_the_apps_own_messages_can_be_changed(
    client: AsyncWebClient, browser: BrowserClient, method: str
) -> None:
    await browser.say("mine")
    ts = (await client.conversations_history(channel=GENERAL.id))["messages"][0]["ts"]
    with pytest.raises(SlackApiError, match="cant_"):
        await getattr(client, method)(channel=GENERAL.id, ts=ts, **({"text": "x"} if method == "chat_update" else {}))


@pytest.mark.parametrize(
    ("token", "error"), [("xoxb-other", "invalid_auth"), ("ü", "invalid_auth"), ("", "not_authed")]
)
async def test_another_token_is_refused(site: Site, token: str, error: str) -> None:
    async with aiohttp.ClientSession() as session:
        url, form = f"{site.origin}/playground/api/auth.test", {"token": token}
        async with session.post(url, data=form) as response:
            assert await response.json() == {"ok": False, "error": error}


async def test_a_form_carries_structures_as_json(site: Site, browser: BrowserClient) -> None:
    form = {"token": BOT_TOKEN, "channel": GENERAL.id, "text": "x", "blocks": '[{"type": "divider"}]'}
    url = f"{site.origin}/playground/api/chat.postMessage"
    async with browser.session.post(url, data=form) as response:
        answer = await response.json()

    assert [block["type"] for block in answer["message"]["blocks"]] == ["divider"]


@pytest.mark.parametrize(
    ("body", "error"), [(b"", None), (b"{}", None), (b"[", "invalid_json"), (b"[]", "invalid_json")]
)
async def test_a_json_body_is_an_object_or_nothing(
    site: Site, browser: BrowserClient, body: bytes, error: str | None
) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {BOT_TOKEN}"}
    async with browser.session.post(f"{site.origin}/playground/api/auth.test", data=body, headers=headers) as response:
        assert (await response.json()).get("error") == error


async def test_only_the_newest_messages_are_kept() -> None:
    timeline = Timeline(clock=lambda: 1_700_000_000.0, max_messages=2)
    api = WebApi(timeline=timeline, workspace=WORKSPACE, bot_token=BOT_TOKEN, origin="http://127.0.0.1:3000")
    for text in ("one", "two", "three"):
        await api.call("chat.postMessage", {"channel": GENERAL.id, "text": text}, token=BOT_TOKEN)
    history = await api.call("conversations.history", {"channel": GENERAL.id}, token=BOT_TOKEN)

    assert [m["text"] for m in history["messages"]] == ["three", "two"]


async def test_a_message_over_a_limit_is_refused_with_the_reasons(client: AsyncWebClient) -> None:
    chart = {"type": "data_chart"}
    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel=GENERAL.id, text="x", blocks=[chart])

    assert refused.value.response["error"] == "invalid_blocks"
    assert refused.value.response["response_metadata"]["messages"] == [
        "invalid_blocks: /blocks/0 has the unknown type data_chart"
    ]


async def test_the_text_of_an_update_is_limited_in_bytes(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=GENERAL.id, text="é" * 2001))["ts"]
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await client.chat_update(channel=GENERAL.id, ts=ts, text="é" * 2001)

    assert (await client.chat_update(channel=GENERAL.id, ts=ts, text="é" * 2000))["ok"]


async def test_a_method_without_its_scope_is_refused() -> None:
    workspace = Workspace()
    workspace.scopes = ["chat:write"]
    api = WebApi(timeline=Timeline(clock=time.time), workspace=workspace, bot_token=BOT_TOKEN, origin="")
    message = {"channel": GENERAL.id, "user": USER_ID, "users": USER_ID, "text": "x"}
    answers = {name: await api.call(name, message, token=BOT_TOKEN) for name in METHODS}

    assert answers["chat.postMessage"]["ok"]
    assert {name: answer["needed"] for name, answer in answers.items() if answer.get("error") == "missing_scope"} == {
        "assistant.threads.setSuggestedPrompts": "assistant:write",
        "canvases.access.set": "canvases:write",
        "canvases.create": "canvases:write",
        "conversations.open": "im:write",
        "usergroups.users.list": "usergroups:read",
        "conversations.history": "channels:history",
        "conversations.info": "channels:read",
        "conversations.replies": "channels:history",
        "conversations.members": "channels:read",
        "files.completeUploadExternal": "files:write",
        "files.info": "files:read",
        "files.getUploadURLExternal": "files:write",
        "users.info": "users:read",
        "users.list": "users:read",
    }
    assert answers["users.info"]["provided"] == "chat:write"


async def test_members_come_page_by_page(client: AsyncWebClient) -> None:
    first = await client.conversations_members(channel=GENERAL.id, limit=1)
    cursor = first["response_metadata"]["next_cursor"]
    second = await client.conversations_members(channel=GENERAL.id, limit=1, cursor=cursor)

    assert [*first["members"], *second["members"]] == [USER_ID, BOT_USER_ID]
    assert second["response_metadata"]["next_cursor"] == ""


def test_no_two_messages_have_the_same_ts() -> None:
    timeline = Timeline(clock=lambda: 1_700_000_000.25)

    assert [timeline.next_ts() for _ in range(3)] == [f"1700000000.25000{n}" for n in range(3)]
