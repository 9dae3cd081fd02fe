"""Slack's calls for a message that is written while people read it, each tried once, and the meaning of their results.

https://docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.model.membership import workspace_key
from bot.model.message import Block
from bot.slack.messages import PostResult, Rejected, Retryable, RouteClosed, Sent, metadata_of, result_of

UNSUPPORTED_ERRORS = frozenset(
    {"unknown_method", "method_deprecated", "feature_not_enabled", "feature_disabled", "not_agent_app"}
)
"""Slack's errors for a workspace or an app without streams."""

NO_SESSION_ERRORS = UNSUPPORTED_ERRORS | {"not_authorized", "missing_scope"}
"""Slack's errors for a workspace or an app without agent sessions."""

NOT_HERE = "channel_type_not_supported"
"""Slack's error for a kind of conversation without streams."""

NOT_STREAMING = "message_not_in_streaming_state"

STOPPED_BY_PERSON = "stopped_by_user"


@dataclass(frozen=True, kw_only=True)
class Unsupported:
    """The workspace does not support streams."""

    error: str


@dataclass(frozen=True, kw_only=True)
class StreamEnded:
    """The message cannot grow any more: it is too old, too long, was stopped, or is no stream."""

    error: str

    @property
    def stopped_by_person(self) -> bool:
        """Whether the reader pressed Slack's own stop button."""
        return self.error == STOPPED_BY_PERSON


StreamResult = Sent | StreamEnded | Unsupported | Retryable


class Streams:
    """Starts, continues and ends streamed messages; each call is tried once.

    All calls send chunks: a stream that began with chunks accepts no plain text.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._without_sessions: set[str] = set()
        self._without_streams: set[tuple[str, bool]] = set()

    def work(self, *, direct: bool) -> bool:
        """Return whether streams work in the workspace's direct messages or, if not `direct`, in its channels.

        Return True until Slack has refused a stream there.
        """
        return (workspace_key(), direct) not in self._without_streams

    async def start(
        self, channel: str, thread_ts: str, text: str, *, recipient: tuple[str, str] | None = None
    ) -> StreamResult:
        """Start a message in a thread with its first text.

        Outside of direct messages, `recipient` has the ids of the person who sees the message grow, and of the person's
        workspace.
        """
        user, team = recipient or (None, None)
        call = self._client.chat_startStream(
            channel=channel,
            thread_ts=thread_ts,
            recipient_user_id=user,
            recipient_team_id=team,
            chunks=_text_chunks(text),
        )
        result = _for_stream(await result_of(call))
        if result == StreamEnded(error=NOT_HERE):
            self._without_streams.add((workspace_key(), recipient is None))
        return result

    async def append(self, channel: str, ts: str, text: str) -> StreamResult:
        """Add text to a message."""
        call = self._client.chat_appendStream(channel=channel, ts=ts, chunks=_text_chunks(text))
        return _for_stream(await result_of(call, ts=ts))

    async def stop(
        self,
        channel: str,
        ts: str,
        *,
        question: str,
        part: int,
        thread_ts: str | None = None,
        text: str = "",
        blocks: Sequence[Block] = (),
    ) -> StreamResult:
        """End a message with its last text, the blocks below it, and the metadata by which `Chat.find` finds it.

        If Slack has already ended the message, set the agent session of the thread from `processing` to `active`.
        """
        call = self._client.chat_stopStream(
            channel=channel,
            ts=ts,
            chunks=_text_chunks(text) or None,
            blocks=list(blocks) or None,
            metadata=metadata_of(question, part),
        )
        result = _for_stream(await result_of(call, ts=ts))
        if result == StreamEnded(error=NOT_STREAMING) and thread_ts is not None:
            await self._end_session(channel, thread_ts)
        return result

    async def _end_session(self, channel: str, thread_ts: str) -> None:
        """Tell Slack that nothing is being written in a thread; otherwise Slack shows the app as writing for an hour.

        https://docs.slack.dev/reference/methods/agents.sessions.setStatus
        """
        workspace = workspace_key()
        if workspace in self._without_sessions:
            return
        call = self._client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread_ts, status="active")
        result = await result_of(call)
        if isinstance(result, RouteClosed) and result.error in NO_SESSION_ERRORS:
            self._without_sessions.add(workspace)


def _text_chunks(text: str) -> list[dict[str, Any]]:
    return [{"type": "markdown_text", "text": text}] if text else []


def _for_stream(result: PostResult) -> StreamResult:
    """Return what the result of a call means for the stream."""
    if not isinstance(result, Rejected | RouteClosed):
        return result
    return (Unsupported if result.error in UNSUPPORTED_ERRORS else StreamEnded)(error=result.error)
