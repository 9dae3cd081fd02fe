"""Posts to a `response_url`, which takes five messages in thirty minutes, also in channels without the app."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession

from bot.model.message import Audience, OutgoingMessage
from bot.slack.messages import (
    INVALID_MESSAGE_ERRORS,
    UNNAMED,
    PostResult,
    Rejected,
    Retryable,
    RouteClosed,
    Sent,
    error_name,
)

MAX_USES = 5
LIFETIME_SECONDS = 30 * 60 - 10
"""Thirty minutes, less the possible difference between Slack's clock and ours."""

NOT_FROM_SLACK = "not_slack_s"
"""A reply that is not from Slack, such as a proxy's page. The message may have arrived."""

_URL_CHARACTERS = re.compile(r"[!-~]+")
"""The characters of an address: printable ASCII without spaces. https://www.rfc-editor.org/rfc/rfc3986#section-2"""

HOSTS = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})


def is_slack_url(url: str | None, *, slack_api_url: str) -> bool:
    """Return whether an address belongs to Slack, or to the server that is configured instead.

    Return False for a malformed address: the question is then answered as if it had none.
    """
    if url is None or not _URL_CHARACTERS.fullmatch(url):
        return False
    try:
        asked, api = urlsplit(url), urlsplit(slack_api_url)
    except ValueError:
        return False
    if asked.scheme == "https" and asked.netloc in HOSTS:
        return True
    overridden = api.netloc != "slack.com"
    return overridden and (asked.scheme, asked.netloc) == (api.scheme, api.netloc)


class ResponseUrls:
    """Posts messages to response_urls over one shared session, with the session's time limits.

    https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def post(self, url: str, message: OutgoingMessage, *, audience: Audience, replace: bool) -> PostResult:
        """Post one message once; with `replace` it replaces the message that the url belongs to."""
        payload: dict[str, Any] = {
            "text": message.text,
            "response_type": "in_channel" if audience is Audience.CHANNEL else "ephemeral",
            "replace_original": replace,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if message.blocks:
            payload["blocks"] = list(message.blocks)
        return await self._send(url, payload)

    async def delete_original(self, url: str) -> PostResult:
        """Delete the message that a click's response_url belongs to."""
        return await self._send(url, {"delete_original": True})

    async def _send(self, url: str, payload: dict[str, Any]) -> PostResult:
        try:
            async with self._session.post(url, json=payload, allow_redirects=False) as response:
                return await _read(response)
        except TimeoutError:
            return Retryable(error="timeout", maybe_posted=True)
        except ClientError as error:
            return Retryable(error=type(error).__name__, maybe_posted=not isinstance(error, ClientConnectorError))


async def _read(response: ClientResponse) -> PostResult:
    """Return what Slack's reply means; it is `ok`, an error's name, or JSON with `ok` and `error`."""
    error = _error_in(await response.text(errors="replace"))
    if response.status == 429:
        return Retryable(error="ratelimited", seconds=_seconds(response.headers.get("Retry-After")))
    if response.status >= 500:
        return Retryable(error=f"http_{response.status}", maybe_posted=True)
    if response.status < 300 and error is None:
        return Sent()
    if response.status < 400 and error == NOT_FROM_SLACK:
        return Retryable(error=NOT_FROM_SLACK, maybe_posted=True)
    if error in INVALID_MESSAGE_ERRORS or error == "invalid_payload":
        return Rejected(error=error)
    return RouteClosed(error=f"http_{response.status}" if error in {None, NOT_FROM_SLACK} else str(error))


def _error_in(body: str) -> str | None:
    body = body.strip()
    if body in {"", "ok"}:
        return None
    try:
        answer = json.loads(body)
    except ValueError:
        return error_name(body) or NOT_FROM_SLACK
    if isinstance(answer, dict) and not answer.get("ok", True):
        return error_name(answer.get("error")) or UNNAMED
    return None


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isdigit() else None
