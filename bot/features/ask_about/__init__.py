"""A form for a question about the pages of a search ("Ask about these"), or for a follow-up to an answer.

Questions about pages are answered from the excerpts of these pages alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import ASK_ABOUT, FOLLOW_UP, AnswerPart, is_suggestion
from bot.blocks.elements import context as context_block
from bot.blocks.elements import join_lines
from bot.blocks.escaping import shorten, unescape_slack
from bot.blocks.sources import linked_title, site_and_date
from bot.commands.ask import ASK, NO_QUESTION, write_question
from bot.commands.conversation import numbered_pages
from bot.commands.routing import is_small_talk
from bot.errors import UsageError
from bot.feature import Core, Feature, Running
from bot.listeners.actions import ANSWERING, submit_below
from bot.listeners.clicks import (
    NO_LONGER_OFFERED,
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    ClickReply,
    button,
    find_question,
    is_public,
    may_see,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.model.question import Received, SearchPage
from bot.slack.views import View
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.base import Response, Submission, errors, modal, open_for_click, submission
from bot.views.forms import input_block, text_input

CALLBACK_ID = "ask_about_modal"
ABOUT_TITLE, FOLLOW_UP_TITLE = N_("Ask about these"), N_("Ask a follow-up")
QUESTION = "question"

_MAX_ERROR = 300


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the buttons below search results and other answers, and to the submission of the view."""
    button(app, context, ASK_ABOUT, open_question)
    button(app, context, FOLLOW_UP, open_question, matchers=[_asks_for_one])
    submission(app, context, CALLBACK_ID, ask_about, first_input=QUESTION)


async def _asks_for_one(action: dict[str, Any]) -> bool:
    return not is_suggestion(action)


async def open_question(click: Click, context: ListenerContext) -> ClickReply | None:
    """Open the view for anyone who may see the answer; otherwise, return a text that says why not."""
    row = await find_question(click.id, context)
    kept = await context.questions.result(row.id) if row is not None else None
    about_pages = click.action_id == ASK_ABOUT
    if row is None or kept is None or (about_pages and not isinstance(kept.result, SearchPage)):
        return text_reply(_(UNKNOWN_ANSWER))
    if not may_see(row, click, context.commands):
        return text_reply(_(NOT_YOUR_ANSWER))
    metadata = {
        "question": str(row.id),
        "channel": click.channel,
        "response_url": click.response_url,
        "action": click.action_id,
    }
    page = kept.result if about_pages and isinstance(kept.result, SearchPage) else None
    return await open_for_click(click, context, question_view(page, metadata), on_top=click.in_modal)


def question_view(page: SearchPage | None, metadata: dict[str, Any]) -> View:
    """Build the view for a question about the pages of `page`, or for a follow-up if `page` is None."""
    question = input_block(QUESTION, _("Your question"), text_input(QUESTION, multiline=True))
    return modal(
        CALLBACK_ID,
        _(ABOUT_TITLE if page is not None else FOLLOW_UP_TITLE),
        [question, *(_pages(page) if page is not None else ())],
        submit=_("Ask"),
        close=_("Cancel"),
        metadata=metadata,
    )


def _pages(page: SearchPage) -> Iterator[Block]:
    yield context_block(_("The answer comes from the excerpts of these pages alone:"))
    lines = [
        " · ".join(filter(None, (f"{source.number}  {linked_title(source)}", site_and_date(source))))
        for source in numbered_pages(page)
    ]
    yield from map(context_block, join_lines(lines))


async def ask_about(submitted: Submission, context: ListenerContext) -> Response | None:
    """Ask the question typed in the view, at most once per view; the new answer appears below the earlier one."""
    click = _click(submitted)
    typed = str(submitted.value(QUESTION) or "")
    row = await find_question(click.id, context)
    if row is None or await context.questions.result(row.id) is None:
        return errors(**{QUESTION: _(UNKNOWN_ANSWER)})
    if not may_see(row, click, context.commands):
        return errors(**{QUESTION: _(NOT_YOUR_ANSWER)})
    public = row.thread_ts is None and is_public(row, context.commands)
    text = write_question(typed, public=public)
    if not typed.strip() or is_small_talk(typed):
        said = _("Happy to help! What would you like to know?") if typed.strip() else _(NO_QUESTION)
        return errors(**{QUESTION: said})
    try:
        ASK.parse(text)
    except UsageError as error:
        return errors(**{QUESTION: shorten(str(error), _MAX_ERROR)})
    became, reply = await submit_below(
        row,
        click,
        context,
        command=ASK,
        text=text,
        told=_(ANSWERING) if click.action_id == FOLLOW_UP else _("Answering {} from these pages."),
        key=submitted.view_id,
    )
    if became not in {Received.NEW, Received.DUPLICATE}:
        said = reply.message.text if reply is not None else _(NO_LONGER_OFFERED)
        return errors(**{QUESTION: shorten(unescape_slack(said), _MAX_ERROR)})
    if became is Received.NEW and reply is not None:
        context.start(context.replies.reply_privately(click.response_url, reply.message))
    return None


def _click(submitted: Submission) -> Click:
    """Return a click like the one that opened the view, but by the person who submits the view."""
    metadata = submitted.metadata
    body = dict(submitted.body) | {
        "channel": {"id": metadata.get("channel", "")},
        "response_url": metadata.get("response_url"),
    }
    # A view opened by an older version names no action, and is about pages.
    action = FOLLOW_UP if metadata.get("action") == FOLLOW_UP else ASK_ABOUT
    return Click(body=body, action={"action_id": action, "value": str(metadata.get("question", ""))})


def start(core: Core) -> Running:
    """Listen to the buttons and to the form."""
    return Running(listeners=(register,))


FEATURE = Feature(
    name="ask_about",
    start=start,
    answer_parts=(
        AnswerPart(
            name=FOLLOW_UP,
            label=FOLLOW_UP_TITLE,
            offered=attrgetter("continues_by_form"),
        ),
        AnswerPart(name=ASK_ABOUT, label=ABOUT_TITLE, offered=attrgetter("buttons.ask_about")),
    ),
)
