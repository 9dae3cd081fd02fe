"""Limits: admins see and set how much and how fast people may ask, by `/pplx limits` or a form.

In the settings file, limits are whole numbers, and 0 means no limit.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, LiteralString, cast, get_args

from psycopg import AsyncConnection
from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import button as button_element
from bot.blocks.elements import context as context_block
from bot.blocks.elements import section, spoken
from bot.blocks.escaping import escape
from bot.blocks.status import service_line
from bot.blocks.words import NO_LIMIT
from bot.commands.base import CommandContext, free_subcommand, one_message
from bot.commands.help import text_message
from bot.commands.parsing import OFF as OFF_WORDS
from bot.commands.parsing import RESETS, check_length, choose_from, inline_code, unknown_name
from bot.errors import UsageError
from bot.feature import Core, Feature, Running
from bot.listeners.clicks import Click, ClickReply, button
from bot.listeners.context import ListenerContext
from bot.model.admin import LaneUse
from bot.model.audit import Change
from bot.model.message import Block, HomeSection, OutgoingMessage
from bot.settings import Settings
from bot.slack.users import Admins
from bot.slack.views import View
from bot.storage import queries
from bot.storage.audit import record_change
from bot.storage.audit_chain import AuditStore
from bot.storage.questions import FairShare, Pool, fair_share
from bot.translation import N_, number
from bot.translation import gettext as _
from bot.views.admin_only import for_admins, submission_refusal
from bot.views.base import Response, Submission, errors, modal, open_for_click, submission
from bot.views.forms import limit_input
from perplexity.formatting import closest_match

LimitName = Literal["open", "user", "channel", "thread", "workspace"]
"""Names of limits.

`open` limits a person's open questions; `user`, `channel` and `thread` limit questions a minute; `workspace` limits
the questions in progress.
"""

NAMES: tuple[LimitName, ...] = get_args(LimitName)

HIGHEST = 1_000_000
"""The highest limit that admins can set where `Limit.bound` is None."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit; 0 means no limit.

    `value` is the limit in force. `own` is the limit that admins have set, None if they have set none. `host` is the
    limit in the settings. If the limit is `bounded`, because the app also serves other workspaces, admins cannot exceed
    `host`.
    """

    name: LimitName
    value: int
    own: int | None
    host: int
    bounded: bool

    @property
    def bound(self) -> int | None:
        """The highest number that admins can set; None if they can set up to `HIGHEST`, or remove the limit."""
        return self.host if self.bounded and self.host else None


SAVED = N_("Saved. It applies from the next question on.")

LABELS: Mapping[LimitName, str] = {
    "open": N_("Open questions per person"),
    "user": N_("Questions per person each minute"),
    "channel": N_("Questions in a channel each minute"),
    "thread": N_("Questions in a thread each minute"),
    "workspace": N_("Questions in progress"),
}
"""The title of each limit."""

OFF = "off"
"""The word that admins type for no limit."""

_NUMBER = re.compile(r"[0-9]{1,9}")


def parse_limit(text: str, *, bound: int | None = None) -> int | None:
    """Parse an admin's input: return a number, 0 for no limit, or None for an empty text.

    None restores the limit in the settings. `bound` is as in `Limit`. Raises ValueError, which says what is allowed.
    """
    text = text.strip()
    if not text:
        return None
    if text.casefold() in OFF_WORDS and bound is None:
        return 0
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= (bound or HIGHEST):
        allowed = _("a whole number from 1 to {highest}, or {off} for no limit")
        if bound is not None:
            allowed = _("a whole number from 1 to {highest}, which is this app’s own limit")
        raise ValueError(allowed.format(highest=number(bound or HIGHEST), off=OFF))
    return int(text)


def limit_line(limit: Limit) -> str:
    """Return a limit as a line of mrkdwn; if admins have set it, the line also has the limit in the settings."""
    line = f"{_(LABELS[limit.name])}: *{_shown(limit.value)}*"
    return line if limit.own is None else _("{line} (default: {limit})").format(line=line, limit=_shown(limit.host))


def _shown(value: int) -> str:
    return number(value) if value else _(NO_LIMIT)


def limit_not_taken(text: str, name: LimitName, allowed: str, *, reset: str = "") -> str:
    """Return a sentence saying that a limit cannot be `text`; `reset` says what to enter to restore the default."""
    return _("“{text}” cannot be the limit “{label}”. It takes {allowed}, or {reset}.").format(
        text=text, label=_(LABELS[name]), allowed=allowed, reset=reset or _("nothing")
    )


def limits_message(limits: Iterable[Limit], *, slash: str, note: str = "") -> OutgoingMessage:
    """Render limits; `slash` is the umbrella command. `note`, which is not escaped yet, says what was done."""
    heading = _("*Limits*  (`{slash} limits help` shows how to set them)").format(slash=slash)
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks.append(section("\n".join([heading, *map(limit_line, limits)])))
    return spoken(*blocks)


_COLUMNS: Mapping[LimitName, LiteralString] = {
    "open": "open_per_person",
    "user": "user_per_minute",
    "channel": "channel_per_minute",
    "thread": "thread_per_minute",
    "workspace": "per_workspace",
}
"""The column of each limit in the table; `FairShare` has a field of the same name."""

_ADD = "INSERT INTO workspace_limits (team_id) VALUES (%(team_id)s) ON CONFLICT DO NOTHING"
_LOCK = "SELECT FROM workspace_limits WHERE team_id = %(team_id)s FOR UPDATE"
_SET = "UPDATE workspace_limits SET {} WHERE team_id = %(team_id)s"


class LimitStore:
    """Reads and changes the limits of workspaces; `share` are the limits in the settings."""

    def __init__(self, pool: Pool, *, share: FairShare) -> None:
        self._pool = pool
        self._share = share

    async def of(self, team_id: str) -> dict[LimitName, Limit]:
        """Return the limits of a workspace, in the order in which they are shown."""
        async with self._pool.connection() as connection:
            return await self._read(connection, team_id)

    async def change(
        self, *, team_id: str, user_id: str, values: Mapping[LimitName, int | None]
    ) -> dict[LimitName, Limit]:
        """Set limits (0: no limit, None: the limit in the settings), and return all limits of the workspace.

        Every change of a limit is made here, and takes effect with the next question. Only changed limits are recorded
        in the audit log. The caller has checked that the person is an admin; `user_id` is empty for the settings file.
        """
        async with self._pool.transaction() as connection:
            await connection.execute(_ADD, {"team_id": team_id})
            await connection.execute(_LOCK, {"team_id": team_id})
            before = await self._read(connection, team_id)
            changed = {name: value for name, value in values.items() if before[name].own != value}
            if not changed:
                return before
            columns = ", ".join(f"{_COLUMNS[name]} = %({name})s" for name in changed)
            parameters: dict[str, Any] = {"team_id": team_id} | {str(name): value for name, value in changed.items()}
            await connection.execute(_SET.format(columns).encode(), parameters)
            after = await self._read(connection, team_id)
            for name in changed:
                was, becomes = ({"limit": one[name].value, "set": one[name].own is not None} for one in (before, after))
                change = Change(team_id=team_id, user_id=user_id, what=f"limit.{name}", before=was, after=becomes)
                await record_change(connection, change)
        return after

    async def _read(self, connection: AsyncConnection[Any], team_id: str) -> dict[LimitName, Limit]:
        hosts = vars(self._share)
        row = await (await connection.execute(queries.LIMITS, hosts | {"team_id": team_id})).fetchone() or {}
        return {
            name: Limit(
                name=name, value=row[column], own=row[f"own_{column}"], host=hosts[column], bounded=self._share.bounded
            )
            for name, column in _COLUMNS.items()
        }


class LimitTable:
    """The limits that admins have set, as a table of the settings file."""

    name = "limits"

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool = pool
        self._store = LimitStore(pool, share=fair_share(settings))

    async def read(self) -> Mapping[tuple[str, str], object]:
        """Return the values set by admins, by workspace and name."""
        rows = await self._pool.fetch_all("SELECT team_id FROM workspace_limits")
        teams = [row["team_id"] for row in rows]
        limits = [(team, limit) for team in teams for limit in (await self._store.of(team)).values()]
        return {(team, limit.name): limit.own for team, limit in limits if limit.own is not None}

    async def check(self, name: str, value: object) -> tuple[str, object]:
        """Return a name and a value as `read` returns them. Raises ValueError if they are not allowed."""
        known = next((one for one in NAMES if one == name), None)
        if known is None:
            raise ValueError(unknown_name(name, NAMES))
        bound = (await self._store.of(""))[known].bound
        try:
            return name, parse_limit(OFF if value == 0 and not isinstance(value, bool) else str(value), bound=bound)
        except ValueError as error:
            raise ValueError(f"the limit {name} cannot be {value!r}: it takes {error} (0 is no limit)") from None

    async def change(self, team_id: str, values: Mapping[str, object]) -> None:
        """Set the limits with these names; a value of None removes a limit."""
        await self._store.change(team_id=team_id, user_id="", values=cast("Mapping[LimitName, int | None]", values))

    async def explain(self, team_id: str, user_id: str, channel_id: str) -> list[tuple[str, str, str]]:
        """Return each limit that applies to a person in a channel: its name, its value, and what has set it."""
        limits = (await self._store.of(team_id)).values()
        return [
            (
                f"limit {one.name}",
                str(one.value or NO_LIMIT),
                "the environment" if one.own is None else "the workspace",
            )
            for one in limits
        ]


FOR_ADMINS = N_("Only admins of this workspace can see and change its limits.")

MAX_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class LimitRequest:
    """A request to change a limit, or, without a `name`, only to show all limits.

    `value` is a number or `off`; empty restores the configured limit.
    """

    name: LimitName | None = None
    value: str = ""


def parse(text: str) -> LimitRequest:
    """Parse the text after `limits`. Raises UsageError, which names the field, the value and the allowed values."""
    check_length(text, MAX_LENGTH)
    words = text.casefold().split()
    if not words:
        return LimitRequest()
    name = next((one for one in NAMES if one == words[0]), None)
    if name is None:
        choices = choose_from(NAMES, meant=closest_match(words[0], NAMES))
        raise UsageError(_("{word} isn’t a limit. {choices}").format(word=inline_code(words[0]), choices=choices))
    value = " ".join(words[1:])
    if not value:
        raise UsageError(_("Add a number for `{name}`, `off` or `reset`.").format(name=name))
    if value in RESETS:
        return LimitRequest(name=name)
    try:
        parse_limit(value)
    except ValueError as error:
        problem = _("The limit `{name}` cannot be {value}. It takes {allowed}, or `reset`.")
        raise UsageError(problem.format(name=name, value=inline_code(value), allowed=error)) from None
    return LimitRequest(name=name, value=value)


async def answer(
    request: LimitRequest, context: CommandContext, *, admins: Admins, store: LimitStore, slash: str
) -> OutgoingMessage:
    """Make the requested change and render the limits, both for admins only; `slash` is the umbrella command.

    Raises database errors.
    """
    row = context.row
    if not await admins.is_admin(row.user_id):
        return text_message(_(FOR_ADMINS))
    limits, note = await store.of(row.team_id), ""
    if request.name is not None:
        try:
            values = {request.name: parse_limit(request.value, bound=limits[request.name].bound)}
        except ValueError as error:
            note = limit_not_taken(request.value, request.name, str(error), reset="reset")
        else:
            limits = await store.change(team_id=row.team_id, user_id=row.user_id, values=values)
            note = _(SAVED)
    return limits_message(limits.values(), slash=slash, note=note)


LIMITS = free_subcommand(
    name="limits",
    summary=N_("See and set how much and how fast people may ask (admins)"),
    for_admins=True,
    usage="[open | user | channel | thread | workspace] [NUMBER | off | reset]",
    examples=(
        ("open 3", N_("how many unanswered questions each person may have")),
        ("user 10", N_("how many questions each person may ask a minute")),
        ("channel 30", N_("how many may be asked in each channel a minute; `thread` in each thread")),
        ("workspace 20", N_("how many are in progress at a time")),
        ("user off", N_("no limit")),
        ("user reset", N_("back to the default")),
    ),
    for_everyone=True,
    parse=parse,
    render=one_message,
)


CHANGE_LIMITS, CALLBACK_ID = "change_limits", "limit_modal"
"""The ids of the button that opens the form, and of the form."""


def register(app: AsyncApp, context: ListenerContext, *, store: LimitStore, audit: AuditStore) -> None:
    """Listen to the button, and to the form."""
    button(app, context, CHANGE_LIMITS, for_admins(partial(open_limits, store=store)))
    submission(app, context, CALLBACK_ID, partial(save_limits, store=store, audit=audit), first_input=NAMES[0])


async def admin_section(
    team_id: str,
    _: str,
    *,
    store: LimitStore,
    fixed: Mapping[str, str],
    services: Callable[[], Awaitable[Sequence[LaneUse]]],
) -> list[Block]:
    """Return the limits on the page for admins: those they can change, the `fixed` ones, and those of `services`."""
    return [limits_section((await store.of(team_id)).values(), fixed, await services())]


def limits_section(limits: Iterable[Limit], fixed: Mapping[str, str], services: Iterable[LaneUse]) -> Block:
    """Render limits with the button that opens the form."""
    hosts = [f"{escape(_(label))}: *{escape(value)}*" for label, value in fixed.items()]
    lines = [_("*Limits*"), *map(limit_line, limits), *hosts, *map(service_line, services)]
    return section("\n".join(lines)) | {"accessory": button_element(_("Change limits"), CHANGE_LIMITS, "admin")}


async def open_limits(click: Click, context: ListenerContext, *, store: LimitStore) -> ClickReply | None:
    """Open the form for an admin."""
    limits = await store.of(click.team)
    return await open_for_click(click, context, limits_view(limits))


def limits_view(limits: Mapping[LimitName, Limit]) -> View:
    """Build the form with the current limits."""
    shown: dict[str, str] = {name: str(limits[name].value or "") for name in NAMES}
    taken = _("Whole numbers, or off for no limit. Empty a field to go back to its default.")
    blocks = [context_block(taken), *(limit_input(name, _(LABELS[name]), shown[name]) for name in NAMES)]
    return modal(CALLBACK_ID, _("Limits"), blocks, submit=_("Save"), close=_("Cancel"), metadata=shown)


async def save_limits(
    submitted: Submission, context: ListenerContext, *, store: LimitStore, audit: AuditStore
) -> Response | None:
    """Save the limits that an admin has changed in the form; the others do not change."""
    if refusal := await submission_refusal(submitted, "limit.change", context, audit):
        return errors(**{NAMES[0]: refusal})
    limits = await store.of(submitted.team)
    values: dict[LimitName, int | None] = {}
    problems: dict[str, str] = {}
    for name in NAMES:
        text = str(submitted.value(name) or "").strip()
        if text == submitted.metadata.get(name, ""):
            continue
        try:
            values[name] = parse_limit(text, bound=limits[name].bound)
        except ValueError as error:
            problems[name] = limit_not_taken(text, name, str(error))
    if problems:
        return errors(**problems)
    if values:
        await store.change(team_id=submitted.team, user_id=submitted.user, values=values)
    context.home_changed(submitted.team, submitted.user, _(SAVED) if values else "")
    return None


def start(core: Core) -> Running:
    """Connect the command, the form and the section on the page for admins."""
    share = fair_share(core.settings)
    store, before_ack = LimitStore(core.work, share=share), LimitStore(core.acks, share=share)
    fixed = {
        N_("Digests per person"): str(core.settings.digests_per_user),
        N_("Digests in a channel"): str(core.settings.digests_per_channel),
    }
    section = partial(admin_section, store=store, fixed=fixed, services=core.service_limits)
    return Running(
        commands=(replace(LIMITS, answer=partial(answer, admins=core.admins, store=store, slash=core.slash)),),
        listeners=(partial(register, store=before_ack, audit=AuditStore(core.acks)),),
        home_sections=(HomeSection(place="admin", blocks=section),),
    )


FEATURE = Feature(name="limits", start=start, commands=(LIMITS,), settings_table=LimitTable)
