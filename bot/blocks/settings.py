"""Renders settings in words; the sentences that people read about settings are here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.blocks.elements import context, secondary_button, section
from bot.blocks.escaping import code, escape
from bot.model.message import Block, OutgoingMessage
from bot.model.preferences import Preferences
from bot.preferences.settings import CHANNEL, PERSON, Setting

SETTINGS_BUTTON = "settings_modal"
"""The id of the button that opens the form."""

SAVED = "Saved."
CHANGED_AT_ONCE = "This was changed at the same moment, so I saved nothing. Look at it below, then try again."
NO_CHANNEL = "A direct message has no channel settings. Type this in a channel."
NOT_MANAGER = "Only the person who created this channel, and admins, can change its settings."
CREATOR_UNKNOWN = (
    "Slack doesn’t let me read who created this channel, so only admins can change its settings. "
    "An admin can give me the scope `channels:read`, or `groups:read` for private channels."
)
RULES = "A channel’s sites outrank yours. What you type with a question outranks your settings."
NEEDS_SCOPES = (
    "Follow-ups and history work only if the app gets the messages of channels; its admin sets that up with "
    "FOLLOW_UPS and THREAD_HISTORY."
)


def settings_message(preferences: Preferences, *, in_channel: bool, slash: str, note: str = "") -> OutgoingMessage:
    """Render the settings of a person, and of the channel if there is one; `note` is what was done, not escaped."""
    texts = ["\n".join(["*Your settings*", *_lines(PERSON, preferences.person)])]
    if in_channel:
        texts.append("\n".join(["*Settings of this channel*", *_lines(CHANNEL, preferences.channel)]))
    hints = [RULES, *([NEEDS_SCOPES] if in_channel else []), f"For example: {code(f'{slash} effort high')}"]
    if in_channel:
        hints.append(f"or {code(f'{slash} channel allow docs.python.org')}")
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks += [*map(section, texts), context(" ".join(map(_hint, hints)))]
    blocks.append(secondary_button("Change settings", action_id=SETTINGS_BUTTON, value="settings"))
    return OutgoingMessage(text=escape(note) or "Your settings", blocks=tuple(blocks))


def _hint(text: str) -> str:
    return text if "`" in text else escape(text)


def _lines(settings: Sequence[Setting], values: Any) -> list[str]:
    return [f"{escape(one.label)}  {_value(one, getattr(values, one.field))}" for one in settings]


def _value(setting: Setting, value: Any) -> str:
    words = setting.words(value)
    if not words or words == setting.unset:
        return f"_{escape(setting.unset)}_"
    if setting.kind == "people" and words not in (setting.choices or {}):
        return ", ".join(map(code, words.split()))
    label = (setting.choices or {}).get(words, words)
    return f"*{escape(label)}*"
