"""Whatever is sent to the playground, it is refused or taken: never a failure of ours, never a trace in the log."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import MAX_STREAMS
from fake_slack.request_parsing import MAX_BYTES
from fake_slack.timeline import Timeline
from fake_slack.web_api import METHODS, WebApi
from fake_slack.workspace import DIRECT, GENERAL, USER_ID, Workspace
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import BOT_TOKEN, Site
from tests.rare import one_in

DEEP = "[" * 50_000 + "]" * 50_000
ODD = [
    "", "{", "[]", "null", "1", '"x"', "NaN", '{"text": NaN}', '{"text": Infinity}', '{"text": "\\ud800"}', DEEP,
    f'{{"text": {DEEP}}}', f'{{"blocks": {"[" * 60 + "]" * 60}}}', '{"text": 1e999}', f'{{"text": {"9" * 5000}}}',
    '{"\\udfff": "x", "text": "y"}',
]  # fmt: skip
BYTES = [text.encode() for text in ODD] + [
    b"\xff\xfe",
    b"\x00",
    '{"text": "x"}'.encode("utf-16"),
    b'{"text": "\xed\xa0\x80"}',
]

words = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["/ask", "/ask x", "@Web Answers hi", "1.2", "1700000000.000001", GENERAL.id, DIRECT.id, USER_ID, "b", "a"]
    ),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)
names = st.sampled_from(
    ["channel", "text", "ts", "thread_ts", "blocks", "block_id", "action_id", "private", "metadata", "user", "users",
     "limit", "response_type", "replace_original", "delete_original", "include_all_metadata", "token", "markdown_text",
     "chunks", "recipient_user_id", "recipient_team_id", "task_display_mode", "session_status", "channel_id", "prompts",
     "status", "loading_messages", "title"]
)  # fmt: skip
blocks = st.lists(
    st.fixed_dictionaries({}, optional={"type": values, "block_id": words, "elements": values, "accessory": values})
    | values,
    max_size=3,
)
kinds = st.sampled_from(["markdown_text", "task_update", "plan_update", "blocks", "x"])
chunk_fields = ("text", "id", "title", "status", "details", "sources", "blocks")
odd_chunks = st.fixed_dictionaries({"type": kinds | values}, optional=dict.fromkeys(chunk_fields, values | blocks))
good_chunks = st.sampled_from(
    [
        {"type": "markdown_text", "text": "x"},
        {"type": "task_update", "id": "1", "title": "x", "status": "complete"},
        {"type": "plan_update", "title": "x"},
    ]
)
STREAM = {"channel": GENERAL.id, "thread_ts": "1.2", "recipient_user_id": USER_ID, "recipient_team_id": "T0"}
objects = st.dictionaries(names, values, max_size=6)
bodies = st.one_of(
    objects,
    st.builds(
        lambda one, other: {"channel": GENERAL.id, **one, **other}, objects, st.fixed_dictionaries({"blocks": blocks})
    ),
    st.builds(lambda one: {"channel": GENERAL.id, "text": "x", **one}, objects),
    st.builds(lambda one, chunks: {**STREAM, **one, "chunks": chunks}, objects,
              st.lists(odd_chunks | good_chunks, max_size=3)),
)  # fmt: skip


FROM_THE_PAGE = ("say", "click", "open", "stop", "shortcut", "press", "submit", "close")


def test_each_door_that_takes_a_body_is_tried(site: Site) -> None:
    posted = {route.path.removeprefix("/playground/") for route in site.playground.routes() if route.method == "POST"}

    assert posted == {*FROM_THE_PAGE, "api/{method}", "response/{token}", "upload/{id}"}


@pytest.fixture
async def token(site: Site, browser: BrowserClient) -> str:
    await browser.say("/ask bees")
    return str(site.app.requests[0]["response_url"]).rpartition("/")[2]


def paths(token: str) -> list[str]:
    return [*FROM_THE_PAGE, f"response/{token}", "upload/F1", *(f"api/{method}" for method in (*METHODS, "none"))]


async def sent(browser: BrowserClient, path: str, **request: Any) -> int:
    """Send a request with everything right but its body; return the status."""
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", **request.pop("headers", {})}
    if path in FROM_THE_PAGE:
        headers["Origin"] = browser.origin
    async with browser.session.post(f"{browser.origin}/playground/{path}", headers=headers, **request) as response:
        await response.read()
        return response.status


def traces(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
async def test_odd_bodies_are_refused(
    browser: BrowserClient, token: str, caplog: pytest.LogCaptureFixture, content_type: str
) -> None:
    for path in paths(token):
        for body in BYTES:
            status = await sent(browser, path, data=body, headers={"Content-Type": content_type})
            asked_for_json = not path.startswith("api/") or (content_type == "application/json" and body)
            assert status == 400 if asked_for_json else status in {200, 400}, (path, body[:20])

    assert traces(caplog) == []


@given(body=bodies)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_odd_fields_are_refused_or_taken(
    browser: BrowserClient, token: str, caplog: pytest.LogCaptureFixture, body: dict[str, Any]
) -> None:
    form = urlencode({name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()})
    for path in paths(token):
        assert await sent(browser, path, json=body) < 500
        if path.startswith("api/"):
            form_type = {"Content-Type": "application/x-www-form-urlencoded"}
            assert await sent(browser, path, data=form, headers=form_type) < 500
    assert await browser.frames(seconds=0.02)

    assert traces(caplog) == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("say", {"channel": GENERAL.id, "text": ["x"]}),
        ("say", {"channel": [GENERAL.id], "text": "x"}),
        ("say", {"channel": GENERAL.id, "text": "x" * 40_001}),
        ("say", {"channel": GENERAL.id, "text": "x", "thread_ts": ["1.2"]}),
        ("say", {"channel": GENERAL.id, "text": "x", "thread_ts": "1" * 400 + ".2"}),
        ("click", {"channel": GENERAL.id, "ts": {}, "blocks": []}),
        ("click", {"channel": GENERAL.id, "ts": "1.2", "blocks": "x"}),
        ("click", {"channel": GENERAL.id, "ts": "1.2", "blocks": [1]}),
        ("shortcut", {"channel": GENERAL.id, "callback_id": []}),
        ("shortcut", {"channel": GENERAL.id, "callback_id": "check"}),
        ("press", {"channel": GENERAL.id, "view_id": "V1", "values": []}),
        ("submit", {"channel": GENERAL.id, "view_id": "V1", "values": {}}),
        ("response/", {"text": ["x"]}),
        ("response/", {"text": "x", "blocks": {"a": 1}}),
        ("response/", {"text": "x", "blocks": [None]}),
        ("response/", {"text": "x", "thread_ts": []}),
    ],
)
async def test_a_field_of_the_wrong_kind_is_400(
    browser: BrowserClient, token: str, path: str, body: dict[str, Any]
) -> None:
    assert await sent(browser, path.replace("response/", f"response/{token}"), json=body) == 400


@pytest.mark.parametrize("limit", ["x", "-1", "0", "1e3", "9" * 5000, "٣"])
async def test_an_odd_limit_is_refused_as_slack_refuses_it(browser: BrowserClient, limit: str) -> None:
    url = f"{browser.origin}/playground/api/conversations.history"
    form = {"token": BOT_TOKEN, "channel": GENERAL.id, "limit": limit}
    async with browser.session.post(url, data=form) as response:
        assert await response.json() == {"ok": False, "error": "invalid_limit"}


@pytest.mark.parametrize("path", ["static/", "response/", "api/", "events/"])
@pytest.mark.parametrize("name", ["%00", "%ff", "x" * 5000, "..%2f..", quote("\u2028"), "%ed%a0%80", "."])
async def test_odd_addresses_are_not_found(
    browser: BrowserClient, caplog: pytest.LogCaptureFixture, path: str, name: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(browser.origin.rpartition(":")[2]))
    writer.write(f"GET /playground/{path}{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.close()

    assert status < 500
    assert traces(caplog) == []


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer \xff\xfe", b"Last-Event-ID: \xff", b"Last-Event-ID: BOOT-" + b"9" * 5000,
        b"Last-Event-ID: BOOT-\xd9\xa3", b"Host: \xff", b"Origin: http://[", b"Origin: http://127.0.0.1:99999999",
        b"Sec-Fetch-Site: \xff", b"Content-Encoding: gzip", b"Content-Type: \xff", b"Content-Length: 99999999",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["api/auth.test", "say", "events", "response/x"])
async def test_odd_headers_do_no_harm(
    site: Site, browser: BrowserClient, caplog: pytest.LogCaptureFixture, path: str, header: bytes
) -> None:
    boot = (await browser.frames())[0].id.partition("-")[0]
    header = header.replace(b"BOOT", boot.encode())
    verb = "GET" if path == "events" else "POST"
    host = b"" if header.startswith(b"Host") else b"Host: localhost\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", int(browser.origin.rpartition(":")[2]))
    writer.write(f"{verb} /playground/{path} HTTP/1.1\r\n".encode() + host + header + b"\r\n\r\nzz\r\n")
    writer.write_eof()
    line = await asyncio.wait_for(reader.readline(), 60)
    writer.close()

    assert not line.startswith(b"HTTP/1.1 5")
    assert traces(caplog) == []


async def test_a_body_that_is_too_large_or_compressed_is_refused(browser: BrowserClient, token: str) -> None:
    for path in paths(token):
        if not path.startswith("upload/"):  # a file may be larger: test_files.py
            assert await sent(browser, path, data=b" " * (MAX_BYTES + 1)) == 413
        assert await sent(browser, path, data=b"x", headers={"Content-Encoding": "gzip"}) == 400


async def test_tabs_that_are_closed_leave_no_trace(
    site: Site, browser: BrowserClient, client: AsyncWebClient, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(browser.origin.rpartition(":")[2])
    for request in (
        b"GET /playground/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /playground/api/auth.test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        b"GET /playground/static/renderer.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        for _ in range(5):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            await asyncio.sleep(0.01)
            writer.transport.abort()
    for number in range(5):
        await client.chat_postMessage(channel=GENERAL.id, text=str(number))
    await browser.frames()
    await asyncio.sleep(0.1)

    assert traces(caplog) == []


def a_large_message(number: int) -> tuple[str, dict[str, Any]]:
    nested = {"event_type": "nested", "event_payload": [[number] for _ in range(1500)]}
    return "chat.postMessage", {"channel": GENERAL.id, "text": "x" * 10_000, "metadata": nested}


def a_long_stream(number: int) -> tuple[str, dict[str, Any]]:
    step = {"type": "task_update", "id": "1", "status": "complete"}
    chunks = [step | {"title": f"{number} {at}"} for at in range(200)]
    return "chat.startStream", STREAM | {"thread_ts": f"{number}.1", "chunks": chunks}


def a_status(number: int) -> tuple[str, dict[str, Any]]:
    status = f"{number:04}" * 5_000
    return "assistant.threads.setStatus", {"channel_id": GENERAL.id, "thread_ts": f"{number}.1", "status": status}


@pytest.mark.parametrize(
    ("call", "times"), one_in(3, [(a_large_message, 60), (a_long_stream, 100), (a_status, 300)], first=1)
)
async def test_memory_is_bounded(call: Callable[[int], tuple[str, dict[str, Any]]], times: int) -> None:
    limit = 1024 * 1024
    timeline = Timeline(clock=time.time, max_memory=limit)
    api = WebApi(
        timeline=timeline,
        workspace=Workspace(scopes=["assistant:write", "chat:write"]),
        bot_token=BOT_TOKEN,
        origin="http://127.0.0.1:3000",
    )
    tracemalloc.start()
    try:
        for number in range(times):
            method, arguments = call(number)
            assert (await api.call(method, arguments, token=BOT_TOKEN))["ok"]
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 3 * limit


async def test_only_so_many_pages_are_kept_up_to_date(browser: BrowserClient) -> None:
    url = f"{browser.origin}/playground/events"
    async with AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(browser.session.get(url)) for _ in range(MAX_STREAMS + 1)]
        assert [page.status for page in pages] == [200] * MAX_STREAMS + [429]
    async with asyncio.timeout(60):
        while True:
            async with browser.session.get(url) as again:
                if again.status == 200:
                    break
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 403),
        ({"Sec-Fetch-Mode": "no-cors"}, 403),
    ],
)
async def test_pages_from_elsewhere_cannot_post_where_the_app_does(
    browser: BrowserClient, token: str, headers: dict[str, str], status: int
) -> None:
    for path in (f"response/{token}", "api/auth.test"):
        assert await sent(browser, path, json={"text": "x"}, headers=headers) == status
    async with browser.session.get(f"{browser.origin}/playground/api/auth.test", headers=headers) as response:
        assert response.status == status


async def test_a_page_from_elsewhere_cannot_follow(browser: BrowserClient) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        headers = {"Sec-Fetch-Site": site}
        async with browser.session.get(f"{browser.origin}/playground/events", headers=headers) as response:
            assert response.status == status
