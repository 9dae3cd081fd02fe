"""Renders what admins see in the home tab: use and cost, limits, problems, everyone's digests, the audit log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import UTC

from bot.blocks.digests import next_run_text, schedule_text
from bot.blocks.elements import MAX_TEXT, context, divider, header, section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.spending import budget_lines, spending_sentence
from bot.blocks.words import warning
from bot.budgets.amounts import format_amount, format_rounded
from bot.budgets.limits import NO_LIMIT, limit_line
from bot.model.admin import DIRECT, AdminData, Problem, Recorded, Use
from bot.model.digest import Digest, State
from bot.model.message import Block
from perplexity.formatting import format_dollars

ERASED_OR_APP = "erased people, and the app"
DIRECT_MESSAGES = "direct messages"

STOP_DIGEST = "admin_stop_digest"
"""The id of the button that stops another person's digest."""

MAX_DAYS = 7
MAX_ROWS = 10
MAX_DIGESTS = 8
MAX_RECORDED = 20
"""The most rows that the home tab shows; `bot/blocks/admin_pages.py` shows the others."""

MAX_PROBLEMS = 5
_MAX_CHANGE = 150

CHANGE_BUDGETS, CHANGE_LIMITS = "change_budgets", "change_limits"
PAUSE_SPENDING, RESUME_SPENDING = "pause_spending", "resume_spending"
"""The ids of the buttons for budgets and limits."""


def admin_blocks(data: AdminData) -> list[Block]:
    """Return the blocks of the part for admins: at most 42, so that a home tab has less than a hundred."""
    return [
        divider(),
        header("For admins"),
        context("Only admins of this workspace see this part. It has no texts of questions."),
        *_use(data),
        _limits(data),
        section(
            "\n".join(
                [
                    "*Health*",
                    *(map(_problem, data.problems[:MAX_PROBLEMS]) if data.problems else ["Nothing is wrong."]),
                ]
            )
        ),
        *_budgets(data),
        *_digests(data.digests),
        *_recorded(data.recorded),
    ]


def _use(data: AdminData) -> Iterator[Block]:
    use = data.use
    if not use.days:
        yield section("*Use and cost*\nNo one has asked anything in the last 30 days.")
        return
    yield from _table_of("*Use and cost by day*", "Day (UTC)", use.days[:MAX_DAYS], _text)
    yield from _table_of("*By person, in the last 30 days*", "Person", use.people[:MAX_ROWS], _asker)
    yield from _table_of("*By channel, in the last 30 days*", "Channel", use.channels[:MAX_ROWS], _channel)
    yield from _table_of("*By service, in the last 30 days*", "Service", use.providers[:MAX_ROWS], _text)


def _table_of(title: str, first: str, rows: Sequence[Use], cell: Callable[[str], Block]) -> Iterator[Block]:
    yield section(title)
    cells = [[cell(one.name), _text(str(one.questions)), _text(format_rounded(one.cost))] for one in rows]
    yield _table([first, "Questions", "Dollars"], cells, right={1, 2})


def _table(titles: Sequence[str], rows: Sequence[Sequence[Block]], *, right: Set[int] = frozenset()) -> Block:
    settings = [{"align": "right" if place in right else "left"} for place in range(len(titles))]
    return {"type": "table", "rows": [[_text(title) for title in titles], *rows], "column_settings": settings}


def _text(text: str) -> Block:
    return {"type": "raw_text", "text": one_line(text) or "–"}


def _asker(user_id: str) -> Block:
    """Return a cell with a person's name, which Slack fills in; it mentions no one."""
    return _rich_text({"type": "user", "user_id": user_id}) if is_person(user_id) else _text(ERASED_OR_APP)


def doer(user_id: str | None) -> Block:
    """Return who did something: a person, by a name that Slack fills in, the app, or someone who was erased."""
    if is_person(user_id):
        return {"type": "user", "user_id": user_id}
    return leaf("the app" if user_id == "" else "erased")


def is_person(user_id: str | None) -> bool:
    """Return whether Slack takes an id for a person's; it refuses a view with another one."""
    return re.fullmatch("[UW][A-Z0-9]+", user_id or "") is not None


def is_channel(channel_id: str) -> bool:
    """Return whether Slack takes an id for a channel's."""
    return re.fullmatch("[CG][A-Z0-9]+", channel_id) is not None


def _channel(channel_id: str) -> Block:
    if is_channel(channel_id):
        return _rich_text({"type": "channel", "channel_id": channel_id})
    return _text(DIRECT_MESSAGES if channel_id.startswith(DIRECT) else channel_id)


def _rich_text(*leaves: Block) -> Block:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(leaves)}]}


def _problem(problem: Problem) -> str:
    return warning(f"{escape(problem.text)} {escape(problem.fix)}")


def _budgets(data: AdminData) -> Iterator[Block]:
    paused = data.spending.paused_by is not None
    lines = [*(["*All paid searches are paused.*"] if paused else []), spending_sentence(data.spending)]
    yield section("\n".join(["*Budgets*", *lines, *budget_lines(data.spending.lines, data.defaults)])[:MAX_TEXT])
    switch = _button("Allow paid searches", RESUME_SPENDING) if paused else _pause_button()
    yield {"type": "actions", "elements": [_button("Change budgets", CHANGE_BUDGETS), switch]}


def _limits(data: AdminData) -> Block:
    fixed = [f"{escape(label)}: *{escape(value)}*" for label, value in data.fixed_limits.items()]
    lines = "\n".join(["*Limits*", *map(limit_line, data.limits), *fixed])
    return section(lines) | {"accessory": _button("Change limits", CHANGE_LIMITS)}


def _button(label: str, action_id: str) -> Block:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": action_id, "value": "admin"}


def _pause_button() -> Block:
    confirm = _confirm(
        "Pause paid searches?",
        "No paid search is made until an admin allows them again. People who ask are told so.",
        confirm="Pause",
        deny="Cancel",
    )
    return _button("Pause paid searches", PAUSE_SPENDING) | {"confirm": confirm}


def _confirm(title: str, text: str, *, confirm: str, deny: str) -> Block:
    """Return a confirmation dialog."""
    shown = {"title": title, "text": text, "confirm": confirm, "deny": deny}
    return {name: {"type": "plain_text", "text": one} for name, one in shown.items()}


def _digests(digests: Sequence[Digest]) -> Iterator[Block]:
    yield section("*Everyone’s digests*" + ("" if digests else "\nThere are none."))
    for one in digests[:MAX_DIGESTS]:
        yield from digest_blocks(one)
    if len(digests) > MAX_DIGESTS:
        yield context(f"{MAX_DIGESTS} of {len(digests)} are shown.")


def digest_blocks(digest: Digest) -> Iterator[Block]:
    """Yield a digest, with a button that stops it while it is active."""
    yield _rich_text(*_digest_line(digest))
    if digest.state is State.ACTIVE:
        yield {"type": "actions", "elements": [_stop_button(digest)]}


def _subject(digest: Digest) -> str:
    """Return what a digest is about; in a direct message only the category, since the topic is its owner's."""
    private = digest.channel_id.startswith(DIRECT)
    return shorten(one_line(digest.spec.category.capitalize() if private else digest.title), 100)


def _digest_line(digest: Digest) -> Iterator[Block]:
    """Yield the details of a digest; Slack fills in the names of the channel and the person, and mentions no one."""
    yield leaf(_subject(digest)) | {"style": {"bold": True}}
    yield leaf(f" · {schedule_text(digest)} · {next_run_text(digest)} · in ")
    if digest.channel_id.startswith(DIRECT):
        yield leaf(DIRECT_MESSAGES)
    else:
        yield {"type": "channel", "channel_id": digest.channel_id}
    yield leaf(" · by ")
    yield {"type": "user", "user_id": digest.owner.user_id}
    if cost := format_dollars(digest.cost_usd):
        yield leaf(f" · {cost} in 30 days")


def leaf(text: str) -> Block:
    """Return some words of a rich text."""
    return {"type": "text", "text": text}


def _stop_button(digest: Digest) -> Block:
    confirm = _confirm(
        "Stop this digest?",
        "Its owner is told that an admin stopped it, and can resume it.",
        confirm="Stop",
        deny="Keep",
    )
    label = {"type": "plain_text", "text": "Stop"}
    return {"type": "button", "text": label, "action_id": STOP_DIGEST, "value": str(digest.id), "confirm": confirm}


def _recorded(recorded: Sequence[Recorded]) -> Iterator[Block]:
    if not recorded:
        yield section("*Audit log*\nNo admin has changed anything in the last 7 days.")
        return
    yield section("*Audit log*, the last 7 days")
    cells = [
        [
            _text(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}"),
            _rich_text(doer(one.user_id)),
            _text(one.what),
            _channel(one.channel_id),
            _text(change_text(one)),
        ]
        for one in recorded[:MAX_RECORDED]
    ]
    yield _table(["When (UTC)", "Who", "What", "Where", "Change"], cells)


def change_text(one: Recorded) -> str:
    """Return what a change was before and after, or what was decided."""
    values = [_value_text(value) for value in (one.before, one.after) if value is not None]
    if one.before is not None and one.after is None:
        values.append("–")
    return " → ".join(shorten(one_line(value), _MAX_CHANGE) for value in values) or one.decision


def _value_text(written: str) -> str:
    """Return a recorded value, which is JSON, as people read it: an amount in dollars, a word without its quotes."""
    try:
        value = json.loads(written)
    except ValueError:
        return written
    match value:
        case str() if value.isascii():
            return value
        case {"amount": None, **rest} if not rest:
            return NO_LIMIT
        case {"amount": int(amount), **rest} if not rest:
            return format_amount(amount)
        case _:
            return written
