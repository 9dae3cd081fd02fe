"""What a person and a channel have set; None or an empty list for what is not set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Visibility = Literal["private", "public"]

EVERYONE = "everyone"
ADMINS = "admins"


@dataclass(frozen=True, kw_only=True)
class PersonSettings:
    """What a person prefers. `model` is a model or an effort, `language` ISO 639-1, `domains` as in `Filters`.

    `follow_ups` is whether the person's replies without a mention are questions.
    """

    model: str | None = None
    visibility: Visibility | None = None
    language: str | None = None
    domains: tuple[str, ...] = ()
    follow_ups: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ChannelSettings:
    """The settings of a channel: defaults for people who prefer nothing, and rules for all.

    `allow` and `deny` are host names without a `-`; an empty `allow` allows all. `askers` is `EVERYONE`, `ADMINS`, or
    user ids with spaces between them. `history` is whether what people wrote in a thread is sent with a question.
    `external` is whether guests and people from elsewhere may ask.
    """

    place: ClassVar[str] = "channel"

    model: str | None = None
    visibility: Visibility | None = None
    language: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    askers: str = EVERYONE
    history: bool | None = None
    follow_ups: bool | None = None
    external: bool | None = None


@dataclass(frozen=True, kw_only=True)
class WorkspaceSettings:
    """The rules of a workspace, which its channels can only narrow: `allow` and `deny` as in `ChannelSettings`."""

    place: ClassVar[str] = "workspace"

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


Rules = WorkspaceSettings | ChannelSettings


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """The settings of a person, of the channel that the person is in, and of the workspace."""

    person: PersonSettings = PersonSettings()
    channel: ChannelSettings = ChannelSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()

    @property
    def rules(self) -> tuple[Rules, ...]:
        """What holds for everyone there, the wider first."""
        return self.workspace, self.channel


NO_PREFERENCES = Preferences()
