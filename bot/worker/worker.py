"""The work on one question: claim it, run its command, save the reply, deliver the reply, settle the question."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol
from uuid import UUID, uuid4

from bot.commands.base import Progress
from bot.delivery.delivery import ClaimLost, Delivery, FirstPost, leaves_placeholder
from bot.delivery.status_message import StatusMessages
from bot.errors import Interrupted, NotOurs, Undecryptable
from bot.model.membership import Asker, working_for
from bot.model.message import Audience
from bot.model.question import CHANNEL_THREADS, Claimed, LeftOver, Outcome, QuestionRow
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry, QuestionStore
from bot.streaming.live import LiveAnswer, LiveAnswers
from bot.translation import language_of, speaking
from bot.web.metrics import Metrics
from bot.worker.runner import COMMAND_SURFACES, CommandRunner
from perplexity.threads import run_in_thread_if_long

log = logging.getLogger(__name__)

MAX_REDELIVERIES = 5
"""How often a question may return from dead or stopped workers before its asker gets a failure instead."""

MAX_REDELIVERIES_IN_DELIVERY = 2 * MAX_REDELIVERIES
"""A question with a saved answer expires after more returns than this, since posting it seems to crash the workers."""


class AdmissionCheck(Protocol):
    """Decides whose questions are answered."""

    @property
    def installed(self) -> str | None:
        """Return the id of the installation; None while it is unknown."""
        ...

    async def refused(self, row: QuestionRow, *, user_team: str) -> Outcome | None:
        """Return the outcome of a question whose asker is refused; None if the asker is answered.

        `user_team` is the workspace that a recent event has named as the asker's, empty if none did.
        """
        ...


async def only_workspace(team_id: str) -> bool:
    """Return True, since there is only one workspace."""
    return True


@dataclass(frozen=True, kw_only=True)
class QuestionWorker:
    """Answers questions.

    `admission` decides whose questions are answered, and `runner` runs the commands of questions. `progress_of` returns
    the display of a question's progress; `take_edit` counts the edits of this display against the workspace's limit.
    `live` shows the text of answers while it is written. `clear_up` removes the remains of questions that others than
    their workers closed. `home_changed` updates a person's home tab. `enter` makes the task act for a question's
    workspace, and returns False if the app is not installed there.
    """

    questions: QuestionStore
    runner: CommandRunner
    delivery: Delivery
    status_messages: StatusMessages
    database_retry: DatabaseRetry
    metrics: Metrics
    admission: AdmissionCheck
    progress_of: Callable[..., Progress]
    take_edit: Callable[[QuestionRow], Awaitable[float | None]]
    live: LiveAnswers
    clear_up: Callable[..., Awaitable[None]]
    home_changed: Callable[[str, str], None]
    enter: Callable[[str], Awaitable[bool]] = only_workspace

    async def process(self, question_id: UUID, job: int | None = None) -> bool:
        """Answer one question; return whether its job was removed. A shutdown cancels this; then the job is put back.

        Raises `NotOurs` if only another process can answer the question, and `NotClearedUp` if the question was closed
        meanwhile and its remains could not be removed.
        """
        claimed = await self._claim(question_id)
        if claimed is None:
            await self._clear_up(question_id)
            return False
        row = claimed.row
        if not row.redeliveries and row.surface != "digest":
            self.metrics.waited(monotonic() - row.received)
        log.info("question.claimed", extra=row.ids | {"attempt": row.claim, "returns": row.redeliveries})
        asker = Asker(
            team_id=row.team_id, user_id=row.user_id, channel_id=row.channel_id, question_id=row.id, claim=row.claim
        )
        try:
            with working_for(asker), speaking(await self._language(row)):
                await self._bring_to_its_end(claimed, job=job)
        except ClaimLost as lost:
            log.warning("question.superseded", extra=row.ids | {"attempt": row.claim})
            await self._clear_up(question_id, lost=row, noted=lost.noted)
            return False
        return True

    async def _language(self, row: QuestionRow) -> str:
        """Return the language for a question: the asker's for commands and in direct messages, else the channel's."""
        if row.surface in COMMAND_SURFACES or row.channel_id.startswith("D"):
            return await self.runner.language(row.user_id)
        return language_of(row.preferences.channel.language)

    async def _clear_up(self, question_id: UUID, *, lost: QuestionRow | None = None, noted: bool = False) -> None:
        """Remove the remains of a question that others than its worker closed. Raises NotClearedUp, and `NotOurs`.

        `lost` is the question if this worker had claimed it. If its asker's data have been erased since, the question
        counts as withdrawn.
        """
        left = await self.database_retry(lambda: self.questions.left_over(question_id, again=lost is not None))
        if lost is not None and await self.database_retry(lambda: self.questions.get(question_id)) is None:
            erased = replace(lost, state="withdrawn", claim=lost.claim + 1)
            left = LeftOver(row=erased, since=None, seconds=0.0, passed_on=False)
        if left is None:
            return
        await self._check_own(left.row)
        await self._enter(left.row.team_id)
        await self.clear_up(left, noted=noted)

    async def _enter(self, team_id: str) -> bool:
        try:
            return await self.database_retry(lambda: self.enter(team_id))
        except Undecryptable:
            raise NotOurs(team_id) from None

    async def _check_own(self, row: QuestionRow) -> None:
        installed = self.admission.installed
        if not await self.database_retry(lambda: self.questions.is_own(row.team_id, installation=installed)):
            log.info("question.other_installation", extra=row.ids)
            raise NotOurs(row.team_id)

    async def _claim(self, question_id: UUID) -> Claimed | None:
        """Claim the question; return None if it is already closed, or another worker was faster."""
        claim, commands, installed = uuid4(), self.runner.commands, self.admission.installed
        claimed = await self.database_retry(
            lambda: self.questions.claim(question_id, claim, commands=commands, installation=installed)
        )
        if claimed is None:
            row = await self.database_retry(lambda: self.questions.get(question_id))
            if row is not None and not row.settled and row.command not in commands:
                log.info("question.unknown_command", extra=row.ids)
                raise NotOurs(row.command)
            if row is not None and not row.settled:
                await self._check_own(row)
        return claimed

    async def _bring_to_its_end(self, claimed: Claimed, *, job: int | None) -> None:
        """Answer a question and settle it; after an error, tell its asker. If that fails, too, the question expires.

        The question is not settled if the database is unavailable, if the worker ends, if only another process can
        answer it, or if another worker has claimed it.
        """
        row = claimed.row
        try:
            row, state = await self._answer(claimed)
        except (ClaimLost, NotOurs, *DATABASE_UNAVAILABLE):
            raise
        except Exception as error:
            log.exception("question.broke", extra=row.ids)
            try:
                row, state = await self._fail(row, error)
            except (ClaimLost, *DATABASE_UNAVAILABLE):
                raise
            except Exception:
                log.exception("failure.broke", extra=row.ids)
                state = "expired"
        await self._settle(row, state, job=job)

    async def _answer(self, claimed: Claimed) -> tuple[QuestionRow, str]:
        """Deliver the saved answer; if none is saved, get an answer, save it and deliver it.

        An answer is saved before its first message is posted, unless its text was shown while it was written. Return
        the row with the answer, and the state in which the question ends.
        """
        row, first = claimed.row, None
        try:
            installed = await self._enter(row.team_id)
        except NotOurs:
            await self.database_retry(lambda: self.questions.hand_over(claimed.row))
            raise
        if claimed.closed or not installed:
            log.warning("question.closed", extra=row.ids)
            return row, "stopped"
        if claimed.home_open:
            self.home_changed(row.team_id, row.user_id)
        if row.redeliveries > (MAX_REDELIVERIES if row.messages is None else MAX_REDELIVERIES_IN_DELIVERY):
            raise Interrupted
        if row.streaming:
            row = await self._end_streams(row)
        if row.messages is None:
            row, outcome, live = await self._outcome(replace(claimed, row=row))
            row = replace(row, messages=tuple(outcome.messages), outcome=outcome.state, public=outcome.public)
            audience = await run_in_thread_if_long(len(row.text), self.runner.audience, row)
            if live is None:
                first = self.delivery.first_post(row, audience=audience)
                await self._keep(row, outcome, first)
            else:
                async with self._left_if_lost(live):
                    finished = await live.finish(outcome.ending)
                row = replace(row, streams=tuple(live.messages) or row.streams)
                if live.uncertain:
                    row = await self._end_streams(row)
                if finished:
                    return row, row.outcome or "failed"
        else:
            audience = await run_in_thread_if_long(len(row.text), self.runner.audience, row)
        return row, await self._deliver(row, audience, first)

    async def _fail(self, claimed: QuestionRow, error: Exception) -> tuple[QuestionRow, str]:
        """Deliver a failure instead of the rest of an answer; return a row and a state, like `_answer`."""
        row = await self.database_retry(lambda: self.questions.get(claimed.id))
        if row is None or row.settled or row.claim != claimed.claim:
            raise ClaimLost
        if isinstance(error, Interrupted) and row.messages is not None:
            return row, "expired"
        if row.streaming:
            row = await self._end_streams(row)
        failure, posted = self.runner.failure(row, error), (row.messages or ())[: row.part]
        failure = replace(failure, messages=(*posted, *failure.messages))
        row = replace(row, messages=tuple(failure.messages), outcome=failure.state, public=None)
        first = self.delivery.first_post(row, audience=Audience.ASKER)
        await self._keep(row, failure, first)
        return row, await self._deliver(row, Audience.ASKER, first)

    async def _outcome(self, claimed: Claimed) -> tuple[QuestionRow, Outcome, LiveAnswer | None]:
        """Return the question's row with the ids of its messages, its outcome, and the display of its text or None.

        If the text was shown while it was written, the outcome is already saved.
        """
        row, live = claimed.row, None
        outcome = await self.admission.refused(row, user_team=claimed.user_team) or await self.runner.refused(row)
        outcome = outcome or await run_in_thread_if_long(len(row.text), self.runner.usage_reply, row)
        outcome = outcome or await run_in_thread_if_long(len(row.text), self.runner.late_reply, row)
        if outcome is None:
            if row.surface != "slash":  # A slash command's acknowledgement was its placeholder.
                placeholder = await run_in_thread_if_long(len(row.text), self.runner.placeholder, row)
                row = await self.status_messages.post_pending(row, placeholder)
            shows_text = self.runner.shows_text(row)
            progress = self.progress_of(row=row, take_edit=None if shows_text else self.take_edit)
            if shows_text:
                live = self.live.answer(row, progress)
                async with self._left_if_lost(live), live:
                    outcome = await self.runner.run(row, progress, live=live)
                    if live.shows_text:
                        # Saved at once: a running call to Slack may take seconds, in which a worker may die.
                        await self._keep(row, outcome, None)
                row = replace(row, streams=tuple(live.messages) or row.streams)
                live = live if live.shows_text else None
            else:
                outcome = await self.runner.run(row, progress)
            row = replace(row, response_uses=row.response_uses + progress.response_url_uses)
        return row, outcome, live

    @asynccontextmanager
    async def _left_if_lost(self, live: LiveAnswer) -> AsyncIterator[None]:
        """If the claim is lost in the block, end the display of the answer, and set `noted` of the error."""
        try:
            yield
        except ClaimLost as lost:
            lost.noted = await self.live.leave(live)
            raise

    async def _end_streams(self, row: QuestionRow) -> QuestionRow:
        """End the messages of an answer that may still be streaming, so that they can be replaced."""
        return await self.database_retry(lambda: self.live.end(row))

    async def _keep(self, row: QuestionRow, outcome: Outcome, first: FirstPost | None) -> None:
        uses, unconfirmed = (row.response_uses, 0) if first is None else (first.uses, first.unconfirmed)
        if not await self.database_retry(
            lambda: self.questions.save_messages(row, outcome, uses=uses, unconfirmed=unconfirmed)
        ):
            raise ClaimLost
        extra = row.ids | outcome.figures | {"state": outcome.state, "parts": len(outcome.messages)}
        log.info("answer.kept", extra=extra)

    async def _deliver(self, row: QuestionRow, audience: Audience, first: FirstPost | None) -> str:
        """Post the messages of an answer; return the state in which its question ends."""
        if not await self.delivery.deliver(row, audience=audience, first=first):
            return "expired"
        try:
            await self._tidy(row, audience)
        except Exception:
            log.exception("question.not_tidied", extra=row.ids)
        return row.outcome or "failed"

    async def _tidy(self, row: QuestionRow, audience: Audience) -> None:
        """Delete the messages that the answer made superfluous."""
        if leaves_placeholder(row, audience):
            await self.status_messages.delete_pending(row)
        if row.surface in CHANNEL_THREADS and any(message.private for message in row.messages or ()):
            await self.status_messages.delete_pending_in_thread(row)
        await self.live.delete_leftovers(row)

    async def _settle(self, row: QuestionRow, state: str, *, job: int | None) -> None:
        settled = await self.database_retry(lambda: self.questions.settle(row, state, job=job))
        if settled is None:
            raise ClaimLost
        self.metrics.settled(command=row.command, state=state)
        if settled.home_open:
            self.home_changed(row.team_id, row.user_id)
        extra = row.ids | {"state": state, "parts": len(row.messages or ()), "reference": row.reference}
        log.log(logging.ERROR if state == "expired" else logging.INFO, "question.settled", extra=extra)
