"""`/pplx settings`: shows and changes what a person prefers, and the settings of a channel, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.blocks.escaping import unescape_slack
from bot.blocks.settings import settings_message
from bot.commands.base import Command, Reply, free_subcommand
from bot.commands.context import CommandContext
from bot.commands.filters import capitalize_sentences, value_not_allowed
from bot.commands.parsing import check_length, choose_from, closest_match, inline_code
from bot.errors import UsageError
from bot.model.message import Audience
from bot.model.preferences import ChannelSettings, PersonSettings, Preferences
from bot.preferences.settings import (
    CHANNEL,
    CREATOR_UNKNOWN,
    EFFORT,
    NOT_MANAGER,
    PERSON,
    SAVED,
    Setting,
    find_setting,
    one_of,
    parse_setting,
)
from bot.slack.users import ChannelManagers, Management
from bot.storage.preferences import PreferenceStore
from perplexity.errors import InvalidRequest

NO_CHANNEL = "A direct message has no channel settings. Type this in a channel."

CHANNEL_WORD = "channel"
RESETS = frozenset({"reset", "default"})
MAX_LENGTH = 2_000

S = TypeVar("S", PersonSettings, ChannelSettings)


@dataclass(frozen=True, kw_only=True)
class SettingsRequest:
    """What to change; an empty `field` with `reset` resets all. `value` None takes a setting back."""

    of_channel: bool = False
    field: str = ""
    value: Any = None
    reset: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return bool(self.field) or self.reset

    def apply(self, settings: S) -> S:
        """Return the settings with the change."""
        empty = type(settings)()
        if not self.field:
            return empty if self.reset else settings
        value = getattr(empty, self.field) if self.value is None else self.value
        return replace(settings, **{self.field: value})


@dataclass(frozen=True, kw_only=True)
class SettingsResult:
    """The settings as they are now, and what was done, empty if the request only asked for them.

    `slash` is what to type.
    """

    preferences: Preferences
    note: str
    in_channel: bool
    slash: str


def parse(text: str) -> SettingsRequest:
    """Parse the text after `settings`. Raise UsageError, which names the setting, the value and what it takes."""
    check_length(text, MAX_LENGTH)
    first, rest = _first_word(text)
    of_channel = first.casefold() == CHANNEL_WORD
    if of_channel:
        first, rest = _first_word(rest)
    table = CHANNEL if of_channel else PERSON
    if not first:
        return SettingsRequest(of_channel=of_channel)
    if first.casefold() in RESETS and not rest:
        return SettingsRequest(of_channel=of_channel, reset=True)
    setting = find_setting(table, first)
    if setting is None:
        raise UsageError(_unknown(first, table, of_channel=of_channel))
    if not rest:
        allowed = setting.hint or one_of(tuple(setting.choices or ()))
        raise UsageError(f"Add a value for `{first.casefold()}`: {allowed}; or `reset`.")
    if rest.casefold() in RESETS:
        return SettingsRequest(of_channel=of_channel, field=setting.field)
    try:
        value = parse_setting(setting, first.casefold(), rest if setting.kind == "people" else unescape_slack(rest))
    except InvalidRequest as error:
        value, allowed = inline_code(error.value or rest), capitalize_sentences(error.allowed or "")
        raise UsageError(value_not_allowed(first.casefold(), value, allowed=allowed)) from None
    return SettingsRequest(of_channel=of_channel, field=setting.field, value=value)


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.split(maxsplit=1) or [""]
    return first, "".join(rest).strip()


def _unknown(word: str, table: Sequence[Setting], *, of_channel: bool) -> str:
    names = [EFFORT, *(one.name for one in table)]
    meant = closest_match(word.casefold(), names)
    others = PERSON if of_channel else CHANNEL
    if meant is None and find_setting(others, word) is not None:
        whose = "a personal setting: leave out" if of_channel else "a channel setting: add"
        return f"{inline_code(word)} is {whose} `{CHANNEL_WORD}`."
    return f"{inline_code(word)} isn’t a setting. {choose_from(names, meant=meant)}"


@dataclass(frozen=True, kw_only=True)
class SettingsCommand:
    """Reads and changes settings. `slash` is what to type."""

    store: PreferenceStore
    managers: ChannelManagers
    slash: str

    def command(self) -> Command[SettingsRequest, SettingsResult]:
        """Return the command that a worker runs."""
        return replace(SETTINGS, answer=self.answer)

    async def answer(self, request: SettingsRequest, context: CommandContext) -> SettingsResult:
        """Change what is asked for, if the person may, and return the settings. Raises database errors."""
        row, store = context.row, self.store
        in_channel = not row.channel_id.startswith("D")
        place = {"team_id": row.team_id, "user_id": row.user_id}
        before = await store.get(**place, channel_id=row.channel_id)
        note = await self._refusal(request, context) if request.of_channel else ""
        if request.changes and not note:
            if request.of_channel:
                after = replace(before, channel=request.apply(before.channel))
                saved = await store.change_channel(before.channel, after.channel, **place, channel_id=row.channel_id)
            else:
                after = replace(before, person=request.apply(before.person))
                saved = await store.change_person(before.person, after.person, **place)
            note = (
                SAVED
                if saved
                else "Someone else changed this at the same moment, so I saved nothing. Check it below, then try again."
            )
            before = after if saved else await store.get(**place, channel_id=row.channel_id)
        slash = f"{self.slash} {SETTINGS.name}"
        return SettingsResult(preferences=before, note=note, in_channel=in_channel, slash=slash)

    async def _refusal(self, request: SettingsRequest, context: CommandContext) -> str:
        """Return why a channel's settings cannot be shown or changed; an empty text if they can."""
        if context.row.channel_id.startswith("D"):
            return NO_CHANNEL
        if not request.changes:
            return ""
        management = await self.managers.management(context.row.user_id, context.row.channel_id)
        return {Management.DENIED: NOT_MANAGER, Management.UNKNOWN: CREATOR_UNKNOWN}.get(management, "")


def render(result: SettingsResult, _: SettingsRequest, audience: Audience) -> Reply:
    """Render the settings."""
    message = settings_message(result.preferences, in_channel=result.in_channel, slash=result.slash, note=result.note)
    return Reply(messages=(message,))


SETTINGS = free_subcommand(
    name="settings",
    summary="See and change your settings, and those of this channel",
    usage="[channel] [NAME VALUE | NAME reset | reset]",
    examples=(
        ("language de", "always answer in German"),
        ("effort high", "think longer from now on"),
        ("channel allow docs.python.org, peps.python.org", "only these sites, for everyone in this channel"),
        ("channel askers admins", "who may ask in this channel"),
        ("reset", "reset all of your settings"),
    ),
    for_everyone=True,
    parse=parse,
    render=render,
)
