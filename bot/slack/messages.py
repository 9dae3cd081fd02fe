"""Slack's calls for messages and posts to a `response_url`, each tried once, and the meaning of their results."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.model.message import Audience, OutgoingMessage, SuggestedPrompt
from bot.model.question import CLOCKS_DIFFER_SECONDS

_NAME = re.compile(r"[a-z_]{1,60}")

UNNAMED = "unnamed"
"""The name for an error of Slack if the reply has no valid name."""

INVALID_MESSAGE_ERRORS = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"}
)
"""Errors in the message's form, after which its text is sent once without blocks."""

SLACK_INTERNAL_ERRORS = frozenset({"internal_error", "fatal_error"})
"""Slack's internal errors, which are transient unless the message's blocks cause them."""


def error_name(name: object) -> str | None:
    """Return `name` if it has the form of Slack's error names; otherwise None, since the text may contain a secret."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Slack accepted the message; `ts` identifies it if Slack returned one."""

    ts: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Slack rejected the message's form."""

    error: str


@dataclass(frozen=True, kw_only=True)
class RouteClosed:
    """The way to send the message can no longer be used: it is used up, expired or not allowed."""

    error: str


@dataclass(frozen=True, kw_only=True)
class Retryable:
    """Slack is unavailable or busy; `seconds` is its Retry-After.

    If `maybe_posted`, the message may have arrived anyway. If `unverifiable`, nobody can look up whether this post, or
    an earlier one of the same message, arrived.
    """

    error: str
    seconds: float | None = None
    maybe_posted: bool = False
    unverifiable: bool = False

    @property
    def slack_error(self) -> bool:
        """Whether Slack itself failed; some blocks make it fail each time."""
        return self.error in SLACK_INTERNAL_ERRORS


Failed = Rejected | RouteClosed | Retryable
PostResult = Sent | Failed


def has_arrived(result: PostResult) -> bool | None:
    """Return whether a message arrived at Slack; None if that is unknown."""
    if isinstance(result, Retryable) and result.maybe_posted:
        return None
    return isinstance(result, Sent)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The message is in the conversation."""

    ts: str


@dataclass(frozen=True, kw_only=True)
class NotFound:
    """The conversation was read and does not contain the message."""


@dataclass(frozen=True, kw_only=True)
class LookupForbidden:
    """The conversation cannot be read, for example without the scope for its history, or has too many messages."""


LookupResult = Found | NotFound | LookupForbidden | Retryable


class NoToken(SlackClientError):
    """No call was made, because the workspace has no token.

    `error` is Slack's error name for this; None if the workspace may get a token again.
    """

    def __init__(self, error: str | None) -> None:
        super().__init__("there is no token for the workspace")
        self.error = error


FAILURES = (SlackClientError, ClientError, TimeoutError, AttributeError)
"""The errors of a call.

The SDK raises AttributeError for a reply of plain text with the status 200 (3.47, `AsyncSlackResponse.validate`).
"""

TRANSIENT_ERRORS = SLACK_INTERNAL_ERRORS | {"service_unavailable", "request_timeout"}
"""Slack's transient errors."""

RATE_LIMIT_ERRORS = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
"""Slack's errors for too many calls or messages. https://docs.slack.dev/reference/methods/chat.postMessage#errors"""

EVENT_TYPE = "answer_part"
"""The event type in the metadata of the app's messages.

Everyone in the workspace can read the metadata, so it contains only a question's id and the number of a part.
"""

PAGE_SIZE = 200
MAX_PAGES = 10
"""The most pages of a conversation that are read; Slack gives some apps only fifteen messages a page."""


def seconds_of(ts: object) -> float:
    """Return a message's `ts` as seconds since 1970; 0 if it is not a `ts`."""
    try:
        return float(str(ts))
    except ValueError:
        return 0.0


async def paginate(
    read: Callable[..., Awaitable[AsyncSlackResponse]], *, most: int = MAX_PAGES, **arguments: Any
) -> AsyncIterator[AsyncSlackResponse | None]:
    """Yield the first `most` pages of a list, then None if the list has more. Raises one of `FAILURES`."""
    cursor: str | None = None
    for _ in range(most):
        page = await read(**arguments, cursor=cursor)
        yield page
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
    yield None


class Chat:
    """Posts, changes, deletes and finds messages; each call is tried once.

    https://docs.slack.dev/reference/methods/chat.postMessage
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def open_direct_message(self, user_id: str) -> str:
        """Return the id of the direct-message channel with a user. Raises one of `FAILURES`."""
        response = await self._client.conversations_open(users=user_id)
        channel: dict[str, Any] = response.get("channel") or {}
        if "id" not in channel:
            raise SlackClientError("conversations.open named no channel")
        return str(channel["id"])

    async def post(
        self, channel: str, message: OutgoingMessage, *, question: str, part: int, thread_ts: str | None = None
    ) -> PostResult:
        """Post one message, in a thread if one is given, with metadata by which `find` finds it."""
        return await result_of(
            self._client.chat_postMessage(
                channel=channel, thread_ts=thread_ts, metadata=metadata_of(question, part), **_content(message)
            )
        )

    async def post_ephemeral(
        self, channel: str, user: str, message: OutgoingMessage, *, thread_ts: str | None
    ) -> PostResult:
        """Post a message that only one member of a channel sees; it disappears when Slack is reloaded."""
        return await result_of(
            self._client.chat_postEphemeral(channel=channel, user=user, thread_ts=thread_ts, **_content(message))
        )

    async def update(self, channel: str, ts: str, message: OutgoingMessage) -> PostResult:
        """Replace one of the app's own messages; its metadata stays."""
        # An empty list removes the old blocks; without a list they would stay.
        call = self._client.chat_update(channel=channel, ts=ts, text=message.text, blocks=list(message.blocks))
        return await result_of(call, ts=ts)

    async def suggest_prompts(self, channel: str, prompts: Sequence[SuggestedPrompt]) -> PostResult:
        """Suggest questions in the messages tab of a direct message.

        Slack refuses the call for guests, and in plans without agents. An agent app must not name a thread.
        https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
        """
        return await result_of(
            self._client.assistant_threads_setSuggestedPrompts(
                channel_id=channel, prompts=[prompt._asdict() for prompt in prompts]
            )
        )

    async def set_status(self, channel: str, thread_ts: str, status: str) -> PostResult:
        """Show a status in a thread, after the app's name, until the app posts there; an empty status removes it.

        https://docs.slack.dev/reference/methods/assistant.threads.setStatus
        """
        return await result_of(
            self._client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread_ts, status=status)
        )

    async def delete(self, channel: str, ts: str) -> PostResult:
        """Delete one of the app's own messages, if possible. Raises nothing."""
        return await result_of(self._client.chat_delete(channel=channel, ts=ts), ts=ts)

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the address of a message; None if Slack does not return it. Raises nothing.

        https://docs.slack.dev/reference/methods/chat.getPermalink
        """
        with suppress(*FAILURES):
            response = await self._client.chat_getPermalink(channel=channel, message_ts=ts)
            return str(response.get("permalink") or "") or None
        return None

    async def find_unrecorded(
        self, channel: str, *, question: str, thread_ts: str, since: datetime, after: str
    ) -> list[str] | Retryable:
        """Return the `ts` of the app's messages in a thread that may be unrecorded streams for a question.

        These are messages without the app's metadata, or with metadata that names the question. Only messages later
        than the `ts` in `after` count, and never the thread's first message. The id of the app's bot is taken from
        messages with the app's metadata; if there are none, or if the thread may not be read, the list is empty. Return
        `Retryable` if Slack is unavailable. Raises nothing.
        """
        found: dict[str, str] = {}
        ours: set[str] = set()
        try:
            async for message in self._messages(channel, thread_ts, since):
                if message is None or not message.get("bot_id"):
                    continue
                metadata = message.get("metadata") or {}
                marked = metadata.get("event_type") == EVENT_TYPE
                if marked:
                    ours.add(message["bot_id"])
                if not marked or (metadata.get("event_payload") or {}).get("question") == question:
                    found[str(message["ts"])] = message["bot_id"]
        except FAILURES as error:
            if isinstance(result := classify_error(error), Retryable):
                return result
        return [
            ts for ts, bot in found.items() if bot in ours and ts != thread_ts and seconds_of(ts) > seconds_of(after)
        ]

    async def find(
        self, channel: str, *, question: str, part: int, thread_ts: str | None = None, since: datetime
    ) -> LookupResult:
        """Find a part of an answer that may have been posted before a crash or a time-out. Raises nothing.

        Only messages after `since`, the time of the question, are read: a thread may have thousands before it. If there
        are more than ten pages of them, return `LookupForbidden`.
        """
        wanted = {"question": question, "part": part}
        try:
            async for message in self._messages(channel, thread_ts, since):
                if message is None:
                    return LookupForbidden()
                if (message.get("metadata") or {}).get("event_payload") == wanted:
                    return Found(ts=str(message["ts"]))
        except FAILURES as error:
            result = classify_error(error)
            return replace(result, maybe_posted=False) if isinstance(result, Retryable) else LookupForbidden()
        return NotFound()

    async def _messages(
        self, channel: str, thread_ts: str | None, since: datetime
    ) -> AsyncIterator[dict[str, Any] | None]:
        """Yield the messages in a conversation, or in a thread, from `since` on; finally None if there are too many.

        Raises one of `FAILURES`.
        """
        oldest = f"{since.timestamp() - CLOCKS_DIFFER_SECONDS:.6f}"
        replies = partial(self._client.conversations_replies, ts=thread_ts or "")
        read = self._client.conversations_history if thread_ts is None else replies
        async for page in paginate(read, channel=channel, oldest=oldest, limit=PAGE_SIZE, include_all_metadata=True):
            if page is None:
                yield None
                return
            for message in page.get("messages") or []:
                yield message


def metadata_of(question: str, part: int) -> dict[str, Any]:
    """Return the metadata by which `Chat.find` finds a message."""
    return {"event_type": EVENT_TYPE, "event_payload": {"question": question, "part": part}}


def _content(message: OutgoingMessage) -> dict[str, Any]:
    blocks = {"blocks": list(message.blocks)} if message.blocks else {}
    return {"text": message.text, "unfurl_links": False, "unfurl_media": False, **blocks}


async def result_of(call: Awaitable[AsyncSlackResponse], *, ts: str | None = None) -> PostResult:
    """Await a call, and return the meaning of its result for the message; `ts` is the message's, if already known."""
    try:
        response = await call
    except FAILURES as error:
        return classify_error(error)
    return Sent(ts=ts or response.get("ts"))


def classify_error(error: Exception) -> Failed:
    """Return the meaning of a call's error for the message."""
    if isinstance(error, NoToken):
        return Retryable(error=type(error).__name__) if error.error is None else RouteClosed(error=error.error)
    response = error.response if isinstance(error, SlackApiError) else None
    if not isinstance(response, AsyncSlackResponse):
        return Retryable(error=type(error).__name__, maybe_posted=not isinstance(error, ClientConnectorError))
    error_field = response.data.get("error") if isinstance(response.data, dict) else None
    name = error_name(error_field) or (UNNAMED if error_field else None)
    if response.status_code == 429 or name in RATE_LIMIT_ERRORS:
        return Retryable(error=name or "ratelimited", seconds=_seconds(response.headers.get("Retry-After")))
    if not name or response.status_code >= 500 or name in TRANSIENT_ERRORS:
        # A reply without a name is not from Slack but from a server in between.
        return Retryable(error=name or f"http_{response.status_code}", maybe_posted=True)
    return Rejected(error=name) if name in INVALID_MESSAGE_ERRORS else RouteClosed(error=name)


MAX_USES = 5
LIFETIME_SECONDS = 30 * 60 - 10
"""How long a response_url is used: thirty minutes, less the possible difference between Slack's clock and ours."""

NOT_FROM_SLACK = "not_slack_s"
"""The error for a reply that is not from Slack, such as a proxy's page. The message may have arrived."""

_URL_CHARACTERS = re.compile(r"[!-~]+")
"""The characters of an address: printable ASCII without spaces. https://www.rfc-editor.org/rfc/rfc3986#section-2"""

HOSTS = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})


def is_slack_url(url: str | None, *, slack_api_url: str) -> bool:
    """Return whether an address belongs to Slack, or to the server that is configured instead.

    Return False for a malformed address; the question that came with it is then answered as if it had none.
    """
    if url is None or not _URL_CHARACTERS.fullmatch(url):
        return False
    try:
        parts, expected = urlsplit(url), urlsplit(slack_api_url)
    except ValueError:
        return False
    if parts.scheme == "https" and parts.netloc in HOSTS:
        return True
    overridden = expected.netloc != "slack.com"
    return overridden and (parts.scheme, parts.netloc) == (expected.scheme, expected.netloc)


class ResponseUrls:
    """Posts messages to response_urls over one shared session, with the session's time limits.

    A response_url accepts five messages in thirty minutes, also in channels where the app is not a member.
    https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def post(self, url: str, message: OutgoingMessage, *, audience: Audience, replace: bool) -> PostResult:
        """Post one message once; with `replace`, in place of the message that the url belongs to."""
        seen_by = "in_channel" if audience is Audience.CHANNEL else "ephemeral"
        return await self._send(url, _content(message) | {"response_type": seen_by, "replace_original": replace})

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
    """Return the meaning of Slack's reply: `ok`, an error's name, or JSON with `ok` and `error`."""
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
