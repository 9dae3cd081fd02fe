"""Files for people: named after their subject, and sent once as a direct message."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial

from bot.blocks.escaping import clean
from bot.commands.help import text_message
from bot.listeners.clicks import Click, ClickReply, text_reply
from bot.listeners.context import ListenerContext
from bot.listeners.intake import MEMBERS_ONLY
from bot.model.message import MarkdownFile
from bot.model.question import QuestionRow
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import gettext as _
from bot.worker.background import FileUploader

MAX_TITLE = 120
MAX_NAME = 60

SAME_FILE_SECONDS = 60.0
"""Clicks of one user on one file within this time count as one."""


def markdown_file(subject: str, *, beginning: str, title: str, content: str) -> MarkdownFile:
    """Return a Markdown file, whose name is `beginning` and the words of its subject."""
    words = re.sub(r"\W+", "-", subject.lower()).strip("-")[:MAX_NAME] or "report"
    return MarkdownFile(name=f"{beginning}-{words}.md", title=title[:MAX_TITLE], content=clean(content))


async def send_file(
    file: MarkdownFile,
    row: QuestionRow,
    click: Click,
    context: ListenerContext,
    files: FileUploader,
    *,
    what: str,
) -> ClickReply:
    """Return the reply to a click on a file of a question; the file is sent after the reply.

    If the user asked for the file a moment ago, the reply says so, and nothing is sent. `what` names the file in the
    reply.
    """
    if not await files.requests.request_file(row.id, click.user, seconds=SAME_FILE_SECONDS):
        return text_reply(_("You asked for this file a moment ago. Look for it in our direct messages."))

    async def report_failure(text: str) -> None:
        with suppress(*DATABASE_UNAVAILABLE):
            await files.requests.cancel_file_request(row.id, click.user)
        await context.replies.reply_privately(click.response_url, text_message(text))

    upload = partial(
        files.send,
        file,
        click.user,
        on_failure=lambda: report_failure(
            _("Slack rejected the file. Please tell an admin, who can check my permission to send files.")
        ),
        on_refusal=lambda: report_failure(_(MEMBERS_ONLY)),
    )
    return ClickReply(
        message=text_message(_("I’ll send you {what} as a file, in our direct messages.").format(what=_(what))),
        after=lambda: context.start(upload()),
    )
