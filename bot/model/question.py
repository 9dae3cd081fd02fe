"""A question in Slack from its arrival to its result, the settings that apply to it, and its saved result."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, ClassVar, Literal, NamedTuple
from uuid import UUID, uuid4

from bot.model.message import Block, OutgoingMessage
from perplexity.citations import CitedText
from perplexity.deepdive.types import load_attempt
from perplexity.models import Effort
from perplexity.scope import N_
from perplexity.types import Answer, AnswerKind, Passage, SearchResults, Usage
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.wire.sources import load_source

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


OPEN = frozenset({"received", "working", "delivering"})
"""The states of a question that is not closed yet."""

RECORDED = "Recorded example"
"""The provider's name in a recorded answer, for which no service was called."""

CHANNEL_THREADS = frozenset({"mention", "follow_up"})
"""The surfaces whose questions are messages in channels, answered in their threads for everyone there."""

CLOCKS_DIFFER_SECONDS = 300.0
"""The clocks of the database (questions) and of Slack (messages) differ by less than this."""


class SharedFile(NamedTuple):
    """A file of a message in Slack; `name` is empty if the event has no name, as for another workspace's file."""

    id: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class NewQuestion:
    """A question as a listener saves it."""

    id: UUID = field(default_factory=uuid4)
    delivery_key: str
    """A key that is the same for all deliveries of one question."""

    surface: str
    command: str
    text: str
    team_id: str
    channel_id: str
    user_id: str
    response_url: str | None = field(default=None, repr=False)
    thread_ts: str | None = None
    """The thread of the answer."""

    message_ts: str | None = None
    """The `ts` of the message that the answer replaces; None if the answer is a new message."""

    again: UUID | None = None
    """The earlier question that this one asks again."""

    starts_conversation: bool = False
    """Whether the question begins a new conversation instead of continuing an earlier one."""

    parent: UUID | None = None
    """The earlier question, if a button below its answer asked this one; the new answer has a message of its own."""

    action: str = ""
    """The action of the button that asked this question; empty without a button."""

    resubmittable: bool = False
    """Whether the person can click or submit again after a refusal; if so, the refusal is not saved."""

    late_seconds: int = 0
    """The delay in seconds of a message that Slack did not deliver at the first attempt; 0 otherwise."""

    limited: bool = True
    """Whether the limits on the number of questions apply."""

    queue: str = "default"
    """The queue of the question's job, named after the lane of the question's first call to a service."""

    files: tuple[SharedFile, ...] = ()
    """The files of the message that asks the question."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A person's choices in the modal for questions: a command, and its options by name; a flag's value is empty."""

    command: str
    options: Mapping[str, str] = field(default_factory=dict)


class Received(Enum):
    """The result of receiving a question."""

    NEW = "new"
    DUPLICATE = "known"
    """The question was received before."""
    TOO_MANY_OPEN = "too_many_open"
    """The person has as many open questions as allowed; the question was not saved."""
    TOO_FAST = "too_fast"
    """The person, or the channel, has asked as often as allowed; the question was not saved."""
    THREAD_FULL = "thread_full"
    """The thread has had as many answers as a minute allows; the question was not saved."""
    THREAD_FULL_EXPLAIN = "thread_full_explain"
    """As `THREAD_FULL`, but nobody in the thread was told so within the last minute, so the asker must be told."""
    TWIN = "twin"
    """The same question of the same person is already waiting for its turn; the question was not saved."""
    FAILED = "failed"
    """The database cannot be reached, and the asker must be told. The question may have been saved nevertheless."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How long a question waits.

    `ahead` is the number of questions before it in the queue, and `people` the number of their askers, without the
    question's own asker. A question is `waiting` if it may not enter the queue yet, since the queue holds enough
    questions of its asker or workspace; then the numbers are upper bounds. `seconds` is the approximate wait until the
    question's turn; None if it needs no turn.
    """

    ahead: int = field(default=0, compare=False)
    people: int = field(default=0, compare=False)
    waiting: bool = field(default=False, compare=False)
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Insertion(Waits):
    """The result of inserting a question.

    `withdrawn` is the command of the earlier question that the new question replaced; None if it replaced none.
    """

    received: Received
    withdrawn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place(Waits):
    """The state of a question, and how long it waits while its state is `received`."""

    state: str


@dataclass(frozen=True, kw_only=True)
class RateWait:
    """The seconds until a person may ask again; `kind` is whose limit was reached: `user` or `channel`."""

    kind: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class OpenQuestion:
    """An unanswered question as its asker may see it; `age` is in seconds."""

    command: str
    text: str
    channel_id: str
    age: float


@dataclass(frozen=True, kw_only=True)
class Turn:
    """An earlier question of a conversation, and the remembered part of its answer.

    `own` is whether the asker of the current question asked the earlier one, too. `ts` is the id of the message with
    the earlier question. `about` is the text of the message that the earlier question is about; empty if there is none.
    """

    command: str
    question: str
    answer: str
    own: bool
    ts: str = ""
    about: str = ""


class ThreadMessage(NamedTuple):
    """A message in a thread, not addressed to the app; `author` is the number of its author, 0 for the asker."""

    text: str
    author: int


@dataclass(frozen=True, kw_only=True)
class Thread:
    """People's messages in a thread before a question, the oldest first; not `complete` if some were not read."""

    messages: tuple[ThreadMessage, ...] = ()
    complete: bool = True


NO_THREAD = Thread()


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """One question as the database holds it."""

    id: UUID
    surface: str
    command: str
    text: str
    team_id: str
    channel_id: str
    user_id: str
    response_url: str | None = field(repr=False)
    response_uses: int
    """The number of uses of the response_url."""

    message_ts: str | None
    thread_ts: str | None
    state: str
    claim: int
    redeliveries: int
    messages: tuple[OutgoingMessage, ...] | None
    """The rendered answer; None until it is rendered."""

    outcome: str | None
    part: int
    """The number of the message to post next."""

    run_id: str | None
    received_at: datetime
    """When the question was received, on the database's wall clock."""

    received: float
    """When the question was received, on this process's monotonic clock; computed from its age in the database."""

    unconfirmed: int = 0
    """How often the current part was posted to the response_url without a clear reply."""

    delivery_key: str = ""
    conversation: UUID | None = None
    """The first question of the conversation."""

    streams: tuple[str, ...] = ()
    """The `ts` of the messages in which the answer is being written."""

    shown: int = 0
    """How many characters of the answer Slack has confirmed."""

    streaming: bool = False
    """Whether a message of the answer may still be streaming, even if the message's `ts` is not in `streams`."""

    parent: UUID | None = None
    """The earlier question, as in `NewQuestion`, which also describes `action`, `late_seconds` and `files`."""

    action: str = ""
    public: bool | None = None
    """Whether the answer to a command is for everyone in the channel; None before there is an answer."""

    late_seconds: int = 0
    just_settled: bool = False
    """Whether the question was closed within the last two seconds, by the database's clock."""

    files: tuple[SharedFile, ...] = ()
    text_deleted_at: datetime | None = None
    """When the texts of the question and its answer were deleted; None while they are kept."""

    preferences: Preferences = NO_PREFERENCES
    """The settings that applied when the question was claimed."""

    @property
    def replaces_clicked(self) -> bool:
        """Whether the answer replaces the message whose button asked the question."""
        return self.surface == "click" and not self.action

    @property
    def begins_thread(self) -> bool:
        """Whether the question came in a message that is not a reply, so its thread had no other messages yet."""
        return bool(self.thread_ts) and self.delivery_key.endswith(f":{self.thread_ts}")

    @property
    def asked_ts(self) -> str:
        """The `ts` of the message that asked the question; without a message, the question's time of arrival."""
        return message_ts(self.delivery_key, self.received_at)

    @property
    def asked_after(self) -> str:
        """A `ts` before all messages of the app for the question, even if Slack's and the database's clocks differ."""
        return message_ts(self.delivery_key, self.received_at - timedelta(seconds=CLOCKS_DIFFER_SECONDS))

    @property
    def reference(self) -> str:
        """The short id for the asker and the log: `a7f3-19c2`."""
        return reference(self.id)

    @property
    def ids(self) -> dict[str, object]:
        """The fields that identify a question and its command in a log line."""
        return {"question": str(self.id), "command": self.command}

    @property
    def settled(self) -> bool:
        """Whether the question is closed."""
        return self.state not in OPEN


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A claimed question, and the data that decide whether it is answered, read at the same moment.

    `closed` is whether the app is no longer installed. `user_team` is the workspace that a recent event has named as
    the asker's, empty if none did. `home_open` is whether the asker has opened the home tab lately.
    """

    row: QuestionRow
    closed: bool = False
    user_team: str = ""
    home_open: bool = False


@dataclass(frozen=True, kw_only=True)
class LeftOver:
    """A question that was closed some `seconds` ago, and that may have left something in Slack or at a service.

    `since` is when the question was closed, or its message deleted; None if it was already cleared up. `passed_on` is
    whether the question's status message now belongs to the question that replaced this one.
    """

    row: QuestionRow
    since: datetime | None
    seconds: float
    passed_on: bool


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A question that was closed. `home_open` is whether the asker has opened the home tab lately."""

    home_open: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamEnding:
    """The end of an answer whose text was shown while it was written; `blocks` returns the blocks below the text."""

    answer: Answer
    blocks: Callable[[CitedText], tuple[Block, ...]]

    def followed_by(self, actions: tuple[Block, ...]) -> StreamEnding:
        """Return the ending with these rows of buttons below it."""
        return replace(self, blocks=lambda cited: (*self.blocks(cited), *actions))


@dataclass(frozen=True, kw_only=True)
class AnswerButtons:
    """The buttons below an answer.

    `deeper` offers an answer after longer thinking, `ask_about` a question about the pages found, `more` the next
    pages, and `scheduled` a digest of news. `sources` is the number of pages with excerpts to show. Each of the
    `next_questions` can be asked with one click.
    """

    deeper: bool = False
    sources: int = 0
    ask_about: bool = False
    more: bool = False
    scheduled: bool = False
    next_questions: tuple[str, ...] = ()


_NO_FIGURES = {"messages", "state", "remembered", "ending", "result", "public", "sent", "replaced"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a question: its messages, and the data for its row."""

    messages: Sequence[OutgoingMessage]
    state: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    error: str | None = None
    remembered: str | None = None
    """The part of the answer that is sent along with the next question of its conversation."""

    ending: StreamEnding | None = None
    """The end of the answer, for a message that already shows its text; None without such a message."""

    result: dict[str, Any] | None = None
    """The data for the buttons below the answer, as JSON values."""

    public: bool | None = None
    """As in a `QuestionRow`: whether the answer to a command is for everyone in the channel."""

    sent: str | None = field(default=None, repr=False)
    """The requests to search services that still have to be saved, as `SentLog.take_all` returns them, or None."""

    replaced: Sequence[UUID] = ()
    """The ids of saved requests to delete, which `SentLog.take_all` returns together with `sent`."""

    @property
    def figures(self) -> dict[str, Any]:
        """The values for the row's columns of the same names, such as the provider and the cost."""
        return {name: value for name, value in vars(self).items() if name not in _NO_FIGURES}


def message_ts(delivery_key: str, received_at: datetime) -> str:
    """Return the `ts` in the delivery key of a message; for other keys, `received_at` in the form of a `ts`."""
    found = re.fullmatch(r"[^:]+:[^:]+:(\d+\.\d+)(?::.*)?", delivery_key)
    return found[1] if found else f"{received_at.timestamp():.6f}"


def reference(question_id: UUID) -> str:
    """Return a question's short id, which a person can read out: eight hexadecimal digits in two groups."""
    return f"{question_id.hex[:4]}-{question_id.hex[4:8]}"


@dataclass(frozen=True, kw_only=True)
class SearchPage:
    """Search results; `before` are the addresses of the results on earlier pages."""

    results: SearchResults
    before: tuple[str, ...] = ()


Result = Answer | SearchPage
"""The kinds of results that are saved."""


@dataclass(frozen=True, kw_only=True)
class KeptResult:
    """An answer or search results, and their question; `text` is the typed text, including options.

    `limits` says in words which pages were searched, such as "past week". `asked_at` is a time of the database's wall
    clock. `channel_id` is the channel in which the question was asked.
    """

    question_id: UUID
    command: str
    text: str
    result: Result
    asked_at: datetime
    limits: tuple[str, ...] = ()
    channel_id: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether the result is a recorded example, not the reply of a service."""
        reply = self.result.results if isinstance(self.result, SearchPage) else self.result
        return reply.provider == RECORDED


def dump_result(result: object, *, limits: Sequence[str]) -> dict[str, Any] | None:
    """Return a result as JSON values, with its `limits`; None for a kind that is not saved."""
    match result:
        case Answer():
            return {"answer": asdict(result), "limits": list(limits)}
        case SearchPage():
            return {"page": asdict(result), "limits": list(limits)}
    return None


def load_result(saved: Mapping[str, Any] | None) -> Result | None:
    """Parse a value that `dump_result` returned; return None for None, and for a kind of result that is not known.

    Fields of an unknown form are left out.
    """
    if saved is None:
        return None
    if "answer" in saved:
        return _load_answer(as_object(saved["answer"]))
    if "page" not in saved:
        return None
    page = as_object(saved["page"])
    return SearchPage(results=_load_results(as_object(page.get("results"))), before=as_texts(page.get("before")))


def _load_results(fields: Mapping[str, Any]) -> SearchResults:
    return SearchResults(
        results=tuple(load_source(one) for one in as_objects(fields.get("results"))),
        provider=as_text(fields.get("provider")),
        seconds=as_dollars(fields.get("seconds")) or 0.0,
        cost_usd=as_dollars(fields.get("cost_usd")),
        notes=as_texts(fields.get("notes")),
        failed=tuple(load_attempt(one) for one in as_objects(fields.get("failed"))),
    )


def _load_answer(fields: Mapping[str, Any]) -> Answer:
    usage = as_object(fields.get("usage"))
    passages = as_objects(fields.get("passages"))
    return Answer(
        text=as_text(fields.get("text")),
        sources=tuple(load_source(one) for one in as_objects(fields.get("sources"))),
        provider=as_text(fields.get("provider")),
        kind=AnswerKind.PASSAGES if fields.get("kind") == AnswerKind.PASSAGES else AnswerKind.MODEL,
        passages=tuple(
            Passage(text=as_text(one.get("text")), source=as_count(one.get("source")) or 0) for one in passages
        ),
        model=as_text(fields.get("model")) or None,
        effort=as_text(fields.get("effort")) or None,
        reasoning=as_text(fields.get("reasoning")) or None,
        queries=as_texts(fields.get("queries")),
        incomplete=fields["incomplete"] if isinstance(fields.get("incomplete"), str) else None,
        usage=Usage(
            input_tokens=as_count(usage.get("input_tokens")),
            output_tokens=as_count(usage.get("output_tokens")),
            reasoning_tokens=as_count(usage.get("reasoning_tokens")),
            searches=as_count(usage.get("searches")),
            cost_usd=as_dollars(usage.get("cost_usd")),
        ),
        seconds=as_dollars(fields.get("seconds")) or 0.0,
        id=as_text(fields.get("id")) or None,
        notes=as_texts(fields.get("notes")),
        failed=tuple(load_attempt(one) for one in as_objects(fields.get("failed"))),
        as_of=as_text(fields.get("as_of")),
        attachments=as_count(fields.get("attachments")) or 0,
        stand_in=as_text(fields.get("stand_in")),
    )
