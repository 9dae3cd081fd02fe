"""What the app shows in Slack: messages with their Block Kit blocks, prompts, files, and sections of the home tab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from io import IOBase
from typing import Any, Literal, NamedTuple

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


Place = Literal["top", "page", "end", "admin", "admin_end"]
"""The place of a section in the home tab.

On a person's own page, `top` is in the first row of buttons, `end` in the last row of buttons, and `page` between them.
On the page for admins, `admin` is above the figures on the workspace's use, and `admin_end` below them.
"""


@dataclass(frozen=True, kw_only=True)
class HomeSection:
    """A section of the home tab; `blocks` returns its blocks, given the ids of the workspace and the person.

    At `top` and `end`, the blocks are buttons. For a section on the page for admins, `blocks` is called only after a
    check that the person is an admin. Buttons at `admin_end` go into the row of buttons that open complete lists.
    """

    place: Place
    blocks: Callable[[str, str], Awaitable[Sequence[Block]]]


def always(blocks: Callable[[], Sequence[Block]]) -> Callable[[str, str], Awaitable[Sequence[Block]]]:
    """Return the `blocks` function of a section whose blocks differ between people only in their language."""

    async def shown(_: str, __: str) -> Sequence[Block]:
        return blocks()

    return shown
