"""Mentions, replies and direct messages: read from events and submitted like a command, answered in their thread."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import time
from typing import Any, Literal

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.blocks.escaping import unescape_slack
from bot.blocks.examples import greeting_message
from bot.blocks.messages import with_line_above
from bot.clock import in_time
from bot.commands.ask import ASK
from bot.commands.routing import EXAMPLES, begins_conversation, is_offered, is_talk, route_message, small_talk_kind
from bot.listeners.context import ListenerContext
from bot.listeners.intake import record_stop
from bot.model.audit import stop_change
from bot.model.membership import RequestOrigin
from bot.model.message import OutgoingMessage, SuggestedPrompt
from bot.model.question import NewQuestion, QuestionRow, Received, SharedFile
from bot.slack.messages import Retryable, Sent, seconds_of
from bot.slack.threads import is_by_person
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import storable
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.threads import run_in_thread

log = logging.getLogger(__name__)

NOT_SAVED = N_(
    "I can’t reach my database just now. I’ll keep trying for about five minutes. "
    "If you have no answer by then, please ask again."
)

FILES_ALONE = N_("I didn’t read your file, since there is no question with it. Please send both in one message.")

REPLY_SECONDS = 0.5
RECORD_SECONDS = 0.5
RECORDED_SECONDS = 0.3
PROMPTS_SECONDS = 1.5

RECENT_QUESTIONS = 100
"""The number of a person's latest questions from which the suggestions are chosen."""


EDIT_SECONDS = 60.0
"""How long after a message an edit still replaces its unanswered question. Later edits have no effect."""
DELETE_SECONDS = 24 * 3600.0
"""How long after a message its deletion still closes the open question, or withdraws the answer."""

MAX_LISTED_FILES = 20
MAX_FILE_NAME = 200


@dataclass(frozen=True, kw_only=True)
class MessageEvent:
    """A message to the app: its place, its author, and its text without the mention.

    A `follow_up` is a reply in a channel; it does not mention the app or begin with a mention of someone else.
    """

    surface: Literal["mention", "follow_up", "im"]
    team: str
    channel: str
    user: str
    ts: str
    thread_ts: str
    text: str
    files: tuple[SharedFile, ...] = ()
    edit: str | None = None
    """The `ts` of the edit, by which the edits of one message differ; None if the message was not edited."""

    deleted: bool = False

    @property
    def delivery_key(self) -> str:
        """The key of the message, the same in all deliveries, and in both events that Slack sends for a mention."""
        return f"{self.team}:{self.channel}:{self.ts}"


def register(app: AsyncApp, context: ListenerContext, *, examples: Sequence[SuggestedPrompt] = EXAMPLES) -> None:
    """Listen to mentions and messages; Slack sends a channel's messages only if the manifest subscribes to them.

    The `examples` are suggested to people who have not asked much yet.
    """

    @app.event("app_home_opened")
    async def on_home_opened(body: dict[str, Any]) -> None:
        await open_tab(body, context, examples)

    @app.event("agent_session_stopped")
    async def on_session_stopped(body: dict[str, Any]) -> None:
        await stop_session(body, context)

    @app.event("app_mention")
    @app.event("message")
    async def on_message(body: dict[str, Any], request: AsyncBoltRequest) -> BoltResponse | None:
        return await receive(body, context, redelivered="x-slack-retry-num" in request.headers)


async def stop_session(body: dict[str, Any], context: ListenerContext) -> None:
    """Stop a question after its asker or an admin has ended the answer with Slack's own stop button.

    https://docs.slack.dev/reference/events/agent_session_stopped
    """
    event = body.get("event") or {}
    user, channel, streams = event.get("user"), event.get("channel"), event.get("streaming_message_ts")
    if not isinstance(user, str) or not isinstance(channel, str) or not isinstance(streams, list):
        return
    named = [ts for ts in streams if isinstance(ts, str)]
    find = partial(context.questions.question_of_streams, channel, named, team_id=RequestOrigin.from_body(body).team_id)

    async def find_twice() -> QuestionRow | None:
        """Find the question whose answer is in these streams; try twice, since a new stream may not be recorded yet."""
        if (row := await find()) is not None:
            return row
        await asyncio.sleep(RECORDED_SECONDS)
        return await find()

    try:
        row = await context.intake.within_ack_deadline(find_twice(), seconds=RECORD_SECONDS + REPLY_SECONDS)
        if row is None or not (row.user_id == user or await context.is_admin_in_time(user)):
            return
        stop = record_stop(row, questions=context.questions, metrics=context.metrics, change=stop_change(row, user))
        await context.intake.within_ack_deadline(stop, seconds=RECORD_SECONDS)
    except DATABASE_UNAVAILABLE as error:
        log.warning("stop.not_recorded", extra={"error": type(error).__name__})


async def receive(body: dict[str, Any], context: ListenerContext, *, redelivered: bool) -> BoltResponse | None:
    """Submit the question of an event, if it has one; `redelivered` is whether Slack delivers the event again.

    If the question cannot be saved, answer 503, so that Slack delivers the event again: at once, after a minute and
    after five minutes (https://docs.slack.dev/apis/events-api/#errors).
    """
    event = parse_change(body) or parse_event(body)
    # A follow-up by an outsider is ignored without a notice.
    if event is None or (event.surface == "follow_up" and await _refuses(event, body, context)):
        return None
    try:
        if event.deleted:
            await context.intake.within_ack_deadline(_withdraw(event, context), seconds=RECORD_SECONDS + REPLY_SECONDS)
            return None
        question = await _build_question(event, context)
        if not await _asks(event, question, body, context):
            return None
    except DATABASE_UNAVAILABLE:
        return BoltResponse(status=503)
    if event.edit is not None:
        if seconds_of(event.edit) - seconds_of(event.ts) > EDIT_SECONDS:
            return None
        question = replace(question, delivery_key=f"{event.delivery_key}:edited:{event.edit}")
    if redelivered:
        question = replace(question, late_seconds=max(0, int(time() - seconds_of(event.ts))))
    return await _receive_question(question, event, body, context, redelivered=redelivered)


async def _refuses(event: MessageEvent, body: dict[str, Any], context: ListenerContext) -> bool:
    return await context.admission.refuses(body, event.user, event.channel, context.intake)


async def _asks(event: MessageEvent, question: NewQuestion, body: dict[str, Any], context: ListenerContext) -> bool:
    """Return whether a message is a question to answer; reply to small talk. Raises database errors.

    Small talk is answered once, and where Slack allows it, only its author sees the answer. Small talk in an edit, or
    in a reply without a mention, gets no answer.
    """
    if not is_talk(question.command, question.text):
        return event.surface != "follow_up" or await _continues_thread(event, context)
    if event.edit is not None or event.surface == "follow_up" or await _refuses(event, body, context):
        return False
    await context.intake.within_ack_deadline(_greet(question, event, context), seconds=RECORD_SECONDS)
    return False


async def _greet(question: NewQuestion, event: MessageEvent, context: ListenerContext) -> None:
    """Answer small talk, once for all deliveries of the message."""
    if await context.questions.take_delivery(f"{event.delivery_key}:talk"):
        said = greeting_message(small_talk_kind(question.text))
        if event.files:
            (said,) = with_line_above((said,), _(FILES_ALONE))
        context.start(_send_to_asker(event, said, context))
        log.info("small_talk.answered", extra={"surface": event.surface})


async def _continues_thread(event: MessageEvent, context: ListenerContext) -> bool:
    """Return whether to answer a reply: the app has answered in its thread, and settings allow it.

    Raises database errors.
    """
    answered = context.questions.takes_follow_up(
        team_id=event.team,
        channel_id=event.channel,
        thread_ts=event.thread_ts,
        user_id=event.user,
        default=context.intake.follow_ups,
    )
    return await context.intake.within_ack_deadline(answered, seconds=RECORD_SECONDS)


async def _receive_question(
    question: NewQuestion, event: MessageEvent, body: dict[str, Any], context: ListenerContext, *, redelivered: bool
) -> BoltResponse | None:
    try:
        # The workers need the sender's workspace if it is not the app's.
        record = context.intake.record_sender(body, question.user_id)
        await context.intake.within_ack_deadline(record, seconds=RECORD_SECONDS)
    except DATABASE_UNAVAILABLE:
        received = Received.FAILED
    else:
        place = await context.intake.submit(question)
        received = place.received
        if received is Received.NEW:
            context.intake.show_place(question, place, None)
    silent = received is Received.THREAD_FULL or (redelivered and received is Received.FAILED)
    refused = None if silent else await context.intake.refusal(received, question, not_saved=NOT_SAVED)
    if refused is not None:
        # The event must be acknowledged within three seconds; a notice that takes longer is not sent.
        await in_time(_send_to_asker(event, refused, context), REPLY_SECONDS)
    return BoltResponse(status=503) if received is Received.FAILED else None


async def _withdraw(message: MessageEvent, context: ListenerContext) -> None:
    """Close the question of a deleted message, or let a worker delete its answer. Raises database errors."""
    closed = await context.questions.withdraw(
        message.delivery_key,
        team_id=message.team,
        channel_id=message.channel,
        thread_ts=message.thread_ts,
        user_id=message.user,
        seconds=DELETE_SECONDS,
    )
    for question_id in closed:
        if (row := await context.questions.get(question_id)) is not None:
            context.metrics.settled(command=row.command, state="withdrawn")
            log.info("question.withdrawn", extra=row.ids)


def parse_event(body: dict[str, Any]) -> MessageEvent | None:
    """Parse an event's envelope; return None if it contains no message to the app.

    These are not messages to the app: edits, joins, messages of this app or of other bots, and messages in a channel
    that are neither a mention nor a follow-up.
    """
    event = body.get("event")
    if not isinstance(event, dict) or not is_by_person(event) or event.get("edited") or event.get("hidden"):
        return None
    team, channel, user, ts = RequestOrigin.from_body(body).team_id, *_texts(event, "channel", "user", "ts")
    own_ids = _own_ids(body)
    if not (channel and user and ts) or user in own_ids:
        return None
    text, addressed = _without_mentions(str(event.get("text") or ""), own_ids)
    direct = event.get("channel_type") == "im"
    follow_up = not (direct or addressed or event.get("type") == "app_mention")
    if follow_up and not _is_follow_up(event, text):
        return None
    return MessageEvent(
        surface="im" if direct else "follow_up" if follow_up else "mention",
        team=team,
        channel=channel,
        user=user,
        ts=ts,
        thread_ts=str(event.get("thread_ts") or ts),
        text=text,
        files=tuple(_files(event.get("files"))),
    )


def parse_change(body: dict[str, Any]) -> MessageEvent | None:
    """Parse an edit or a deletion; None for other events, and for edits that do not change the text.

    The result is the message after the edit, or before the deletion.

    Slack also reports the preview of a link, and the deletion of a message with replies, as an edit.
    https://docs.slack.dev/reference/events/message/message_changed
    https://docs.slack.dev/reference/events/message/message_deleted
    """
    event = body.get("event")
    if not isinstance(event, dict) or event.get("subtype") not in {"message_changed", "message_deleted"}:
        return None
    now, before = event.get("message"), event.get("previous_message")
    deleted = event["subtype"] == "message_deleted" or (isinstance(now, dict) and now.get("subtype") == "tombstone")
    message = before if deleted else now
    if not isinstance(message, dict) or not isinstance(before, dict):
        return None
    if not deleted and message.get("text") == before.get("text"):
        return None
    edited = message.get("edited")
    place = {name: event.get(name) for name in ("channel", "channel_type")}
    parsed = parse_event(body | {"event": message | place | {"type": "message", "edited": None}})
    if parsed is None:
        return None
    if deleted:
        return replace(parsed, deleted=True)
    (edit,) = _texts(edited if isinstance(edited, dict) else event, "ts")
    return replace(parsed, edit=edit)


def _is_follow_up(event: dict[str, Any], text: str) -> bool:
    """Return whether a message is a reply in a channel, has text, and does not begin with a mention of someone."""
    thread_ts, ts, kind = _texts(event, "thread_ts", "ts", "channel_type")
    is_reply, in_channel = thread_ts not in {"", ts}, kind in {"channel", "group"}
    return is_reply and in_channel and bool(text) and not text.startswith(("<@", "<!"))


def _files(listed: object) -> Iterator[SharedFile]:
    """Yield the files of a message; if a file is from another workspace, the event has only its id.

    https://docs.slack.dev/apis/slack-connect/using-slack-connect-apis#files
    """
    for one in listed[:MAX_LISTED_FILES] if isinstance(listed, list) else ():
        if isinstance(one, dict) and re.fullmatch("[A-Z0-9]{2,30}", str(one.get("id")), re.ASCII):
            yield SharedFile(id=one["id"], name=storable(str(one.get("name") or ""))[:MAX_FILE_NAME])


def _own_ids(body: dict[str, Any]) -> frozenset[str]:
    """Return the user ids of the app, from the envelope."""
    authorizations = body.get("authorizations")
    return frozenset(
        str(one["user_id"])
        for one in (authorizations if isinstance(authorizations, list) else [])
        if isinstance(one, dict) and one.get("is_bot") and one.get("user_id")
    )


def _without_mentions(text: str, own: frozenset[str]) -> tuple[str, bool]:
    """Return a text without mentions of the app, and whether it had any.

    If the app's `own` ids are unknown, a mention at the beginning of the text counts as a mention of the app.
    """
    ids = "|".join(map(re.escape, own)) or r"(?<=\A<@)[UW][A-Z0-9]+"
    *before, last = re.split(rf"<@(?:{ids})(?:\|[^<>]*)?>", text.strip())
    left = "".join([*(piece.rstrip(" \t") for piece in before), last])
    return (re.sub(r"^[,:](?=\s)", "", left) if before else left).strip(), bool(before)


async def _build_question(event: MessageEvent, context: ListenerContext) -> NewQuestion:
    command, text = await run_in_thread(route_message, event.text, context.commands)
    # A question that the app itself offers needs no earlier messages.
    is_first = begins_conversation(event.text) or (event.ts == event.thread_ts and is_offered(command, text))
    return NewQuestion(
        delivery_key=event.delivery_key,
        surface=event.surface,
        command=command,
        text=text,
        team_id=event.team,
        channel_id=event.channel,
        user_id=event.user,
        thread_ts=event.thread_ts,
        starts_conversation=event.surface == "im" and is_first,
        files=event.files,
    )


async def _send_to_asker(event: MessageEvent, message: OutgoingMessage, context: ListenerContext) -> None:
    """Send a message that only the asker sees.

    The message may name the asker's other questions, and no other bot should read and answer it. Slack shows such a
    message in a thread only if the thread has replies, so without replies it goes to the channel.
    """
    if event.surface == "im":
        await context.replies.post_in_thread(event.channel, event.thread_ts, message)
    else:
        thread_ts = None if event.ts == event.thread_ts else event.thread_ts
        await context.replies.post_ephemeral(event.channel, event.user, thread_ts, message)


async def open_tab(
    body: dict[str, Any], context: ListenerContext, examples: Sequence[SuggestedPrompt] = EXAMPLES
) -> None:
    """Show the home tab to a member who opens it, or suggest questions to one who opens the messages tab.

    The examples are suggested at first, later the person's own questions.
    https://docs.slack.dev/reference/events/app_home_opened
    """
    event = body.get("event")
    if not isinstance(event, dict):
        return
    tab, channel, user = _texts(event, "tab", "channel", "user")
    if not user or context.admission.is_known_outsider(body, user):
        return
    origin = RequestOrigin.from_body(body)
    if tab == "home":
        context.home_opened(origin.team_id or origin.enterprise_id, user, "")
    elif tab == "messages" and channel:
        await _suggest_prompts(channel, user, origin.team_id, context, examples)


async def _suggest_prompts(
    channel: str, user: str, team_id: str, context: ListenerContext, examples: Sequence[SuggestedPrompt]
) -> None:
    asked = context.questions.asked_directly(team_id=team_id, channel_id=channel, user_id=user, most=RECENT_QUESTIONS)
    try:
        questions = await context.intake.within_ack_deadline(asked, seconds=RECORD_SECONDS)
    except DATABASE_UNAVAILABLE:
        questions = []
    typed = [unescape_slack(text if command == ASK.name else f"{command} {text}") for command, text in questions]
    suggesting = context.chat.suggest_prompts(channel, choose_prompts(typed, examples))
    result = await in_time(suggesting, PROMPTS_SECONDS) or Retryable(error="timeout")
    if not isinstance(result, Sent):
        log.info("prompts.refused", extra={"error": result.error})


def _texts(event: dict[str, Any], *names: str) -> list[str]:
    return [str(event.get(name) or "") for name in names]


MAX_PROMPTS = 4
"""The most prompts that Slack shows. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts"""

MIN_QUESTIONS = 10
"""A person who has asked fewer questions than this gets the examples; others get their own questions."""

MAX_TITLE = 60
MAX_MESSAGE = 1_000
"""A longer question is not suggested."""


def choose_prompts(asked: Sequence[str], examples: Sequence[SuggestedPrompt] = EXAMPLES) -> tuple[SuggestedPrompt, ...]:
    """Return a person's newest questions as suggestions, each question once; or the examples if there are too few.

    `asked` are the person's questions, the newest first. Questions that differ only in case or spaces count as one.
    """
    offered = tuple(SuggestedPrompt(_(one.title), _(one.message)) for one in examples)
    if len(asked) < MIN_QUESTIONS:
        return offered
    distinct: dict[str, str] = {}
    for message in asked:
        distinct.setdefault(" ".join(message.split()).casefold(), message.strip())
    fitting = [message for message in distinct.values() if 0 < len(message) <= MAX_MESSAGE]
    return tuple(SuggestedPrompt(_title(message), message) for message in fitting[:MAX_PROMPTS]) or offered


def _title(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1].rstrip()}…"
