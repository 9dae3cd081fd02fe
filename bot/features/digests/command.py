"""`/pplx watch`: creates, lists and changes digests, which post new stories on a schedule.

A digest's category, topic, days and time are understood completely or rejected. If a word were skipped, the digest
could run on other days than the user meant, and the user would notice that late. The order is fixed, and a topic is in
quotes, so that none of its words can be taken for a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo

from bot.commands.base import Command, CommandContext, Option, ValueKind, asker_alone, one_message
from bot.commands.parsing import (
    DASHES,
    DOUBLE_QUOTES,
    OptionParser,
    category_argument,
    inline_code,
    no_text,
    parse_options,
    usage_errors,
)
from bot.errors import UsageError
from bot.features.digests.model import DigestAction, DigestResult, DigestSpec, Owner
from bot.features.digests.rendering import DIGEST_EXAMPLE, digest_result_message
from bot.features.digests.schedules import format_days
from bot.features.digests.service import DigestService
from bot.model.message import OutgoingMessage
from bot.model.schedule import DAILY, DAY_NAMES, WEEKDAYS, WEEKENDS, Schedule, zone_of
from bot.translation import N_
from bot.translation import gettext as _
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
        return _parse_list(rest)
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


def _parse_list(rest: list[str]) -> ListDigests:
    if rest:
        raise UsageError(no_text(LIST))
    return ListDigests()


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
    return DigestSpec(
        category=named,
        topic=_parse_topic(topic[1]) if topic else "",
        schedule=Schedule(days=days, at=parse_time(at[0]), zone=zone),
        report_empty_on=frozenset().union(*(_quiet_days(words, days) for words in report_empty_on)),
    )


def write_digest_spec(spec: DigestSpec) -> str:
    """Return the text that `parse_digest_spec` reads as this digest, without zone and `report_empty_on`.

    Double quotes in the topic become single ones.
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
    """Return the days on which a digest is posted even if nothing is new. Raises UsageError if it runs on none."""
    quiet = parse_days(words) & days
    if not quiet:
        said = _("This digest doesn’t run on {words}. Its days are {days}.")
        raise UsageError(said.format(words=inline_code(words), days=format_days(days)), option="--always")
    return quiet


def _parse_topic(text: str) -> str:
    if not text.strip():
        return ""
    with usage_errors(N_("a topic")):
        return parse_query(text.strip())


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
