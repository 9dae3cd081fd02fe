"""The home tab: renders it, shows it when a person opens it, keeps it up to date, and carries out its menus."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import FOLLOW_UP, MORE, RECHECK, SENT, SHARE, SOURCES, is_suggestion
from bot.blocks.elements import actions, header, link, mrkdwn, page_turns, plain, section
from bot.blocks.elements import button as button_block
from bot.blocks.elements import context as context_block
from bot.blocks.escaping import code, escape, one_line, shorten, unescape_slack
from bot.blocks.examples import LINES
from bot.blocks.markdown.rich_text import rich_text_blocks
from bot.blocks.messages import asked_message
from bot.blocks.status import health_block
from bot.blocks.words import short_moment
from bot.commands.base import Command
from bot.delivery.home_tabs import HomeDisplay, HomeTabs
from bot.feature import Together
from bot.features.home.admin import FOR_ADMINS, AdminHome, questions, used
from bot.features.home.store import Asked, HomeData, HomeStore, Recent, RunningQuestion
from bot.listeners.asking import ask_in_direct_message, link_to_messages
from bot.listeners.clicks import (
    NO_LONGER_OFFERED,
    NOT_YOUR_ANSWER,
    Click,
    ClickReply,
    as_uuid,
    button,
    command_of,
    find_question,
    menu,
    own_question,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.admin import Problem
from bot.model.message import Block, OutgoingMessage
from bot.model.question import OPEN as OPEN_STATES
from bot.model.question import QuestionRow
from bot.slack.messages import seconds_of
from bot.slack.views import NotOpened, View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_, figures, ngettext, speaking
from bot.translation import gettext as _
from bot.views.admin_only import for_admins
from bot.views.base import CLOSES_ALL, Response, Submission, errors, modal, open_for_click, person_of, submission
from bot.views.forms import checkboxes, choice, input_block
from perplexity.formatting import format_duration
from perplexity.threads import run_in_thread_if_long

log = logging.getLogger(__name__)

STILL_OPEN = N_("This question is still being answered. Stop it first.")

ANSWER_MODAL, DELETE_MODAL = "answer_modal", "delete_modal"
UNDERSTOOD = "understood"

MAX_BLOCKS = 90
"""The most blocks of an answer that are shown again; a modal takes a hundred."""

PERMALINK_SECONDS = 0.5

BOOKED_SECONDS = 0.3
"""The shortest wait before an update of the home tab: the ledger has the cost of an answer 0.1 seconds later."""

NOT_SHOWN = frozenset(
    {"actions", "context_actions", "markdown", "data_visualization", "data_table", "plan", "task_card"}
)
"""The types of blocks that a modal cannot show, or whose buttons are of no use there."""


@dataclass(frozen=True, kw_only=True)
class HomePublisher(HomeDisplay):
    """Updates home tabs in the background, each at most once every three seconds across all processes.

    Only `tell` updates a tab at once. `slash` is the prefix of commands; texts are kept for `retention_days`. `admin`
    provides the part for admins. `start` runs work in the background. Failures are logged and have no other
    effect.
    """

    store: HomeStore
    tabs: HomeTabs
    together: Callable[[], Together]
    slash: str
    admin: AdminHome
    start: Callable[[Coroutine[Any, Any, None]], None]
    retention_days: int = 30
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _waiting: dict[tuple[str, str], str] = field(default_factory=dict)
    _told: dict[tuple[str, str], str] = field(default_factory=dict)

    def opened(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Show the home tab, and record that the person has it open. `notice` is as in `changed`."""
        self._told.pop((team_id, user_id), None)
        self.start(self._open(team_id, user_id, notice))

    def changed(self, team_id: str, user_id: str, notice: str = "") -> None:
        """Update the home tab if the person has it open; `notice` is text on the result of a click, already escaped."""
        person = (team_id, user_id)
        if person in self._waiting:
            self._waiting[person] = notice or self._waiting[person]
            return
        self._waiting[person] = notice
        self.start(self._publish(team_id, user_id))

    def delete(self, row: QuestionRow) -> None:
        """Start deleting a question and its answer."""
        self.start(self._delete(row))

    async def _delete(self, row: QuestionRow) -> None:
        self.changed(row.team_id, row.user_id, await self.tabs.withdrawal.delete(row))

    async def _open(self, team_id: str, user_id: str, notice: str) -> None:
        with _logged():
            await self.store.open(team_id, user_id)
            self.changed(team_id, user_id, notice)

    async def tell(self, team_id: str, user_id: str, notice: str) -> None:
        """Update a home tab with a notice, already escaped, even if the tab is not known to be open.

        The notice stays until the person clicks or opens the tab again, because the click that led to it also updates
        the tab, perhaps later.
        """
        self._told[team_id, user_id] = notice
        await self._show(team_id, user_id, notice)

    async def _show(self, team_id: str, user_id: str, notice: str) -> None:
        with _logged(), speaking(await self.tabs.language(user_id)):
            result = await self.tabs.views.publish(user_id, await self._view(team_id, user_id, notice))
            if isinstance(result, NotOpened):
                log.warning("home.not_shown", extra={"error": result.error})

    async def _publish(self, team_id: str, user_id: str) -> None:
        person, seconds = (team_id, user_id), None
        try:
            with _logged():
                seconds = await self.store.reserve(team_id, user_id)
            if seconds is not None:
                await self.sleep(max(seconds, BOOKED_SECONDS))
        finally:
            # Later changes are shown by the next update.
            notice = self._waiting.pop(person, "")
        if seconds is not None:
            await self._show(team_id, user_id, self._told.get(person, notice))

    async def _view(self, team_id: str, user_id: str, notice: str) -> View:
        listed = {command.name: command for command in self.together().commands if command.question_text is not None}
        data = await self.store.read(team_id, user_id, commands=listed)
        asked: list[Asked] = [*data.running, *data.recent]
        asked_texts = await run_in_thread_if_long(sum(len(one.text) for one in asked), _texts, asked, listed)
        is_admin = await self.admin.admins.is_admin(user_id)
        if is_admin and data.for_admins:
            return {"type": "home", "blocks": await self.admin.page(team_id, user_id, notice)}
        added = partial(self.together().blocks, team_id=team_id, user_id=user_id)
        blocks = home_blocks(
            data,
            texts=asked_texts,
            slash=self.slash,
            notice=notice,
            retention_days=self.retention_days,
            problems=await self.admin.problems(team_id) if is_admin else None,
            top=await added("top"),
            sections=await added("page"),
            end=await added("end"),
        )
        return {"type": "home", "blocks": blocks}


@contextmanager
def _logged() -> Iterator[None]:
    """If the database is unavailable, log that a home tab is not shown, and raise nothing."""
    try:
        yield
    except DATABASE_UNAVAILABLE as error:
        log.warning("home.not_shown", extra={"error": type(error).__name__})


def _texts(asked: Sequence[Asked], commands: Mapping[str, Command[Any, Any]]) -> dict[str, str]:
    return {one.id: commands[one.command].parse_question_text(one.text) or unescape_slack(one.text) for one in asked}


def register(
    app: AsyncApp, context: ListenerContext, *, store: HomeStore, delete: Callable[[QuestionRow], None]
) -> None:
    """Listen to the menus of questions, the form that deletes a question, and the buttons that turn pages.

    `delete` starts deleting a question and its answer.
    """
    button(app, context, FOR_ADMINS, for_admins(partial(turn, store=store)))
    button(app, context, re.compile(rf"{HOME_PAGE}[0-9]{{1,5}}"), partial(show_page, store=store))
    menu(app, context, MORE, OPEN, open_answer)
    menu(app, context, MORE, AGAIN, ask_again)
    menu(app, context, MORE, RECHECK, ask_again)
    menu(app, context, MORE, DELETE, confirm_deletion)
    submission(app, context, DELETE_MODAL, partial(delete_question, delete=delete), first_input=UNDERSTOOD)


async def turn(click: Click, context: ListenerContext, *, store: HomeStore) -> None:
    """Show an admin the page for admins, or their own questions again."""
    await store.turn(*person_of(click.body), for_admins=click.choice == "open")


async def show_page(click: Click, context: ListenerContext, *, store: HomeStore) -> None:
    """Show a person another page of their own questions."""
    await store.turn(*person_of(click.body), page=int(click.action_id.removeprefix(HOME_PAGE)))


async def open_answer(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show an answer again to its asker, with a link to its message if Slack names one."""
    row = await own_question(click, context)
    if isinstance(row, ClickReply):
        return row
    ts = next(iter(row.streams), None) or row.message_ts
    address = None
    if ts is not None and row.thread_ts is not None:
        try:
            async with asyncio.timeout(PERMALINK_SECONDS):
                address = await context.chat.permalink(row.channel_id, ts)
        except TimeoutError:
            log.info("permalink.slow", extra=row.ids)
    messages = row.messages or ()
    length = sum(len(str(message.blocks)) for message in messages)
    blocks = [] if address is None else [section(link(address, _("Open it in Slack")))]
    blocks += [*await run_in_thread_if_long(length, answer_blocks, messages), *_buttons(messages)]
    return await open_for_click(click, context, modal(ANSWER_MODAL, _("Answer"), blocks))


def answer_blocks(messages: Sequence[OutgoingMessage]) -> list[Block]:
    """Return the blocks of an answer's messages for a modal, without buttons."""
    blocks: list[Block] = []
    for message in messages:
        for block in message.blocks:
            if block["type"] == "markdown":
                blocks += rich_text_blocks(block["text"])
            elif block["type"] not in NOT_SHOWN:
                blocks.append({name: value for name, value in block.items() if name not in {"block_id", "accessory"}})
    if len(blocks) > MAX_BLOCKS:
        blocks = [*blocks[:MAX_BLOCKS], context_block(_("The rest is in the answer’s message."))]
    return blocks or [section(_("There is no answer."))]


def _buttons(messages: Sequence[OutgoingMessage]) -> Iterator[Block]:
    """Yield the buttons below an answer that open a window; the other buttons work only below the answer's message."""
    for block in (block for message in messages for block in message.blocks if block["type"] == "actions"):
        shown = [one for one in block["elements"] if one["action_id"] in {FOLLOW_UP, SHARE, SOURCES}]
        if shown and not is_suggestion(block):
            yield {"type": "actions", "elements": shown}


async def ask_again(click: Click, context: ListenerContext) -> ClickReply | None:
    """Ask a question again in the direct message; if the choice is `RECHECK`, the answer begins with the changes."""
    row = await own_question(click, context)
    if isinstance(row, ClickReply):
        return row
    command = command_of(row, context.commands)
    if command is None:
        return text_reply(_(NO_LONGER_OFFERED))
    team, user = person_of(click.body)
    lead = _("What has changed since:") if click.choice == RECHECK else _("You asked again:")
    minute = int(seconds_of(click.action.get("action_ts"))) // 60
    begun = await ask_in_direct_message(
        context,
        user=user,
        team=team,
        # Two clicks within a minute are one question, even if the home tab was updated in between.
        key=f"{row.id}:{click.choice}:{minute}",
        command=command,
        text=row.text,
        root=asked_message(command.parse_question_text(row.text), lead=lead),
        parent=row.id if click.choice == RECHECK else None,
        action=RECHECK if click.choice == RECHECK else "",
    )
    return text_reply(begun) if isinstance(begun, str) else ClickReply(message=await link_to_messages(context, begun))


async def confirm_deletion(click: Click, context: ListenerContext) -> ClickReply | None:
    """Ask the asker to confirm the deletion of a question."""
    row = await own_question(click, context, needs_text=False)
    if isinstance(row, ClickReply):
        return row
    if row.state in OPEN_STATES:
        return text_reply(_(STILL_OPEN))
    command = command_of(row, context.commands)
    asked = command.parse_question_text(row.text) if command is not None else ""
    blocks = [
        {"type": "section", "text": plain(_("“{text}”").format(text=shorten(asked, 500)))},
        input_block(
            UNDERSTOOD,
            _(
                "The question and its answer are deleted for good, and my messages in its thread if no one has "
                "replied. What I posted elsewhere stays."
            ),
            checkboxes(UNDERSTOOD, [choice("yes", _("Delete it"))]),
        ),
    ]
    metadata = {"question": str(row.id)}
    texts = {"title": _("Delete this question"), "submit": _("Delete"), "close": _("Keep")}
    return await open_for_click(click, context, modal(DELETE_MODAL, blocks=blocks, metadata=metadata, **texts))


async def delete_question(
    submitted: Submission, context: ListenerContext, *, delete: Callable[[QuestionRow], None]
) -> Response | None:
    """Start deleting a question of the person who submits, with its messages."""
    row = await find_question(as_uuid(submitted.metadata.get("question")), context, needs_text=False)
    if row is None:
        return CLOSES_ALL
    if row.user_id != submitted.user or row.team_id not in submitted.teams:
        return errors(**{UNDERSTOOD: _(NOT_YOUR_ANSWER)})
    if row.state in OPEN_STATES:
        return errors(**{UNDERSTOOD: _(STILL_OPEN)})
    delete(row)
    return None


MAX_TEXT = 150

HOME_BLOCK = "answer:"
"""The beginning of a recent question's `block_id`, before the question's id."""

HOME_PAGE = "home_page:"
"""The beginning of the `action_id` of a button to a page of questions, before the page's number."""

OPEN, AGAIN, DELETE = "open", "again", "delete"
MENU = {
    OPEN: N_("Open"),
    AGAIN: N_("Ask again"),
    RECHECK: N_("What has changed since?"),
    SENT: N_("What was sent"),
    DELETE: N_("Delete"),
}
"""The choices of the menu of a recent question."""

_STATES = {"received": N_("Waiting"), "working": N_("Working on it"), "delivering": N_("Being posted")}
_ENDS = {"failed": N_("failed"), "expired": N_("could not be posted")}


def home_blocks(
    data: HomeData,
    *,
    texts: Mapping[str, str],
    slash: str,
    notice: str = "",
    retention_days: int = 30,
    problems: Sequence[Problem] | None = None,
    top: Sequence[Block] = (),
    sections: Sequence[Block] = (),
    end: Sequence[Block] = (),
) -> list[Block]:
    """Return the blocks of a home tab. `texts` are questions without options, by id; `slash` is the prefix of commands.

    `notice`, escaped, is the result of the last click. Texts are kept for `retention_days`. `problems` are None for a
    person who is not an admin; only an admin gets the button for the page for admins. `top` are further buttons in the
    first row, and `end` are the buttons in the last row; `sections` come after the questions.
    """
    welcome = _(
        "Mention me, write to me, or type `/{slash}ask`. Answers to commands are yours alone until you share them."
    )
    blocks = [
        header(_("Ask the web, with sources")),
        section(welcome.format(slash=slash)),
        actions(
            button_block(_("Ask a question"), "ask_anything", "home") | {"style": "primary"},
            *top,
            *([] if problems is None else [button_block(_("For admins"), FOR_ADMINS, "open")]),
        ),
    ]
    if notice:
        blocks.append(context_block(notice))
    if problems:
        blocks.append(health_block(problems))
    if data.running:
        blocks += [header(_("Running")), *(_running(one, texts, slash) for one in data.running)]
    blocks.append(header(_("Your recent questions")))
    blocks += [_recent(one, texts) for one in data.recent]
    if not (data.recent or data.page):
        examples = " ".join(_("“{text}”").format(text=_(label)) for label in LINES)
        blocks.append(section(_("Nothing yet. Ask me, for example: {examples}").format(examples=examples)))
    turns = {_("Newer questions"): data.page - 1} if data.page else {}
    turns |= {_("Earlier questions"): data.page + 1} if data.earlier else {}
    blocks += [*page_turns(HOME_PAGE, turns), *sections]
    month = _("This month: {used}.").format(used=used(data.questions, questions, data.cost))
    kept = ngettext("I keep your texts for {count} day.", "I keep your texts for {count} days.", retention_days)
    facts = [*([month] if data.questions or data.cost else []), kept if retention_days else _("I keep no texts.")]
    return [*blocks, context_block(" ".join(facts)), *([actions(*end)] if end else [])]


def _shown(text: str) -> str:
    return escape(shorten(one_line(text), MAX_TEXT)) or "…"


def _with(text: str, accessory: Block, **more: Any) -> Block:
    return {"type": "section", "text": mrkdwn(text), "accessory": accessory, **more}


def _running(one: RunningQuestion, texts: Mapping[str, str], slash: str) -> Block:
    since = f"{_(_STATES.get(one.state, '…'))} · {figures(format_duration(one.age))}"
    text = f"{code(f'/{slash}{one.command}')}  {_shown(texts.get(one.id, ''))}\n{since}"
    return _with(text, button_block(_("Stop"), "stop", one.id))


def _recent(one: Recent, texts: Mapping[str, str]) -> Block:
    sources = ngettext("{count} source", "{count} sources", one.sources) if one.sources else ""
    facts = (short_moment(datetime.fromtimestamp(one.at, UTC)), _(_ENDS.get(one.state, "")), sources)
    offered = {value: label for value, label in MENU.items() if one.kept or value != RECHECK}
    options = [{"text": plain(_(label)), "value": value} for value, label in offered.items()]
    menu = {"type": "overflow", "action_id": "more", "options": options}
    return _with(
        f"*{_shown(texts.get(one.id, ''))}*\n{' · '.join(filter(None, facts))}", menu, block_id=f"{HOME_BLOCK}{one.id}"
    )
