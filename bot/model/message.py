"""What leaves the app: a message of Block Kit blocks with a text that stands on its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Block = dict[str, Any]
"""One Block Kit block as plain JSON; the SDK's models drop block types that they do not know."""


class Audience(StrEnum):
    """Who can see an answer; the value is how the grey line says it."""

    ASKER = "only visible to you"
    CHANNEL = "visible to everyone here"


@dataclass(frozen=True, kw_only=True)
class OutgoingMessage:
    """One Slack message. `text` is what screen readers and notifications read, so it is never empty.

    A `private` one is for the asker only, even if the question was asked where others read it.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    private: bool = False
