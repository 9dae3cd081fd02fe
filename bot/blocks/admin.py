"""Renders what admins see in the home tab: use and cost, limits, problems, everyone's digests, the audit log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC

from bot.blocks.digests import FAILED, next_run_text, schedule_text
from bot.blocks.elements import (
    actions,
    button,
    cell,
    channel,
    confirmation,
    context,
    header,
    leaf,
    person,
    section,
    table,
)
from bot.blocks.escaping import one_line, shorten
from bot.blocks.status import health_block
from bot.blocks.words import NO_LIMIT, spending_sentence
from bot.budgets.amounts import format_amount, format_rounded
from bot.model.admin import DIRECT, AdminData, Recorded, Use
from bot.model.digest import Digest, State
from bot.model.message import Block
from perplexity.formatting import format_dollars

FOR_ADMINS = "admin_home"
"""The id of the button that opens the page for admins, and of the one that closes it."""

STOP_DIGEST = "admin_stop_digest"
"""The id of the button that stops another person's digest."""

MAX_DAYS = 7
MAX_ROWS = 10
MAX_DIGESTS = 8
MAX_RECORDED = 20
"""The most rows that the home tab shows; `bot/blocks/admin_pages.py` shows the others."""

_MAX_CHANGE = 150


def admin_blocks(data: AdminData, notice: str = "", sections: Sequence[Block] = ()) -> list[Block]:
    """Return the page for admins: less than a hundred blocks. `notice`, escaped, is the result of the last click."""
    return [
        header("For admins"),
        context("Only admins of this workspace see this page. It has no texts of questions."),
        actions(button("Back", FOR_ADMINS, "close")),
        *([context(notice)] if notice else []),
        health_block(data.problems),
        section(spending_sentence(data.spending)),
        *sections,
        *_use(data),
        *_digests(data.digests),
        *_recorded(data.recorded),
    ]


def _use(data: AdminData) -> Iterator[Block]:
    use = data.use
    if not use.days:
        yield section("*Use and cost this month*\nNo one has asked anything yet.")
        return
    yield section("*Use and cost this month*")
    yield _table_of("Day", "Questions", use.days[:MAX_DAYS], leaf)
    yield _table_of("Person", "Questions", use.people[:MAX_ROWS], person)
    yield _table_of("Channel", "Questions", use.channels[:MAX_ROWS], channel)
    yield _table_of("Service", "Calls", use.providers[:MAX_ROWS], leaf)


def _table_of(first: str, second: str, rows: Sequence[Use], name: Callable[[str], Block]) -> Block:
    cells = [(name(one.name), leaf(str(one.count or "–")), leaf(format_rounded(one.cost))) for one in rows]
    return table([first, second, "Dollars"], [[*map(cell, row)] for row in cells])


def doer(user_id: str | None) -> Block:
    """Return who did something: a person, by a name that Slack fills in, the app, or someone who was erased."""
    return person(user_id) if user_id else leaf("erased" if user_id is None else "the app")


def _digests(digests: Sequence[Digest]) -> Iterator[Block]:
    yield section("*Everyone’s digests*" + ("" if digests else "\nThere are none."))
    for one in digests[:MAX_DIGESTS]:
        yield from digest_blocks(one)
    if len(digests) > MAX_DIGESTS:
        yield context(f"{MAX_DIGESTS} of {len(digests)} are shown.")


def digest_blocks(digest: Digest) -> Iterator[Block]:
    """Yield a digest, with a button that stops it while it is active."""
    yield {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [*_digest_line(digest)]}]}
    if digest.state is State.ACTIVE:
        yield actions(_stop_button(digest))


def _digest_line(digest: Digest) -> Iterator[Block]:
    """Yield the details of a digest; Slack fills in the names of the channel and the person, and mentions no one.

    Of one in a direct message only the category is named, since the topic is its owner's.
    """
    private = digest.channel_id.startswith(DIRECT)
    subject = shorten(one_line(digest.spec.category.capitalize() if private else digest.title), 100)
    yield leaf(f"Digest {digest.number}") | {"style": {"bold": True}}
    yield leaf(" of ")
    yield person(digest.owner.user_id)
    facts = (subject, schedule_text(digest), FAILED if digest.failed else "", next_run_text(digest))
    yield leaf(f" · {' · '.join(filter(None, facts))} · in ")
    yield channel(digest.channel_id)
    if cost := format_dollars(digest.cost_usd):
        yield leaf(f" · {cost} in 30 days")


def _stop_button(digest: Digest) -> Block:
    told = "Its owner is told that an admin stopped it, and can resume it."
    confirm = confirmation("Stop this digest?", told, "Stop")
    return button("Stop", STOP_DIGEST, str(digest.id)) | {"confirm": confirm}


def _recorded(recorded: Sequence[Recorded]) -> Iterator[Block]:
    if not recorded:
        yield section("*Audit log*\nNo admin has changed anything in the last 7 days.")
        return
    yield section("*Audit log*, the last 7 days")
    cells = [
        [
            cell(leaf(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}")),
            cell(doer(one.user_id)),
            cell(leaf(one.what)),
            cell(channel(one.channel_id)),
            cell(leaf(change_text(one))),
        ]
        for one in recorded[:MAX_RECORDED]
    ]
    yield table(["When (UTC)", "Who", "What", "Where", "Change"], cells, numbers=False)


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
