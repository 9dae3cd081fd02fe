"""Renders what admins see in the home tab: use and cost, limits, problems, everyone's digests, the audit log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from datetime import UTC

from bot.blocks.digests import next_run_text, schedule_text
from bot.blocks.elements import MAX_TEXT, context, divider, header, section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.spending import budget_lines, spending_sentence
from bot.model.admin import DIRECT, AdminData, Problem, Recorded, Use
from bot.model.digest import Digest, State
from bot.model.message import Block
from perplexity.formatting import format_dollars

TITLE = "For admins"
WHO_SEES = "Only admins of this workspace see this part. It has no texts of questions."
NOTHING_WRONG = "Nothing is wrong."
NO_QUESTIONS = "No one has asked anything in the last 30 days."
NOTHING_RECORDED = "No admin has changed anything in the last 7 days."

STOP_DIGEST = "admin_stop_digest"
"""The id of the button that stops another person's digest."""

MAX_DIGESTS = 10
MAX_PROBLEMS = 5
_MAX_CHANGE = 150

CHANGE_BUDGETS = "change_budgets"
PAUSE_SPENDING, RESUME_SPENDING = "pause_spending", "resume_spending"
"""The ids of the buttons for budgets."""

_PAUSES = "No paid search is made until an admin allows them again. Questions are answered that they are paused."
_SURE = "Its owner is told that an admin stopped it, and can resume it."


def admin_blocks(data: AdminData) -> list[Block]:
    """Return the blocks of the part for admins: at most 46, so that a home tab has less than a hundred."""
    return [
        divider(),
        header(TITLE),
        context(WHO_SEES),
        *_use(data),
        section(
            "\n".join(["*Limits*", *(f"{escape(label)}: *{escape(value)}*" for label, value in data.limits.items())])
        ),
        section(
            "\n".join(
                ["*Health*", *(map(_problem, data.problems[:MAX_PROBLEMS]) if data.problems else [NOTHING_WRONG])]
            )
        ),
        *_budgets(data),
        *_digests(data.digests),
        *_recorded(data.recorded),
    ]


def _use(data: AdminData) -> Iterator[Block]:
    use = data.use
    if not use.days:
        yield section(f"*Use and cost*\n{NO_QUESTIONS}")
        return
    yield from _table_of("Use and cost by day", "Day (UTC)", use.days, _text)
    yield from _table_of("By person, in the last 30 days", "Person", use.people, _person)
    yield from _table_of("By channel, in the last 30 days", "Channel", use.channels, _channel)
    yield from _table_of("By service, in the last 30 days", "Service", use.providers, _text)


def _table_of(title: str, first: str, rows: Sequence[Use], cell: Callable[[str], Block]) -> Iterator[Block]:
    yield section(f"*{title}*")
    cells = [[cell(one.name), _text(str(one.questions)), _text(format_dollars(one.cost_usd) or "–")] for one in rows]
    yield _table([first, "Questions", "Dollars"], cells, right={1, 2})


def _table(titles: Sequence[str], rows: Sequence[Sequence[Block]], *, right: Set[int] = frozenset()) -> Block:
    settings = [{"align": "right" if place in right else "left"} for place in range(len(titles))]
    return {"type": "table", "rows": [[_text(title) for title in titles], *rows], "column_settings": settings}


def _text(text: str) -> Block:
    return {"type": "raw_text", "text": one_line(text) or "–"}


def _person(user_id: str | None) -> Block:
    """Return a cell with a person's name, which Slack fills in; it mentions no one."""
    if not user_id:
        return _text("the app" if user_id == "" else "erased")
    return _rich_text({"type": "user", "user_id": user_id})


def _channel(channel_id: str) -> Block:
    if channel_id[:1] in {"C", "G"}:
        return _rich_text({"type": "channel", "channel_id": channel_id})
    return _text("direct messages" if channel_id.startswith(DIRECT) else channel_id)


def _rich_text(*leaves: Block) -> Block:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(leaves)}]}


def _problem(problem: Problem) -> str:
    return f":warning: {escape(problem.text)} {escape(problem.fix)}"


def _budgets(data: AdminData) -> Iterator[Block]:
    paused = data.spending.paused_by is not None
    lines = [*(["*All paid searches are paused.*"] if paused else []), spending_sentence(data.spending)]
    yield section("\n".join(["*Budgets*", *lines, *budget_lines(data.spending.lines, data.defaults)])[:MAX_TEXT])
    switch = _button("Allow paid searches", RESUME_SPENDING) if paused else _pause_button()
    yield {"type": "actions", "elements": [_button("Change budgets", CHANGE_BUDGETS), switch]}


def _button(label: str, action_id: str) -> Block:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": action_id, "value": "admin"}


def _pause_button() -> Block:
    texts = {"title": "Pause paid searches?", "text": _PAUSES, "confirm": "Pause", "deny": "Go on"}
    confirm = {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
    return _button("Pause paid searches", PAUSE_SPENDING) | {"confirm": confirm}


def _digests(digests: Sequence[Digest]) -> Iterator[Block]:
    yield section("*Everyone’s digests*" if digests else "*Everyone’s digests*\nThere are none.")
    for one in digests[:MAX_DIGESTS]:
        yield _rich_text(*_digest_line(one))
        if one.state is State.ACTIVE:
            yield {"type": "actions", "elements": [_stop_button(one)]}
    if len(digests) > MAX_DIGESTS:
        yield context(f"{MAX_DIGESTS} of {len(digests)} are shown.")


def _subject(digest: Digest) -> str:
    """Return what a digest is about; in a direct message only the category, since the topic is its owner's."""
    private = digest.channel_id.startswith(DIRECT)
    return shorten(one_line(digest.spec.category.capitalize() if private else digest.title), 100)


def _digest_line(digest: Digest) -> Iterator[Block]:
    """Yield what is said of a digest; Slack fills in the names of the channel and the person, and mentions no one."""
    yield _leaf(_subject(digest)) | {"style": {"bold": True}}
    yield _leaf(f" · {schedule_text(digest)} · {next_run_text(digest)} · in ")
    if digest.channel_id.startswith(DIRECT):
        yield _leaf("direct messages")
    else:
        yield {"type": "channel", "channel_id": digest.channel_id}
    yield _leaf(" · by ")
    yield {"type": "user", "user_id": digest.owner.user_id}
    if cost := format_dollars(digest.cost_usd):
        yield _leaf(f" · {cost} in 30 days")


def _leaf(text: str) -> Block:
    return {"type": "text", "text": text}


def _stop_button(digest: Digest) -> Block:
    texts = {"title": "Stop this digest?", "text": _SURE, "confirm": "Stop", "deny": "Keep"}
    confirm = {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
    label = {"type": "plain_text", "text": "Stop"}
    return {"type": "button", "text": label, "action_id": STOP_DIGEST, "value": str(digest.id), "confirm": confirm}


def _recorded(recorded: Sequence[Recorded]) -> Iterator[Block]:
    if not recorded:
        yield section(f"*Audit log*\n{NOTHING_RECORDED}")
        return
    yield section("*Audit log*, the last 7 days")
    cells = [
        [
            _text(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}"),
            _person(one.user_id),
            _text(one.what),
            _channel(one.channel_id),
            _text(_change(one)),
        ]
        for one in recorded
    ]
    yield _table(["When (UTC)", "Who", "What", "Where", "Change"], cells)


def _change(one: Recorded) -> str:
    values = [shorten(one_line(value), _MAX_CHANGE) for value in (one.before, one.after) if value is not None]
    return " → ".join(values) or one.decision
