"""Sends a message to a person directly, when the way the question came is closed.

https://docs.slack.dev/reference/methods/chat.postMessage
"""

from __future__ import annotations

from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.blocks.base import OutgoingMessage
from bot.delivery.posting import UNREADABLE, Posting, Refused, Sent, TryLater, WayClosed

FAILURES = (SlackClientError, ClientError, TimeoutError, AttributeError)
"""How a call fails. The SDK raises AttributeError for a 200 of plain text (3.47, `AsyncSlackResponse.validate`)."""

PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""Slack's own troubles, which pass."""

EVENT_TYPE = "answer_part"
"""The metadata's name. Everyone in the workspace can read metadata, so it holds an id and a number and nothing else."""


class DirectMessages:
    """Posts to the direct-message channel between the app and a person."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def post(self, user_id: str, message: OutgoingMessage, *, question: str, part: int) -> Posting:
        """Post one message once."""
        try:
            channel = await self._channel(user_id)
            response = await self._client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=list(message.blocks) or None,
                unfurl_links=False,
                unfurl_media=False,
                metadata={"event_type": EVENT_TYPE, "event_payload": {"question": question, "part": part}},
            )
        except FAILURES as error:
            return _meaning(error)
        return Sent(ts=response.get("ts"))

    async def find(self, user_id: str, *, question: str, part: int) -> str | None:
        """Look for a part that may have been posted before a crash or a time-out; returns its `ts`.

        Raises nothing: where the history cannot be read, the part counts as not posted, since losing is worse than
        doubling.
        """
        try:
            channel = await self._channel(user_id)
            history = await self._client.conversations_history(channel=channel, limit=15, include_all_metadata=True)
        except FAILURES:
            return None
        wanted = {"question": question, "part": part}
        messages: list[dict[str, Any]] = history.get("messages") or []
        return next((m["ts"] for m in messages if (m.get("metadata") or {}).get("event_payload") == wanted), None)

    async def _channel(self, user_id: str) -> str:
        response = await self._client.conversations_open(users=user_id)
        channel: dict[str, Any] = response.get("channel") or {}
        if "id" not in channel:
            raise SlackClientError("conversations.open named no channel")
        return str(channel["id"])


def _meaning(error: Exception) -> Posting:
    response = error.response if isinstance(error, SlackApiError) else None
    if not isinstance(response, AsyncSlackResponse):
        return TryLater(error=type(error).__name__, ambiguous=True)
    name = response.data.get("error") if isinstance(response.data, dict) else None
    if response.status_code == 429 or name == "ratelimited":
        after = str(response.headers.get("Retry-After", ""))
        return TryLater(error="ratelimited", seconds=float(after) if after.isdigit() else None)
    if not name or response.status_code >= 500 or name in PASSING:
        # Without a name it is no answer of Slack's but a page of something in between.
        return TryLater(error=name or f"http_{response.status_code}", ambiguous=True)
    return Refused(error=name) if name in UNREADABLE else WayClosed(error=name)
