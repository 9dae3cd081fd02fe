"""Save as Markdown: sends an answer or search results as a file to people who see them, in a direct message."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from slack_bolt.async_app import AsyncApp

from bot.blocks.actions import MORE, SAVE, AnswerPart
from bot.feature import Core, Feature, Running
from bot.features.saving.document import result_file
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    ClickReply,
    clicked_question,
    command_of,
    may_see,
    menu,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.listeners.files import send_file
from bot.translation import N_
from bot.translation import gettext as _
from bot.worker.background import FileUploader
from perplexity.threads import run_in_thread


def start(core: Core) -> Running:
    """Listen to the choice of the menu."""
    return Running(listeners=(partial(register, files=core.files),))


def register(app: AsyncApp, context: ListenerContext, *, files: FileUploader) -> None:
    """Listen to the choice of the menu."""
    menu(app, context, MORE, SAVE, partial(save_answer, files=files))


async def save_answer(click: Click, context: ListenerContext, *, files: FileUploader) -> ClickReply:
    """Send an answer or search results as a file, in the background, to the user who clicked."""
    row = await clicked_question(click, context)
    kept = await context.questions.result(row.id) if row is not None else None
    command = command_of(row, context.commands) if row is not None else None
    if row is None or kept is None or command is None:
        return text_reply(_(UNKNOWN_ANSWER))
    if not may_see(row, click, context.commands):
        return text_reply(_(NOT_YOUR_ANSWER))
    question = command.parse_question_text(row.text)
    file = await run_in_thread(result_file, kept.result, question=question, asked_at=kept.asked_at)
    return await send_file(file, row, click, context, files, what=N_("the answer"))


FEATURE = Feature(
    name="saving",
    start=start,
    answer_parts=(
        AnswerPart(name=SAVE, place="choice", label=N_("Save as Markdown"), offered=attrgetter("saves_files")),
    ),
)
