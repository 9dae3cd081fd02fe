"""Reads threads within Slack's limits, and selects the messages before a question that may be sent along with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.model.question import NO_THREAD, QuestionRow, Thread, ThreadMessage
from bot.slack.messages import FAILURES, Retryable, classify_error, paginate, seconds_of

log = logging.getLogger(__name__)

PAGE_SIZE = 999
MAX_PAGES = 3
"""The most pages of a thread that are read; Slack returns the oldest messages first."""

CAPPED_SIZE = 15
"""The most messages that Slack returns, once a minute, to an app that is sold outside its marketplace.

https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
"""

CAPPED_SECONDS = 60.0

READ_SECONDS = 5.0
"""How long a question waits for the earlier messages."""

MAX_AUTHORS = 20
"""The most people whose membership is looked up for one question."""

USER_SUBTYPES = (None, "file_share", "thread_broadcast")
"""The subtypes of messages that people write, as opposed to edits, joins and others.

https://docs.slack.dev/reference/events/message#subtypes
"""
_SLACKBOT = "USLACK"


def is_by_person(message: Mapping[str, Any]) -> bool:
    """Return whether a person wrote a message, rather than an app, a workflow, Slackbot or Slack itself."""
    automatic = message.get("bot_id") or message.get("bot_profile")
    user = str(message.get("user") or "")
    return message.get("subtype") in USER_SUBTYPES and not automatic and not user.startswith(_SLACKBOT)


@dataclass(frozen=True, kw_only=True)
class Page:
    """Messages of a thread as Slack returns them, the oldest first; `complete` is whether no later messages follow."""

    messages: Sequence[Mapping[str, Any]]
    complete: bool


@dataclass(frozen=True, kw_only=True)
class ThreadReader:
    """Reads threads.

    If `capped`, Slack allows one call a minute. `may_read` returns whether this minute's call is left, and uses it up.

    https://docs.slack.dev/reference/methods/conversations.replies
    """

    client: AsyncWebClient
    capped: bool
    may_read: Callable[[], Awaitable[bool]]

    async def read(self, channel: str, thread_ts: str, *, since: str | None = None) -> Page | Retryable | None:
        """Return the messages of a thread; with `since`, only its first message and the messages since that `ts`.

        Return Retryable if Slack is unavailable or this minute's call is used, None if the thread may not be read.
        """
        if self.capped and not await self.may_read():
            log.info("thread.not_read", extra={"error": "capped"})
            return Retryable(error="capped", seconds=CAPPED_SECONDS)
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._read(channel, thread_ts, since)
        except FAILURES as error:
            result = classify_error(error)
            log.warning("thread.not_read", extra={"error": result.error})
            return result if isinstance(result, Retryable) else None

    async def _read(self, channel: str, thread_ts: str, since: str | None) -> Page:
        messages: list[Mapping[str, Any]] = []
        async for page in paginate(
            self.client.conversations_replies,
            most=1 if self.capped else MAX_PAGES,
            channel=channel,
            ts=thread_ts,
            oldest=since,
            limit=CAPPED_SIZE if self.capped else PAGE_SIZE,
            include_all_metadata=True,
        ):
            if page is None:
                return Page(messages=messages, complete=False)
            messages += [message for message in page.get("messages") or [] if isinstance(message, Mapping)]
        return Page(messages=messages, complete=True)


@dataclass(frozen=True, kw_only=True)
class ThreadHistory:
    """Selects people's messages in a thread before a question.

    `is_member` takes the question, a person and the person's workspace according to a message, and returns whether the
    person is a full member of the app's workspace; text of others is not passed on. `bot_user` returns the app's own
    user id, if it is known. `by_default` is whether threads are read in channels without a setting.
    """

    reader: ThreadReader
    is_member: Callable[[QuestionRow, str, str], Awaitable[bool]]
    bot_user: Callable[[], str | None]
    by_default: bool = True

    async def before(self, row: QuestionRow, answered: Sequence[str]) -> Thread:
        """Return the earlier messages in the thread of a question, without messages by the app or to the app.

        `answered` are the `ts` of the questions whose answers are remembered.
        """
        history = row.preferences.channel.history
        allowed = self.by_default if history is None else history
        if not allowed or row.thread_ts is None or row.begins_thread:
            return NO_THREAD
        since = max(answered, key=float, default=None) if self.reader.capped else None
        page = await self.reader.read(row.channel_id, row.thread_ts, since=since)
        if not isinstance(page, Page):
            return NO_THREAD
        written = [one for one in page.messages if self._is_context(one, row, answered)]
        members = await self._members(written, row)
        authors = {row.user_id: 0}
        messages = [
            ThreadMessage(text=str(one["text"]), author=authors.setdefault(_author(one)[0], len(authors)))
            for one in written
            if _author(one)[0] == row.user_id or _author(one) in members
        ]
        return Thread(messages=tuple(messages), complete=page.complete and since is None)

    def _is_context(self, message: Mapping[str, Any], row: QuestionRow, answered: Sequence[str]) -> bool:
        """Return whether a message is by a person, older than the question, not empty, and no question to the app."""
        ts, text, bot_user = str(message.get("ts") or ""), str(message.get("text") or ""), self.bot_user()
        if not is_by_person(message) or not text.strip() or not message.get("user") or message["user"] == bot_user:
            return False
        mentioned = bot_user is not None and f"<@{bot_user}" in text
        return not mentioned and ts not in answered and seconds_of(ts) < seconds_of(row.asked_ts)

    async def _members(self, written: Sequence[Mapping[str, Any]], row: QuestionRow) -> set[tuple[str, str]]:
        """Return the authors who are full members, each with the author's workspace according to the messages.

        Only the `MAX_AUTHORS` people who wrote last are looked up.
        """
        others = list(dict.fromkeys(_author(one) for one in reversed(written) if one["user"] != row.user_id))
        asked = others[:MAX_AUTHORS]
        found = await asyncio.gather(*(self.is_member(row, user, team) for user, team in asked))
        return {author for author, is_member in zip(asked, found, strict=True) if is_member}


def _author(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the author of a message and the author's workspace, which is empty if the message names none."""
    team = message.get("user_team") or message.get("source_team") or message.get("team")
    return str(message["user"]), str(team or "")
