"""Handles clicks on buttons and menus in time for their acknowledgement, and sends the files that clicks ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.answer import question_of_block
from bot.blocks.escaping import clean
from bot.blocks.messages import without_blocks
from bot.clock import in_time
from bot.commands.base import Command
from bot.commands.help import text_message
from bot.errors import UsageError
from bot.listeners.context import ListenerContext
from bot.listeners.intake import MEMBERS_ONLY
from bot.model.membership import click_team_ids, team_of
from bot.model.message import Audience, MarkdownFile, OutgoingMessage
from bot.model.question import CHANNEL_THREADS, NewQuestion, QuestionRow, Received
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_
from bot.translation import gettext as _
from bot.worker.background import FileUploader

UNKNOWN_ANSWER = N_("I no longer have this answer. Please ask the question again.")
TEXT_DELETED = N_("I no longer keep the text of this question and its answer. Please ask it again.")
DATABASE_DOWN = N_("I can’t reach my database just now. Please click again in a minute.")
NOT_YOUR_ANSWER = N_("Only the person who asked can use this button.")
NO_LONGER_OFFERED = N_("This button has expired. Please ask again.")

UNNAMED_CHANNELS = frozenset({"", "directmessage", "privategroup"})
"""Words that Slack sends instead of a name for conversations whose name the app may not know."""

REPLY_SECONDS = 0.5

DATABASE_SECONDS = 1.6
"""How long a click waits for the database.

This leaves time to send the reply (`REPLY_SECONDS`) before the acknowledgement, which Slack expects in three seconds.
"""


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """A person's click, or their submission or change of a modal; `body` is Slack's request."""

    body: dict[str, Any]

    @property
    def view(self) -> Mapping[str, Any]:
        """The view before the action; empty if the person acted on a message."""
        return self.part("view")

    @property
    def view_id(self) -> str:
        """The id of the view."""
        return str(self.view.get("id", ""))

    @property
    def view_hash(self) -> str:
        """The version of the view."""
        return str(self.view.get("hash", ""))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata with which the view was opened; empty if it has none."""
        try:
            metadata = json.loads(str(self.view.get("private_metadata") or "{}"))
        except ValueError:
            return {}
        return metadata if isinstance(metadata, dict) else {}

    @property
    def user(self) -> str:
        """The id of the person."""
        return str(self.part("user").get("id", ""))

    @property
    def team(self) -> str:
        """The id of the workspace under which the person's rows are saved, as `team_of` returns it."""
        return team_of(self.body)

    @property
    def teams(self) -> frozenset[str]:
        """The ids of the workspaces that the request belongs to."""
        return click_team_ids(self.body)

    def part(self, name: str) -> Mapping[str, Any]:
        """Return an object in the request; empty if there is none."""
        part = self.body.get(name)
        return part if isinstance(part, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Click(Interaction):
    """A click on a button or a menu; `action` is the part of the request about the button."""

    action: Mapping[str, Any]

    @property
    def action_id(self) -> str:
        """The `action_id` of the button."""
        return str(self.action.get("action_id", ""))

    @property
    def id(self) -> UUID | None:
        """The id of the button's question or digest; None if it is malformed.

        A button has the id as its value; menus and thumbs have it in the `block_id` of their row.
        """
        return as_uuid(question_of_block(str(self.action.get("block_id", ""))) or self.choice)

    @property
    def choice(self) -> str:
        """The value of the choice in a menu, or of the button."""
        option = self.action.get("selected_option")
        return str((option if isinstance(option, dict) else self.action).get("value", ""))

    @property
    def trigger_id(self) -> str:
        """The id with which a modal can be opened within three seconds of the click."""
        return str(self.body.get("trigger_id", ""))

    @property
    def in_modal(self) -> bool:
        """Whether the button is in a modal, and not in the home tab or a message."""
        return self.view.get("type") == "modal"

    @property
    def channel(self) -> str:
        """The id of the channel with the button; for a click in a view, the channel in which the view was opened."""
        return str(self.part("channel").get("id") or self.metadata.get("channel", ""))

    @property
    def user_name(self) -> str:
        """The name of the user who clicked, in the workspace."""
        user = self.part("user")
        return str(user.get("name") or user.get("username", ""))

    @property
    def channel_name(self) -> str:
        """The name of a public channel; for other conversations, a word for their kind such as `directmessage`."""
        return str(self.part("channel").get("name", ""))

    @property
    def response_url(self) -> str | None:
        """The address for replies to the click; None if the request has none, as in the home tab."""
        return str(self.body.get("response_url") or "") or None

    def is_by_asker(self, row: QuestionRow) -> bool:
        """Return whether the asker clicked, in the same workspace."""
        return row.user_id == self.user and row.team_id in self.teams

    def message_ts(self, channel: str) -> str | None:
        """Return the `ts` of the message with the button; None if it is in another channel."""
        container = self.part("container")
        if container.get("channel_id") != channel:
            return None
        return str(container.get("message_ts") or "") or None

    @property
    def thread_ts(self) -> str | None:
        """The `ts` of the thread with the button's message; the message's own `ts` if it is in no thread.

        None for a message that only one person sees.
        """
        container = self.part("container")
        if container.get("is_ephemeral"):
            return None
        return str(container.get("thread_ts") or container.get("message_ts") or "") or None


@dataclass(frozen=True, kw_only=True)
class ClickReply:
    """The reply to a click, shown only to the user who clicked or, if it `replaces`, in place of the clicked message.

    `after` is called when the reply is sent, or has taken too long.
    """

    message: OutgoingMessage
    replaces: bool = False
    after: Callable[[], None] = lambda: None


def as_uuid(text: object) -> UUID | None:
    """Return the id in a text; None if it is malformed."""
    try:
        return UUID(str(text))
    except ValueError:
        return None


Handler = Callable[[Click, ListenerContext], Coroutine[Any, Any, ClickReply | None]]


def menu(app: AsyncApp, context: ListenerContext, action: str, choice: str, handle: Handler) -> None:
    """Listen to one choice of a menu, and handle it as `button` handles a click."""

    async def is_chosen(action: dict[str, Any]) -> bool:
        return Click(body={}, action=action).choice == choice

    button(app, context, action, handle, matchers=[is_chosen])


def button(
    app: AsyncApp,
    context: ListenerContext,
    action: str | re.Pattern[str],
    handle: Handler,
    *,
    matchers: Sequence[Callable[..., Awaitable[bool]]] = (),
) -> None:
    """Listen to a button: refuse outsiders, handle the click in time for its acknowledgement, and send the reply.

    With `matchers`, handle only clicks for which each of them returns True.
    """

    @app.action(action, matchers=matchers)
    async def on_click(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        click = Click(body=body, action=action)
        reply = await _handle(click, context, handle)
        # The home tab has no address for a reply, so the tab itself shows the text of the reply.
        told = without_blocks(reply.message).text if reply is not None and click.response_url is None else ""
        # A click in the home tab shows that the tab is open, even if the app no longer keeps it up to date.
        show = context.home_opened if click.view_id and not click.in_modal else context.home_changed
        show(click.team, click.user, told)
        if reply is not None:
            send = context.replies.replace_original if reply.replaces else context.replies.reply_privately
            # The reply must not delay the acknowledgement beyond three seconds; a reply that takes longer is not sent.
            await in_time(send(click.response_url, reply.message), REPLY_SECONDS)
            reply.after()
        await ack()


async def _handle(click: Click, context: ListenerContext, handle: Handler) -> ClickReply | None:
    if await context.admission.refuses(click.body, click.user, click.channel, context.intake):
        return text_reply(_(MEMBERS_ONLY))
    try:
        return await context.intake.within_ack_deadline(handle(click, context), seconds=DATABASE_SECONDS)
    except TextDeleted:
        return text_reply(_(TEXT_DELETED))
    except DATABASE_UNAVAILABLE:
        return text_reply(_(DATABASE_DOWN))


def text_reply(text: str) -> ClickReply:
    """Return a reply with one text; `text` must not be escaped yet."""
    return ClickReply(message=text_message(text))


class TextDeleted(Exception):
    """The text of a question and its answer is no longer kept; `button` and `submission` tell the person so."""


async def own_question(click: Click, context: ListenerContext, *, needs_text: bool = True) -> QuestionRow | ClickReply:
    """Return the clicked question if the person who clicked asked it; otherwise a reply that refuses the click.

    Raises TextDeleted as `find_question` does.
    """
    row = await find_question(click.id, context, needs_text=needs_text)
    if row is None:
        return text_reply(_(UNKNOWN_ANSWER))
    return row if click.is_by_asker(row) else text_reply(_(NOT_YOUR_ANSWER))


async def find_question(id: UUID | None, context: ListenerContext, *, needs_text: bool = True) -> QuestionRow | None:
    """Return a question; None if it is unknown.

    With `needs_text`, raises TextDeleted if the question's text is no longer kept.
    """
    row = await context.questions.get(id) if id is not None else None
    if needs_text and row is not None and row.text_deleted_at is not None:
        raise TextDeleted
    return row


async def submission_refusal(received: Received, question: NewQuestion, context: ListenerContext) -> ClickReply | None:
    """Return a reply that says why a question was not saved; None if it was saved now or earlier."""
    message = await context.intake.refusal(received, question, not_saved=DATABASE_DOWN)
    return None if message is None else ClickReply(message=message)


def may_see(row: QuestionRow, click: Click, commands: Sequence[Command[Any, Any]]) -> bool:
    """Return whether the user who clicked may see the answer to a question.

    The asker may; in the question's channel, others may if the answer is public.
    """
    here = row.team_id in click.teams and row.channel_id == click.channel
    return click.is_by_asker(row) or (here and is_public(row, commands))


def is_public(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> bool:
    """Return whether everyone in the question's channel sees its answer."""
    if row.surface not in {"slash", "click"}:
        return row.surface in CHANNEL_THREADS
    if row.public is not None:
        return row.public
    command = command_of(row, commands)
    try:
        return command is not None and command.audience(command.parse(row.text)) is Audience.CHANNEL
    except UsageError:
        return False


def command_of(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    """Return the command of a question; None if this version has no such command."""
    return next((command for command in commands if command.name == row.command), None)


MAX_TITLE = 120
MAX_NAME = 60
"""The most characters of a file's title, and of the subject's words in the file's name."""

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
