"""Clicks on the retry and stop buttons of the app's messages."""

from __future__ import annotations

import logging
import re

from slack_bolt.async_app import AsyncApp

from bot.blocks.messages import question_stopped_message
from bot.errors import UsageError
from bot.listeners.clicks import (
    Click,
    ClickReply,
    button,
    clicked_question,
    command_of,
    submission_refusal,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.listeners.intake import record_stop
from bot.model.audit import stop_change
from bot.model.question import NewQuestion, QuestionRow, Received
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)

UNKNOWN_QUESTION = N_("I no longer have this question. Please ask it again.")

PAST_WEEK = "past_week"
LIVE_PRESS = "live_press"
"""The id of the button that `python -m bot doctor --live` posts."""

_RETRY_ACTIONS = re.compile(rf"retry|{PAST_WEEK}")


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the buttons that retry or stop a question, and to the one that `python -m bot doctor --live` posts."""
    button(app, context, _RETRY_ACTIONS, retry_question)
    button(app, context, "stop", stop_question)
    button(app, context, LIVE_PRESS, take_live_press)


async def retry_question(click: Click, context: ListenerContext) -> ClickReply | None:
    """Ask the clicked question again, or, if the button is `PAST_WEEK`, for the past week; only its asker may click.

    Several clicks ask the question only once. If it cannot be asked, the reply says why. Otherwise, there is usually no
    reply, since the new answer replaces the clicked message.
    """
    earlier = await clicked_question(click, context)
    if earlier is None or not click.is_by_asker(earlier):
        log.warning("click.stale", extra={"error": "unknown question" if earlier is None else "not the asker"})
        return text_reply(
            _(UNKNOWN_QUESTION) if earlier is None else _("Only the person who asked can try this again.")
        )
    if earlier.state == "stopped" and earlier.just_settled:
        return None  # The second click of a double click on Stop hit "Start again", which had just replaced Stop.
    wider = click.action_id == PAST_WEEK
    text = _past_week(earlier, context) if wider else earlier.text
    if text is None:
        log.warning("click.stale", extra={"error": "no longer time"})
        return text_reply(_(UNKNOWN_QUESTION))
    question = _build_retry(earlier, click, text=text, key=PAST_WEEK if wider else "retry")
    received = (await context.intake.submit(question, surface="click")).received
    if received is Received.NEW and question.action and question.thread_ts is None:
        # The answer will not replace the failure message, so only this reply says that the question is asked again.
        return text_reply(_("Trying again."))
    return await submission_refusal(received, question, context)


def _past_week(earlier: QuestionRow, context: ListenerContext) -> str | None:
    """Return the text that asks the earlier question for the past week; None if its command has no such text."""
    command = command_of(earlier, context.commands)
    if command is None or command.past_week is None:
        return None
    try:
        return command.past_week(earlier.text)
    except UsageError:
        return None


def _build_retry(earlier: QuestionRow, click: Click, *, text: str, key: str) -> NewQuestion:
    """Return a question like the earlier one but with this text; in a thread, its answer replaces the clicked message.

    `key` names the button.
    """
    in_thread = earlier.thread_ts is not None
    return NewQuestion(
        delivery_key=f"{earlier.id}:{key}",
        again=earlier.id,
        surface=earlier.surface if in_thread else "click",
        command=earlier.command,
        text=text,
        team_id=earlier.team_id,
        channel_id=earlier.channel_id,
        user_id=earlier.user_id,
        response_url=None if in_thread else click.response_url,
        thread_ts=earlier.thread_ts,
        message_ts=click.message_ts(earlier.channel_id) if in_thread else None,
        resubmittable=True,
        parent=earlier.parent,
        action=earlier.action,
        files=earlier.files,
    )


async def stop_question(click: Click, context: ListenerContext) -> ClickReply | None:
    """Close the clicked question as stopped if its asker or an admin clicked.

    A worker then ends the work on the question and clears up.
    """
    row = await clicked_question(click, context, needs_text=False)
    if row is None:
        return text_reply(_("I no longer have this question."))
    if refusal := await _why_not_stopped(row, click, context):
        return text_reply(refusal)
    change, url = stop_change(row, click.user), click.response_url
    stopped = await record_stop(
        row, questions=context.questions, metrics=context.metrics, change=change, response_url=url
    )
    if not stopped and row.state != "stopped":
        return text_reply(_("There’s nothing left to stop: the answer is on its way, or I’ve given up on it."))
    if not stopped and (row.shown or url is None):
        return text_reply(_("This is already stopped."))
    if row.shown:  # The worker keeps the text shown so far, and notes below it that the answer was stopped.
        return None
    command = command_of(row, context.commands)
    text = command.parse_question_text(row.text) if command is not None else ""
    return ClickReply(message=question_stopped_message(text, question_id=str(row.id)), replaces=True)


async def _why_not_stopped(row: QuestionRow, click: Click, context: ListenerContext) -> str | None:
    """Return the text that says why the person who clicked may not stop a question; None if the person may."""
    if click.is_by_asker(row):
        return None
    try:
        is_admin = row.team_id in click.teams and await context.is_admin_in_time(click.user)
    except TimeoutError:
        return _("Slack is slow just now, so I couldn’t check whether you are an admin. Please click again.")
    return None if is_admin else _("Only the person who asked, or an admin, can stop this.")


async def take_live_press(click: Click, context: ListenerContext) -> ClickReply:
    """Delete the message with the button; `doctor --live` sees from this that the press has arrived."""
    if (ts := click.message_ts(click.channel)) is not None:
        await context.chat.delete(click.channel, ts)
    return text_reply(_("Your press has arrived."))
