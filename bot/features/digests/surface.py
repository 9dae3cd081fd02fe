"""`/pplx watch`, the form that sets up a digest, the buttons of digests, and the digests on the home tab.

A digest's category, topic, days and time are understood completely or rejected. If a word were skipped, the digest
could run on other days than the user meant, and the user would notice that late. The order is fixed, and a topic is in
quotes, so that none of its words can be taken for a day.

`/pplx watch` without arguments opens the form, and so does a button. The form sets up the same digests as the command.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import time
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import DIGEST
from bot.blocks.messages import asked_message
from bot.commands.base import Command, CommandContext, Option, ValueKind, asker_alone, one_message
from bot.commands.news import NEWS
from bot.commands.parsing import (
    DASHES,
    DOUBLE_QUOTES,
    OptionParser,
    category_argument,
    inline_code,
    no_text,
    parse_options,
    usage_errors,
    write_arguments,
)
from bot.errors import UsageError
from bot.features.digests.model import (
    Digest,
    DigestAction,
    DigestNotFound,
    DigestResult,
    DigestSpec,
    Owner,
    format_days,
    schedule_text,
)
from bot.features.digests.rendering import (
    ACTION_PREFIX,
    DIGEST_EXAMPLE,
    MAX_OF_WORKSPACE,
    STOP_DIGEST,
    digest_result_message,
    home_blocks,
    workspace_blocks,
    workspace_rows,
)
from bot.features.digests.service import DigestService, StopNotices
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    UNNAMED_CHANNELS,
    Click,
    ClickReply,
    button,
    find_question,
    may_see,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Block, OutgoingMessage
from bot.model.schedule import DAILY, DAY_NAMES, WEEKDAYS, WEEKENDS, Schedule, zone_of
from bot.slack.messages import FAILURES
from bot.slack.users import Profiles
from bot.slack.views import View
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.admin_only import AllRows, for_admins
from bot.views.base import (
    Response,
    Submission,
    changes,
    errors,
    modal,
    open_for_click,
    open_modal,
    shown_problem,
    shows,
    submission,
    update_modal,
)
from bot.views.forms import (
    ask_by_form,
    checkboxes,
    choice,
    input_block,
    menu,
    more_button,
    option_inputs,
    radio_buttons,
    text_input,
    usage_response,
)
from perplexity.news.summary import CATEGORIES
from perplexity.types import parse_query

ALWAYS = Option(
    name="--always",
    value="daily|weekdays|mon,thu",
    help=N_("Post on these days even when nothing is new"),
    label=N_("Also say when nothing is new"),
)
ZONE = Option(
    name="--zone",
    value="Europe/Berlin",
    help=N_("The time zone of the days and the time; yours unless you say so"),
    kind=ValueKind.ZONE,
    label=N_("Time zone"),
)
PARSER = OptionParser(
    options=(ALWAYS, ZONE),
    unsupported={
        "--recency": N_("`--recency` is not for digests: each lists what is new since the last one."),
        "--public": N_("`--public` is not for digests: they are posted where you set them up."),
    },
)
LIST = "list"

DAYS = N_("`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`")
TIMES = N_("such as `9:00`, `17:30` or `9am`")

WAYS_ON = N_('Write it like `technology "open source databases" weekdays 9:00`, or type `watch` alone for a form.')

_CLOCK = re.compile(r"(?ai:(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?: ?(?P<half>[ap])m)?)")
_TIME = re.compile(r"(?ai:(?<!\S)\d{1,2}(?::\d{2}(?: ?[ap]m)?| ?[ap]m))")
_PHRASE = re.compile(rf"[{DOUBLE_QUOTES}]([^{DOUBLE_QUOTES}]*)[{DOUBLE_QUOTES}]")
_RANGE = re.compile(rf" ?[{DASHES}] ?")

_SETS = {"daily": DAILY, "weekdays": WEEKDAYS, "weekends": WEEKENDS}
_NAMES = {name: day for day, long in enumerate(DAY_NAMES) for name in (long.casefold(), long[:3].casefold())}
_NUMBERED = {day: name[:3].casefold() for day, name in enumerate(DAY_NAMES)}


@dataclass(frozen=True, kw_only=True)
class ChangeDigest:
    """A request to apply an action to the user's digest with this number."""

    action: DigestAction
    number: int


@dataclass(frozen=True, kw_only=True)
class ListDigests:
    """A request to list the user's digests."""


WatchRequest = DigestSpec | ChangeDigest | ListDigests


def parse(text: str) -> WatchRequest:
    """Parse the text after `watch`. Raises UsageError."""
    arguments = parse_options(text, PARSER)
    first, *rest = arguments.text.split() or [""]
    if first.casefold() == LIST:
        if rest:
            raise UsageError(no_text(LIST))
        return ListDigests()
    if first.casefold() in set(DigestAction):
        return ChangeDigest(action=DigestAction(first.casefold()), number=_parse_number(first.casefold(), rest))
    zone = arguments.one(ZONE.name)
    return parse_digest_spec(
        arguments.text,
        report_empty_on=arguments.many(ALWAYS.name),
        zone="" if zone is None else parse_zone(zone),
    )


async def answer(request: WatchRequest, context: CommandContext, *, digests: DigestService) -> OutgoingMessage:
    """Apply the request, and say what was done. Raises database errors."""
    row = context.row
    owner = Owner(team_id=row.team_id, user_id=row.user_id)
    reply: DigestResult
    match request:
        case DigestSpec():
            reply = await digests.create(request, id=row.id, owner=owner, channel_id=row.channel_id)
        case ChangeDigest(action=action, number=number):
            reply = await digests.apply(action, number, owner=owner, by=str(row.id))
        case ListDigests():
            reply = await digests.list_digests(owner)
    return digest_result_message(
        reply, command=digests.command_label, channel=row.channel_id, with_app=row.surface == "im"
    )


def _parse_number(action: str, rest: list[str]) -> int:
    typed = " ".join(rest).removeprefix("#")
    if not (typed.isascii() and typed.isdecimal() and 1 <= len(typed) < 6):
        what = _("{typed} isn’t a digest number.").format(typed=inline_code(typed)) if typed else _("Which digest?")
        how = _("`{action}` takes a number, such as `{action} 2`; `{list}` shows them.").format(
            action=action, list=LIST
        )
        raise UsageError(f"{what} {how}")
    return int(typed)


def parse_digest_spec(text: str, *, report_empty_on: Iterable[str] = (), zone: str = "") -> DigestSpec:
    """Parse a digest such as `technology "open source databases" weekdays 9:00`; `report_empty_on` are words for days.

    If `zone` is empty, so is the zone of the schedule. Raises UsageError.
    """
    rest, named = " ".join(text.split()), ""
    if (topic := _PHRASE.match(rest)) is None or not topic[1].strip():
        category, __, rest = rest.partition(" ")
        named = category_argument(category)
        topic = _PHRASE.match(rest)
    rest = rest[topic.end() :].strip() if topic else rest
    times = list(_TIME.finditer(rest))
    if not times:
        said = _("At what time of day? Put it at the end, {such_as}.").format(such_as=_(TIMES))
        raise UsageError(f"{said} {_(WAYS_ON)}")
    if len(times) > 1:
        several = ", ".join(inline_code(found[0]) for found in times)
        said = _("There are several times: {times}. Create one digest for each.").format(times=several)
        raise UsageError(f"{said} {_(WAYS_ON)}")
    (at,) = times
    if rest[at.end() :]:
        raise not_understood(rest[at.end() :].strip())
    words = rest[: at.start()].strip()
    days = parse_days(words) if words else DAILY
    about = topic[1].strip() if topic else ""
    if about:
        with usage_errors(N_("a topic")):
            about = parse_query(about)
    return DigestSpec(
        category=named,
        topic=about,
        schedule=Schedule(days=days, at=parse_time(at[0]), zone=zone),
        report_empty_on=frozenset().union(*(_quiet_days(words, days) for words in report_empty_on)),
    )


def write_digest_spec(spec: DigestSpec) -> str:
    """Return the text that `parse_digest_spec` reads as this digest, without zone and `report_empty_on`.

    Double quotes in the topic become single quotes.
    """
    topic = " ".join(re.sub(rf"[{DOUBLE_QUOTES}]", "'", spec.topic).split())
    quoted = f'"{topic}"' if topic else ""
    days = ",".join(_NUMBERED[day] for day in sorted(spec.schedule.days))
    return " ".join(filter(None, (spec.category, quoted, days, f"{spec.schedule.at:%H:%M}")))


def parse_time(text: str) -> time:
    """Parse a time of day such as "9:00", "17:30" or "5:30 pm". Raises UsageError."""
    match = _CLOCK.fullmatch(text)
    half = match["half"] if match else None
    try:
        if match is None or (half and not 1 <= int(match["hour"]) <= 12):
            raise ValueError
        hour = int(match["hour"]) % 12 + (12 if half in {"p", "P"} else 0) if half else int(match["hour"])
        return time(hour, int(match["minute"] or 0))
    except ValueError:
        said = _("{text} isn’t a time of day. Use one from `0:00` to `23:59`, {such_as}.")
        raise UsageError(said.format(text=inline_code(text), such_as=_(TIMES))) from None


def parse_days(words: str) -> frozenset[int]:
    """Parse names of days, such as "weekdays", "mon", "tue,thu" or "mon-fri". Raises UsageError."""
    return frozenset().union(*(_days_of(name.strip(), words) for name in words.casefold().split(",")))


def parse_zone(name: str) -> str:
    """Return the name of a time zone. Raises UsageError if this computer does not know the zone."""
    zone: ZoneInfo = zone_of(name.strip())
    if zone.key != name.strip():
        said = _("`--zone` cannot be {value}. It takes a time zone such as Europe/Berlin.")
        raise UsageError(said.format(value=inline_code(name)), option="--zone")
    return zone.key


def not_understood(words: str) -> UsageError:
    """Return the error for words that are neither days nor a time."""
    said = _(
        "I don’t understand {words}. Days are {days}; the time comes last, {such_as}. "
        "A topic goes in quotes, before them."
    ).format(words=inline_code(words), days=_(DAYS), such_as=_(TIMES))
    return UsageError(f"{said} {_(WAYS_ON)}")


def _days_of(name: str, words: str) -> frozenset[int]:
    if name in _SETS:
        return _SETS[name]
    ends = [_NAMES.get(end) for end in _RANGE.split(name)]
    match ends:
        case [int(day)]:
            return frozenset({day})
        case [int(first), int(last)] if first != last:
            return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    raise not_understood(words)


def _quiet_days(words: str, days: frozenset[int]) -> frozenset[int]:
    """Return the days on which a digest is posted even if nothing is new. Raises UsageError if there are none."""
    quiet = parse_days(words) & days
    if not quiet:
        said = _("This digest doesn’t run on {words}. Its days are {days}.")
        raise UsageError(said.format(words=inline_code(words), days=format_days(days)), option="--always")
    return quiet


WATCH = Command(
    name="watch",
    summary=N_("Set up a digest: news on a schedule, and only what is new"),
    usage='[CATEGORY] ["TOPIC"] [weekdays] 9:00 | list | pause N | resume N | delete N | run N',
    options=PARSER.options,
    examples=(
        (DIGEST_EXAMPLE, N_("posted here, Monday to Friday, in your time zone")),
        ('"open source databases" daily 8:00', N_("a topic in the news of every kind")),
        ("science mon,thu 5:30pm", N_("a whole category, on two days")),
        ("world daily 7:30 --zone Asia/Tokyo", N_("in another time zone")),
        ("business daily 8:00 --always fri", N_("posts on Fridays even when nothing is new")),
        ("list", N_("your digests, with their numbers")),
        ("pause 2", N_("and `resume 2`, `delete 2`, `run 2`: pause, resume, delete or run it now")),
    ),
    has_slash_command=False,
    parse=parse,
    audience=asker_alone,
    render=one_message,
)


log = logging.getLogger(__name__)

CALLBACK_ID = "digest_modal"

CATEGORY, TOPIC, WHEN, DAYS_INPUT, TIME, PLACE = "category", "topic", "when", "days", "time", "place"
MORE = "digest_more"
"""The button that shows the rest of the form."""

HERE, DIRECTLY = "here", "directly"
EVERY_WEEKDAY, CHOSEN = "weekdays", "chosen"
WHENS = {EVERY_WEEKDAY: N_("Every weekday"), "daily": N_("Every day"), CHOSEN: N_("Choose days")}

ZONE_SECONDS = 0.6
"""How long the form waits for the time zone of the person."""

MAX_TOPIC = 1_000


def register(
    app: AsyncApp,
    context: ListenerContext,
    *,
    profiles: Profiles,
    digests: DigestService,
    notices: StopNotices,
    all_rows: AllRows[Digest],
) -> None:
    """Listen to the button that opens the form, to the form, and to the buttons of digests."""
    button(app, context, DIGEST, partial(open_from_button, profiles=profiles))
    submission(app, context, CALLBACK_ID, create, first_input=TOPIC)
    changes(app, context, (WHEN, MORE), partial(change_form, profiles=profiles))
    button(app, context, _ACTIONS, partial(apply_button, digests=digests))
    button(app, context, STOP_DIGEST, for_admins(partial(stop_digest, notices=notices, all_rows=all_rows)))
    all_rows.register(app, context)


async def open_from_command(payload: Mapping[str, Any], context: ListenerContext) -> str | None:
    """Open the form for a digest in the channel of the command. Return a problem for the person, if any."""
    url, channel, name = (str(payload.get(key, "")) for key in ("response_url", "channel_id", "channel_name"))
    view = digest_view(metadata=_here(url=url, channel=channel, name=name))
    return await open_modal(context, str(payload.get("trigger_id", "")), view)


def _here(*, url: str, channel: str, name: str) -> dict[str, Any]:
    """Return metadata that names the channel, or no metadata if the digest can be posted only as a direct message."""
    return {"url": url, "channel": channel, "name": name} if url and channel[:1] in {"C", "G"} else {}


async def open_from_button(click: Click, context: ListenerContext, *, profiles: Profiles) -> ClickReply | None:
    """Open the form: empty for a click on the home tab, with the category and topic of news for a click below news."""
    if click.id is None:
        problem = await open_modal(context, click.trigger_id, digest_view(metadata={}))
        return await shown_problem(click, context, problem)
    row = await find_question(click.id, context)
    if row is None or row.command != NEWS.name:
        return text_reply(_(UNKNOWN_ANSWER))
    if not may_see(row, click, context.commands):
        return text_reply(_(NOT_YOUR_ANSWER))
    news, name = NEWS.parse(row.text), "" if click.channel_name in UNNAMED_CHANNELS else click.channel_name
    metadata = _here(url=click.response_url or "", channel=click.channel, name=name) | {"more": True}
    entered = {TOPIC: news.topic, CATEGORY: news.category, WHEN: EVERY_WEEKDAY}
    view = digest_view(metadata=metadata, entered=entered, zone=await _zone(click.user, profiles))
    return await open_for_click(click, context, view)


async def change_form(changed: Submission, context: ListenerContext, *, profiles: Profiles) -> None:
    """Show the days to choose from, or the rest of the form; the entered values stay."""
    more = any(one.get("action_id") == MORE for one in changed.body.get("actions", ()))
    zone = await _zone(changed.user, profiles) if more else None
    # If this update fails, submitting the form shows the days.
    await update_modal(context, changed.view_id, _again(changed, zone=zone, more=more), hash=changed.view_hash)


async def _zone(user: str, profiles: Profiles) -> str | None:
    """Return the time zone of a person; None if it is unknown."""
    with suppress(*FAILURES):
        async with asyncio.timeout(ZONE_SECONDS):
            zone = (await profiles.get(user)).zone
            return zone if zone is not None and zone_of(zone).key == zone else None
    return None


def _again(changed: Submission, *, zone: str | None = None, more: bool = False) -> View:
    """Build the form again with the entered values."""
    more = more or bool(changed.metadata.get("more"))
    entered = {name: str(changed.value(name) or "") for name in (TOPIC, CATEGORY, WHEN)}
    return digest_view(metadata={**changed.metadata, "more": more}, entered=entered, zone=zone)


def digest_view(
    *, metadata: Mapping[str, Any], entered: Mapping[str, str] | None = None, zone: str | None = None
) -> View:
    """Build the form; if the metadata names a channel, the digest can be posted there.

    The form has all fields if `more` is set in the metadata, otherwise few. If the person's `zone` is None, no zone is
    selected; the person's zone is looked up again when the digest is set up.
    """
    given, more = entered or {}, bool(metadata.get("more"))
    when, whens = given.get(WHEN) or EVERY_WEEKDAY, {value: _(label) for value, label in WHENS.items()}
    topic = text_input(TOPIC, shown=given.get(TOPIC, ""), max_length=MAX_TOPIC, focus=True)
    blocks = [
        input_block(TOPIC, _("Topic"), topic, hint=_("Such as open source databases"), optional=more),
        input_block(WHEN, _("When"), radio_buttons(WHEN, whens, chosen=when), dispatch=True),
    ]
    if when == CHOSEN:
        days = [choice(name[:3].casefold(), format_days({day})) for day, name in enumerate(DAY_NAMES)]
        blocks.append(input_block(DAYS_INPUT, _("Days"), checkboxes(DAYS_INPUT, days)))
    blocks.append(input_block(TIME, _("At"), {"type": "timepicker", "action_id": TIME, "initial_time": "09:00"}))
    if metadata.get("channel"):
        here = _("In #{name}").format(name=name) if (name := metadata.get("name")) else _("In this channel")
        places = {HERE: here, DIRECTLY: _("In our direct messages")}
        blocks.append(input_block(PLACE, _("Where"), radio_buttons(PLACE, places, chosen=HERE)))
    blocks += _more_inputs(given.get(CATEGORY, ""), zone) if more else [more_button(MORE)]
    return modal(CALLBACK_ID, _("Set up a digest"), blocks, submit=_("Set up"), close=_("Cancel"), metadata=metadata)


def _more_inputs(category: str, zone: str | None) -> list[Block]:
    categories = menu(CATEGORY, {name: _(name.capitalize()) for name in CATEGORIES}, chosen=category)
    quiet = checkboxes(ALWAYS.name, [choice("always", _(ALWAYS.title))])
    return [
        input_block(CATEGORY, _("Category"), categories, hint=_("Without a topic, all of its news"), optional=True),
        *option_inputs((ZONE,), {ZONE.name: zone or ""}),
        input_block(ALWAYS.name, _("Quiet days"), quiet, optional=True),
    ]


async def create(submitted: Submission, context: ListenerContext) -> Response | None:
    """Set up the digest, in the channel in which the form was opened, or in the direct message."""
    when, chosen, at = submitted.value(WHEN), submitted.value(DAYS_INPUT), submitted.value(TIME)
    category, topic = str(submitted.value(CATEGORY) or ""), str(submitted.value(TOPIC) or "")
    if when == CHOSEN and chosen is None:
        return shows(_again(submitted))
    days = ",".join(chosen or ()) if when == CHOSEN else when
    if not days:
        return errors(**({DAYS_INPUT: _("Choose at least one day.")} if when else {WHEN: _("Choose when.")}))
    if not at:
        return errors(**{TIME: _("Choose a time.")})
    if not (category or topic):
        return errors(**{TOPIC: _("Type a topic, or choose a category.")})
    try:
        schedule = Schedule(days=parse_days(days), at=parse_time(at), zone="")
        spec = DigestSpec(category=category, topic=topic, schedule=schedule)
        options = [(ZONE, zone)] if (zone := submitted.value(ZONE.name)) else []
        options += [(ALWAYS, days)] if submitted.value(ALWAYS.name) else []
        line = write_arguments(options, write_digest_spec(spec))
        WATCH.parse(line)
    except UsageError as error:
        return usage_response(error, WATCH.options, text_block=TOPIC)
    subject = ": ".join(filter(None, (_(spec.category.capitalize()), spec.topic)))
    root = asked_message(f"{subject}, {schedule_text(spec.schedule)}", lead=_("You asked for a digest:"))
    here = bool(submitted.metadata.get("url")) and submitted.value(PLACE) == HERE
    problem = await ask_by_form(submitted, context, command=WATCH, text=line, root=root, here=here)
    return None if problem is None else errors(**{TOPIC: problem})


_ACTIONS = re.compile(rf"{ACTION_PREFIX}(?:{'|'.join(DigestAction)})")


async def own_section(team_id: str, user_id: str, *, digests: DigestService) -> Sequence[Block]:
    """Return a person's digests for the home tab. Raises database errors."""
    return home_blocks((await digests.list_digests(Owner(team_id=team_id, user_id=user_id))).digests)


async def admin_section(team_id: str, __: str, *, all_rows: AllRows[Digest]) -> Sequence[Block]:
    """Return the digests of a workspace for the page for admins. Raises database errors."""
    digests = await all_rows.read(team_id)
    return [*workspace_blocks(digests), *all_rows.buttons(digests)]


def all_digests(read: Callable[[str], Awaitable[Sequence[Digest]]]) -> AllRows[Digest]:
    """Return the pages of all digests of a workspace."""
    return AllRows(
        name="digests", title=N_("Everyone’s digests"), shown=MAX_OF_WORKSPACE, read=read, blocks=workspace_rows
    )


async def apply_button(click: Click, __: ListenerContext, *, digests: DigestService) -> ClickReply:
    """Carry out the action of a digest's button, and reply with the result."""
    result: DigestResult = DigestNotFound()
    if click.id is not None:
        action = DigestAction(click.action_id.removeprefix(ACTION_PREFIX))
        by = str(click.action.get("action_ts", ""))
        result = await digests.apply_button(action, click.id, user_id=click.user, teams=click.teams, by=by)
        log.info("digest.clicked", extra={"digest": str(click.id), "state": type(result).__name__})
    return ClickReply(message=digest_result_message(result, command=digests.command_label, channel=click.channel))


async def stop_digest(
    click: Click, context: ListenerContext, *, notices: StopNotices, all_rows: AllRows[Digest]
) -> ClickReply:
    """Stop another person's digest, for an admin."""
    digest = await notices.stop_for_admin(click.id, click.user, click.teams) if click.id is not None else None
    all_rows.show_again(click, context)
    return text_reply(
        _("This digest no longer exists.") if digest is None else _("The digest is stopped, and I’ll tell its owner.")
    )
