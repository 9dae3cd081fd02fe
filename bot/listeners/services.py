"""What every listener is handed, by closure: Bolt copies or drops what stands in its context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID, uuid4

from bot.blocks.base import OutgoingMessage
from bot.commands.base import Command
from bot.digests.base import Watching
from bot.journal import Journal
from bot.storage.questions import Questions
from bot.web.metrics import Metrics
from perplexity.news.deepdive_types import DeepDive


class SendFile(Protocol):
    """Sends files in the background."""

    def __call__(self, report: DeepDive, user_id: str, *, sorry: Callable[[], Awaitable[None]]) -> None:
        """Begin to send a report to a person; `sorry` is called where that cannot be done."""
        ...


@dataclass(frozen=True, kw_only=True)
class Services:
    """The listeners' world. `tell` says something privately to who clicked, by the click's response_url.

    `replace` puts something in the place of the clicked message; `end_runs` has what is under way for a question at
    the services ended; `report_of` returns the report that a question came to, None where there is none; `send_file`
    has it sent to a person. `say` says something in a thread: channel, thread, message. `watching` keeps the digests,
    `new_id` makes a question's id.
    """

    journal: Journal
    questions: Questions
    commands: Sequence[Command[Any, Any]]
    metrics: Metrics
    tell: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    say: Callable[[str, str, OutgoingMessage], Awaitable[None]]
    replace: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    end_runs: Callable[[UUID], None]
    watching: Watching
    report_of: Callable[[UUID], Coroutine[Any, Any, DeepDive | None]]
    send_file: SendFile
    new_id: Callable[[], UUID] = uuid4
