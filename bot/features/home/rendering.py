"""Renders the home tab: running questions, recent ones, this month's use, and examples for a new person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from bot.blocks.answer import RECHECK, SENT
from bot.blocks.elements import actions, button, context, header, mrkdwn, page_turns, plain, section
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.examples import LINES
from bot.blocks.status import health_block
from bot.blocks.words import short_moment
from bot.features.home.admin import FOR_ADMINS, questions, used
from bot.features.home.store import HomeData, Recent, RunningQuestion
from bot.model.admin import Problem
from bot.model.message import Block
from bot.translation import N_, figures, ngettext
from bot.translation import gettext as _
from perplexity.formatting import format_duration

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
    texts: Mapping[UUID, str],
    slash: str,
    notice: str = "",
    retention_days: int = 30,
    problems: Sequence[Problem] | None = None,
    top: Sequence[Block] = (),
    sections: Sequence[Block] = (),
    end: Sequence[Block] = (),
) -> list[Block]:
    """Return the blocks of a home tab. `texts` are questions without options, by id; `slash` goes before a command.

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
        _buttons(top, for_admin=problems is not None),
    ]
    if notice:
        blocks.append(context(notice))
    if problems:
        blocks.append(health_block(problems))
    if data.running:
        blocks += [header(_("Running")), *(_running(one, texts, slash) for one in data.running)]
    blocks.append(header(_("Your recent questions")))
    blocks += [_recent(one, texts) for one in data.recent]
    if not (data.recent or data.page):
        examples = " ".join(_("“{text}”").format(text=_(label)) for label in LINES)
        blocks.append(section(_("Nothing yet. Ask me, for example: {examples}").format(examples=examples)))
    blocks += _pages(data)
    blocks += sections
    month = _("This month: {used}.").format(used=used(data.questions, questions, data.cost))
    kept = ngettext("I keep your texts for {count} day.", "I keep your texts for {count} days.", retention_days)
    facts = [*([month] if data.questions or data.cost else []), kept if retention_days else _("I keep no texts.")]
    return [*blocks, context(" ".join(facts)), *([actions(*end)] if end else [])]


def _pages(data: HomeData) -> list[Block]:
    turns = {_("Newer questions"): data.page - 1} if data.page else {}
    return page_turns(HOME_PAGE, turns | ({_("Earlier questions"): data.page + 1} if data.earlier else {}))


def _buttons(top: Sequence[Block], *, for_admin: bool) -> Block:
    return actions(
        button(_("Ask a question"), "ask_anything", "home") | {"style": "primary"},
        *top,
        *([button(_("For admins"), FOR_ADMINS, "open")] if for_admin else []),
    )


def _shown(text: str) -> str:
    return escape(shorten(one_line(text), MAX_TEXT)) or "…"


def _with(text: str, accessory: Block, **more: Any) -> Block:
    return {"type": "section", "text": mrkdwn(text), "accessory": accessory, **more}


def _running(one: RunningQuestion, texts: Mapping[UUID, str], slash: str) -> Block:
    since = f"{_(_STATES.get(one.state, '…'))} · {figures(format_duration(one.age))}"
    text = f"{code(f'/{slash}{one.command}')}  {_shown(texts.get(one.id, ''))}\n{since}"
    return _with(text, button(_("Stop"), "stop", str(one.id)))


def _recent(one: Recent, texts: Mapping[UUID, str]) -> Block:
    sources = ngettext("{count} source", "{count} sources", one.sources) if one.sources else ""
    facts = (
        short_moment(datetime.fromtimestamp(one.at, UTC)),
        _(_ENDS.get(one.state, "")),
        sources,
    )
    choices = [(value, _(label)) for value, label in MENU.items() if one.kept or value != RECHECK]
    options = [{"text": plain(label), "value": value} for value, label in choices]
    menu = {"type": "overflow", "action_id": "more", "options": options}
    return _with(
        f"*{_shown(texts.get(one.id, ''))}*\n{' · '.join(filter(None, facts))}", menu, block_id=f"{HOME_BLOCK}{one.id}"
    )
