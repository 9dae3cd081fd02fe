"""Defines a command: how text becomes a request, an answer and messages."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from bot.errors import AgentNotSetUp, UsageError
from bot.model.audit import AuditHealth
from bot.model.digest import DigestService
from bot.model.feedback import NO_FEEDBACK, Feedback
from bot.model.message import Audience, OutgoingMessage
from bot.model.preferences import NO_PREFERENCES, ChannelSettings
from bot.model.provider_stats import ProviderStats
from bot.model.question import AnswerButtons, StreamEnding, Thread, Turn
from bot.model.results import KeptResult
from bot.preferences.precedence import Preferred
from bot.slack.users import Management
from bot.storage.budgets import BudgetStore
from bot.storage.preferences import PreferenceStore
from bot.texts.progress import ONE_MOMENT
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import NullStageStore, StageStore
from perplexity.filters import Filters
from perplexity.providers.base import Provider
from perplexity.types import Answer, Event, Question

log = logging.getLogger(__name__)


class Agent(Protocol):
    """A model that searches step by step before it answers."""

    async def answer(self, question: Question) -> Answer:
        """Return one answer with sources. Raise PerplexityError and nothing else."""
        ...


@dataclass(frozen=True, kw_only=True)
class DisabledAgent:
    """Replaces an agent that is not set up; `missing` is the name of the setting."""

    missing: str = "AGENT_MODEL"

    async def answer(self, question: Question) -> Answer:
        """Log the missing setting and raise AgentNotSetUp."""
        log.warning("agent.not_set_up", extra={"setting": self.missing})
        raise AgentNotSetUp(f"{self.missing} is not set")


DISABLED_AGENT = DisabledAgent()


PACE_SECONDS = 3.0
"""The shortest time between two updates of a message. https://docs.slack.dev/ai/developing-ai-apps"""


class Progress(Protocol):
    """The message that shows the progress of a question until the answer replaces it.

    An `editable` message can be changed every few seconds, another only at milestones.
    """

    @property
    def editable(self) -> bool:
        """Whether the message can be changed every few seconds."""
        ...

    @property
    def milestones_shown(self) -> int:
        """How many milestones were shown before: by the pending message, or before a restart."""
        ...

    @property
    def response_url_uses(self) -> int:
        """How many uses of the response_url it has taken."""
        ...

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool | None:
        """Show a message; return whether it arrived, None if that is unknown. A milestone that did not is shown again.

        Raise RequestCancelled if the question is stopped or taken over.
        """
        ...


class NullProgress:
    """Shows nothing."""

    editable = False
    milestones_shown = 0
    response_url_uses = 0

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show nothing."""
        return True


NULL_PROGRESS = NullProgress()


Request = TypeVar("Request")
Result = TypeVar("Result")

NO_QUESTION = UUID(int=0)

PARSED_TEXTS = 128
"""How many texts a command remembers the meaning of."""


class ValueKind(Enum):
    """What the value of an option is, and so how a form asks for it."""

    TEXT = "text"
    CHOICE = "choice"
    """One of the words that `Option.value` lists."""
    DATE = "date"
    DAYS = "days"
    """Days of the week."""
    ZONE = "zone"
    """A time zone of the IANA database."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a command, for the parser, the help and the form.

    `name` is such as `--recency`. `value` is the form of its value, empty for a flag; that of a choice has all values,
    with `|` between. `label` is what a form calls it.
    """

    name: str
    value: str = ""
    help: str
    short: str = ""
    kind: ValueKind = ValueKind.TEXT
    label: str = ""

    @property
    def title(self) -> str:
        """What a form calls the option."""
        return self.label or self.name.removeprefix("--").replace("-", " ").capitalize()

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a choice."""
        return tuple(self.value.split("|")) if self.kind is ValueKind.CHOICE else ()


@dataclass(frozen=True, kw_only=True)
class CommandForm:
    """How the modal for questions offers a command: in a menu as `title`, with a field for the `text`.

    `categories` are the words one of which comes before the text, which is then `optional`.
    """

    title: str
    text: str
    categories: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether the text may be empty."""
        return bool(self.categories)


class Admins(Protocol):
    """The admins of the workspace."""

    async def is_admin(self, user_id: str) -> bool:
        """Return whether a user is an admin."""
        ...

    async def check_admin(self, user_id: str) -> bool | None:
        """Return whether a user is an admin; None if that is unknown."""
        ...


async def no_uploads() -> bool:
    """Return False: files cannot be sent."""
    return False


async def manages_nothing(user_id: str, channel_id: str) -> Management:
    """Return that no one may change a channel's settings."""
    return Management.DENIED


async def no_feedback(team_id: str) -> Feedback:
    """Return nothing: no answer was rated."""
    return NO_FEEDBACK


async def no_audit() -> AuditHealth:
    """Return that nothing is wrong."""
    return AuditHealth()


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """What a command may use to answer a request.

    `user_id` is the asker's, `question_id` the id of the question, `team_id` and `channel_id` those of its place.
    `provider_stats` returns the statistics of the last day, `feedback` what was said of a workspace's answers, `audit`
    whether the audit log is written; they raise database errors. `preferences` holds the settings, `budgets` what is
    and may be spent, `management` returns whether a person may change those of a channel, by their ids. `run_id` is the
    background run to resume and `on_run` records a new one. `check_cancelled` raises once the answer is no longer
    wanted. `now` returns seconds since 1970. Without a `deepdives`, `provider` makes deep dives. `stages` saves the
    parts of a long answer, `progress` shows them, at most once in `pace_seconds`. `on_event` is called with the events
    of an answer that a command shows while it is made, `text_shown` returns whether text of it was shown. `can_upload`
    returns whether files can be sent. `parent` is the answer or the search results below which the button `action`
    asked this. With `next_questions` an answer suggests some. `model` answers from what it is given, without a search;
    None without one. `channel` are the present settings of the place.
    """

    provider: Provider
    admins: Admins
    provider_stats: Callable[[], Awaitable[Sequence[ProviderStats]]]
    digests: DigestService
    user_id: str
    agent: Agent = DISABLED_AGENT
    run_id: str | None = None
    on_run: Callable[[str], Awaitable[None]] | None = None
    check_cancelled: Callable[[], Awaitable[None]] | None = None
    now: Callable[[], float] = time.time
    question_id: UUID = NO_QUESTION
    team_id: str = ""
    channel_id: str = ""
    deepdives: DeepDiveRunner | None = None
    stages: StageStore = field(default_factory=NullStageStore)
    progress: Progress = NULL_PROGRESS
    on_event: Callable[[Event], None] | None = None
    text_shown: Callable[[], bool] = lambda: False
    pace_seconds: float = PACE_SECONDS
    can_upload: Callable[[], Awaitable[bool]] = no_uploads
    feedback: Callable[[str], Awaitable[Feedback]] = no_feedback
    audit: Callable[[], Awaitable[AuditHealth]] = no_audit
    next_questions: bool = False
    preferences: PreferenceStore | None = None
    budgets: BudgetStore | None = None
    management: Callable[[str, str], Awaitable[Management]] = manages_nothing
    parent: KeptResult | None = None
    action: str = ""
    model: Provider | None = None
    channel: ChannelSettings = NO_PREFERENCES.channel


@dataclass(frozen=True, kw_only=True)
class Stats:
    """What the question's row records of an answer; `cost_usd` includes failed attempts, None means unknown."""

    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The messages that answer a request, and their stats."""

    messages: tuple[OutgoingMessage, ...]
    stats: Stats = Stats()


def _unknown_length(result: object) -> int:
    """Return a length that is long."""
    return sys.maxsize


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Request, Result]):
    """One command.

    `name` has no slash. Without `has_slash_command` the command is a subcommand of `/pplx` only. With
    `runs_without_arguments` it runs if nothing follows its name; otherwise its help is shown.

    `summary` is its description in Slack's list, `usage` what follows the name, `examples` are pairs of arguments and
    what they do. `parse` is pure and raises UsageError; what it returned for the last texts is kept, because the
    listener and the worker both parse a question's text. `audience` returns who sees the answer to a slash command;
    `render` gets who sees it in the conversation of the question.

    `question_text` returns the request's text without options, for messages that quote it, and `about_text` the message
    that it is about, empty without one. `pending_label` begins the message that the answer replaces; a `stoppable`
    question's has a button that stops it. `render_pending` renders
    another such message, from the request, the question's id and whether everyone sees the answer. `render_failure`
    renders a failure from the request, a sentence and a reference. `nothing_found` returns what was searched without a
    result. `past_week` returns the text that asks the same for the past week, None if that would find no more.
    `result_length` returns how many characters of a result `render` reads. `add_turns` returns a request that goes
    along with the earlier turns of its conversation and other messages of its thread. `remember` returns what of a
    result goes along with the next question of its conversation. `ending` returns how a result ends whose text was
    shown while it was made; a command with one calls `on_event`. `buttons` returns what can be done with a result.
    `deeper` returns the text that asks the same of a model that thinks longer, None if there is none. `form` is how the
    modal for questions offers the command, None if it does not. `filters` returns the filters of a request. `prefer`
    returns the request with what its asker and its channel have set. One `for_everyone` can be used by everyone in a
    channel; a `free` one asks no service, so that no limit of questions applies.
    """

    name: str
    summary: str
    usage: str
    options: tuple[Option, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    pending_label: str = ONE_MOMENT
    stoppable: bool = False
    has_slash_command: bool = True
    runs_without_arguments: bool = False
    parse: Callable[[str], Request]
    audience: Callable[[Request], Audience]
    answer: Callable[[Request, CommandContext], Awaitable[Result]]
    render: Callable[[Result, Request, Audience], Reply]
    question_text: Callable[[Request], str] | None = None
    about_text: Callable[[Request], str] | None = None
    render_pending: Callable[[Request, str, bool], OutgoingMessage] | None = None
    render_failure: Callable[[Request, str, str], OutgoingMessage] | None = None
    nothing_found: Callable[[Request], str] | None = None
    past_week: Callable[[str], str | None] | None = None
    result_length: Callable[[Result], int] = _unknown_length
    add_turns: Callable[[Request, Sequence[Turn], Thread], Request] | None = None
    remember: Callable[[Result], str] | None = None
    ending: Callable[[Result, Request, Audience], StreamEnding] | None = None
    buttons: Callable[[Result, Request], AnswerButtons] | None = None
    deeper: Callable[[str], str | None] | None = None
    form: CommandForm | None = None
    filters: Callable[[Request], Filters] | None = None
    prefer: Callable[[Request, Preferred], Request] | None = None
    for_everyone: bool = False
    free: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "parse", lru_cache(maxsize=PARSED_TEXTS)(self.parse))

    def parse_question_text(self, text: str) -> str:
        """Return the question in a text without options; empty if it cannot be parsed or the command quotes none."""
        return self._read(self.question_text, text)

    def parse_about_text(self, text: str) -> str:
        """Return the message that the question in a text is about; empty without one."""
        return self._read(self.about_text, text)

    def _read(self, part: Callable[[Request], str] | None, text: str) -> str:
        if part is None:
            return ""
        try:
            return part(self.parse(text))
        except UsageError:
            return ""

    def without(self, option: Option) -> Command[Request, Result]:
        """Return the command with a help that does not list an option."""
        return replace(
            self,
            usage=" ".join(self.usage.replace(f"[{option.name}]", "").split()),
            options=tuple(one for one in self.options if one is not option),
            examples=tuple((line, what) for line, what in self.examples if option.name not in line.split()),
        )


def asker_alone(_: Any) -> Audience:
    """Return that only the asker sees the reply."""
    return Audience.ASKER


free_subcommand = partial(
    Command, has_slash_command=False, runs_without_arguments=True, free=True, audience=asker_alone
)
"""Makes a command of `/pplx` that asks no service, also without arguments, and whose reply only its asker sees."""
