"""Sends an answer or search results to people who see them, in a direct message: as a file, or as a canvas."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import CANVAS, MORE, SAVE, AnswerPart
from bot.feature import Core, Feature, Running
from bot.features.saving.canvas import send_canvas
from bot.features.saving.document import result_file
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    ClickReply,
    command_of,
    find_question,
    may_see,
    menu,
    send_file,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import MarkdownFile
from bot.model.question import QuestionRow
from bot.translation import N_
from bot.translation import gettext as _
from bot.worker.background import FileUploader
from perplexity.threads import run_in_thread


def start(core: Core) -> Running:
    """Listen to the choices of the menu."""
    return Running(listeners=(partial(register, files=core.files, saves_files=core.settings.saves_files),))


def register(app: AsyncApp, context: ListenerContext, *, files: FileUploader, saves_files: bool) -> None:
    """Listen to the choices of the menu."""
    menu(app, context, MORE, SAVE, partial(save_answer, files=files))
    menu(app, context, MORE, CANVAS, partial(save_as_canvas, files=files, or_file=saves_files))


async def save_answer(click: Click, context: ListenerContext, *, files: FileUploader) -> ClickReply:
    """Send an answer or search results as a file, in the background, to the user who clicked."""
    if isinstance(saved := await _clicked_answer(click, context), str):
        return text_reply(_(saved))
    return await send_file(*saved, click, context, files, what=N_("the answer"))


async def save_as_canvas(click: Click, context: ListenerContext, *, files: FileUploader, or_file: bool) -> ClickReply:
    """Make a canvas of an answer or search results, in the background, for the user who clicked."""
    if isinstance(saved := await _clicked_answer(click, context), str):
        return text_reply(_(saved))
    return await send_canvas(*saved, click, context, files, or_file=or_file)


async def _clicked_answer(click: Click, context: ListenerContext) -> tuple[MarkdownFile, QuestionRow] | str:
    """Return the answer as a file, and its question; if the user cannot have it, return the reason."""
    row = await find_question(click.id, context)
    kept = await context.questions.result(row.id) if row is not None else None
    command = command_of(row, context.commands) if row is not None else None
    if row is None or kept is None or command is None:
        return UNKNOWN_ANSWER
    if not may_see(row, click, context.commands):
        return NOT_YOUR_ANSWER
    question = command.parse_question_text(row.text)
    return await run_in_thread(result_file, kept.result, question=question, asked_at=kept.asked_at), row


FEATURE = Feature(
    name="saving",
    start=start,
    answer_parts=(
        AnswerPart(name=SAVE, place="choice", label=N_("Save as Markdown"), offered=attrgetter("saves_files")),
        AnswerPart(name=CANVAS, place="choice", label=N_("Save as canvas")),
    ),
)
