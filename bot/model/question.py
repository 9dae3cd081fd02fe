"""A question in Slack from its arrival to its result, as the app handles it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from bot.model.message import Block, OutgoingMessage
from bot.model.preferences import NO_PREFERENCES, Preferences
from perplexity.citations import CitedText
from perplexity.types import Answer

OPEN = frozenset({"received", "working", "delivering"})
"""The states of a question that is not settled."""

RECORDED = "Recorded example"
"""The provider of a replayed answer: no one asked the web, and no one paid."""

CHANNEL_THREADS = frozenset({"mention", "follow_up"})
"""The surfaces whose questions are messages in channels, answered in their threads for everyone there."""

CLOCKS_DIFFER_SECONDS = 300.0
"""The database's clock, for questions, and Slack's clock, for messages, differ by less than this."""


@dataclass(frozen=True, kw_only=True)
class NewQuestion:
    """What a listener knows about a question when it is saved."""

    id: UUID
    delivery_key: str
    """The same for all deliveries of one question."""

    surface: str
    command: str
    text: str
    team_id: str
    channel_id: str
    user_id: str
    response_url: str | None = field(default=None, repr=False)
    thread_ts: str | None = None
    """The thread in which it is answered."""

    message_ts: str | None = None
    """The app's message in that thread which the answer replaces."""

    again: UUID | None = None
    """The earlier question that this one asks again."""

    starts_conversation: bool = False
    """Whether it continues no earlier conversation."""

    parent: UUID | None = None
    """The question below whose answer a button asked this one; the answer to it is a message of its own."""

    action: str = ""
    """The action of that button."""

    resubmittable: bool = False
    """Whether its refusal is not remembered, because a person can click or submit a form again."""

    late_seconds: int = 0
    """How long after it was written Slack has delivered the message, if that was not the first try."""

    limited: bool = True
    """Whether limits of questions apply."""

    queue: str = "default"
    """Where its job waits: in the lane of its first call."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a person chose in the modal for questions: a command, and its options by name; a flag's value is empty."""

    command: str
    options: Mapping[str, str] = field(default_factory=dict)


class Received(Enum):
    """The result of receiving a question."""

    NEW = "new"
    DUPLICATE = "known"
    """It was delivered before."""
    TOO_MANY_OPEN = "too_many_open"
    """The person has as many open questions as allowed; nothing was written."""
    TOO_FAST = "too_fast"
    """The person, or the channel, has asked as often as allowed; nothing was written."""
    THREAD_FULL = "thread_full"
    """The thread has had its answers for this minute; nothing was written."""
    TWIN = "twin"
    """The same question of the same person waits for its turn; nothing was written."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How many questions are `ahead` of one in its queue, and of how many other `people`.

    One that is `waiting` is not in the queue yet, since others of its person or its workspace are; these are then the
    most. `seconds` is about how long it waits for its turn; None if it needs none.
    """

    ahead: int = field(default=0, compare=False)
    people: int = field(default=0, compare=False)
    waiting: bool = field(default=False, compare=False)
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Insertion(Waits):
    """The result of inserting a question, and the command of the earlier question that it closed, if it closed one."""

    received: Received
    withdrawn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place(Waits):
    """The state of a question, and how it waits while it is `received`."""

    state: str


@dataclass(frozen=True, kw_only=True)
class RateWait:
    """In how many seconds a person may ask again; the limit is the person's (`user`) or the `channel`'s."""

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
    """An earlier question of a conversation and what is remembered of its answer; `own` is by the same person.

    `ts` is that of the message that asked it, `about` the text of the message that it was about, if there was one.
    """

    command: str
    question: str
    answer: str
    own: bool
    ts: str = ""
    about: str = ""


class ThreadMessage(NamedTuple):
    """A message in a thread that is not to the app; `author` numbers the people, and is 0 for the asker."""

    text: str
    author: int


@dataclass(frozen=True, kw_only=True)
class Thread:
    """What people wrote in a thread before a question, the oldest first; not `complete` if some was not read."""

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
    """How many uses of the response_url were taken."""

    message_ts: str | None
    thread_ts: str | None
    state: str
    claim: int
    redeliveries: int
    messages: tuple[OutgoingMessage, ...] | None
    """The rendered answer; None until it is rendered."""

    outcome: str | None
    part: int
    """The message that is posted next."""

    run_id: str | None
    received_at: datetime
    """When it was received by the database's wall clock."""

    received: float
    """The same by this process's monotonic clock, computed from its age in the database."""

    unconfirmed: int = 0
    """How many posts of the present part to the response_url got no clear reply."""

    delivery_key: str = ""
    conversation: UUID | None = None
    """The first question of its conversation."""

    streams: tuple[str, ...] = ()
    """The `ts` of the messages in which its answer is being written."""

    shown: int = 0
    """How many characters of the answer Slack has confirmed."""

    streaming: bool = False
    """Whether one of the messages may be open, even one that is not known here."""

    parent: UUID | None = None
    """As in a `NewQuestion`."""

    action: str = ""
    public: bool | None = None
    """Whether the answer to a command is for everyone in the channel; None before there is one."""

    late_seconds: int = 0
    just_settled: bool = False
    """Whether it came to its end in the last two seconds, by the database's clock."""

    text_deleted_at: datetime | None = None
    """When the texts of the question and its answer were deleted; None while they are kept."""

    preferences: Preferences = NO_PREFERENCES
    """The settings that applied when it was claimed."""

    @property
    def replaces_clicked(self) -> bool:
        """Whether its answer replaces the message in which a button asked it."""
        return self.surface == "click" and not self.action

    @property
    def begins_thread(self) -> bool:
        """Whether the question was asked by a message that was no reply, so its thread had no messages yet."""
        return bool(self.thread_ts) and self.delivery_key.endswith(f":{self.thread_ts}")

    @property
    def asked_ts(self) -> str:
        """The `ts` of the message that asked, or about that of another question's arrival."""
        return message_ts(self.delivery_key, self.received_at)

    @property
    def asked_after(self) -> str:
        """A `ts` before all messages that belong to it, also if the clocks of Slack and of the database differ."""
        return message_ts(self.delivery_key, self.received_at - timedelta(seconds=CLOCKS_DIFFER_SECONDS))

    @property
    def reference(self) -> str:
        """The short id that the asker is shown and the log holds: `a7f3-19c2`."""
        return reference(self.id)

    @property
    def ids(self) -> dict[str, object]:
        """What a line of the log says of a question: which one, and to which command."""
        return {"question": str(self.id), "command": self.command}

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.state not in OPEN


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A question that was taken, and what decides whether it is answered, read at the same moment.

    `closed` says that the app is no longer installed, `user_team` is the workspace that an event has named lately as
    the asker's, empty if none did. `home_open` is whether the asker has opened the home tab lately.
    """

    row: QuestionRow
    closed: bool = False
    user_team: str = ""
    home_open: bool = False


@dataclass(frozen=True, kw_only=True)
class LeftOver:
    """A closed question of which something may be left in Slack or at a service, for so many seconds.

    `since` is when it was closed, or its message was deleted; None if it was cleared up once.
    If its status message was `passed_on`, it is that of a question that was asked in its place.
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
    """How an answer ends whose text was shown while it was made: `blocks` returns what follows its text."""

    answer: Answer
    blocks: Callable[[CitedText], tuple[Block, ...]]

    def followed_by(self, actions: tuple[Block, ...]) -> StreamEnding:
        """Return the ending with these rows of buttons below it."""
        return replace(self, blocks=lambda cited: (*self.blocks(cited), *actions))


@dataclass(frozen=True, kw_only=True)
class AnswerButtons:
    """What the buttons below an answer offer: `deeper` a longer answer, `sources` so many pages with their excerpts.

    `ask_about` asks about the pages that were found, `more` lists the next ones, `scheduled` makes a digest of news.
    Each of the `next_questions` can be asked with one click.
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
    """The result of a question: its messages, and what the row keeps of it."""

    messages: Sequence[OutgoingMessage]
    state: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    error: str | None = None
    remembered: str | None = None
    """What of the answer goes with the next question of its conversation."""

    ending: StreamEnding | None = None
    """How the answer ends in a message that shows its text already."""

    result: dict[str, Any] | None = None
    """What the buttons below the answer work with, as JSON values."""

    public: bool | None = None
    """As in a `QuestionRow`."""

    sent: str | None = field(default=None, repr=False)
    """What left for the search services and was not saved before."""

    replaced: Sequence[UUID] = ()
    """What of that was saved before and is to be deleted, as `SentLog.take_all` returns both."""

    @property
    def figures(self) -> dict[str, Any]:
        """What the row keeps of it besides its messages, by column."""
        return {name: value for name, value in vars(self).items() if name not in _NO_FIGURES}


def message_ts(delivery_key: str, received_at: datetime) -> str:
    """Return the `ts` in the delivery key of a message, or a time in its form if the key is another's."""
    found = re.fullmatch(r"[^:]+:[^:]+:(\d+\.\d+)(?::.*)?", delivery_key)
    return found[1] if found else f"{received_at.timestamp():.6f}"


def reference(question_id: UUID) -> str:
    """Shorten a question's id to what a person can read out: eight digits in two groups."""
    return f"{question_id.hex[:4]}-{question_id.hex[4:8]}"
