"""What becomes of one question: its command asks, and what comes of it, or why nothing did, becomes messages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from uuid import UUID

from bot.agent import NOBODY, Agent
from bot.blocks.base import Audience, OutgoingMessage
from bot.blocks.failure import WayOn, failure_message
from bot.blocks.grey_line import quote
from bot.blocks.progress import stopped_message
from bot.commands.base import Command, Office, Work, never
from bot.commands.deepdive import Dived
from bot.commands.notices import placeholder
from bot.commands.progress import Progress
from bot.commands.threads import BY_MENTION, DIRECTLY, notice
from bot.delivery.deliver import Superseded
from bot.digests.report import Report
from bot.failures import is_refusal, may_succeed_again, sentence_for
from bot.storage.patience import AWAY, Patience
from bot.storage.questions import OPEN, Outcome, QuestionRow, Questions
from perplexity.computing import computed
from perplexity.costs import charged
from perplexity.errors import AllProvidersFailed, PerplexityError, Withdrawn
from perplexity.news.deepdive_types import NoStore, StageStore
from perplexity.news.diver import Diver
from perplexity.news.summary import NewsSummary
from perplexity.nothing_found import found_nothing
from perplexity.providers.base import Provider
from perplexity.types import Answer, Attempt, SearchResults

log = logging.getLogger(__name__)

MAX_RETURNS = 5
"""How often a question may come back from a dead or stopped worker before the asker is told instead."""

INTERRUPTED = "Sorry, I was interrupted again and again while I worked on this. Your question is kept."
BROKE = "Sorry, something went wrong on my side. Your question is kept."

IN_THREADS = {"mention": BY_MENTION, "im": DIRECTLY}
"""The surfaces whose questions are messages, answered in their threads, and how the app is called there."""


@dataclass(frozen=True, kw_only=True)
class Working:
    """Brings questions to their outcomes. `commands` are by name; `clock` measures seconds.

    `stages` keeps what a question has come to that takes minutes; `end_runs` has ended, at the services, what is under
    way for a question that is given up.
    """

    questions: Questions
    provider: Provider
    office: Office
    commands: Mapping[str, Command[Any, Any]]
    patience: Patience
    agent: Agent = NOBODY
    diver: Diver | None = None
    stages: Callable[[QuestionRow], StageStore] = lambda row: NoStore()
    sends_files: Callable[[], Awaitable[bool]] = never
    end_runs: Callable[[UUID], None] = lambda question_id: None
    clock: Callable[[], float] = monotonic

    def noticed(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a message that asks for help, or nothing that can be asked: no listener answers it."""
        if row.surface not in IN_THREADS:
            return None
        message = notice(row.text, self.commands[row.command], IN_THREADS[row.surface])
        return None if message is None else Outcome(messages=(message,), state="answered")

    def placeholder(self, row: QuestionRow) -> OutgoingMessage:
        """Return the message that the question's answer replaces. Raises UsageError if the text cannot be parsed."""
        command = self.commands[row.command]
        request = command.parse(row.text)
        public = row.surface not in IN_THREADS and command.audience(request) is Audience.CHANNEL
        return placeholder(command, request, question=str(row.id), public=public)

    def stopped(self, row: QuestionRow) -> OutgoingMessage:
        """Return what is shown of a question that its asker stopped."""
        return stopped_message(self.commands[row.command].asks(row.text), question=str(row.id))

    async def outcome(self, row: QuestionRow, progress: Progress) -> Outcome:
        """Return what becomes of a question, a failure too. Raises `Superseded` where another worker holds it."""
        started = self.clock()
        if row.returns > MAX_RETURNS:
            self.end_runs(row.id)
            return self._failed(row, INTERRUPTED, error="interrupted", seconds=None)
        try:
            return await self._answered(row, started, progress)
        except Withdrawn:
            raise Superseded from None
        except PerplexityError as error:
            tried = error.attempts if isinstance(error, AllProvidersFailed) else ()
            log.warning("question.failed", extra=row.ids | {"error": type(error).__name__})
            if await self._still_ours(row):
                self.end_runs(row.id)
            sentence, way_on = await computed(self._explained, row, error)
            failed = self._failed(
                row,
                sentence,
                error=type(error).__name__,
                seconds=self.clock() - started,
                tried=tried,
                way_on=way_on,
                private=is_refusal(error),
            )
            return replace(failed, cost_usd=error.cost_usd)
        except Exception as error:
            log.exception("question.broke", extra=row.ids)
            self.end_runs(row.id)
            return self._failed(row, BROKE, error=type(error).__name__, seconds=self.clock() - started)

    def _explained(self, row: QuestionRow, error: PerplexityError) -> tuple[str, WayOn | None]:
        """Return the sentence for a failure, and the button below it."""
        return self._sentence(row, error), self._way_on(row, error)

    def _sentence(self, row: QuestionRow, error: PerplexityError) -> str:
        command = self.commands[row.command]
        if command.nothing_found is None or not found_nothing(error):
            return sentence_for(error)
        return sentence_for(error, nothing=command.nothing_found(command.parse(row.text)))

    def _way_on(self, row: QuestionRow, error: PerplexityError) -> WayOn | None:
        """Return the button below a failure: one that may help, or none."""
        wider = self.commands[row.command].past_week
        if wider is not None and found_nothing(error) and wider(row.text) is not None:
            return "past_week"
        return "retry" if may_succeed_again(error) else None

    def audience(self, row: QuestionRow) -> Audience:
        """Return who may see it by a response_url: a failure is the asker's alone, an answer goes where asked."""
        if row.outcome != "answered" or row.surface in IN_THREADS:
            return Audience.ASKER
        return self._seen_by(row, self.commands[row.command].parse(row.text))

    def _seen_by(self, row: QuestionRow, request: Any) -> Audience:
        """Return who sees an answer: where a message asked, everyone in that conversation."""
        if row.surface in IN_THREADS:
            return Audience.CHANNEL if row.surface == "mention" else Audience.ASKER
        return self.commands[row.command].audience(request)

    async def _answered(self, row: QuestionRow, started: float, progress: Progress) -> Outcome:
        command = self.commands[row.command]
        request = await computed(command.parse, row.text)

        async def on_run(run_id: str) -> None:
            if not await self._recorded(row, run_id):
                raise Withdrawn("another worker holds the question")

        async def wanted() -> None:
            if not await self._still_ours(row):
                raise Withdrawn("the question was stopped, or is another worker's")

        work = Work(
            provider=self.provider,
            office=self.office,
            asker=row.user_id,
            agent=self.agent,
            run_id=row.run_id,
            on_run=on_run,
            wanted=wanted,
            question=row.id,
            team=row.team_id,
            channel=row.channel_id,
            diver=self.diver,
            stages=self.stages(row),
            progress=progress,
            sends_files=self.sends_files,
        )
        reply = await command.answer(request, work)
        return Outcome(
            messages=await computed(command.render, reply, request, self._seen_by(row, request)),
            state="answered",
            seconds=self.clock() - started,
            **_figures(reply),
        )

    async def _recorded(self, row: QuestionRow, run_id: str) -> bool:
        """Tell whether the question is still ours. With the database away, the run goes on but cannot be resumed."""
        try:
            return await self.patience(lambda: self.questions.record_run(row, run_id))
        except AWAY as error:
            log.warning("run.not_recorded", extra=row.ids | {"error": type(error).__name__})
            return True

    async def _still_ours(self, row: QuestionRow) -> bool:
        """Return whether the question is open and this worker's. With the database away it is taken to be."""
        try:
            found = await self.questions.get(row.id)
        except AWAY as error:
            log.warning("question.not_read", extra=row.ids | {"error": type(error).__name__})
            return True
        return found is not None and (found.attempt, found.state in OPEN) == (row.attempt, True)

    def _failed(
        self,
        row: QuestionRow,
        sentence: str,
        *,
        error: str,
        seconds: float | None,
        tried: tuple[Attempt, ...] = (),
        way_on: WayOn | None = "retry",
        private: bool = False,
    ) -> Outcome:
        command = self.commands[row.command]
        if command.failed is not None:
            message = command.failed(command.parse(row.text), sentence, row.reference)
        else:
            seen_by = Audience.CHANNEL if row.surface == "mention" and not private else Audience.ASKER
            message = failure_message(
                sentence,
                reference=row.reference,
                question_id=str(row.id),
                tried=tried,
                seconds=seconds,
                way_on=way_on,
                private=private,
                quote=quote(command.asks(row.text), seen_by),
            )
        return Outcome(messages=(message,), state="failed", seconds=seconds, error=error)


def _figures(reply: object) -> dict[str, Any]:
    """Return who answered, and the sum of all charges, including those of failed attempts."""
    match reply:
        case Answer():
            return {
                "provider": reply.provider,
                "model": reply.model,
                "effort": reply.effort,
                "cost_usd": charged(reply.usage.cost_usd, reply.failed),
            }
        case SearchResults():
            return {"provider": reply.provider, "cost_usd": charged(reply.cost_usd, reply.failed)}
        case NewsSummary():
            return {"provider": reply.provider, "cost_usd": reply.cost_usd}
        case Dived():
            return {"cost_usd": reply.report.cost_usd}
        case Report():
            return _figures(reply.summary) | {"cost_usd": reply.cost_usd}
        case _:
            return {}
