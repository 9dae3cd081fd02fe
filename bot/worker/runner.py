"""Runs the command of one question: with its thread, its settings and its limits, and with a reply if it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic, time
from typing import Any, Literal, TypeVar
from uuid import UUID

from bot.blocks.answer import AnswerPart, Below, answer_actions, broken_off_blocks, sent_actions, with_actions
from bot.blocks.elements import context as context_block
from bot.blocks.escaping import unescape_slack
from bot.blocks.examples import EXAMPLES
from bot.blocks.messages import (
    FailureAction,
    failure_message,
    late_message,
    late_note,
    question_stopped_message,
    with_line_above,
)
from bot.blocks.words import short_time
from bot.chain import SPENDING_PAUSED, Chain
from bot.commands.base import ROOT_COMMAND, Command, CommandContext, Progress
from bot.commands.help import text_message
from bot.commands.routing import BY_MENTION, IN_DIRECT_MESSAGE, is_offered, usage_reply
from bot.delivery.delivery import DIGEST_SURFACE, ClaimLost
from bot.errors import BudgetUnknown, Interrupted, Refused, SpendingPaused, is_refusal, is_retryable, user_message
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import (
    CHANNEL_THREADS,
    NO_THREAD,
    OPEN,
    KeptResult,
    Outcome,
    QuestionRow,
    Thread,
    Turn,
    dump_result,
)
from bot.preferences import effort_cap, preferred, restrict
from bot.privacy.sent_requests import SentLog, left_out_text
from bot.slack.users import Admins
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import SPENDS_PAUSED, DatabaseRetry, Pool, QuestionStore
from bot.storage.shared_answers import SharedAnswers
from bot.streaming.live import LiveAnswer
from bot.translation import N_, speak
from bot.translation import gettext as _
from bot.worker.files import QuestionFiles
from perplexity.deepdive.types import NullStageStore, StageStore
from perplexity.errors import AllProvidersFailed, PerplexityError, RequestCancelled, TimedOut
from perplexity.filters import in_words
from perplexity.models import Effort
from perplexity.notes import is_empty_result
from perplexity.scope import BeforeSending, logged_requests
from perplexity.steps import Step
from perplexity.threads import run_in_thread, run_in_thread_if_long
from perplexity.types import Event, Usage

NOT_ALLOWED_HERE = N_(
    "In this channel only some people may ask me. You can ask me in our direct messages, or ask the channel’s creator "
    "to change that."
)
ALLOWED_UNKNOWN = N_(
    "I couldn’t check with Slack whether you may ask here. Please ask again later. "
    "For user groups I need the scope `usergroups:read`, which an admin can give me."
)
NO_MEMORY = N_("I keep no text of earlier questions, so this answer doesn’t build on them.")

log = logging.getLogger(__name__)

_INTERRUPTED = N_(
    "Sorry, I was interrupted several times while I worked on this. I’ve kept your question, so you can try again."
)
_INTERNAL_ERROR = N_("Sorry, something went wrong on my side. I’ve kept your question, so you can try again.")

BUDGET_TRIES = 30
"""How often a question is tried again if its calls cannot be reserved; with the pauses, for about ten minutes."""

ASK_AFTER_SECONDS = 2 * 3600.0
"""A message older than this is answered only after its asker has confirmed that an answer is still wanted."""


COMMAND_SURFACES = frozenset({"slash", "click"})
"""The surfaces whose answers are private unless the asker wants them public."""

THREAD_SURFACES = {"mention": BY_MENTION, "follow_up": BY_MENTION, "im": IN_DIRECT_MESSAGE}
"""The surfaces whose questions are messages, answered in their threads, and how the app is addressed there."""


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One run of a question's command.

    `started` is when the run began by `clock`, `sent_log` has the requests sent, and `shared` the times of the shared
    answers used.
    """

    row: QuestionRow
    command: Command[Any, Any]
    progress: Progress
    live: LiveAnswer | None
    started: float
    sent_log: SentLog
    shared: list[datetime] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CommandRunner:
    """Runs the commands of questions. `commands` maps names to commands; `stops` ends the work on stopped questions.

    `thread_history` returns the messages that people wrote in a thread before a question, except those with the given
    `ts`. `files` reads the files of questions. `saves_files` says whether answers can be saved as files; `answer_parts`
    are the features' additions below answers. `umbrella` is the slash command under which every command can be typed.
    `stages` saves the stages of a question that takes minutes; `cancel_runs` cancels a question's runs at the services
    when the question is given up. With `keeps_text`, an answer can build on earlier ones. `before_sending` saves each
    request before it is sent, unless the request was saved when its call was reserved. `shared_answers` is the database
    of shared answers to the app's own offers; without it, each offer is asked anew. `reasoning_effort` is the effort of
    a question with reasoning. `language` returns the language of a person. `clock` is monotonic, and `now` returns
    seconds since 1970.
    """

    questions: QuestionStore
    chain: Chain
    admins: Admins
    commands: Mapping[str, Command[Any, Any]]
    database_retry: DatabaseRetry
    stops: StopWatcher
    language: Callable[[str], Awaitable[str]]
    thread_history: Callable[[QuestionRow, Sequence[str]], Awaitable[Thread]]
    files: QuestionFiles
    umbrella: str = f"/{ROOT_COMMAND}"
    stages: Callable[..., StageStore] = lambda row: NullStageStore()
    reasoning_effort: Effort = "medium"
    saves_files: bool = True
    answer_parts: Sequence[AnswerPart] = ()
    keeps_text: bool = True
    before_sending: BeforeSending | None = None
    shared_answers: Pool | None = None
    cancel_runs: Callable[[UUID], None] = lambda question_id: None
    clock: Callable[[], float] = monotonic
    now: Callable[[], float] = time

    def usage_reply(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a message that asks for help or cannot be a question; None for a question."""
        if row.surface not in THREAD_SURFACES:
            return None
        message = usage_reply(
            row.text, self.commands[row.command], THREAD_SURFACES[row.surface], umbrella=self.umbrella
        )
        return None if message is None else Outcome(messages=(message,), state="answered")

    def late_reply(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a message so old that its asker must first confirm it; None for other questions."""
        waited = self._waited(row)
        if row.surface not in THREAD_SURFACES or waited <= ASK_AFTER_SECONDS or row.redeliveries or row.action:
            return None
        asked = self.commands[row.command].parse_question_text(row.text)
        return Outcome(messages=(late_message(asked, waited, question_id=str(row.id)),), state="answered")

    def _waited(self, row: QuestionRow) -> float:
        """Return a question's age in seconds; the age of a message counts from the time when it was written."""
        return row.late_seconds + max(0.0, self.clock() - row.received)

    async def refused(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a question whose asker may not ask in this channel; None if the asker may.

        For a digest, the command itself checks the digest's owner, and sends the owner a direct message.
        """
        channel = row.preferences.channel
        if row.surface == DIGEST_SURFACE or self.commands[row.command].for_everyone:
            return None
        allowed = await self.admins.may_ask(channel, row.user_id)
        if allowed:
            return None
        # The sentence is in the asker's language, because only the asker sees it, even in a channel.
        speak(await self.language(row.user_id))
        sentence, error = (
            (ALLOWED_UNKNOWN, "AskerNotChecked") if allowed is None else (NOT_ALLOWED_HERE, "NotAllowedHere")
        )
        log.info("asker.not_allowed", extra=row.ids | {"surface": row.surface})
        told = () if row.surface == "follow_up" else (replace(text_message(_(sentence)), private=True),)
        return Outcome(messages=told, state="failed", error=error)

    def shows_text(self, row: QuestionRow) -> bool:
        """Return whether the answer's text can be shown while it is written."""
        # The first line of an answer with files says what became of the files, which is known only at the answer's end.
        return self.commands[row.command].ending is not None and not row.files

    def placeholder(self, row: QuestionRow) -> OutgoingMessage:
        """Return the message that the question's answer replaces. Raises UsageError if the text cannot be parsed."""
        command = self.commands[row.command]
        request = command.parse(row.text)
        public = row.surface not in THREAD_SURFACES and command.audience(request) is Audience.CHANNEL
        return command.pending_message(request, question_id=str(row.id), public=public)

    def stopped_message(self, row: QuestionRow) -> OutgoingMessage:
        """Return the message for a question that its asker stopped, even if this version does not know its command."""
        command = self.commands.get(row.command)
        asked = row.text if command is None else command.parse_question_text(row.text)
        return question_stopped_message(asked, question_id=str(row.id))

    async def run(self, row: QuestionRow, progress: Progress, *, live: LiveAnswer | None = None) -> Outcome:
        """Return the outcome of a question, including a failure. Raises `ClaimLost` if another worker has claimed it.

        `live` shows the answer while it is written. If the answer breaks off, the text that is already visible stays.
        """
        sent_log = SentLog(before_sending=self.before_sending)
        run = _Run(
            row=row,
            command=self.commands[row.command],
            progress=progress,
            live=live,
            started=self.clock(),
            sent_log=sent_log,
        )
        with logged_requests(sent_log):
            try:
                outcome = await self._run(run)
            except ClaimLost:
                await self._save_sent(row, sent_log)
                raise
        sent, replaced = sent_log.take_all()
        return replace(outcome, sent=sent, replaced=replaced)

    async def _save_sent(self, row: QuestionRow, sent_log: SentLog) -> None:
        """Save the requests sent for a question that this worker may no longer answer."""
        sent, replaced = sent_log.take_all()
        if sent is None and not replaced:
            return
        try:
            await self.questions.record_sent(row.id, sent, replaced)
        except DATABASE_UNAVAILABLE as error:
            log.warning("sent.not_saved", extra=row.ids | {"error": type(error).__name__})

    async def _run(self, run: _Run) -> Outcome:
        row = run.row
        try:
            return await self._run_once_known(run)
        except RequestCancelled:
            raise ClaimLost from None
        except PerplexityError as error:
            log.warning("question.failed", extra=row.ids | {"error": type(error).__name__})
            if await self._still_ours(row):
                self.cancel_runs(row.id)
            return await self._failed(run, error)
        except Exception as error:
            log.exception("question.broke", extra=row.ids)
            self.cancel_runs(row.id)
            return await self._failed(run, error)

    async def _failed(self, run: _Run, error: Exception) -> Outcome:
        if (shown := await self._broken_off(run, error)) is not None:
            return shown
        row = run.row
        if row.surface == DIGEST_SURFACE:
            # A digest's owner gets its failure as a direct message.
            speak(await self.language(row.user_id))
        sentence, button = await run_in_thread(self._explain, row, error)
        return self._failure(row, error, sentence, button=button, seconds=self.clock() - run.started)

    def failure(self, row: QuestionRow, error: Exception) -> Outcome:
        """Return the outcome of a question that is given up because of an error outside of its command."""
        self.cancel_runs(row.id)
        return self._failure(row, error, _(_INTERRUPTED if isinstance(error, Interrupted) else _INTERNAL_ERROR))

    async def _broken_off(self, run: _Run, error: Exception) -> Outcome | None:
        """Return the outcome of an answer that failed after some of its text was shown; None if no text was shown.

        The text stays with its sources, and a note below says that the answer broke off. If a time limit ended the
        answer, the written text is used even if none of it was shown.
        """
        row, command, live = run.row, run.command, run.live
        tried = error.attempts if isinstance(error, AllProvidersFailed) else ()
        at_limit = TimedOut.__name__ in {type(error).__name__, *(attempt.error_class for attempt in tried)}
        if live is None or command.ending is None or (answer := await live.broken_off(at_limit=at_limit)) is None:
            return None
        provider, cost_usd = "", None
        if isinstance(error, PerplexityError):
            provider, cost_usd = error.provider or (tried[-1].provider if tried else ""), error.cost_usd
        usage = Usage(cost_usd=cost_usd)
        answer = replace(answer, provider=provider, seconds=self.clock() - run.started, usage=usage)
        request = command.parse(row.text)
        audience = self._audience(row, request)
        reply = await run_in_thread_if_long(len(answer.text), command.render, answer, request, audience)
        refusal = error.sentence if isinstance(error, Refused) else ""
        below = broken_off_blocks(
            answer,
            reference=row.reference,
            question_id=str(row.id),
            refusal=refusal,
            limit=answer.seconds if at_limit else None,
        )
        return Outcome(
            messages=with_actions(reply.messages, below),
            state="failed",
            seconds=answer.seconds,
            error=type(error).__name__,
            cost_usd=cost_usd,
            ending=command.ending(answer, request, audience).followed_by(below),
            result=dump_result(answer, limits=_limits(command, request, row)),
        )

    def _explain(self, row: QuestionRow, error: Exception) -> tuple[str, FailureAction | None]:
        """Return the sentence for a failure, and the button below it; None means no button."""
        if not isinstance(error, PerplexityError):
            return _(_INTERNAL_ERROR), "retry"
        command, empty = self.commands[row.command], is_empty_result(error)
        button: FailureAction | None = "retry" if is_retryable(error) else None
        if empty and command.past_week is not None and command.past_week(row.text) is not None:
            button = "past_week"
        if empty and command.nothing_found is not None:
            return user_message(error, nothing=command.nothing_found(command.parse(row.text))), button
        return user_message(error), button

    def audience(self, row: QuestionRow) -> Audience:
        """Return who may see a reply sent by a response_url.

        Only the asker may see a failure; an answer has the audience of its command.
        """
        if row.outcome != "answered" or row.surface in THREAD_SURFACES:
            return Audience.ASKER
        if row.public is not None:
            return Audience.CHANNEL if row.public else Audience.ASKER
        return self._audience(row, self.commands[row.command].parse(row.text))

    def _audience(self, row: QuestionRow, request: Any) -> Audience:
        """Return who sees an answer: for a message, the readers of its thread; otherwise, the command decides."""
        if row.surface in THREAD_SURFACES:
            return Audience.THREAD
        return self.commands[row.command].audience(request)

    async def _run_once_known(self, run: _Run) -> Outcome:
        """Run the command; if the budgets could not be read, repeat it as soon as the database is back.

        The reply has to wait for the database anyway. Raises BudgetUnknown if the database is unavailable for very
        long, or if a request was already sent, because repeating the command would pay for that request again. A
        command that saves its stages is repeated even after a request, since a saved stage is not paid for again.
        """
        for _attempt in range(BUDGET_TRIES):
            try:
                return await self._execute(run)
            except BudgetUnknown:
                log.warning("budget.unknown", extra=run.row.ids)
                if run.sent_log.requests and not run.command.keeps_stages:
                    raise
            with suppress(*DATABASE_UNAVAILABLE):
                await self.database_retry(lambda: self.questions.get(run.row.id))
        return await self._execute(run)

    async def _execute(self, run: _Run) -> Outcome:
        row, command = run.row, run.command
        run.shared.clear()  # An earlier try may have added to it.
        request, alone = await self._request(row, command)
        audience = self._audience(row, request)
        result, said = await self.stops.guard(row, self._answer(run, request, audience, alone=alone))
        return await self._answered(run, request, audience, result, above=said)

    async def _answer(self, run: _Run, request: Any, audience: Audience, *, alone: bool) -> tuple[Any, str]:
        """Return the command's result, and the line above it on what became of the files; empty without files."""
        if not run.row.files:
            return await run.command.answer(request, await self._context(run, audience, alone=alone)), ""
        async with self.files.given(run.row) as given:
            context = await self._context(run, audience, alone=alone, steps=[given] if given.attachments else [])
            return await run.command.answer(request, context), given.line

    async def _request(self, row: QuestionRow, command: Command[Any, Any]) -> tuple[Any, bool]:
        """Return the request, and whether it is one of the app's own offers, without earlier turns, thread or files."""
        request = await run_in_thread_if_long(len(row.text), command.parse, row.text)
        if command.prefer is not None:
            settings = preferred(row.preferences)
            # The text of a question from a button says whether the answer is private; a setting must not change that.
            request = command.prefer(request, replace(settings, public=None) if row.action else settings)
        alone = row.action in {"", EXAMPLES} and is_offered(row.command, row.text) and not row.files
        if command.add_turns is not None:
            turns = [] if row.conversation in {None, row.id} else await self._earlier_turns(row)
            thread = await self._thread(row, turns)
            if turns or thread.messages:
                return command.add_turns(request, turns, thread), False
        return request, alone

    async def _context(
        self, run: _Run, audience: Audience, *, alone: bool, steps: Sequence[Step] = ()
    ) -> CommandContext:
        """Return the command's context. Raises Refused if workspace or channel rules forbid the command's effort."""
        row, command, live = run.row, run.command, run.live
        if command.effort is not None:
            effort_cap(row.preferences.rules).check(command.effort)

        async def on_run(run_id: str) -> None:
            if not await self._record_run(row, run_id, run.sent_log.take()):
                raise RequestCancelled("another worker holds the question")

        async def check_cancelled() -> None:
            if not await self._still_ours(row):
                raise RequestCancelled("the question was stopped, or is another worker's")

        pool, sharing = self.shared_answers, list(steps)
        if pool is not None and alone:
            # `run.shared` receives the time of a shared answer, for the note below the answer.
            sharing.append(SharedAnswers(pool=pool, row=row, on_shared=run.shared.append))
        return CommandContext(
            row=row,
            parent=await self._parent(row),
            services=self.chain.within(row.preferences.rules, sharing=sharing),
            on_run=on_run,
            check_cancelled=check_cancelled,
            stages=self.stages(row=row),
            progress=run.progress,
            on_event=None if live is None else _take_events(live, command, audience),
            text_shown=lambda: live is not None and live.has_shown_text,
            now=self.now,
        )

    async def _answered(self, run: _Run, request: Any, audience: Audience, result: Any, *, above: str) -> Outcome:
        row, command = run.row, run.command
        length = command.result_length(result)
        reply = await run_in_thread_if_long(length, command.render, result, request, audience)
        actions = self._actions(row, command, result, request, audience)
        if not actions and run.sent_log.requests and row.surface != DIGEST_SURFACE:
            actions = sent_actions(row.id)
        below = (*self._notes(run), *actions) if reply.messages else ()
        messages = with_line_above(reply.messages, above) if above and reply.messages else reply.messages
        remembered = None
        if command.remember is not None and row.surface != DIGEST_SURFACE:
            remembered = await run_in_thread_if_long(length, command.remember, result)
        ending = None if command.ending is None else command.ending(result, request, audience)
        return Outcome(
            messages=with_actions(messages, below),
            state="answered",
            seconds=self.clock() - run.started,
            remembered=remembered,
            ending=None if ending is None else ending.followed_by(below),
            result=dump_result(command.keep(result), limits=_limits(command, request, row)) if actions else None,
            public=audience is Audience.CHANNEL if row.surface in COMMAND_SURFACES else None,
            **vars(reply.stats),
        )

    def _notes(self, run: _Run) -> Iterator[Block]:
        """Yield the note below an answer, if it has something to say.

        The note has the time of a shared answer, the delay of a late message, and what the answer was made without.
        """
        row = run.row
        forgot = not self.keeps_text and run.command.add_turns is not None and row.conversation not in {None, row.id}
        late = late_note(self._waited(row)) if row.surface in THREAD_SURFACES else ""
        made = [_("From {time}.").format(time=short_time(at)) for at in run.shared]
        sentences = [*made, late, left_out_text(run.sent_log.counts), _(NO_MEMORY) if forgot else ""]
        if any(sentences):
            yield context_block(" ".join(filter(None, sentences)))

    async def _parent(self, row: QuestionRow) -> KeptResult | None:
        """Return the answer whose button asked this question; None if there is none."""
        parent = row.parent
        return None if parent is None else await self.database_retry(lambda: self.questions.result(parent))

    def _actions(
        self, row: QuestionRow, command: Command[Any, Any], result: Any, request: Any, audience: Audience
    ) -> tuple[Block, ...]:
        """Return the buttons below an answer."""
        if command.buttons is None:
            return ()
        in_thread = row.surface in THREAD_SURFACES
        private = not in_thread and audience is Audience.ASKER
        buttons = command.buttons(result, request)
        if buttons is None:
            return ()
        reasons = effort_cap(row.preferences.rules).allows(self.reasoning_effort)
        below = Below(
            question_id=row.id,
            buttons=replace(buttons, deeper=buttons.deeper and reasons),
            private=private,
            in_thread=in_thread,
            saves_files=self.saves_files,
        )
        return answer_actions(below, self.answer_parts)

    async def _earlier_turns(self, row: QuestionRow) -> list[Turn]:
        """Return the turns before a question.

        In each turn, `question` has no options, and `about` has the message that the question asks about.
        """
        turns = await self.database_retry(lambda: self.questions.turns(row))
        own = self.commands[row.command].parse_question_text(row.text)
        earlier = [
            replace(
                turn, question=command.parse_question_text(turn.question), about=command.parse_about_text(turn.question)
            )
            for turn in turns
            if (command := self.commands.get(turn.command)) is not None
        ]
        # A button that asks the same question again wants another answer, so the earlier answer is not sent.
        return [turn for turn in earlier if not (row.action and turn.question == own)]

    async def _thread(self, row: QuestionRow, turns: Sequence[Turn]) -> Thread:
        """Return people's other messages in a channel's thread before a question; empty if they may not be read."""
        if row.surface not in CHANNEL_THREADS:
            return NO_THREAD
        thread = await self.thread_history(row, [turn.ts for turn in turns])
        typed = (message._replace(text=unescape_slack(message.text)) for message in thread.messages)
        return replace(thread, messages=tuple(typed))

    async def _record_run(self, row: QuestionRow, run_id: str, sent: str | None) -> bool:
        """Save the id of a run and the requests sent; return whether the question still belongs to this worker.

        If the database is unavailable, return True: the run continues, but cannot be resumed.
        """
        try:
            return await self.database_retry(lambda: self.questions.record_run(row, run_id, sent=sent))
        except DATABASE_UNAVAILABLE as error:
            log.warning("run.not_recorded", extra=row.ids | {"error": type(error).__name__})
            return True

    async def _still_ours(self, row: QuestionRow) -> bool:
        """Return whether the question is open and claimed by this worker; True while the database is unavailable."""
        try:
            found = await self.questions.get(row.id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("question.not_read", extra=row.ids | {"error": type(error).__name__})
            return True
        return found is not None and (found.claim, found.state in OPEN) == (row.claim, True)

    def _failure(
        self,
        row: QuestionRow,
        error: Exception,
        sentence: str,
        *,
        button: FailureAction | None = "retry",
        seconds: float | None = None,
    ) -> Outcome:
        command = self.commands[row.command]
        if command.render_failure is not None:
            message = command.render_failure(command.parse(row.text), sentence, row.reference)
        else:
            is_read = row.surface in THREAD_SURFACES
            message = failure_message(
                sentence,
                reference=row.reference,
                question_id=str(row.id),
                action=button,
                private=is_refusal(error),
                question="" if is_read else command.parse_question_text(row.text),
            )
        cost_usd = error.cost_usd if isinstance(error, PerplexityError) else None
        return Outcome(
            messages=(message,), state="failed", seconds=seconds, error=type(error).__name__, cost_usd=cost_usd
        )


def _limits(command: Command[Any, Any], request: Any, row: QuestionRow) -> list[str]:
    return [] if command.filters is None else in_words(restrict(command.filters(request), *row.preferences.rules))


def _take_events(live: LiveAnswer, command: Command[Any, Any], audience: Audience) -> Callable[[Event], None]:
    """Return the function that gets the events of an answer, so that `live` shows the answer while it is written.

    For a private answer outside a thread, first set `live.question`, which is quoted above the growing text.
    """
    if audience is Audience.ASKER and live.row.thread_ts is None:
        live.question = command.parse_question_text(live.row.text)
    return live.on_event


LOOK_SECONDS = 0.5
"""The pause between two checks whether questions were stopped, so that each process ends their work within a second."""

Result = TypeVar("Result")


@dataclass(kw_only=True)
class _Work:
    claim: int
    task: asyncio.Future[Any]
    ended_by: Literal["loss", "pause"] | None = None


@dataclass(kw_only=True)
class StopWatcher:
    """Watches the questions that this process works on, all with one query."""

    questions: QuestionStore
    seconds: float = LOOK_SECONDS
    _works: dict[UUID, _Work] = field(default_factory=dict)
    _watching: asyncio.Task[None] | None = None

    async def guard(self, row: QuestionRow, work: Awaitable[Result]) -> Result:
        """Return the result of the work on a question. Raises the errors of the work.

        If the question is stopped or claimed by another worker, the work is cancelled and RequestCancelled is raised.
        If an admin pauses all spending while the question makes a paid call, the work is cancelled and SpendingPaused
        is raised.
        """
        own = _Work(claim=row.claim, task=asyncio.ensure_future(work))
        self._works[row.id] = own
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        try:
            result: Result = await own.task
        except asyncio.CancelledError:
            if own.ended_by == "pause":
                raise SpendingPaused(_(SPENDING_PAUSED)) from None
            if own.ended_by == "loss":
                raise RequestCancelled("the question was stopped, or is another worker's") from None
            raise
        finally:
            if self._works.get(row.id) is own:
                del self._works[row.id]
            if not self._works and self._watching is not None:
                self._watching.cancel()
                self._watching = None
        return result

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.seconds)
            watched = dict(self._works)
            try:
                claims = await self.questions.claims(watched)
            except DATABASE_UNAVAILABLE as error:
                log.warning("stops.unknown", extra={"error": type(error).__name__})
                continue
            for question_id, work in watched.items():
                if claims.get(question_id) != work.claim:
                    work.ended_by = "pause" if claims.get(question_id) == SPENDS_PAUSED else "loss"
                    work.task.cancel()
