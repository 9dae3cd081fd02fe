"""Sends a message to a person directly, when the way the question came is closed.

https://docs.slack.dev/reference/methods/chat.postMessage
"""

from __future__ import annotations

from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks.base import OutgoingMessage
from bot.delivery.posting import UNREADABLE, Posting, Refused, Sent, TryLater, WayClosed

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
        except (TimeoutError, SlackClientError, ClientError) as error:
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
        except (TimeoutError, SlackClientError, ClientError):
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
    if not isinstance(error, SlackApiError):
        return TryLater(error=type(error).__name__, ambiguous=True)
    # A proxy's error page arrives as a text where the service's own errors are a mapping.
    data = error.response.data
    name = str(data.get("error") or "unknown") if isinstance(data, dict) else f"http_{error.response.status_code}"
    if error.response.status_code == 429 or name == "ratelimited":
        after = str(error.response.headers.get("Retry-After", ""))
        return TryLater(error="ratelimited", seconds=float(after) if after.isdigit() else None)
    if error.response.status_code >= 500 or name in {"internal_error", "fatal_error", "service_unavailable"}:
        return TryLater(error=name, ambiguous=True)
    return Refused(error=name) if name in UNREADABLE else WayClosed(error=name)
