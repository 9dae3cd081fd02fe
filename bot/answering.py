"""What a worker does with one question: claim, ask the provider, keep the answer, deliver it, settle."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID, uuid4

from bot.commands.progress import SILENT, Progress
from bot.delivery.announcing import Announcing
from bot.delivery.deliver import Delivery, Superseded
from bot.delivery.ways import leaves_a_line
from bot.errors import UnknownCommand
from bot.storage.patience import Patience
from bot.storage.questions import Outcome, QuestionRow, Questions
from bot.web.metrics import Metrics
from bot.working import MAX_RETURNS, Working
from perplexity.computing import computed

log = logging.getLogger(__name__)

MAX_RETURNS_IN_DELIVERY = 2 * MAX_RETURNS
"""After these many the messages themselves are what brings workers down, and the question is given up."""


class Admits(Protocol):
    """Says whose questions are answered."""

    async def closed(self, row: QuestionRow) -> bool:
        """Return whether the app is no longer installed in the workspace of a question."""
        ...

    async def refused(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a question whose asker is refused; None if the asker is answered."""
        ...


class Everyone:
    """Answers everyone."""

    async def closed(self, row: QuestionRow) -> bool:
        """Return False: every workspace is open."""
        return False

    async def refused(self, row: QuestionRow) -> Outcome | None:
        """Return None: no asker is refused."""
        return None


EVERYONE = Everyone()


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Answers questions.

    `admission` says whose, `working` brings one to its outcome, `showing` shows its progress until then; `new_id` names
    a claim.
    """

    questions: Questions
    working: Working
    delivery: Delivery
    announcing: Announcing
    patience: Patience
    metrics: Metrics
    admission: Admits = EVERYONE
    showing: Callable[[QuestionRow], Progress] = lambda row: SILENT
    new_id: Callable[[], UUID] = uuid4

    async def run(self, question_id: UUID) -> None:
        """Answer one question. If a shutdown cancels this, the question goes back to the queue.

        Raises `UnknownCommand`, without claiming the question, if only a newer version knows its command.
        """
        row = await self._claimed(question_id)
        if row is None:
            return
        log.info("question.claimed", extra=row.ids | {"attempt": row.attempt, "returns": row.returns})
        try:
            if await self.admission.closed(row):
                await self._settle(row, "stopped")
                return
            row = await self._with_messages(row)
            if row.returns > MAX_RETURNS_IN_DELIVERY:
                await self._settle(row, "expired")
            else:
                await self._deliver(row)
        except Superseded:
            log.warning("question.superseded", extra=row.ids | {"attempt": row.attempt})

    async def _claimed(self, question_id: UUID) -> QuestionRow | None:
        """Claim the question; return None if it is already closed, or another worker was faster."""
        row = await self.patience(lambda: self.questions.get(question_id))
        if row is None or row.settled:
            return None
        if row.command not in self.working.commands:
            log.info("question.unknown_command", extra=row.ids)
            raise UnknownCommand(row.command)
        claim = self.new_id()
        return await self.patience(lambda: self.questions.claim(row, claim))

    async def _with_messages(self, row: QuestionRow) -> QuestionRow:
        """Return the row with its rendered messages, which are kept before the first of them is posted."""
        if row.messages is not None:
            return row
        outcome = await self.admission.refused(row) or await computed(self.working.noticed, row)
        if outcome is None:
            if row.surface != "slash":  # whose ack said it already
                row = await self.announcing.announce(row, await computed(self.working.placeholder, row))
            progress = self.showing(row)
            outcome = await self.working.outcome(row, progress)
            row = replace(row, response_uses=row.response_uses + progress.uses)
        if not await self.patience(lambda: self.questions.keep_messages(row, outcome)):
            raise Superseded
        figures = {name: value for name, value in vars(outcome).items() if name != "messages"}
        log.info("answer.kept", extra=row.ids | figures | {"parts": len(outcome.messages)})
        return replace(row, messages=tuple(outcome.messages), outcome=outcome.state)

    async def _deliver(self, row: QuestionRow) -> None:
        audience = await computed(self.working.audience, row)
        delivered = await self.delivery.deliver(row, audience=audience)
        if delivered and leaves_a_line(row, audience):
            await self.announcing.tidy(row)
        if delivered and row.surface == "mention" and any(message.private for message in row.messages or ()):
            await self.announcing.remove_searching(row)
        await self._settle(row, row.outcome or "failed" if delivered else "expired")

    async def _settle(self, row: QuestionRow, state: str) -> None:
        if not await self.patience(lambda: self.questions.settle(row, state)):
            raise Superseded
        self.metrics.settled(command=row.command, state=state)
        extra = row.ids | {"state": state, "parts": len(row.messages or ()), "reference": row.reference}
        log.log(logging.ERROR if state == "expired" else logging.INFO, "question.settled", extra=extra)
