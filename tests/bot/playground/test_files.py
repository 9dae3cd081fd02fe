"""A file that the app sends arrives on the page as a link, which downloads it and never shows it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.files import MAX_FILE_BYTES, MAX_FILES
from fake_slack.workspace import DIRECT, USER_ID
from tests.bot.playground.browser_client import BrowserClient

TEXT = "# Why?\n\n<script>alert(1)</script> – so.\n"


async def send(client: AsyncWebClient, name: str = "answer.md", *, title: str = "Why?", text: str = TEXT) -> Any:
    return await client.files_upload_v2(channel=DIRECT.id, content=text, filename=name, title=title)


async def download(browser: BrowserClient, file_id: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    url = f"{browser.origin}/playground/files/{file_id}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with browser.session.get(url, headers=sent) as response:
        return response.status, await response.text(), {name.lower(): value for name, value in response.headers.items()}


async def test_a_file_is_shown_as_a_link_that_downloads_it(client: AsyncWebClient, browser: BrowserClient) -> None:
    await send(client)
    [message] = await browser.shown()
    [file] = message["files"]
    status, text, headers = await download(browser, file["id"])

    assert (message["channel"], message["author"], message["blocks"]) == (DIRECT.id, "app", [])
    assert (file["name"], file["title"], file["size"]) == ("answer.md", "Why?", len(TEXT.encode()))
    assert (status, text) == (200, TEXT)
    assert headers["content-type"] == "text/markdown; charset=utf-8"
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''answer.md"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'self'")


async def test_the_address_of_a_canvas_downloads_it(client: AsyncWebClient, browser: BrowserClient) -> None:
    content = {"type": "markdown", "markdown": TEXT}
    canvas = (await client.canvases_create(title="Why?", document_content=content))["canvas_id"]
    workspace = await client.auth_test()
    async with browser.session.get(f"{workspace['url']}/docs/{workspace['team_id']}/{canvas}") as response:
        assert (response.status, await response.text()) == (200, TEXT)
        assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''Why%3F.md"


async def test_what_is_no_markdown_is_bytes(client: AsyncWebClient, browser: BrowserClient) -> None:
    await send(client, "page.html")
    [message] = await browser.shown()
    _, _, headers = await download(browser, message["files"][0]["id"])

    assert headers["content-type"].startswith("application/octet-stream")
    assert headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", ['a"; filename=b.md', "ü💡.md", "a\u2028b.md", "a;b.md", "%0d%0aSet-Cookie: x.md"])
async def test_a_name_stays_in_its_header(client: AsyncWebClient, browser: BrowserClient, name: str) -> None:
    await send(client, name)
    [message] = await browser.shown()
    _, _, headers = await download(browser, message["files"][0]["id"])

    assert message["files"][0]["name"] == name
    value = headers["content-disposition"].removeprefix("attachment; filename*=UTF-8''")
    assert value.isascii()
    assert not set(value) & set(' ";\r\n')
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
async def test_pages_from_elsewhere_read_no_file(
    client: AsyncWebClient, browser: BrowserClient, headers: dict[str, str], status: int
) -> None:
    await send(client)
    [message] = await browser.shown()

    assert (await download(browser, message["files"][0]["id"], **headers))[0] == status


async def test_the_oldest_file_is_dropped(client: AsyncWebClient, browser: BrowserClient) -> None:
    for number in range(MAX_FILES + 1):
        await send(client, f"{number}.md")
    first, second, *_ = [message["files"][0]["id"] for message in await browser.shown()]

    assert (await download(browser, first))[:2] == (404, "This file is no longer kept. Save it again.")
    assert (await download(browser, second))[0] == 200


async def test_a_file_needs_its_scope_a_name_and_its_length(client: AsyncWebClient) -> None:
    refused = {}
    for length in (0, -1, "x", MAX_FILE_BYTES + 1, "٣"):
        with pytest.raises(SlackApiError) as error:
            await client.api_call("files.getUploadURLExternal", data={"filename": "a.md", "length": length})
        refused[length] = error.value.response["error"]
    for name in ("", "../a.md", "a\nb.md", "x" * 256):
        with pytest.raises(SlackApiError) as error:
            await client.files_getUploadURLExternal(filename=name, length=1)
        refused[name] = error.value.response["error"]

    assert refused.pop(MAX_FILE_BYTES + 1) == "file_upload_size_restricted"
    assert set(refused.values()) == {"invalid_arguments"}


async def test_what_was_not_uploaded_is_not_posted(client: AsyncWebClient, browser: BrowserClient, site: Any) -> None:
    announced = await client.files_getUploadURLExternal(filename="a.md", length=2)

    async def upload(content: bytes, **headers: str) -> int:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with browser.session.post(announced["upload_url"], data=io.BytesIO(content), headers=sent) as response:
            return response.status

    async def complete(channel: str = USER_ID) -> str:
        try:
            await client.files_completeUploadExternal(files=[{"id": announced["file_id"]}], channel_id=channel)
        except SlackApiError as error:
            return str(error.response["error"])
        return ""

    assert await complete() == "file_not_found"
    assert await upload(b"hi", Origin="http://evil.example") == 403
    assert await upload(b"longer") == 400
    assert await upload(b"x" * (MAX_FILE_BYTES + 1)) == 413
    assert await upload(b"hi") == 200
    assert await upload(b"ha") == 400
    assert await complete("C404") == "channel_not_found"
    assert (await download(browser, announced["file_id"]))[0] == 404
    assert await browser.shown() == []
    assert await complete() == ""
    assert (await download(browser, announced["file_id"]))[:2] == (200, "hi")
