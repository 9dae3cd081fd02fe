"""An answer as a canvas, which the app makes and shares with one person.

https://docs.slack.dev/reference/methods/canvases.create
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress

from bot.blocks.elements import link, section
from bot.blocks.escaping import WORD_JOINER
from bot.commands.help import text_message
from bot.listeners.clicks import SAME_FILE_SECONDS, Click, ClickReply, text_reply
from bot.listeners.context import ListenerContext
from bot.listeners.intake import MEMBERS_ONLY
from bot.model.message import MarkdownFile, OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import FAILURES, PostResult, Sent, classify_error, has_arrived
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_
from bot.translation import gettext as _
from bot.worker.background import FileUploader
from perplexity.markdown import RegionKind, regions

log = logging.getLogger(__name__)

NOT_MADE = N_("Slack didn’t make the canvas.")
_NO_CANVASES = N_("This workspace’s plan has no canvases, or they are switched off here.")
_TROUBLES = {
    "missing_scope": N_("To make a canvas, I need the permission `canvases:write`, which an admin can give me."),
    "free_teams_cannot_create_non_tabbed_canvases": _NO_CANVASES,
    "canvas_disabled_user_team": _NO_CANVASES,
}
"""The sentences for errors of Slack; for all other errors, the sentence is `NOT_MADE`."""

_CODE = {RegionKind.FENCE, RegionKind.INDENTED}
_QUOTED_LIST = re.compile(r"^( {0,3}>[ >]*)(?=(?:[-*+]|\d{1,9}[.)])\s)", re.MULTILINE)


async def send_canvas(
    file: MarkdownFile, row: QuestionRow, click: Click, context: ListenerContext, files: FileUploader, *, or_file: bool
) -> ClickReply:
    """Start making a canvas of an answer, unless the user asked for it a moment ago.

    `or_file` is whether the user can have a file instead.
    """
    # The key differs from the key for a file, so that a person can ask for both within a moment.
    key = f"{click.user}:canvas"
    if not await files.requests.request_file(row.id, key, seconds=SAME_FILE_SECONDS):
        return text_reply(_("You asked for this canvas a moment ago. Look for it in our direct messages."))

    async def make() -> None:
        if not (trouble := await _make(file, row, click.user, files)):
            return
        with suppress(*DATABASE_UNAVAILABLE):
            await files.requests.cancel_file_request(row.id, key)
        offered = or_file and trouble != MEMBERS_ONLY
        instead = [_("Choose “Save as Markdown” to get the answer as a file.")] if offered else []
        await context.replies.reply_privately(click.response_url, text_message(" ".join([_(trouble), *instead])))

    return ClickReply(
        message=text_message(_("I’ll make a canvas of the answer and send you its link, in our direct messages.")),
        after=lambda: context.start(make()),
    )


async def _make(file: MarkdownFile, row: QuestionRow, user: str, files: FileUploader) -> str:
    """Make a canvas and send the user its link; return a sentence about the problem, empty if there was none."""
    if not (admitted := await files.admits(user)):
        return NOT_MADE if admitted is None else MEMBERS_ONLY
    posted: PostResult | None = None
    try:
        workspace = await files.client.auth_test()
        channel = await files.chat.open_direct_message(user)
        content = {"type": "markdown", "markdown": _content(file)}
        canvas = (await files.client.canvases_create(title=file.title, document_content=content)).get("canvas_id")
        address = f"{str(workspace.get('url')).rstrip('/')}/docs/{row.team_id}/{canvas}"
        said = _("Here is the answer as a canvas: {link}").format(link=link(address, file.title))
        message = OutgoingMessage(text=said, blocks=(section(said),))
        # The canvas belongs to the app. Send its link first: Slack shares a canvas only with people who have the link.
        posted = await files.chat.post(channel, message, question=f"canvas {row.id}", part=0)
        if has_arrived(posted) is not False:
            shared = await files.client.canvases_access_set(
                canvas_id=str(canvas), access_level="write", user_ids=[user]
            )
            if not shared.get("failed_to_update_user_ids"):
                return ""
        name = "not_shared"
    except FAILURES as error:
        name = getattr(classify_error(error), "error", "")
    log.warning("canvas.not_made", extra={"error": name})
    if isinstance(posted, Sent) and posted.ts:
        await files.chat.delete(channel, posted.ts)
    return _TROUBLES.get(name, NOT_MADE)


def _content(file: MarkdownFile) -> str:
    """Return the text below the title; lists in quotations become plain text, since a canvas cannot contain them."""
    text = file.content.removeprefix(f"# {file.title}\n\n")
    pieces = ((region.kind, text[region.start : region.end]) for region in regions(text))
    return "".join(
        piece if kind in _CODE else _QUOTED_LIST.sub(rf"\g<0>{WORD_JOINER}", piece) for kind, piece in pieces
    )
