"""The modal that shows an asker which texts were sent to each service for an answer, and the redactions in them."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.blocks.actions import MORE, SENT
from bot.blocks.sent import sent_blocks
from bot.listeners.clicks import Click, ClickReply, command_of, menu, own_question, text_reply
from bot.listeners.context import ListenerContext
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.base import modal, open_for_click
from perplexity.threads import run_in_thread

CALLBACK_ID = "sent_modal"

NOTHING_SENT = N_("This is a recorded example: I sent nothing to a search service.")


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the choice in the menu below an answer that opens the modal."""
    menu(app, context, MORE, SENT, open_sent)


async def open_sent(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show the sent requests of an answer to the person who asked."""
    row = await own_question(click, context)
    if isinstance(row, ClickReply):
        return row
    sent = await context.questions.sent(row.id)
    kept = await context.questions.result(row.id) if sent is None else None
    if kept is not None and kept.is_recorded:
        return text_reply(_(NOTHING_SENT))
    if sent is None:
        return text_reply(_("I sent nothing to a search service for this answer, or I no longer know what I sent."))
    command = command_of(row, context.commands)
    question = "" if command is None else command.parse_question_text(row.text)
    blocks = await run_in_thread(lambda: sent_blocks(sent, question=question, interrupted=row.redeliveries))
    return await open_for_click(click, context, modal(CALLBACK_ID, _("What was sent"), blocks))
