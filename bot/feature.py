"""The interface through which the core uses features.

A feature is a part of the app in a folder of its own, which the core uses only through this interface.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.blocks.answer import AnswerPart
from bot.chain import Chain, OnReply
from bot.command_line import Subcommand
from bot.commands import COMMANDS, in_order
from bot.commands.base import ROOT_COMMAND, Command
from bot.delivery.home_tabs import HomeTabs
from bot.delivery.status_message import StatusMessages
from bot.doctor.checks import Check
from bot.listeners.context import Register
from bot.listeners.intake import Admission
from bot.listeners.slash import Opening
from bot.manifest import SHORTCUTS, Offers, Shortcut
from bot.model.admin import FindProblems, LaneUse, Problem
from bot.model.message import Block, HomeSection, Place
from bot.model.spending import Spending
from bot.process import Periodic
from bot.settings import Settings
from bot.slack.messages import Chat
from bot.slack.users import Admins, SlackUsers
from bot.storage.questions import Pool, QuestionStore
from bot.web.metrics import Metrics
from bot.worker.admin_notices import AdminNotices
from bot.worker.background import FileUploader


@dataclass(frozen=True, kw_only=True)
class Together:
    """The commands and home sections of the core and all started features; `problems` finds problems for admins."""

    commands: Sequence[Command[Any, Any]]
    home_sections: Sequence[HomeSection]
    problems: Callable[[str, Spending], Awaitable[Sequence[Problem]]]

    async def blocks(self, place: Place, team_id: str, user_id: str) -> list[Block]:
        """Return the blocks of a place in a person's home tab. Raises database errors."""
        sections = [one for one in self.home_sections if one.place == place]
        return [block for one in sections for block in await one.blocks(team_id, user_id)]


@dataclass(frozen=True, kw_only=True)
class Core:
    """The parts of the core that features may use.

    `work` and `acks` are pools of connections: `work` is for the work on questions, `acks` for acknowledgements, and
    `questions` uses `acks`. `slash` is the umbrella command. `start` runs work in the background, `cancel_runs` starts
    cancelling runs at the services. `reply_listeners` are called with each reply that is paid for.
    """

    settings: Settings
    work: Pool
    acks: Pool
    chat: Chat
    replies: StatusMessages
    admins: Admins
    admission: Admission
    users: SlackUsers
    questions: QuestionStore
    home: HomeTabs
    together: Callable[[], Together]
    chain: Chain
    metrics: Metrics
    files: FileUploader
    notices: AdminNotices
    service_limits: Callable[[], Awaitable[Sequence[LaneUse]]]
    reply_listeners: list[OnReply]
    cancel_runs: Callable[[Sequence[str]], None]
    start: Callable[[Coroutine[Any, Any, None]], None]

    @property
    def slash(self) -> str:
        """The umbrella command, as it is typed."""
        return f"/{self.settings.command_prefix}{ROOT_COMMAND}"


@dataclass(frozen=True, kw_only=True)
class Running:
    """The parts that a feature adds to a process.

    `commands` are complete with their stores, and replace the commands of the same names in `Feature.commands`. `forms`
    maps the name of a command to the function that opens its form if the command is typed without arguments. `periodic`
    work runs as long as the process; `problems` finds problems for admins.
    """

    commands: tuple[Command[Any, Any], ...] = ()
    listeners: tuple[Register, ...] = ()
    forms: Mapping[str | None, Opening] = field(default_factory=dict)
    home_sections: tuple[HomeSection, ...] = ()
    periodic: tuple[Periodic, ...] = ()
    problems: FindProblems | None = None


class SettingsTable(Protocol):
    """A table of the settings file, with names and values as in TOML. Every method may raise database errors."""

    @property
    def name(self) -> str:
        """The table's name in the file."""
        ...

    async def read(self) -> Mapping[tuple[str, str], object]:
        """Return the values set by admins, by workspace and name."""
        ...

    async def check(self, name: str, value: object) -> tuple[str, object]:
        """Return the name and the value in the form in which `read` returns them. Raises UsageError or ValueError."""
        ...

    async def change(self, team_id: str, values: Mapping[str, object]) -> None:
        """Set values, and remove those that are None. The audit log names no person for the change."""
        ...

    async def explain(self, team_id: str, user_id: str, channel_id: str) -> Sequence[tuple[str, str, str]]:
        """Return the values in force for a person in a channel: names, values, and the level that set them."""
        ...


OpenTable = Callable[[Pool, Settings], SettingsTable]


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature: the parts that exist without a running process, and `start`, which adds the others in a process."""

    name: str
    start: Callable[[Core], Running] = lambda _: Running()
    commands: tuple[Command[Any, Any], ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    answer_parts: tuple[AnswerPart, ...] = ()
    doctor_checks: tuple[Check, ...] = ()
    cli: tuple[Subcommand, ...] = ()
    settings_table: OpenTable | None = None


@dataclass(frozen=True, kw_only=True)
class Brought:
    """The parts of the core and of all features that exist without a running process."""

    commands: tuple[Command[Any, Any], ...]
    answer_parts: tuple[AnswerPart, ...]
    offers: Offers
    checks: tuple[Check, ...]
    subcommands: tuple[Subcommand, ...]
    settings_tables: tuple[OpenTable, ...]


def bring_together(features: Sequence[Feature]) -> Brought:
    """Return the parts of these features and of the core."""
    listed = in_order((*COMMANDS, *(one for feature in features for one in feature.commands)))
    return Brought(
        commands=listed,
        answer_parts=tuple(part for feature in features for part in feature.answer_parts),
        offers=Offers(
            commands=listed, shortcuts=(*SHORTCUTS, *(one for feature in features for one in feature.shortcuts))
        ),
        checks=tuple(check for feature in features for check in feature.doctor_checks),
        subcommands=tuple(one for feature in features for one in feature.cli),
        settings_tables=tuple(one.settings_table for one in features if one.settings_table is not None),
    )
