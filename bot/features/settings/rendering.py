"""Renders settings in words."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from bot.blocks.elements import bullets, context, leaf, person, secondary_button, section, spoken
from bot.blocks.escaping import escape
from bot.model.message import Block, OutgoingMessage
from bot.model.question import ADMINS, EVERYONE, Preferences
from bot.preferences import CHANNEL, PERSON, WORKSPACE, Setting
from bot.translation import N_
from bot.translation import gettext as _

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
    lists = [section("\n".join([_("*Your settings*"), *_lines(PERSON, preferences.person, preferences)]))]
    if in_channel:
        lines = _lines(CHANNEL, preferences.channel, preferences)
        lists.append(section("\n".join([_("*Settings of this channel*"), *lines])))
        lists += _askers(preferences.channel.askers)
    if for_admins:
        lines = _lines(WORKSPACE, preferences.workspace, preferences)
        lists.append(section("\n".join([_("*Settings of this workspace*"), *lines])))
    hints = [_(RULES), *([_(NEEDS_SCOPES)] if in_channel else [])]
    mine, of_channel = f"`{slash} language de`", f"`{slash} channel allow docs.python.org`"
    example = _("For example: {mine} or {of_channel}") if in_channel else _("For example: {mine}")
    hints = [*map(escape, hints), example.format(mine=mine, of_channel=of_channel)]
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks += [*lists, context(" ".join(hints))]
    blocks.append(secondary_button(_("Change settings"), action_id=SETTINGS_BUTTON, value="settings"))
    return spoken(*blocks)


def _lines(settings: Sequence[Setting], values: Any, preferences: Preferences) -> list[str]:
    return [f"{escape(_(one.label))}  {_value(one, getattr(values, one.field), preferences)}" for one in settings]


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
