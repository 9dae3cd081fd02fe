"""The limits of a workspace: those in the settings, and those that its admins have set instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from bot.blocks.elements import section
from bot.blocks.escaping import escape
from bot.blocks.words import NO_LIMIT
from bot.model.message import Block, OutgoingMessage

LimitName = Literal["open", "user", "channel", "thread", "workspace"]
"""Open questions per person; questions per minute of a person, in a channel, in a thread; a workspace's in progress."""

NAMES: tuple[LimitName, ...] = get_args(LimitName)

HIGHEST = 1_000_000
"""The highest limit that admins can set unless the settings bound it lower."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit; 0 means no limit.

    `value` is in force. `own` is the admins' limit, None if they have set none, `host` that of the settings. If the
    limit is `bounded`, because the app also serves other workspaces, admins cannot exceed `host`.
    """

    name: LimitName
    value: int
    own: int | None
    host: int
    bounded: bool

    @property
    def bound(self) -> int | None:
        """The highest number that admins can set; None if they can set any number, and no limit."""
        return self.host if self.bounded and self.host else None


SAVED = "Saved. It applies from the next question on."

LABELS: Mapping[LimitName, str] = {
    "open": "Open questions per person",
    "user": "Questions per person each minute",
    "channel": "Questions in a channel each minute",
    "thread": "Questions in a thread each minute",
    "workspace": "Questions in progress",
}
"""The title of each limit."""

OFF = "off"
"""An admin's word for no limit."""

_NUMBER = re.compile(r"[0-9]{1,9}")


def parse_limit(text: str, *, bound: int | None = None) -> int | None:
    """Return an admin's input: a number, 0 for no limit, None for an empty text, which restores the settings' limit.

    `bound` is as in `Limit`. Raises ValueError, which says what is allowed.
    """
    text = text.strip()
    if not text:
        return None
    if text.casefold() == OFF and bound is None:
        return 0
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= (bound or HIGHEST):
        raise ValueError(allowed(bound))
    return int(text)


def allowed(bound: int | None = None) -> str:
    """Return the allowed values of a limit, besides an empty text: "a whole number from 1 to 20"."""
    return (
        f"a whole number from 1 to {bound:,}, which is this app’s own limit"
        if bound is not None
        else f"a whole number from 1 to {HIGHEST:,}, or {OFF} for no limit"
    )


def typed(limit: Limit) -> str:
    """Return the current limit as a form shows it; empty for no limit."""
    return str(limit.value or "")


def limit_line(limit: Limit) -> str:
    """Return a limit as a line of mrkdwn, with that of the settings if admins have set another one."""
    line = f"{LABELS[limit.name]}: *{number(limit.value)}*"
    return line if limit.own is None else f"{line} (default: {number(limit.host)})"


def number(value: int) -> str:
    """Return a limit for people: "1,000", or "no limit" for 0."""
    return f"{value:,}" if value else NO_LIMIT


def limit_not_taken(text: str, label: str, allowed: str, *, reset: str = "nothing") -> str:
    """Return the sentence that a limit cannot have this value, with the allowed ones; `reset` restores the default."""
    return f"“{text}” cannot be the limit “{label}”. It takes {allowed}, or {reset}."


def limits_message(limits: Iterable[Limit], *, slash: str, note: str = "") -> OutgoingMessage:
    """Render limits; `slash` is the umbrella command, `note` says what was done, not escaped."""
    heading = f"*Limits*  (`{slash} limits help` shows how to set them)"
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks.append(section("\n".join([heading, *map(limit_line, limits)])))
    return OutgoingMessage(text=escape(note) or heading, blocks=tuple(blocks))
