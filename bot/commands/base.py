"""Defines a command: how text becomes a request, an answer and messages."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from bot.commands.context import CommandContext
from bot.errors import UsageError
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import AnswerButtons, QuestionRow, StreamEnding, Thread, Turn
from bot.preferences.precedence import Preferred
from perplexity.filters import Filters
from perplexity.models import Effort

Request = TypeVar("Request")
Result = TypeVar("Result")

ONE_MOMENT = "*One moment…*"

ROOT_COMMAND = "pplx"
"""The umbrella: a slash command under which every command can be typed."""

PARSED_TEXTS = 128
"""How many texts a command remembers the meaning of."""


class ValueKind(Enum):
    """What the value of an option is, and so how a form asks for it."""

    TEXT = "text"
    CHOICE = "choice"
    """One of the words that `Option.value` lists."""
    DATE = "date"
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

    `missing` is what is said if that is empty. `categories` are the words one of which comes before the text, which is
    then `optional`.
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


def _itself(result: object) -> object:
    return result


def _unknown_length(result: object) -> int:
    """Return a length that is long."""
    return sys.maxsize


AtOnce = Callable[[str, str, str], Awaitable[str]]
"""Takes the ids of a workspace and a person, and the name that was typed; returns what to say. Raises database errors.
"""


async def _needs_stores(request: object, context: CommandContext) -> Any:
    """Answer nothing: only the command that is built with its stores, in `bot/app.py`, can."""
    raise NotImplementedError(context.row.command)


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Request, Result]):
    """One command: how its text is read, its request answered, and the answer shown."""

    name: str
    """Without a slash."""

    # What people read of it.

    summary: str
    """Its description in Slack's list of commands."""

    usage: str
    """What follows the name."""

    options: tuple[Option, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """Pairs of arguments and what they do."""

    form: CommandForm | None = None
    """How the modal for questions offers the command; None if it does not."""

    # Who may use it, and how.

    has_slash_command: bool = True
    """If not, the command is a subcommand of `/pplx` only."""

    runs_without_arguments: bool = False
    """If not, its name alone shows its help."""

    for_everyone: bool = False
    """Whether everyone in a channel can use it."""

    for_admins: bool = False
    """Whether only admins read of it in the help."""

    effort: Effort | None = None
    """The effort that it needs."""

    keeps_stages: bool = False
    """Whether it keeps the parts of an answer that are done, so that nothing is paid twice if it runs again."""

    free: bool = False
    """Whether it asks no service, so that no limit of questions applies."""

    # From text to a request.

    parse: Callable[[str], Request]
    """Return the request in a text; pure. Raises UsageError.

    What it returned for the last texts is kept, because the listener and the worker both parse a question's text.
    """

    prefer: Callable[[Request, Preferred], Request] | None = None
    """Return the request with what its asker and its channel have set."""

    add_turns: Callable[[Request, Sequence[Turn], Thread], Request] | None = None
    """Return the request with the earlier turns of its conversation, and other messages of its thread."""

    filters: Callable[[Request], Filters] | None = None
    """Return the filters of a request."""

    question_text: Callable[[Request], str] | None = None
    """Return the request's text without options, for messages that quote it."""

    about_text: Callable[[Request], str] | None = None
    """Return the message that the request is about; empty without one."""

    past_week: Callable[[str], str | None] | None = None
    """Return the text that asks the same for the past week; None if that would find no more."""

    deeper: Callable[[str], str | None] | None = None
    """Return the text that asks the same of a model that thinks longer; None if there is none."""

    # The answer.

    audience: Callable[[Request], Audience]
    """Return who sees the answer to a slash command."""

    pending_label: str = ONE_MOMENT
    """The beginning of the message that the answer replaces."""

    stoppable: bool = False
    """Whether that message has a button that stops the question."""

    render_pending: Callable[[Request, str, bool], OutgoingMessage] | None = None
    """Render another such message, from the request, the question's id and whether everyone sees the answer."""

    answer: Callable[[Request, CommandContext], Awaitable[Result]] = _needs_stores
    """Answer the request. Raises PerplexityError. A command with an `ending` passes its events to `on_event`."""

    at_once: AtOnce | None = None
    """Does for an admin, in the listener, what cannot wait for its turn behind other questions."""

    refusal: str = ""
    """What others are told who want that."""

    render: Callable[[Result, Request, Audience], Reply]
    """Render the result for those who see it in the conversation of the question."""

    result_length: Callable[[Result], int] = _unknown_length
    """Return how many characters of a result `render` reads."""

    ending: Callable[[Result, Request, Audience], StreamEnding] | None = None
    """Return the end of a result whose text was shown while it was made."""

    buttons: Callable[[Result, Request], AnswerButtons | None] | None = None
    """Return what can be done with a result; None if it has no content."""

    keep: Callable[[Result], object] = _itself
    """Return the answer or the search results that these buttons work with."""

    remember: Callable[[Result], str] | None = None
    """Return what of a result goes with the next question of its conversation."""

    nothing_found: Callable[[Request], str] | None = None
    """Return what was searched without a result."""

    render_failure: Callable[[Request, str, str], OutgoingMessage] | None = None
    """Render a failure, from the request, a sentence and a reference."""

    on_closed: Callable[[QuestionRow, str], Awaitable[None]] | None = None
    """Take Slack's error if the app may not post in the channel of a question that no person typed."""

    @property
    def example(self) -> str:
        """An example of what follows the name."""
        return self.examples[0][0] if self.examples else self.usage

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
