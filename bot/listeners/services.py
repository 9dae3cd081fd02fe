"""What every listener is handed, by closure: Bolt copies or drops what stands in its context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
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

    def __call__(
        self,
        report: DeepDive,
        user_id: str,
        *,
        sorry: Callable[[], Awaitable[None]],
        refused: Callable[[], Awaitable[None]],
    ) -> None:
        """Begin to send a report to a person.

        `sorry` is called if the report cannot be sent, `refused` if the person is not a member.
        """
        ...


def not_refused(body: Mapping[str, Any]) -> str | None:
    """Return None: no request is refused."""
    return None


def not_known(body: dict[str, Any], user_id: str) -> bool:
    """Return False: no person is known to be an outsider."""
    return False


async def not_noted(body: dict[str, Any], user_id: str) -> None:
    """Save nothing about a sender."""


async def not_ended(state: str, body: Mapping[str, Any]) -> None:
    """Ignore the end of an installation."""


async def always_wanted(question_id: UUID, user_id: str) -> bool:
    """Return True: every click counts as the first."""
    return True


async def not_forgotten(question_id: UUID, user_id: str) -> None:
    """Do nothing: no click is remembered."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The listeners' world. `tell` says something privately to who clicked, by the click's response_url.

    `replace` puts something in the place of the clicked message; `end_runs` has what is under way for a question at
    the services ended; `report_of` returns the report that a question came to, None where there is none; `send_file`
    has it sent to a person. `say` posts a message in a thread: channel, thread, message; `whisper` shows it there only
    to one person: channel, person, thread, message. `watching` keeps the digests,
    `new_id` makes a question's id.

    `refusal` returns why a request is refused, `on_end` records that the app is no longer installed. `knows_outsider`
    returns whether a person is known to be an outsider, `note_sender` records that an event says so. `want_file` is
    False for a second click on the same file, unless `forget_file` was called after the first.
    """

    journal: Journal
    questions: Questions
    commands: Sequence[Command[Any, Any]]
    metrics: Metrics
    tell: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    say: Callable[[str, str, OutgoingMessage], Awaitable[None]]
    whisper: Callable[[str, str, str | None, OutgoingMessage], Awaitable[None]]
    replace: Callable[[str | None, OutgoingMessage], Awaitable[None]]
    end_runs: Callable[[UUID], None]
    watching: Watching
    report_of: Callable[[UUID], Coroutine[Any, Any, DeepDive | None]]
    send_file: SendFile
    new_id: Callable[[], UUID] = uuid4
    refusal: Callable[[Mapping[str, Any]], str | None] = not_refused
    on_end: Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, None]] = not_ended
    knows_outsider: Callable[[dict[str, Any], str], bool] = not_known
    note_sender: Callable[[dict[str, Any], str], Coroutine[Any, Any, None]] = not_noted
    want_file: Callable[[UUID, str], Awaitable[bool]] = always_wanted
    forget_file: Callable[[UUID, str], Awaitable[None]] = not_forgotten
