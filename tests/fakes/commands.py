"""What a command may use, without a workspace."""

from __future__ import annotations

from typing import Any, cast

from bot.commands.base import CommandContext, DisabledAgent, SearchingAgent, Services
from bot.model.message import OutgoingMessage
from bot.model.question import ChannelSettings
from bot.preferences import may_ask
from bot.slack.files import FileReader
from bot.slack.users import Admins
from bot.worker.files import QuestionFiles
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.providers.base import Provider
from tests.fakes.rows import row


class _NoAdmins:
    async def is_admin(self, user_id: str) -> bool:
        return False

    async def check_admin(self, user_id: str) -> bool | None:
        return False

    async def may_ask(self, channel: ChannelSettings, user_id: str) -> bool | None:
        return may_ask(channel, user_id, is_admin=False) or await self.check_admin(user_id)


NO_ADMINS = cast("Admins", _NoAdmins())
"""A workspace without admins."""

NO_FILES = QuestionFiles(reader=cast("FileReader", None))
"""What reads no files, for questions that have none."""


DISABLED_AGENT = DisabledAgent(missing="AGENT_MODEL")


class _NoProgress:
    editable = False
    milestones_shown = 0
    response_url_uses = 0

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        return True


NO_PROGRESS = _NoProgress()
"""What shows no progress."""


def services(provider: Provider, agent: SearchingAgent = DISABLED_AGENT) -> Services:
    """Return services that all ask one provider."""
    deepdives = DeepDiveRunner(facts=provider, synthesis=provider)
    return Services(provider=provider, model=provider, deepdives=deepdives, agent=agent)


def command_context(provider: Provider, agent: SearchingAgent = DISABLED_AGENT, **fields: Any) -> CommandContext:
    """Return the context of a question of U1."""
    base: dict[str, Any] = {"row": row(), "services": services(provider, agent), "progress": NO_PROGRESS}
    return CommandContext(**base | fields)
