"""What a command is: text in, request, reply, messages out."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from bot.errors import AgentNotSetUp, UsageError
from bot.model.digest import Watching
from bot.model.message import Audience, OutgoingMessage
from bot.model.provider_stats import ProviderFigures
from perplexity.deepdive.pipeline import Diver
from perplexity.deepdive.types import NoStore, StageStore
from perplexity.providers.base import Provider
from perplexity.types import Answer, Question

log = logging.getLogger(__name__)


class Agent(Protocol):
    """A model that searches step by step before it answers."""

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises a PerplexityError, and nothing else, when it fails."""
        ...


@dataclass(frozen=True, kw_only=True)
class Nobody:
    """In place of an agent that is not set up; `missing` is the setting's name."""

    missing: str = "AGENT_MODEL"

    async def answer(self, question: Question) -> Answer:
        """Tell the log what is missing; raise AgentNotSetUp."""
        log.warning("agent.not_set_up", extra={"setting": self.missing})
        raise AgentNotSetUp(f"{self.missing} is not set")


NOBODY = Nobody()


class Progress(Protocol):
    """The one message that says how far a question has come, until its answer takes its place.

    A `live` message can be changed every few seconds; any other only at milestones, which are few.
    """

    @property
    def live(self) -> bool:
        """Whether the message can be changed often."""
        ...

    @property
    def shown(self) -> int:
        """How many milestones were shown before: by the announcement, or before a restart."""
        ...

    @property
    def uses(self) -> int:
        """How many uses of the response_url it has taken so far."""
        ...

    async def show(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show how far it has come, and tell whether that arrived: a milestone that did not can be shown once more.

        Raises Withdrawn when the question is not wanted any more, or another worker's.
        """
        ...


class Silent:
    """Shows nothing."""

    live = False
    shown = 0
    uses = 0

    async def show(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show nothing."""
        return True


SILENT = Silent()


Request = TypeVar("Request")
Reply = TypeVar("Reply")

NO_QUESTION = UUID(int=0)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option as the asker may write it: `--recency`, its value's form (empty for a flag) and what it does."""

    name: str
    value: str = ""
    help: str
    short: str = ""


class Office(Protocol):
    """What the app knows of its own work, and of who may see it."""

    async def is_admin(self, user_id: str) -> bool:
        """Tell whether a person is an admin."""
        ...

    async def figures(self) -> Sequence[ProviderFigures]:
        """Return how the providers did in the last day."""
        ...

    @property
    def watching(self) -> Watching:
        """Where digests are kept."""
        ...


async def never() -> bool:
    """Tell that it is not so."""
    return False


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a command may use to answer: the provider, the app's office, and the background run to resume or to record.

    `asker` is the id of who asks; `agent` is nobody where none is set up. `now` gives seconds since 1970.
    `question` is the id of what is answered, `team` and `channel` those of where it was asked. `diver` makes deep
    dives, None where the provider does; `stages` keeps what a long answer has come to, `progress` shows it.
    `sends_files` returns whether files can be sent. `wanted` raises Withdrawn once the answer is not wanted.
    """

    provider: Provider
    office: Office
    asker: str
    agent: Agent = NOBODY
    run_id: str | None = None
    on_run: Callable[[str], Awaitable[None]] | None = None
    wanted: Callable[[], Awaitable[None]] | None = None
    now: Callable[[], float] = time.time
    question: UUID = NO_QUESTION
    team: str = ""
    channel: str = ""
    diver: Diver | None = None
    stages: StageStore = field(default_factory=NoStore)
    progress: Progress = SILENT
    sends_files: Callable[[], Awaitable[bool]] = never


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Request, Reply]):
    """One command.

    `name` has no slash; without `own_name` the command is reached under the umbrella only, and a `bare` one is meant,
    not helped with, when nothing follows its name. `summary` is its line in Slack's own list, `usage` what follows the
    name, `examples` are pairs of arguments and what they do. `parse` is pure and raises `UsageError`; the worker calls
    it again. `audience` says who will see the answer to a request behind a slash; `render` is told who sees it where it
    is shown. `asked` returns what a request asks, without its options, for the lines that quote it. `placeholder`
    renders the message that the answer replaces, from the request, the question's id and whether everyone sees the
    answer; `failed` renders a failure from the request, a sentence and a reference; None for the usual messages.
    `nothing_found` says what was searched when nothing was found; `past_week` returns the text that asks the same for
    the past week, None if that would find no more.
    """

    name: str
    summary: str
    usage: str
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    own_name: bool = True
    bare: bool = False
    parse: Callable[[str], Request]
    audience: Callable[[Request], Audience]
    answer: Callable[[Request, Work], Awaitable[Reply]]
    render: Callable[[Reply, Request, Audience], tuple[OutgoingMessage, ...]]
    asked: Callable[[Request], str] | None = None
    placeholder: Callable[[Request, str, bool], OutgoingMessage] | None = None
    failed: Callable[[Request, str, str], OutgoingMessage] | None = None
    nothing_found: Callable[[Request], str] | None = None
    past_week: Callable[[str], str | None] | None = None

    def asks(self, text: str) -> str:
        """Return what a text asks, without its options; empty if it cannot be parsed or the command quotes nothing."""
        if self.asked is None:
            return ""
        try:
            return self.asked(self.parse(text))
        except UsageError:
            return ""

    def without(self, option: Option) -> Command[Request, Reply]:
        """Return the command as its help shows it to people who cannot, or need not, use an option."""
        return replace(
            self,
            usage=" ".join(self.usage.replace(f"[{option.name}]", "").split()),
            options=tuple(one for one in self.options if one is not option),
            examples=tuple((line, what) for line, what in self.examples if option.name not in line.split()),
        )
