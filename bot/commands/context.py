"""The means of a command to answer a request: the question, the services, and the display of progress."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from bot.errors import AgentNotSetUp
from bot.model.message import OutgoingMessage
from bot.model.question import QuestionRow
from bot.model.results import KeptResult
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import NullStageStore, StageStore
from perplexity.providers.base import Provider
from perplexity.types import Answer, Event, Question

log = logging.getLogger(__name__)


class SearchingAgent(Protocol):
    """A model that searches step by step before it answers."""

    async def answer(self, question: Question) -> Answer:
        """Return one answer with sources. Raises PerplexityError and nothing else."""
        ...


@dataclass(frozen=True, kw_only=True)
class DisabledAgent:
    """Replaces an agent that is not configured; `missing` is the name of the setting."""

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


class NullProgress:
    """Shows nothing."""

    editable = False
    milestones_shown = 0
    response_url_uses = 0

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show nothing."""
        return True


NULL_PROGRESS = NullProgress()


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services that answer questions. `model` answers from the given text, without a search."""

    provider: Provider
    model: Provider
    deepdives: DeepDiveRunner
    agent: SearchingAgent = DISABLED_AGENT


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

    progress: Progress = NULL_PROGRESS
    on_event: Callable[[Event], None] | None = None
    """Receives the events of an answer that is shown while it is written."""

    text_shown: Callable[[], bool] = lambda: False
    """Returns whether any text of the answer was shown."""

    now: Callable[[], float] = time.time
    """Returns seconds since 1970."""
