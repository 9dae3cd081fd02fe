"""The settings of people, channels and workspaces; a setting that is not set is None or empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from perplexity.models import Effort
from perplexity.scope import N_

Visibility = Literal["private", "public"]

EVERYONE = "everyone"
ADMINS = "admins"
NO_MODELS = ("none",)


@dataclass(frozen=True, kw_only=True)
class PersonSettings:
    """A person's preferences. `model` is a model or an effort, `language` is ISO 639-1, `domains` are as in `Filters`.

    `follow_ups` is whether the person's replies without a mention are questions.
    """

    model: str | None = None
    visibility: Visibility | None = None
    language: str | None = None
    domains: tuple[str, ...] = ()
    follow_ups: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ChannelSettings:
    """The settings of a channel: defaults for people without preferences, and rules for all.

    `allow` and `deny` are host names without a `-`; an empty `allow` allows all. `askers` is `EVERYONE`, `ADMINS`, or
    ids of people and user groups, separated by spaces. `history` is whether earlier messages of a thread are sent with
    a question. `external` is whether guests and people from elsewhere may ask. `files` is whether the files of
    questions are sent, if the workspace allows it. `max_effort`, `models` and `instructions` are as in
    `WorkspaceSettings`.
    """

    place: ClassVar[str] = N_("channel")

    max_effort: Effort | None = None
    models: tuple[str, ...] = ()
    instructions: str | None = None
    model: str | None = None
    visibility: Visibility | None = None
    language: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    askers: str = EVERYONE
    history: bool | None = None
    follow_ups: bool | None = None
    external: bool | None = None
    files: bool | None = None


@dataclass(frozen=True, kw_only=True)
class WorkspaceSettings:
    """The rules of a workspace, which its channels can only narrow.

    `models` are the allowed models as `vendor/model`; `NO_MODELS` allows none, an empty tuple all. `instructions` come
    before each conversation. `store_nothing` excludes answers that the search service would store. `files` allows
    sending the files of questions. `allow` and `deny` are as in `ChannelSettings`.
    """

    place: ClassVar[str] = N_("workspace")

    max_effort: Effort | None = None
    models: tuple[str, ...] = ()
    instructions: str | None = None
    store_nothing: bool | None = None
    files: bool | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


Rules = WorkspaceSettings | ChannelSettings


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """The settings of a person, of the channel that the person is in, and of the workspace.

    `defaults` maps the name of a field to words for the app's own value, which applies while nothing else is set.
    """

    person: PersonSettings = PersonSettings()
    channel: ChannelSettings = ChannelSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def rules(self) -> tuple[Rules, ...]:
        """The rules that apply to everyone in the channel: the workspace's, then the channel's."""
        return self.workspace, self.channel


NO_PREFERENCES = Preferences()
