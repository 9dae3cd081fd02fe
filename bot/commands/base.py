"""Defines a command (how its text becomes a request, an answer and messages), and the services that it answers with."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Generic, Protocol, TypeVar

from bot.blocks.elements import section, spoken, stop_button
from bot.blocks.escaping import escape, one_line, shorten
from bot.errors import AgentNotSetUp, UsageError
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import AnswerButtons, KeptResult, QuestionRow, StreamEnding, Thread, Turn
from bot.preferences import Preferred
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import NullStageStore, StageStore
from perplexity.filters import Filters
from perplexity.models import Effort
from perplexity.providers.base import Provider
from perplexity.types import Answer, Event, Question

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Result = TypeVar("Result")

ONE_MOMENT = N_("*One moment…*")

ROOT_COMMAND = "pplx"
"""The umbrella: a slash command under which every command can be typed."""

MAX_QUOTED = 150
"""The most characters of a question that are quoted in its pending message."""

PARSED_TEXTS = 128
"""The number of texts whose parsed requests a command caches."""


class ValueKind(Enum):
    """The kind of an option's value, which decides its input in a form."""

    TEXT = "text"
    CHOICE = "choice"
    """One of the words that `Option.value` lists."""
    DATE = "date"
    ZONE = "zone"
    """A time zone of the IANA database."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a command, for the parser, the help and the form.

    `name` includes the dashes, such as `--recency`. `value` describes the option's value, such as `YYYY-MM-DD`, and is
    empty for a flag; for a choice it lists all values, separated by `|`. `label` is the option's title in a form.
    """

    name: str
    value: str = ""
    help: str
    short: str = ""
    kind: ValueKind = ValueKind.TEXT
    label: str = ""

    @property
    def title(self) -> str:
        """The title of the option in a form."""
        return _(self.label) or self.name.removeprefix("--").replace("-", " ").capitalize()

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a choice."""
        return tuple(self.value.split("|")) if self.kind is ValueKind.CHOICE else ()


@dataclass(frozen=True, kw_only=True)
class CommandForm:
    """How the modal for questions offers a command: its `title` in the menu, and the label of the field for its `text`.

    `missing` is the message if the field is empty. If there are `categories`, one of these words comes before the text,
    and the text is `optional`.
    """

    title: str
    text: str
    missing: str = ""
    categories: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether the text may be empty."""
        return bool(self.categories)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """The figures that the question's row records; `cost_usd` includes failed attempts, and is None if unknown."""

    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The messages that answer a request, and their stats."""

    messages: tuple[OutgoingMessage, ...]
    stats: Stats = Stats()


def _itself(result: object) -> object:
    return result


def _unknown_length(result: object) -> int:
    """Return the largest possible length, for a result whose length is not known."""
    return sys.maxsize


AtOnce = Callable[[str, str, str], Awaitable[str]]
"""Takes the ids of a workspace and a person, and the umbrella as typed; returns the reply. Raises database errors."""


async def _needs_stores(request: object, context: CommandContext) -> Any:
    """Raise NotImplementedError: only a command that was built with its stores in `bot/app.py` can answer."""
    raise NotImplementedError(context.row.command)


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Request, Result]):
    """One command: how its text is parsed, its request answered, and the answer rendered."""

    name: str
    """The name without a slash."""

    # How people read about the command.

    summary: str
    """The command's description in Slack's list of commands."""

    usage: str
    """The syntax of the text after the name."""

    options: tuple[Option, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """Pairs of arguments and their effect."""

    form: CommandForm | None = None
    """How the modal for questions offers the command; None if it does not."""

    # Who may use the command, and how.

    has_slash_command: bool = True
    """Whether the command is a slash command of its own, and not only a subcommand of `/pplx`."""

    runs_without_arguments: bool = False
    """Whether the command runs if only its name is typed and no form opens; otherwise its help is shown."""

    for_everyone: bool = False
    """Whether people can use the command in a channel even if they may not ask questions there."""

    for_admins: bool = False
    """Whether the help lists the command for admins only."""

    effort: Effort | None = None
    """The effort that the command requires, which the rules must allow; None if it requires none."""

    keeps_stages: bool = False
    """Whether the command saves the finished parts of an answer, so that a second run pays for nothing twice."""

    free: bool = False
    """Whether the command calls no service, so that no limit on questions applies."""

    # From text to a request.

    parse: Callable[[str], Request]
    """Returns the request in a text; pure. Raises UsageError.

    Recent results are cached: a question's text is parsed at several places, and a long one takes 20 ms.
    """

    prefer: Callable[[Request, Preferred], Request] | None = None
    """Returns the request with the settings of its asker and its channel."""

    add_turns: Callable[[Request, Sequence[Turn], Thread], Request] | None = None
    """Returns the request with the earlier turns of its conversation, and other messages of its thread."""

    filters: Callable[[Request], Filters] | None = None
    """Returns the filters of a request."""

    question_text: Callable[[Request], str] | None = None
    """Returns the request's text without options, for messages that quote it."""

    about_text: Callable[[Request], str] | None = None
    """Returns the message that the request is about; empty if there is none."""

    past_week: Callable[[str], str | None] | None = None
    """Returns the text that asks the same for the past week; None if that text would not find more."""

    deeper: Callable[[str], str | None] | None = None
    """Returns the text that asks the same with a higher effort; None if there is no higher effort."""

    # The answer.

    audience: Callable[[Request], Audience]
    """Returns the audience of the answer to a slash command."""

    pending_label: str = ONE_MOMENT
    """The beginning of the message that the answer replaces."""

    stoppable: bool = False
    """Whether the message that the answer replaces has a button that stops the question."""

    render_pending: Callable[[Request, str, bool], OutgoingMessage] | None = None
    """Renders a special pending message from the request, the question's id and whether everyone sees the answer."""

    answer: Callable[[Request, CommandContext], Awaitable[Result]] = _needs_stores
    """Answers the request. Raises PerplexityError. A command with an `ending` passes its events to `on_event`."""

    at_once: AtOnce | None = None
    """Acts for an admin at once, in the listener; None if the command waits in the queue like other questions."""

    refusal: str = ""
    """The reply to people who may not use `at_once`."""

    render: Callable[[Result, Request, Audience], Reply]
    """Renders the result for its readers in the conversation of the question."""

    result_length: Callable[[Result], int] = _unknown_length
    """Returns the number of characters of a result that `render` reads."""

    ending: Callable[[Result, Request, Audience], StreamEnding] | None = None
    """Returns the end of a result whose text was shown while the model wrote it."""

    buttons: Callable[[Result, Request], AnswerButtons | None] | None = None
    """Returns the facts that decide the buttons below a result; None if the result has no content."""

    keep: Callable[[Result], object] = _itself
    """Returns the answer or the search results that are saved for the buttons."""

    remember: Callable[[Result], str] | None = None
    """Returns the part of a result that is sent with the next question of its conversation."""

    nothing_found: Callable[[Request], str] | None = None
    """Returns the sentence for a search without results."""

    render_failure: Callable[[Request, str, str], OutgoingMessage] | None = None
    """Renders a failure, from the request, a sentence and a reference."""

    on_closed: Callable[[QuestionRow, str], Awaitable[None]] | None = None
    """Receives Slack's error if the app may not post in the channel of a scheduled question, such as a digest."""

    @property
    def example(self) -> str:
        """An example of the text after the name."""
        return self.examples[0][0] if self.examples else self.usage

    def __post_init__(self) -> None:
        object.__setattr__(self, "parse", lru_cache(maxsize=PARSED_TEXTS)(self.parse))

    def parse_question_text(self, text: str) -> str:
        """Return the question in a text, without options; empty if the text is invalid or the command quotes none."""
        return self._read(self.question_text, text)

    def parse_about_text(self, text: str) -> str:
        """Return the message that the question in a text is about; empty if there is none or the text is invalid."""
        return self._read(self.about_text, text)

    def _read(self, part: Callable[[Request], str] | None, text: str) -> str:
        if part is None:
            return ""
        try:
            return part(self.parse(text))
        except UsageError:
            return ""

    def pending_message(
        self, request: Request, *, question_id: str, public: bool = False, ahead: str = ""
    ) -> OutgoingMessage:
        """Render the message that the answer to a request replaces; `ahead` is a sentence on the wait.

        A `public` answer to a slash command is a new message. If the pending message then cannot be deleted, its text
        must still be true.
        """
        waits = [section(ahead)] if ahead else []
        if self.render_pending is not None:
            message = self.render_pending(request, question_id, public)
            return spoken(*message.blocks, *waits)
        question = self.question_text(request) if self.question_text is not None else ""
        quoted = escape(shorten(one_line(question), MAX_QUOTED))
        text = _(self.pending_label)
        text = _("{label} for “{question}”").format(label=text, question=quoted) if question.strip() else text
        text = _("{label} has started. The answer is for everyone here.").format(label=text) if public else text
        stop = [stop_button(question_id)] if self.stoppable else []
        return spoken(section(text), *waits, *stop)

    def without(self, option: Option) -> Command[Request, Result]:
        """Return the same command, but with help that does not list an option."""
        return replace(
            self,
            usage=" ".join(self.usage.replace(f"[{option.name}]", "").split()),
            options=tuple(one for one in self.options if one is not option),
            examples=tuple((line, what) for line, what in self.examples if option.name not in line.split()),
        )


def asker_alone(request: Any) -> Audience:
    """Return the audience of the asker alone."""
    return Audience.ASKER


def one_message(message: OutgoingMessage, request: object, audience: Audience) -> Reply:
    """Return the reply of a command whose answer is a message already."""
    return Reply(messages=(message,))


free_subcommand = partial(
    Command, has_slash_command=False, runs_without_arguments=True, free=True, audience=asker_alone
)
"""Makes a command of `/pplx` that asks no service, may have no arguments, and replies to its asker only."""


class SearchingAgent(Protocol):
    """A model that searches step by step before it answers."""

    async def answer(self, question: Question) -> Answer:
        """Return one answer with sources. Raises PerplexityError and nothing else."""
        ...


@dataclass(frozen=True, kw_only=True)
class DisabledAgent:
    """Replaces an agent that is not configured; `missing` is the name of the setting that is not set."""

    missing: str

    async def answer(self, question: Question) -> Answer:
        """Log the missing setting and raise AgentNotSetUp."""
        log.warning("agent.not_set_up", extra={"setting": self.missing})
        raise AgentNotSetUp(f"{self.missing} is not set")


PACE_SECONDS = 3.0
"""The shortest time between two updates of a message. https://docs.slack.dev/ai/developing-ai-apps"""


class Progress(Protocol):
    """The message that shows the progress of a question until the answer replaces it.

    An `editable` message can be changed every few seconds; other messages change only at milestones.
    """

    @property
    def editable(self) -> bool:
        """Whether the message can be changed every few seconds."""
        ...

    @property
    def milestones_shown(self) -> int:
        """The number of milestones that were shown already: by the pending message, or before a restart."""
        ...

    @property
    def response_url_uses(self) -> int:
        """The number of uses of the response_url so far."""
        ...

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool | None:
        """Show a message; return whether it arrived, None if that is unknown. The caller shows a lost milestone again.

        Raises RequestCancelled if the question is stopped or taken over.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services that answer questions. `model` answers from the given text, without a search."""

    provider: Provider
    model: Provider
    deepdives: DeepDiveRunner
    agent: SearchingAgent


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """The question of a command, with the means to answer it; the command's stores are not among them."""

    row: QuestionRow
    parent: KeptResult | None = None
    """The answer or the search results whose button asked this question."""

    services: Services
    on_run: Callable[[str], Awaitable[None]] | None = None
    """Records the id of a new background run."""

    check_cancelled: Callable[[], Awaitable[None]] | None = None
    """Raises RequestCancelled once the answer is no longer wanted."""

    stages: StageStore = field(default_factory=NullStageStore)
    """Saves the finished parts of a long answer."""

    progress: Progress
    on_event: Callable[[Event], None] | None = None
    """Receives the events of an answer that is shown while it is written."""

    text_shown: Callable[[], bool] = lambda: False
    """Returns whether any text of the answer was shown."""

    now: Callable[[], float] = time.time
    """Returns seconds since 1970."""
