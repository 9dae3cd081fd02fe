"""`/pplx watch`: creates, lists and changes digests, which post new stories on a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.blocks.digests import DIGEST_EXAMPLE, digest_result_message
from bot.commands.base import Command, Option, Reply, ValueKind
from bot.commands.context import CommandContext
from bot.commands.parsing import OptionParser, inline_code, no_text, parse_options
from bot.commands.watch_syntax import parse_digest_spec, parse_zone
from bot.errors import UsageError
from bot.model.digest import DigestAction, DigestResult, DigestService, DigestSpec, Owner
from bot.model.message import Audience

ALWAYS = Option(
    name="--always",
    value="daily|weekdays|mon,thu",
    help="Post on these days even when nothing is new",
    label="Also say when nothing is new",
)
ZONE = Option(
    name="--zone",
    value="Europe/Berlin",
    help="The time zone of the days and the time; yours unless you say so",
    kind=ValueKind.ZONE,
    label="Time zone",
)
PARSER = OptionParser(
    options=(ALWAYS, ZONE),
    unsupported={
        "--recency": "`--recency` is not for digests: each lists what is new since the last one.",
        "--public": "`--public` is not for digests: they are posted where you set them up.",
    },
)
LIST = "list"


@dataclass(frozen=True, kw_only=True)
class ChangeDigest:
    """Apply an action to the digest with this number."""

    action: DigestAction
    number: int


@dataclass(frozen=True, kw_only=True)
class ListDigests:
    """List the user's digests."""


WatchRequest = DigestSpec | ChangeDigest | ListDigests


@dataclass(frozen=True, kw_only=True)
class WatchResult:
    """The result, and what its message needs: the command's label and the channel of the request.

    `with_app` is set if that is known to be the person's direct message with the app.
    """

    reply: DigestResult
    command_label: str
    channel: str
    with_app: bool


def parse(text: str) -> WatchRequest:
    """Parse the text after `watch`. Raise UsageError."""
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


@dataclass(frozen=True, kw_only=True)
class WatchCommand:
    """Creates and changes digests."""

    digests: DigestService

    def command(self) -> Command[WatchRequest, WatchResult]:
        """Return the command that a worker runs."""
        return replace(WATCH, answer=self.answer)

    async def answer(self, request: WatchRequest, context: CommandContext) -> WatchResult:
        """Apply the request. Raise database errors."""
        digests, row = self.digests, context.row
        owner = Owner(team_id=row.team_id, user_id=row.user_id)
        reply: DigestResult
        match request:
            case DigestSpec():
                reply = await digests.create(request, id=row.id, owner=owner, channel_id=row.channel_id)
            case ChangeDigest(action=action, number=number):
                reply = await digests.apply(action, number, owner=owner, by=str(row.id))
            case ListDigests():
                reply = await digests.list_digests(owner)
        label, with_app = digests.command_label, row.surface == "im"
        return WatchResult(reply=reply, command_label=label, channel=row.channel_id, with_app=with_app)


def audience_of(_: WatchRequest) -> Audience:
    """Return who sees the result: only the user, until the digest is posted."""
    return Audience.ASKER


def render(result: WatchResult, _: WatchRequest, audience: Audience) -> Reply:
    """Render the result."""
    message = digest_result_message(
        result.reply, command=result.command_label, channel=result.channel, with_app=result.with_app
    )
    return Reply(messages=(message,))


def _parse_list(rest: list[str]) -> ListDigests:
    if rest:
        raise UsageError(no_text(LIST))
    return ListDigests()


def _parse_number(action: str, rest: list[str]) -> int:
    typed = " ".join(rest).removeprefix("#")
    if not (typed.isascii() and typed.isdecimal() and 1 <= len(typed) < 6):
        what = f"{inline_code(typed)} isn’t a digest number." if typed else "Which digest?"
        raise UsageError(f"{what} `{action}` takes a number, such as `{action} 2`; `{LIST}` shows them.")
    return int(typed)


WATCH = Command(
    name="watch",
    summary="Set up a digest: news on a schedule, and only what is new",
    usage='[CATEGORY] ["TOPIC"] [weekdays] 9:00 | list | pause N | resume N | delete N | run N',
    options=PARSER.options,
    examples=(
        (DIGEST_EXAMPLE, "posted here, Monday to Friday, in your time zone"),
        ('"open source databases" daily 8:00', "a topic in the news of every kind"),
        ("science mon,thu 5:30pm", "a whole category, on two days"),
        ("world daily 7:30 --zone Asia/Tokyo", "in another time zone"),
        ("business daily 8:00 --always fri", "posts on Fridays even when nothing is new"),
        ("list", "your digests, with their numbers"),
        ("pause 2", "and `resume 2`, `delete 2`, `run 2`: pause, resume, delete or run it now"),
    ),
    has_slash_command=False,
    parse=parse,
    audience=audience_of,
    render=render,
)
