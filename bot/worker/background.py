"""Background tasks, which nobody waits for: cancelling runs, and sending files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.model.membership import workspace_key
from bot.model.message import MarkdownFile
from bot.slack.messages import FAILURES, Chat
from bot.slack.scopes import FILES
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import QuestionStore
from bot.storage.stages import StageStore
from perplexity import scope
from perplexity.errors import PerplexityError, TimedOut
from perplexity.providers.base import Provider
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import is_retryable

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Runs work in background tasks; on exit, waits at most a second for unfinished tasks, then cancels them.

    The work must raise nothing.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        late: set[asyncio.Task[object]] = set()
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks), timeout=1.0)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Start some work. Returns at once."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(frozen=True, kw_only=True)
class RunCanceller:
    """Cancels background runs, which a service continues even after the connection has ended.

    Other requests need no cancelling: the worker ends their connection when it notices that the question was closed.
    """

    questions: QuestionStore
    stages: StageStore
    providers: Sequence[Provider]
    background: BackgroundTasks

    def start(self, question_id: UUID) -> None:
        """Start cancelling a question's runs. Returns at once, since a click needs its reply."""
        self.background.start(self._cancel_runs_of(question_id))

    def start_runs(self, run_ids: Sequence[str]) -> None:
        """Start cancelling these runs; their questions may already be deleted."""
        self.background.start(cancel_runs(self.providers, run_ids))

    async def _cancel_runs_of(self, question_id: UUID) -> None:
        try:
            await self.cancel(question_id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("run.not_cancelled", extra={"question": str(question_id), "error": type(error).__name__})

    async def cancel(self, question_id: UUID) -> bool:
        """Cancel the runs of a question and of its stages; return False if this should be tried again."""
        row = await self.questions.get(question_id)
        own = [row.run_id] if row is not None and row.run_id else []
        return await cancel_runs(self.providers, list(dict.fromkeys([*own, *await self.stages.runs(question_id)])))


async def cancel_runs(providers: Sequence[Provider], run_ids: Sequence[str]) -> bool:
    """Cancel runs at the services; return False if a service is unavailable.

    After a run that cannot be cancelled, the next runs are still cancelled. If the workspace's own keys do not work for
    a run, the configured key is tried, since the run may have begun before the own keys were set.
    """
    done = True
    for run_id in run_ids:
        error = await _cancel_run(providers, run_id)
        if error is not None and scope.current().keys is not None:
            with scope.using_keys(None):
                error = await _cancel_run(providers, run_id)
        if error is not None:
            log.warning("run.not_cancelled", extra={"error": type(error).__name__})
            done = done and not (is_retryable(error) or isinstance(error, TimedOut))
    return done


async def _cancel_run(providers: Sequence[Provider], run_id: str) -> PerplexityError | None:
    try:
        for provider in providers:
            if isinstance(provider, PerplexityProvider):
                await provider.cancel(run_id)
    except PerplexityError as error:
        return error
    return None


@dataclass(kw_only=True)
class FileUploader:
    """Sends files in the background, since Slack's three calls take longer than the acknowledgement of a click may.

    `granted` are the workspaces whose bot tokens are known to have the scope `files:write`. `admits` returns whether a
    user may get a file, None if that is unknown. `requests` records each request for a file.
    https://docs.slack.dev/reference/methods/files.completeUploadExternal
    """

    client: AsyncWebClient
    chat: Chat
    admits: Callable[[str], Awaitable[bool | None]]
    requests: WorkspaceStore
    granted: set[str] = field(default_factory=set)

    async def can_upload(self) -> bool:
        """Return whether files can be sent. Slack is asked until it confirms, since the scope can be added later."""
        workspace = workspace_key()
        if workspace not in self.granted:
            try:
                headers = (await self.client.auth_test()).headers
            except FAILURES:
                return False
            scopes = next((value for name, value in headers.items() if name.lower() == "x-oauth-scopes"), "")
            if FILES in {scope.strip() for scope in str(scopes).split(",")}:
                self.granted.add(workspace)
        return workspace in self.granted

    async def send(
        self,
        file: MarkdownFile,
        user_id: str,
        *,
        on_failure: Callable[[], Awaitable[None]],
        on_refusal: Callable[[], Awaitable[None]],
    ) -> None:
        """Send a file to a user as a direct message.

        `on_refusal` is called if the user may not get files. `on_failure` is called if that is unknown, or if the file
        cannot be sent.
        """
        match await self.admits(user_id):
            case True:
                await self._send(file, user_id, on_failure)
            case False:
                await on_refusal()
            case None:
                await on_failure()

    async def _send(self, file: MarkdownFile, user_id: str, on_failure: Callable[[], Awaitable[None]]) -> None:
        try:
            uploaded = await self.client.files_upload_v2(
                channel=await self.chat.open_direct_message(user_id),
                file=file.data or file.content.encode(),
                filename=file.name,
                title=file.title,
            )
            if not uploaded.get("ok"):
                raise SlackClientError("the upload was not completed")
        except FAILURES as error:
            self.granted.discard(workspace_key())
            log.warning("file.not_sent", extra={"error": type(error).__name__})
            await on_failure()
