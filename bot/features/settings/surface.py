"""Settings: `/pplx settings` and a form show and change the preferences of people, channels and workspaces.

The form has a person's preferences, the settings of the channel in which it was opened, and, for admins, those of the
workspace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2s
from textwrap import shorten
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import bullets, header, leaf, person, secondary_button, section, spoken
from bot.blocks.elements import context as context_block
from bot.blocks.escaping import escape, unescape_slack
from bot.clock import in_time
from bot.commands.base import CommandContext, free_subcommand, one_message
from bot.commands.parsing import RESETS, capitalize_sentences, check_length, choose_from, inline_code, value_not_allowed
from bot.errors import UsageError
from bot.listeners.clicks import DATABASE_SECONDS, Click, ClickReply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block, OutgoingMessage
from bot.model.question import ADMINS, EVERYONE, Preferences
from bot.preferences import (
    CHANNEL,
    CREATOR_UNKNOWN,
    EFFORT,
    MAX_PEOPLE,
    NOT_ADMIN,
    NOT_MANAGER,
    PERSON,
    SAVED,
    TABLES,
    WORKSPACE,
    Part,
    Setting,
    SettingsOfPart,
    check_narrows,
    find_setting,
    one_of,
    parse_setting,
)
from bot.slack.users import Admins, ChannelManagers, Management
from bot.slack.views import View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.preferences import PreferenceStore
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.base import (
    Response,
    Submission,
    errors,
    modal,
    open_modal,
    person_of,
    submission,
)
from bot.views.forms import input_block, menu, text_input
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

    def apply(self, settings: SettingsOfPart) -> SettingsOfPart:
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
    part: Part = next((one for one in TABLES if one == first.casefold()), "person")
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
    first, rest = [*text.split(maxsplit=1), "", ""][:2]
    return first, rest.strip()


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


async def answer(
    request: SettingsRequest,
    context: CommandContext,
    *,
    store: PreferenceStore,
    managers: ChannelManagers,
    admins: Admins,
    slash: str,
) -> OutgoingMessage:
    """Make the requested change, if the person may make it, and render the settings; `slash` is the umbrella command.

    Raises database errors.
    """
    row, part = context.row, request.part
    place = {"team_id": row.team_id, "user_id": row.user_id, "channel_id": row.channel_id}
    before, in_channel = await store.get(**place), not row.channel_id.startswith("D")
    note = ""
    if part == "workspace":
        note = "" if await admins.is_admin(row.user_id) else NOT_ADMIN
    elif part == "channel" and not in_channel:
        note = NO_CHANNEL
    elif part == "channel" and request.changes:
        management = await managers.management(row.user_id, row.channel_id)
        note = _WHY_NOT.get(management, "")
    if request.changes and not note:
        after = replace(before, **{part: request.apply(getattr(before, part))})
        if part == "channel" and request.field == "allow":
            check_narrows(after.channel, after.workspace)
        note = SAVED if await store.change(before, after, **place) else CHANGED_MEANWHILE
        before = await store.get(**place)
    return settings_message(
        before,
        note=_(note),
        in_channel=in_channel,
        for_admins=part == "workspace" and note != NOT_ADMIN,
        slash=f"{slash} {SETTINGS.name}",
    )


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


RULES = N_(
    "The rules of the workspace and of a channel outrank yours. What you type with a question outranks your settings."
)
NEEDS_SCOPES = N_("Replies without a mention, and what others wrote, reach me only if an admin has set that up.")

SETTINGS_BUTTON = "settings_modal"
"""The id of the button that opens the form."""


def settings_message(
    preferences: Preferences, *, in_channel: bool, slash: str, note: str = "", for_admins: bool = False
) -> OutgoingMessage:
    """Render the settings of a person, of the channel if there is one, and for admins those of the workspace.

    `note`, which is not escaped yet, says what was done.
    """
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks.append(_listed(_("*Your settings*"), "person", preferences))
    if in_channel:
        blocks.append(_listed(_("*Settings of this channel*"), "channel", preferences))
        blocks += _askers(preferences.channel.askers)
    if for_admins:
        blocks.append(_listed(_("*Settings of this workspace*"), "workspace", preferences))
    hints = [_(RULES), *([_(NEEDS_SCOPES)] if in_channel else [])]
    mine, of_channel = f"`{slash} language de`", f"`{slash} channel allow docs.python.org`"
    example = _("For example: {mine} or {of_channel}") if in_channel else _("For example: {mine}")
    hints = [*map(escape, hints), example.format(mine=mine, of_channel=of_channel)]
    change = secondary_button(_("Change settings"), action_id=SETTINGS_BUTTON, value="settings")
    return spoken(*blocks, context_block(" ".join(hints)), change)


def _listed(title: str, part: Part, preferences: Preferences) -> Block:
    values = getattr(preferences, part)
    lines = (f"{escape(_(one.label))}  {_value(one, getattr(values, one.field), preferences)}" for one in TABLES[part])
    return section("\n".join([title, *lines]))


def _askers(words: str) -> list[Block]:
    """Return a list of the people and groups who may ask, if they are named.

    Slack fills in the names of people. Groups are shown by their ids, since Slack would mention them.
    """
    named = [] if words in {EVERYONE, ADMINS} else words.split()
    return [bullets([leaf(one) if one.startswith("S") else person(one)] for one in named)] if named else []


def _value(setting: Setting, value: Any, preferences: Preferences) -> str:
    words, choices = setting.words(value), setting.choices or {}
    if not words or words == setting.unset:
        return f"_{escape(_(setting.default(preferences.defaults)))}_"
    if setting.kind == "people" and words not in choices:
        return _("*these people*")
    if setting.kind == "paragraph":
        words = shorten(words, 200, placeholder="…")
    return f"*{escape(_(choices[words]) if words in choices else words)}*"


CHANGED_SINCE_OPENED = N_("These settings changed while the form was open. Open it again.")
NO_ONE_NAMED = N_("Name at least one person, or choose another answer above.")
NOT_CHECKED = N_(
    "Slack is slow just now, so I couldn’t check if you may change this channel’s settings. Please try again."
)

_WHY_NOT = {Management.DENIED: NOT_MANAGER, Management.UNKNOWN: CREATOR_UNKNOWN, None: NOT_CHECKED}
"""Why a person may not change a channel's settings; the key None means that Slack did not answer in time."""

log = logging.getLogger(__name__)

CALLBACK_ID = "settings_modal"

PEOPLE = "people"
"""The input for named people."""

GROUPS = "groups"
"""The input for the ids of user groups, which are typed, since Slack has no menu of user groups."""

UNSET, NAMED = "unset", "named"
"""Choices in addition to those of the setting: no value, and people who are named in other inputs."""

FIRST_INPUT = f"own:{PERSON[0].name}"

MANAGEMENT_SECONDS = 0.4
"""How long the form waits for Slack to say who may change the channel's settings."""


@dataclass(frozen=True, kw_only=True)
class SettingsForm:
    """Opens the form and saves what is changed in it."""

    store: PreferenceStore
    managers: ChannelManagers

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the button that opens the form, and to the form."""
        submission(app, context, CALLBACK_ID, self.save, first_input=FIRST_INPUT)
        button(app, context, SETTINGS_BUTTON, self.open_for_click)

    async def open_for_click(self, click: Click, context: ListenerContext) -> ClickReply | None:
        """Open the form; reply only if that failed."""
        problem = await self.open(click.body, context, channel=click.channel)
        return None if problem is None else text_reply(problem)

    async def open_for_command(self, payload: Mapping[str, Any], context: ListenerContext) -> str | None:
        """Open the form; return a problem for the person, if any."""
        opening = self.open(payload, context, channel=str(payload.get("channel_id", "")))
        try:
            return await context.intake.within_ack_deadline(opening, seconds=DATABASE_SECONDS)
        except DATABASE_UNAVAILABLE:
            return _("I can’t reach my database just now. Please try again in a minute.")

    async def open(self, body: Mapping[str, Any], context: ListenerContext, *, channel: str) -> str | None:
        """Open the form for a person; in a channel, it has a part for the channel. Return a problem, if any."""
        channel = channel if channel[:1] in {"C", "G"} else ""
        team, user = person_of(body)
        preferences, management, is_admin = await asyncio.gather(
            self.store.get(team_id=team, user_id=user, channel_id=channel),
            self._management(user, channel),
            _is_admin(user, context),
        )
        view = settings_view(preferences, channel, management, is_admin=is_admin)
        return await open_modal(context, str(body.get("trigger_id", "")), view)

    async def save(self, submitted: Submission, context: ListenerContext) -> Response | None:
        """Save a person's changes in a form; save nothing if they may no longer change one of its parts."""
        if refusal := await self._refusal(submitted, context):
            return errors(**{FIRST_INPUT: _(refusal)})
        channel = str(submitted.metadata.get("channel") or "")
        place = {"team_id": submitted.team, "user_id": submitted.user, "channel_id": channel}
        before = after = await self.store.get(**place)
        problems: dict[str, str] = {}
        for part in TABLES:
            if part == "person" or submitted.metadata.get(part):
                changed, wrong = _changed(submitted, part, getattr(before, part))
                after = replace(after, **{part: changed})
                problems |= wrong
        try:
            if after.channel.allow != before.channel.allow:
                check_narrows(after.channel, after.workspace)
        except InvalidRequest as error:
            problems["channel:allow"] = _problem(error)
        if problems:
            return errors(**problems)
        if not await self.store.change(before, after, **place):
            # Someone saved another value in the meantime. Compare with the current values, to name those that changed.
            return await self.save(submitted, context)
        log.info("settings.saved", extra={"view": CALLBACK_ID})
        context.home_changed(submitted.team, submitted.user, _(SAVED))
        return None

    async def _refusal(self, submitted: Submission, context: ListenerContext) -> str:
        """Return why a person may no longer change a part of a form; an empty text if they may change all parts."""
        channel = str(submitted.metadata.get("channel") or "")
        if channel and (management := await self._management(submitted.user, channel)) is not Management.ALLOWED:
            return _WHY_NOT[management]
        return NOT_ADMIN if submitted.metadata.get("workspace") and not await _is_admin(submitted.user, context) else ""

    async def _management(self, user_id: str, channel: str) -> Management | None:
        """Return whether a person may change a channel's settings; None if Slack does not say so in time."""
        if not channel:
            return Management.DENIED
        return await in_time(self.managers.management(user_id, channel), MANAGEMENT_SECONDS)


async def _is_admin(user_id: str, context: ListenerContext) -> bool:
    """Return whether a person may change the workspace's settings; False if Slack does not say so in time."""
    return bool(await in_time(context.admins.is_admin(user_id), MANAGEMENT_SECONDS))


def settings_view(
    preferences: Preferences, channel: str, management: Management | None, *, is_admin: bool = False
) -> View:
    """Build the form. `channel` is empty if the form was not opened in a channel."""
    blocks = [
        header(_("Yours")),
        *(_input("person", one, preferences) for one in PERSON),
        context_block(escape(_(RULES))),
    ]
    parts: list[Part] = ["person"]
    if channel:
        blocks.append(header(_("Of this channel")))
    if channel and management is Management.ALLOWED:
        parts.append("channel")
        blocks += _channel_inputs(preferences)
    elif channel:
        blocks.append(context_block(escape(_(_WHY_NOT[management]))))
    if is_admin:
        parts.append("workspace")
        blocks.append(header(_("Of the whole workspace")))
        blocks += [_input("workspace", one, preferences) for one in WORKSPACE]
    return modal(
        CALLBACK_ID,
        _("Settings"),
        blocks,
        submit=_("Save"),
        close=_("Cancel"),
        metadata={
            "channel": channel if "channel" in parts else "",
            "workspace": is_admin,
            "shown": {name: digest for part in parts for name, digest in _digests(part, preferences)},
        },
    )


def _block_id(part: Part, setting: Setting) -> str:
    return f"{'own' if part == 'person' else part}:{setting.name}"


def _digests(part: Part, preferences: Preferences) -> Iterator[tuple[str, str]]:
    """Yield a hash of each input's value, by block: the values themselves may be too long for the metadata."""
    values = getattr(preferences, part)
    for one in TABLES[part]:
        yield _block_id(part, one), _digest(one.words(getattr(values, one.field)))


def _digest(words: str) -> str:
    return blake2s(words.encode(), digest_size=8).hexdigest()


def _channel_inputs(preferences: Preferences) -> Iterator[Block]:
    for setting in CHANNEL:
        yield _input("channel", setting, preferences)
        if setting.kind == "people":
            ids = [one for one in preferences.channel.askers.split() if one not in {EVERYONE, ADMINS}]
            named = [one for one in ids if not one.startswith("S")]
            people: Block = {"type": "multi_users_select", "action_id": PEOPLE, "max_selected_items": MAX_PEOPLE}
            if named:
                people["initial_users"] = named
            yield input_block(PEOPLE, _("The people who may ask"), people, optional=True)
            groups = text_input(GROUPS, shown=" ".join(one for one in ids if one not in named))
            yield input_block(GROUPS, _("The user groups that may ask, by id (S…)"), groups, optional=True)
    yield context_block(escape(_(NEEDS_SCOPES)))


def _input(part: Part, setting: Setting, preferences: Preferences) -> Block:
    words = setting.words(getattr(getattr(preferences, part), setting.field))
    if setting.choices:
        element, hint = _select(setting, words, _(setting.default(preferences.defaults))), ""
    else:
        element, hint = text_input(setting.name, shown=words, multiline=setting.kind == "paragraph"), _(setting.hint)
    block = input_block(_block_id(part, setting), _(setting.label), element, hint=hint)
    return block | {"optional": not setting.choices}


def _select(setting: Setting, words: str, default: str) -> Block:
    options = {value: _(label) for value, label in (setting.choices or {}).items()}
    if setting.kind == "people":
        options |= {NAMED: _("Only people I name")}
        words = words if words in {EVERYONE, ADMINS} else NAMED
    else:
        # The value may be none of the choices: the command also accepts models of other vendors.
        unset = {UNSET: _("Default ({default})").format(default=default)}
        options = unset | options | ({words: words} if words else {})
    return menu(setting.name, options, chosen=words or UNSET)


def _problem(error: InvalidRequest) -> str:
    return _("{value} cannot be used: {allowed}.").format(value=error.value, allowed=error.allowed)[:2000]


def _changed(submitted: Submission, part: Part, now: SettingsOfPart) -> tuple[SettingsOfPart, dict[str, str]]:
    """Return the current values with the person's changes, and sentences about unusable values and conflicts, by block.

    A value that is as the form showed it counts as unchanged, even if another value was set since the form was opened.
    """
    shown, empty = submitted.metadata.get("shown") or {}, type(now)()
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for setting in TABLES[part]:
        block = typed_in = _block_id(part, setting)
        typed = str(submitted.value(block) or "").strip()
        if setting.kind == "people" and typed == NAMED:
            groups = str(submitted.value(GROUPS) or "")
            typed_in, typed = GROUPS if groups else PEOPLE, " ".join([*(submitted.value(PEOPLE) or ()), groups]).strip()
            if not typed:
                problems[typed_in] = _(NO_ONE_NAMED)
        value = getattr(empty, setting.field)
        if typed not in {"", UNSET}:
            try:
                value = parse_setting(setting, setting.name, typed)
            except InvalidRequest as error:
                problems[typed_in] = _problem(error)
        words, words_now = setting.words(value), setting.words(getattr(now, setting.field))
        if words == words_now or _digest(words) == shown.get(block):
            continue
        if _digest(words_now) != shown.get(block):
            problems.setdefault(block, _(CHANGED_SINCE_OPENED))
        values[setting.field] = value
    return replace(now, **values), problems
