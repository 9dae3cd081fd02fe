"""What a command may use to answer a request: services, the stores, and the question that it answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from bot.errors import AgentNotSetUp
from bot.model.audit import AuditHealth
from bot.model.digest import DigestService
from bot.model.feedback import NO_FEEDBACK, Feedback
from bot.model.message import OutgoingMessage
from bot.model.preferences import NO_PREFERENCES, ChannelSettings
from bot.model.provider_stats import ProviderStats
from bot.model.results import KeptResult
from bot.slack.users import Management
from bot.storage.budgets import BudgetStore
from bot.storage.limits import LimitStore
from bot.storage.preferences import PreferenceStore
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import NullStageStore, StageStore
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

NO_QUESTION = UUID(int=0)


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
    """What a command may use to answer a request. Ids of people, channels and workspaces are Slack's."""

    # The question.

    question_id: UUID = NO_QUESTION
    user_id: str
    """The asker."""

    team_id: str = ""
    channel_id: str = ""
    channel: ChannelSettings = NO_PREFERENCES.channel
    """The present settings of the question's channel."""

    parent: KeptResult | None = None
    """The answer or the search results below which a button asked this question."""

    action: str = ""
    """The action of that button."""

    # Services that answer.

    provider: Provider
    agent: Agent = DISABLED_AGENT
    model: Provider | None = None
    """Answers from what it is given, without a search."""

    deepdives: DeepDiveRunner | None = None
    """Makes deep dives; without one, `provider` does."""

    next_questions: bool = False
    """Whether an answer suggests further questions."""

    # A long answer.

    run_id: str | None = None
    """The background run to resume."""

    on_run: Callable[[str], Awaitable[None]] | None = None
    """Records a new background run."""

    check_cancelled: Callable[[], Awaitable[None]] | None = None
    """Raises RequestCancelled once the answer is no longer wanted."""

    stages: StageStore = field(default_factory=NullStageStore)
    """Keeps the parts of a long answer that are done."""

    progress: Progress = NULL_PROGRESS
    pace_seconds: float = PACE_SECONDS
    """The shortest time between two updates of `progress`."""

    on_event: Callable[[Event], None] | None = None
    """Takes the events of an answer that is shown while it is made."""

    text_shown: Callable[[], bool] = lambda: False
    """Whether any text of it was shown."""

    # The workspace. What reads the database raises its errors.

    admins: Admins
    management: Callable[[str, str], Awaitable[Management]] = manages_nothing
    """Return whether a person may change the settings of a channel."""

    digests: DigestService
    preferences: PreferenceStore | None = None
    budgets: BudgetStore | None = None
    limits: LimitStore | None = None
    provider_stats: Callable[[], Awaitable[Sequence[ProviderStats]]]
    """Return the statistics of the last day."""

    feedback: Callable[[str], Awaitable[Feedback]] = no_feedback
    """Return what people think of a workspace's answers."""

    audit: Callable[[], Awaitable[AuditHealth]] = no_audit
    """Return whether the audit log is written."""

    can_upload: Callable[[], Awaitable[bool]] = no_uploads
    """Return whether files can be sent."""

    now: Callable[[], float] = time.time
    """Seconds since 1970."""
