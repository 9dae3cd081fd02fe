"""`/pplx settings`: shows and changes a person's preferences, and a channel's and the workspace's rules, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.blocks.escaping import unescape_slack
from bot.commands.base import Command, CommandContext, free_subcommand, one_message
from bot.commands.parsing import RESETS, capitalize_sentences, check_length, choose_from, inline_code, value_not_allowed
from bot.errors import UsageError
from bot.features.settings.rendering import settings_message
from bot.model.message import OutgoingMessage
from bot.preferences import (
    CREATOR_UNKNOWN,
    EFFORT,
    NOT_ADMIN,
    NOT_MANAGER,
    SAVED,
    TABLES,
    Part,
    S,
    check_narrows,
    find_setting,
    one_of,
    parse_setting,
)
from bot.slack.users import Admins, ChannelManagers, Management
from bot.storage.preferences import PreferenceStore
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import InvalidRequest
from perplexity.formatting import closest_match

CHANGED_MEANWHILE = N_(
    "Someone else changed this at the same moment, so I saved nothing. Check it below, then try again."
)
NO_CHANNEL = N_("A direct message has no channel settings. Type this in a channel.")

MAX_LENGTH = 2_000


@dataclass(frozen=True, kw_only=True)
class SettingsRequest:
    """The change to make, if any.

    A `value` of None removes the setting `field`. `reset` with an empty `field` removes all settings of the `part`.
    """

    part: Part = "person"
    field: str = ""
    value: Any = None
    reset: bool = False

    @property
    def changes(self) -> bool:
        """Whether the request changes anything."""
        return bool(self.field) or self.reset

    def apply(self, settings: S) -> S:
        """Return the settings with the change."""
        empty = type(settings)()
        if not self.field:
            return empty if self.reset else settings
        value = getattr(empty, self.field) if self.value is None else self.value
        return replace(settings, **{self.field: value})


def parse(text: str) -> SettingsRequest:
    """Parse the text after `settings`. Raises UsageError, which names the setting, the value and the allowed values."""
    check_length(text, MAX_LENGTH)
    first, rest = _first_word(text)
    part: Part = "channel" if first.casefold() == "channel" else "person"
    part = "workspace" if first.casefold() == "workspace" else part
    if part != "person":
        first, rest = _first_word(rest)
    if not first:
        return SettingsRequest(part=part)
    if first.casefold() in RESETS and not rest:
        return SettingsRequest(part=part, reset=True)
    setting = find_setting(TABLES[part], first)
    if setting is None:
        raise UsageError(_unknown(first, part))
    if not rest:
        problem = _("Add a value for `{name}`: {allowed}; or `reset`.")
        allowed = _(setting.hint) or one_of(tuple(setting.choices or ()))
        raise UsageError(problem.format(name=first.casefold(), allowed=allowed))
    if rest.casefold() in RESETS:
        return SettingsRequest(part=part, field=setting.field)
    try:
        value = parse_setting(setting, first.casefold(), rest if setting.kind == "people" else unescape_slack(rest))
    except InvalidRequest as error:
        value, allowed = inline_code(error.value or rest), capitalize_sentences(error.allowed or "")
        raise UsageError(value_not_allowed(first.casefold(), value, allowed=allowed)) from None
    return SettingsRequest(part=part, field=setting.field, value=value)


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.split(maxsplit=1) or [""]
    return first, "".join(rest).strip()


def _unknown(word: str, part: Part) -> str:
    names = [*([] if part == "workspace" else [EFFORT]), *(one.name for one in TABLES[part])]
    meant = closest_match(word.casefold(), names)
    other = next((one for one, table in TABLES.items() if find_setting(table, word) is not None), None)
    if meant is None and other is not None:
        if other == "person":
            return _("{word} is a personal setting: leave out `{part}`.").format(word=inline_code(word), part=part)
        return _("{word} is a {part} setting: add `{part}`.").format(word=inline_code(word), part=other)
    choices = choose_from(names, meant=meant)
    return _("{word} isn’t a setting. {choices}").format(word=inline_code(word), choices=choices)


@dataclass(frozen=True, kw_only=True)
class SettingsCommand:
    """Reads and changes settings. `slash` is the umbrella command."""

    store: PreferenceStore
    managers: ChannelManagers
    admins: Admins
    slash: str

    def command(self) -> Command[SettingsRequest, OutgoingMessage]:
        """Return the command that a worker runs."""
        return replace(SETTINGS, answer=self.answer)

    async def answer(self, request: SettingsRequest, context: CommandContext) -> OutgoingMessage:
        """Make the requested change, if the person may make it, and render the settings. Raises database errors."""
        row, part = context.row, request.part
        place = {"team_id": row.team_id, "user_id": row.user_id, "channel_id": row.channel_id}
        before = await self.store.get(**place)
        note = await self._refusal(request, context)
        if request.changes and not note:
            after = replace(before, **{part: request.apply(getattr(before, part))})
            if part == "channel" and request.field == "allow":
                check_narrows(after.channel, after.workspace)
            note = SAVED if await self.store.change(before, after, **place) else CHANGED_MEANWHILE
            before = await self.store.get(**place)
        return settings_message(
            before,
            note=_(note),
            in_channel=not row.channel_id.startswith("D"),
            for_admins=part == "workspace" and note != NOT_ADMIN,
            slash=f"{self.slash} {SETTINGS.name}",
        )

    async def _refusal(self, request: SettingsRequest, context: CommandContext) -> str:
        """Return why settings cannot be shown or changed; an empty text if they can."""
        row = context.row
        if request.part == "workspace":
            return "" if await self.admins.is_admin(row.user_id) else NOT_ADMIN
        if request.part == "channel" and row.channel_id.startswith("D"):
            return NO_CHANNEL
        if request.part == "person" or not request.changes:
            return ""
        management = await self.managers.management(row.user_id, row.channel_id)
        return {Management.DENIED: NOT_MANAGER, Management.UNKNOWN: CREATOR_UNKNOWN}.get(management, "")


SETTINGS = free_subcommand(
    name="settings",
    summary=N_("See and change your settings, and those of this channel"),
    usage="[channel | workspace] [NAME VALUE | NAME reset | reset]",
    examples=(
        ("language de", N_("always answer in German")),
        ("effort high", N_("think longer from now on")),
        ("channel allow docs.python.org, peps.python.org", N_("only these sites, for everyone in this channel")),
        ("channel askers admins", N_("who may ask in this channel")),
        ("workspace allow wikipedia.org, gov.uk", N_("only these sites, for everyone (admins)")),
        ("reset", N_("reset all of your settings")),
    ),
    for_everyone=True,
    parse=parse,
    render=one_message,
)
