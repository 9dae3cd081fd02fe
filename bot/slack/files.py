"""The files that people share in Slack, read into memory from Slack's own hosts and nowhere else.

https://docs.slack.dev/reference/objects/file-object
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from aiohttp import ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.connection import CONNECT_SECONDS
from bot.slack.messages import FAILURES
from perplexity.urls import is_loopback
from perplexity.wire.json import as_count, as_object, as_text

HOSTS = frozenset({"files.slack.com", "files.slack-gov.com"})
"""Slack's hosts of files; files that people link to at other services are not read."""

MAX_BYTES = 20 * 1024 * 1024
"""The most bytes of one question's files together."""

READ_SECONDS = 60.0
SCOPE_ERRORS = frozenset({"missing_scope", "no_permission", "not_allowed_token_type"})

Trouble = Literal["scope", "large", "type", "refused"]

_TYPES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Unreadable(Exception):
    """A file was not read; `trouble` says why.

    `scope`: the app lacks a scope. `large`: the file is too large. `type`: the file is neither an image nor a PDF.
    `refused`: Slack refused the file, the file is gone, or the network failed.
    """

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble)
        self.trouble = trouble


def media_type(data: bytes) -> str:
    """Return the type of an image or a PDF by its first bytes; empty for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((named for beginning, named in _TYPES if data.startswith(beginning)), "")


@dataclass(frozen=True, kw_only=True)
class FileReader:
    """Reads files with the token of the task's workspace, which `read_token` returns.

    `api_url` is the address of Slack's Web API; a stand-in on this machine serves the files under that address, too.
    """

    client: AsyncWebClient
    session: ClientSession
    read_token: Callable[[], Awaitable[str]] = field(repr=False)
    api_url: str

    async def read(self, file_id: str, *, most: int) -> tuple[str, bytes]:
        """Return the name and the contents of a file of at most `most` bytes. Raises Unreadable.

        Slack is asked for the file's address each time: if a file belongs to another workspace, the event has only its
        id.
        https://docs.slack.dev/apis/slack-connect/using-slack-connect-apis#files
        """
        try:
            info = as_object((await self.client.files_info(file=file_id)).get("file"))
            if (as_count(info.get("size")) or 0) > most:
                raise Unreadable("large")
            data = await self._download(
                as_text(info.get("url_private")), most, page=as_text(info.get("mimetype")) == "text/html"
            )
        except SlackApiError as error:
            raise Unreadable("scope" if error.response.get("error") in SCOPE_ERRORS else "refused") from None
        except (*FAILURES, OSError):
            raise Unreadable("refused") from None
        if not media_type(data):
            raise Unreadable("type")
        return as_text(info.get("name")), data

    async def _download(self, url: str, most: int, *, page: bool) -> bytes:
        """Return the bytes at an address. Raises Unreadable.

        HTML is taken for Slack's login page and refused, unless the file itself is an HTML `page`.
        """
        if not is_slack(url, api_url=self.api_url):
            raise Unreadable("refused")
        async with self.session.get(
            url,
            headers={"Authorization": f"Bearer {await self.read_token()}"},
            # A redirect would take the token to any host.
            allow_redirects=False,
            timeout=ClientTimeout(total=READ_SECONDS, sock_connect=CONNECT_SECONDS),
        ) as response:
            if response.status != 200 or (response.content_type == "text/html" and not page):
                raise Unreadable("refused")
            if (response.content_length or 0) > most:
                raise Unreadable("large")
            data = bytearray()
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) > most:
                    raise Unreadable("large")
            return bytes(data)


def is_slack(url: str, *, api_url: str) -> bool:
    """Return whether an address is on one of Slack's file hosts.

    If `api_url` is on this machine, it belongs to a stand-in for Slack; then only the stand-in's addresses count.
    """
    try:
        address, api = urlsplit(url), urlsplit(api_url)
    except ValueError:
        return False
    if is_loopback(api.hostname or ""):
        return (address.scheme, address.netloc) == (api.scheme, api.netloc)
    return address.scheme == "https" and address.netloc in HOSTS
