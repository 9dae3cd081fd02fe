"""Ask about these: a question about the pages that a search listed, answered from their excerpts alone."""

from __future__ import annotations

from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.actions import ASK_ABOUT
from bot.blocks.elements import context as context_block
from bot.blocks.elements import join_lines
from bot.blocks.escaping import shorten, unescape_slack
from bot.blocks.sources import linked_title, site_and_date
from bot.commands.ask import ASK, write_question
from bot.conversations.pages import numbered_pages
from bot.errors import UsageError
from bot.listeners.answer_actions import submit_below
from bot.listeners.clicks import (
    NO_LONGER_OFFERED,
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    Reply,
    button,
    clicked_question,
    is_public,
    may_see,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.listeners.intake import Submitted
from bot.model.results import SearchPage
from bot.slack.views import View
from bot.views.base import Response, Submission, errors, modal, open_modal, plain, submission

CALLBACK_ID = "ask_about_modal"
QUESTION = "question"
MAX_QUESTION = 3_000
"""https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""


_MAX_ERROR = 300


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the button below search results, and to the submission of the view."""
    button(app, context, ASK_ABOUT, open_ask_about)
    submission(app, context, CALLBACK_ID, ask_about, first_input=QUESTION)


async def open_ask_about(click: Click, context: ListenerContext) -> Reply | None:
    """Open the view, for everyone who sees the results."""
    row = await clicked_question(click, context)
    kept = await context.questions.result(row.id) if row is not None else None
    if row is None or kept is None or not isinstance(kept.result, SearchPage):
        return text_reply(UNKNOWN_ANSWER)
    if not may_see(row, click, context.commands):
        return text_reply(NOT_YOUR_ANSWER)
    metadata = {"question": str(row.id), "channel": click.channel, "response_url": click.response_url}
    problem = await open_modal(context, click.trigger_id, ask_about_view(kept.result, metadata))
    return None if problem is None else text_reply(problem)


def ask_about_view(page: SearchPage, metadata: dict[str, Any]) -> View:
    """Build the view."""
    element = {"type": "plain_text_input", "action_id": QUESTION, "multiline": True, "max_length": MAX_QUESTION}
    question = {"type": "input", "block_id": QUESTION, "label": plain("Your question"), "element": element}
    lines = [
        " · ".join(filter(None, (f"{source.number}  {linked_title(source)}", site_and_date(source))))
        for source in numbered_pages(page)
    ]
    listed = [context_block(text) for text in join_lines(lines)]
    head = context_block("The answer comes from the excerpts of these pages alone:")
    return modal(
        CALLBACK_ID,
        "Ask about these",
        [question, head, *listed],
        submit="Ask",
        close="Cancel",
        metadata=metadata,
    )


async def ask_about(submitted: Submission, context: ListenerContext) -> Response | None:
    """Ask the question below the results, once for each view."""
    click = _click(submitted)
    row = await clicked_question(click, context)
    if row is None or await context.questions.result(row.id) is None:
        return errors(**{QUESTION: UNKNOWN_ANSWER})
    if not may_see(row, click, context.commands):
        return errors(**{QUESTION: NOT_YOUR_ANSWER})
    public = row.thread_ts is None and is_public(row, context.commands)
    text = write_question(str(submitted.value(QUESTION) or ""), public=public)
    try:
        ASK.parse(text)
    except UsageError as error:
        return errors(**{QUESTION: shorten(str(error), _MAX_ERROR)})
    key = str(submitted.view.get("id", ""))
    became, reply = await submit_below(
        row,
        click,
        context,
        command=ASK,
        text=text,
        promise=lambda question: f"I’ll answer {question} from these pages. The answer will appear below.",
        key=key,
    )
    if became not in {Submitted.NEW, Submitted.DUPLICATE}:
        said = reply.message.text if reply is not None else NO_LONGER_OFFERED
        return errors(**{QUESTION: shorten(unescape_slack(said), _MAX_ERROR)})
    if became is Submitted.NEW and reply is not None:
        context.start(_reply(click.response_url, reply, context))
    return None


def _click(submitted: Submission) -> Click:
    """Return the submission as the click that opened the view, by the person who submits it."""
    metadata = submitted.metadata
    body = dict(submitted.body) | {
        "channel": {"id": metadata.get("channel", "")},
        "response_url": metadata.get("response_url"),
    }
    return Click(body=body, action={"action_id": ASK_ABOUT, "value": str(metadata.get("question", ""))})


async def _reply(url: str | None, reply: Reply, context: ListenerContext) -> None:
    await context.replies.reply_privately(url, reply.message)
