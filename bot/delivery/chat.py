"""Messages by the Web API: posted, found again after a crash, changed, removed.

https://docs.slack.dev/reference/methods/chat.postMessage
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from aiohttp import ClientConnectorError, ClientError
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.blocks.base import OutgoingMessage
from bot.delivery.posting import (
    BROKEN,
    UNREADABLE,
    CannotLook,
    Found,
    Looked,
    NotThere,
    Posting,
    Refused,
    Sent,
    TryLater,
    WayClosed,
)

FAILURES = (SlackClientError, ClientError, TimeoutError, AttributeError)
"""How a call fails. The SDK raises AttributeError for a 200 of plain text (3.47, `AsyncSlackResponse.validate`)."""

PASSING = BROKEN | {"service_unavailable", "request_timeout"}
"""Slack's own troubles, which pass."""

TOO_MANY = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
"""The names that Slack has for too many messages. https://docs.slack.dev/reference/methods/chat.postMessage#errors"""

EVENT_TYPE = "answer_part"
"""The metadata's name. Everyone in the workspace can read metadata, so it holds an id and a number and nothing else."""

_LOOKED_AT = 15
"""Slack gives some apps no more than fifteen messages of a history at once."""


class Chat:
    """Posts to conversations that the app may post to, each call tried once."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def open_direct(self, user_id: str) -> str:
        """Return the id of the direct-message channel with a person. Raises one of `FAILURES`."""
        response = await self._client.conversations_open(users=user_id)
        channel: dict[str, Any] = response.get("channel") or {}
        if "id" not in channel:
            raise SlackClientError("conversations.open named no channel")
        return str(channel["id"])

    async def post(
        self, channel: str, message: OutgoingMessage, *, question: str, part: int, thread_ts: str | None = None
    ) -> Posting:
        """Post one message, in a thread where one is named, with metadata that `find` finds it by."""
        try:
            response = await self._client.chat_postMessage(
                channel=channel,
                thread_ts=thread_ts,
                text=message.text,
                blocks=list(message.blocks) or None,
                unfurl_links=False,
                unfurl_media=False,
                metadata={"event_type": EVENT_TYPE, "event_payload": {"question": question, "part": part}},
            )
        except FAILURES as error:
            return meaning(error)
        return Sent(ts=response.get("ts"))

    async def update(self, channel: str, ts: str, message: OutgoingMessage) -> Posting:
        """Put a message in the place of one of the app's own; its metadata stays."""
        try:
            # An empty list takes away the blocks that were there; none at all would leave them.
            await self._client.chat_update(channel=channel, ts=ts, text=message.text, blocks=list(message.blocks))
        except FAILURES as error:
            return meaning(error)
        return Sent(ts=ts)

    async def delete(self, channel: str, ts: str) -> None:
        """Remove one of the app's own messages, or leave it where that cannot be done."""
        with suppress(*FAILURES):
            await self._client.chat_delete(channel=channel, ts=ts)

    async def find(self, channel: str, *, question: str, part: int, thread_ts: str | None = None) -> Looked:
        """Look for a part that may have been posted before a crash or a time-out. Raises nothing."""
        wanted = {"question": question, "part": part}
        try:
            messages = await self._latest(channel, thread_ts)
        except FAILURES as error:
            result = meaning(error)
            return replace(result, ambiguous=False) if isinstance(result, TryLater) else CannotLook()
        stands = (m for m in messages if (m.get("metadata") or {}).get("event_payload") == wanted)
        return next((Found(ts=str(message["ts"])) for message in stands), NotThere())

    async def _latest(self, channel: str, thread_ts: str | None) -> list[dict[str, Any]]:
        if thread_ts is None:
            page = await self._client.conversations_history(
                channel=channel, limit=_LOOKED_AT, include_all_metadata=True
            )
            return page.get("messages") or []
        # A thread is read from its beginning, so what is looked for may be on a later page.
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await self._client.conversations_replies(
                channel=channel, ts=thread_ts, limit=200, cursor=cursor, include_all_metadata=True
            )
            found += page.get("messages") or []
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return found


def meaning(error: Exception) -> Posting:
    """Say what the failure of a call means for the message."""
    response = error.response if isinstance(error, SlackApiError) else None
    if not isinstance(response, AsyncSlackResponse):
        return TryLater(error=type(error).__name__, ambiguous=not isinstance(error, ClientConnectorError))
    name = response.data.get("error") if isinstance(response.data, dict) else None
    if response.status_code == 429 or name in TOO_MANY:
        after = str(response.headers.get("Retry-After", ""))
        return TryLater(error=name or "ratelimited", seconds=float(after) if after.isdigit() else None)
    if not name or response.status_code >= 500 or name in PASSING:
        # Without a name it is no answer of Slack's but a page of something in between.
        return TryLater(error=name or f"http_{response.status_code}", ambiguous=True)
    return Refused(error=name) if name in UNREADABLE else WayClosed(error=name)
