"""Clicks on the app's messages: retry, stop, the buttons below an answer that ask a next question, and examples."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import ASK_ABOUT, FOLLOW_UP, GO_DEEPER, MORE, MORE_RESULTS, REGENERATE, is_suggestion
from bot.blocks.escaping import one_line, shorten
from bot.blocks.examples import EXAMPLES, label_of
from bot.blocks.messages import question_stopped_message
from bot.commands.ask import write_question
from bot.commands.base import Command
from bot.commands.routing import route_message
from bot.errors import UsageError
from bot.listeners.clicks import (
    NO_LONGER_OFFERED,
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    ClickReply,
    Handler,
    button,
    command_of,
    find_question,
    is_public,
    may_see,
    menu,
    submission_refusal,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.listeners.intake import record_stop
from bot.model.audit import stop_change
from bot.model.question import CHANNEL_THREADS, NewQuestion, QuestionRow, Received
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)

UNKNOWN_QUESTION = N_("I no longer have this question. Please ask it again.")

PAST_WEEK = "past_week"
LIVE_PRESS = "live_press"
"""The id of the button that `python -m bot doctor --live` posts."""

_RETRY_ACTIONS = re.compile(rf"retry|{PAST_WEEK}")


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the buttons of the app's messages, and to the one that `python -m bot doctor --live` posts."""
    button(app, context, _RETRY_ACTIONS, retry_question)
    button(app, context, "stop", stop_question)
    button(app, context, LIVE_PRESS, take_live_press)
    deeper = asks_below(_deeper, N_("Thinking longer about {}."))
    menu(app, context, MORE, GO_DEEPER, deeper)
    menu(app, context, MORE, REGENERATE, asks_below(_same, N_("Answering {} again.")))
    # In answers by an older version of the app, `GO_DEEPER` is a button and not a choice in the menu.
    button(app, context, GO_DEEPER, deeper)
    button(app, context, MORE_RESULTS, asks_below(_same, N_("Looking for more pages on {}.")))
    button(app, context, FOLLOW_UP, asks_below(_suggested, ANSWERING), matchers=[_is_suggested])
    button(app, context, EXAMPLES, ask_example)


async def retry_question(click: Click, context: ListenerContext) -> ClickReply | None:
    """Ask the clicked question again, for the past week if the button is `PAST_WEEK`; only its asker may click.

    Several clicks ask the question only once. If it cannot be asked, the reply says why. Otherwise, there is usually no
    reply, since the new answer replaces the clicked message.
    """
    earlier = await find_question(click.id, context)
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
    row = await find_question(click.id, context, needs_text=False)
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


ANSWERING = N_("Answering {}.")
"""The reply to a click that asks a question; the quoted question takes the place of `{}`."""


Rewrite = Callable[[Command[Any, Any], QuestionRow, Click], str | None]
"""Returns the text of the next question, given the command, the earlier question and the click.

It returns None if there is no next question.
"""


async def _is_suggested(action: dict[str, Any]) -> bool:
    return is_suggestion(action)


def _deeper(command: Command[Any, Any], earlier: QuestionRow, click: Click) -> str | None:
    return None if command.deeper is None else command.deeper(earlier.text)


def _same(command: Command[Any, Any], earlier: QuestionRow, click: Click) -> str | None:
    return earlier.text


def _suggested(command: Command[Any, Any], earlier: QuestionRow, click: Click) -> str | None:
    """Return the text of the suggested question, with an option that makes its answer as public as the earlier answer.

    The option overrides the settings. In a thread, the text has no such option.
    """
    public = None if earlier.thread_ts is not None else is_public(earlier, (command,))
    return write_question(click.choice, public=public)


def asks_below(rewrite: Rewrite, told: str) -> Handler:
    """Return a handler for clicks that ask a new question, whose answer comes below the clicked answer.

    The person who clicks is the asker. `told` is the reply to a click outside of a thread, with `{}` in place of the
    quoted question. The answer does not replace this reply, so the reply has no button and promises no answer.
    """

    async def ask(click: Click, context: ListenerContext) -> ClickReply | None:
        earlier = await find_question(click.id, context)
        if earlier is None:
            return text_reply(_(UNKNOWN_ANSWER))
        if not may_see(earlier, click, context.commands):
            return text_reply(_(NOT_YOUR_ANSWER))
        command = command_of(earlier, context.commands)
        try:
            text = None if command is None else rewrite(command, earlier, click)
        except UsageError:
            text = None
        if command is None or text is None:
            return text_reply(_(NO_LONGER_OFFERED))
        return (await submit_below(earlier, click, context, command=command, text=text, told=_(told)))[1]

    return ask


async def submit_below(
    earlier: QuestionRow,
    click: Click,
    context: ListenerContext,
    *,
    command: Command[Any, Any],
    text: str,
    told: str,
    key: str = "",
) -> tuple[Received, ClickReply | None]:
    """Ask a question below an earlier answer; return the result of saving it, and the reply to the click, if any.

    However often the button is clicked, the question is asked only once for each `key`.
    """
    action = click.choice if click.action_id == MORE else click.action_id
    key = key or (text if action == FOLLOW_UP else "")
    question = _question_below(earlier, click, command=command.name, text=text, action=action, key=key)
    return await _submit(question, context, asked=command.parse_question_text(text), told=told)


async def _submit(
    question: NewQuestion, context: ListenerContext, *, asked: str, told: str
) -> tuple[Received, ClickReply | None]:
    received = (await context.intake.submit(question, surface="click")).received
    if received is Received.DUPLICATE:
        return received, text_reply(_("I’m already working on this, or it’s answered. Look below that answer."))
    if received is Received.NEW and question.thread_ts is None:
        return received, text_reply(told.format(_("“{text}”").format(text=shorten(one_line(asked), 150))))
    return received, await submission_refusal(received, question, context)


def _question_below(
    earlier: QuestionRow, click: Click, *, command: str, text: str, action: str, key: str
) -> NewQuestion:
    """Return the new question; if it repeats or deepens a question about pages, it is about the same pages."""
    about_pages = earlier.action == ASK_ABOUT and action in {GO_DEEPER, REGENERATE}
    in_thread = earlier.thread_ts is not None
    surface = "mention" if earlier.surface in CHANNEL_THREADS else earlier.surface
    return NewQuestion(
        delivery_key=f"{earlier.id}:{action}{f':{key}' if key else ''}",
        surface=surface if in_thread else "click",
        command=command,
        text=text,
        team_id=earlier.team_id,
        channel_id=earlier.channel_id,
        user_id=click.user,
        response_url=None if in_thread else click.response_url,
        thread_ts=earlier.thread_ts,
        parent=earlier.parent if about_pages else earlier.id,
        action=earlier.action if about_pages else action,
        resubmittable=True,
        files=earlier.files if action in {GO_DEEPER, REGENERATE} else (),
    )


async def ask_example(click: Click, context: ListenerContext) -> ClickReply | None:
    """Ask the example of the clicked button, once for each message with that button.

    If only one person sees the clicked message, the answer is private; otherwise, it comes in the message's thread.
    """
    label = label_of(click.choice)
    if label is None:
        return text_reply(_(NO_LONGER_OFFERED))
    command, text = route_message(click.choice, context.commands)
    team, thread_ts = click.team, click.thread_ts
    question = NewQuestion(
        delivery_key=f"{team}:{click.channel}:{EXAMPLES}:{click.message_ts(click.channel)}:{click.choice}",
        surface="click" if thread_ts is None else "im",
        command=command,
        text=text,
        team_id=team,
        channel_id=click.channel,
        user_id=click.user,
        response_url=click.response_url if thread_ts is None else None,
        thread_ts=thread_ts,
        action=EXAMPLES,
        resubmittable=True,
    )
    return (await _submit(question, context, asked=label, told=_(ANSWERING)))[1]
