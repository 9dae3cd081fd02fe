"""`/pplx limits`: admins see and set the limits on how much and how fast people may ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.commands.base import Command, free_subcommand, one_message
from bot.commands.context import CommandContext
from bot.commands.help import text_message
from bot.commands.parsing import OFF as OFF_WORDS
from bot.commands.parsing import RESETS, check_length, choose_from, inline_code
from bot.errors import UsageError
from bot.features.limits.store import (
    LABELS,
    NAMES,
    OFF,
    SAVED,
    LimitName,
    LimitStore,
    limit_not_taken,
    limits_message,
    parse_limit,
)
from bot.model.message import OutgoingMessage
from bot.slack.users import Admins
from perplexity.formatting import closest_match

FOR_ADMINS = "Only admins of this workspace can see and change its limits."

MAX_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class LimitRequest:
    """The change to make; none without a `name`. `value` is a number, `off`, or empty for the limit in the settings."""

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
        raise UsageError(f"{inline_code(words[0])} isn’t a limit. {choices}")
    value = " ".join(words[1:])
    if not value:
        raise UsageError(f"Add a number for `{name}`, `off` or `reset`.")
    if value in RESETS:
        return LimitRequest(name=name)
    value = OFF if value in OFF_WORDS else value
    try:
        parse_limit(value)
    except ValueError as error:
        raise UsageError(f"The limit `{name}` cannot be {inline_code(value)}. It takes {error}, or `reset`.") from None
    return LimitRequest(name=name, value=value)


@dataclass(frozen=True, kw_only=True)
class LimitsCommand:
    """Reads and changes limits for admins. `slash` is the umbrella command."""

    admins: Admins
    store: LimitStore
    slash: str

    def command(self) -> Command[LimitRequest, OutgoingMessage]:
        """Return the command that a worker runs."""
        return replace(LIMITS, answer=self.answer)

    async def answer(self, request: LimitRequest, context: CommandContext) -> OutgoingMessage:
        """Change what is asked for, and render the limits, if the person is an admin. Raises database errors."""
        row, store = context.row, self.store
        if not await self.admins.is_admin(row.user_id):
            return text_message(FOR_ADMINS)
        limits, note = await store.of(row.team_id), ""
        if request.name is not None:
            try:
                value = parse_limit(request.value, bound=limits[request.name].bound)
            except ValueError as error:
                note = limit_not_taken(request.value, LABELS[request.name], str(error), reset="reset")
            else:
                values = {request.name: value}
                limits = await store.change(team_id=row.team_id, user_id=row.user_id, values=values)
                note = SAVED
        return limits_message(limits.values(), slash=self.slash, note=note)


LIMITS = free_subcommand(
    name="limits",
    summary="See and set how much and how fast people may ask (admins)",
    for_admins=True,
    usage="[open | user | channel | thread | workspace] [NUMBER | off | reset]",
    examples=(
        ("open 3", "how many unanswered questions each person may have"),
        ("user 10", "how many questions each person may ask a minute"),
        ("channel 30", "how many may be asked in each channel a minute; `thread` in each thread"),
        ("workspace 20", "how many are in progress at a time"),
        ("user off", "no limit"),
        ("user reset", "back to the default"),
    ),
    for_everyone=True,
    parse=parse,
    render=one_message,
)
