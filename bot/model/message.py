"""A Slack message to post: Block Kit blocks and the text that replaces them in notifications."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from io import IOBase
from typing import Any, NamedTuple

Block = dict[str, Any]
"""A Block Kit block as plain JSON: the SDK's models drop block types that they do not know."""


class Audience(Enum):
    """Who can see an answer."""

    ASKER = "asker"
    CHANNEL = "channel"
    THREAD = "thread"
    """Everyone who can read the question: the people in its thread, or its asker alone in direct messages."""


@dataclass(frozen=True, kw_only=True)
class OutgoingMessage:
    """One Slack message. `text` is for screen readers and notifications, so it is never empty.

    A `private` message is only for the asker, even if the question was asked in public.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    private: bool = False


class SuggestedPrompt(NamedTuple):
    """A question to choose: `message` is sent as if the person had typed it."""

    title: str
    message: str


@dataclass(frozen=True, kw_only=True)
class MarkdownFile:
    """A file for a person, usually Markdown: its name, the title that Slack shows, and its contents.

    Long contents are in `data` instead of `content`.
    """

    name: str
    title: str
    content: str = ""
    data: IOBase | None = None
