"""The work on one question: claim it, run its command, save the reply, deliver it, settle it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Protocol
from uuid import UUID, uuid4

from bot.blocks.actions import answer_actions, with_actions
from bot.blocks.elements import context as context_block
from bot.blocks.elements import quote_question
from bot.blocks.escaping import unescape_slack
from bot.blocks.messages import FailureAction, failure_message, late_message, late_note, question_stopped_message
from bot.blocks.progress import broken_off_blocks
from bot.commands.base import (
    DISABLED_AGENT,
    NULL_PROGRESS,
    Admins,
    Agent,
    Command,
    CommandContext,
    Progress,
    manages_nothing,
    no_audit,
    no_feedback,
    no_uploads,
)
from bot.commands.help import pending_message, text_message
from bot.commands.routing import BY_MENTION, IN_DIRECT_MESSAGE, usage_reply
from bot.delivery.delivery import ClaimLost, Delivery, FirstPost
from bot.delivery.routes import leaves_placeholder
from bot.delivery.status_message import StatusMessages
from bot.errors import AgentNotSetUp, BudgetUnknown, NoKey, Refused, UnknownCommand
from bot.model.asker import Asker, working_for
from bot.model.audit import AuditHealth
from bot.model.digest import DigestService
from bot.model.feedback import Feedback
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.preferences import ChannelSettings
from bot.model.provider_stats import ProviderStats
from bot.model.question import CHANNEL_THREADS, NO_THREAD, OPEN, Claimed, Outcome, QuestionRow, Thread, Turn
from bot.model.results import KeptResult, dump_result
from bot.preferences.precedence import (
    RestrictedAgent,
    RestrictedProvider,
    are_restricted,
    excludes_posts,
    may_ask,
    preferred,
    restrict,
)
from bot.privacy.outgoing import Outgoing, recorded
from bot.privacy.redaction import left_out_text
from bot.slack.users import Management
from bot.storage.budgets import BudgetStore
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import QuestionStore
from bot.streaming.live import GIVEN_UP, LiveAnswer, LiveAnswers
from bot.texts import failures, notices
from bot.web.metrics import Metrics
from bot.worker.background import StopWatcher
from perplexity.attempts import Attempt, attempt_reasons
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import NullStageStore, StageStore
from perplexity.errors import (
    AllProvidersFailed,
    AuthenticationError,
    BillingError,
    InvalidRequest,
    NothingFound,
    PerplexityError,
    RequestCancelled,
    TimedOut,
)
from perplexity.filters import in_words
from perplexity.notes import is_empty_result, with_reasons
from perplexity.providers.base import Provider
from perplexity.threads import run_in_thread, run_in_thread_if_long

log = logging.getLogger(__name__)


ADMIN_ERRORS = {AuthenticationError.__name__, BillingError.__name__}
"""Errors of a service that last until an admin does something."""


def user_message(error: PerplexityError, *, nothing: str = failures.NO_RESULTS) -> str:
    """Return what happened as mrkdwn, not escaped yet; `nothing` is what to say if nothing was found."""
    if is_empty_result(error):
        return with_reasons(nothing, error)
    if isinstance(error, InvalidRequest):
        return _invalid_request(error)
    if isinstance(error, (NoKey, Refused)):
        return error.sentence
    if isinstance(error, AllProvidersFailed):
        return _all_failed(error)
    if isinstance(error, AgentNotSetUp):
        return failures.NO_AGENT
    return failures.TIMED_OUT if isinstance(error, TimedOut) else failures.ALL_FAILED


def is_refusal(error: PerplexityError) -> bool:
    """Return whether a request was refused, which only its asker should read."""
    return isinstance(error, (InvalidRequest, AgentNotSetUp, Refused))


def is_retryable(error: PerplexityError) -> bool:
    """Return whether asking the same again may help: not if it was refused, or nothing was found and that was paid for.

    A service without a key finds nothing also when it refuses to search, and costs nothing.
    """
    if isinstance(error, BudgetUnknown):
        return True
    return not (isinstance(error, (NothingFound, Refused)) or (is_empty_result(error) and error.cost_usd))


def _all_failed(error: AllProvidersFailed) -> str:
    if not error.attempts:
        return failures.NONE_CONFIGURED
    kinds = {attempt.error_class for attempt in error.attempts}
    if kinds == {TimedOut.__name__}:
        return failures.TIMED_OUT
    return failures.all_failed("; ".join(attempt_reasons(error.attempts)), tell_admin=bool(kinds & ADMIN_ERRORS))


def _invalid_request(error: InvalidRequest) -> str:
    if error.field is None or error.allowed is None:
        return failures.NOT_TAKEN
    return failures.not_allowed((error.value or "").replace("`", "'"), error.field, allowed=error.allowed)


BUDGET_TRIES = 30
"""How often a question is tried again whose calls could not be reserved: with the pauses for about ten minutes."""

ASK_AFTER_SECONDS = 2 * 3600.0
"""A message that is older is answered only after its asker has said that an answer is still wanted."""

MAX_REDELIVERIES = 5
"""How often a question may come back from a dead or stopped worker before the asker is told instead."""


COMMAND_SURFACES = frozenset({"slash", "click"})
"""The surfaces whose answers are private unless they are asked to be public."""

THREAD_SURFACES = {"mention": BY_MENTION, "follow_up": BY_MENTION, "im": IN_DIRECT_MESSAGE}
"""The surfaces whose questions are messages, answered in their threads, and how the app is called there."""


@dataclass(frozen=True, kw_only=True)
class CommandRunner:
    """Runs the commands of questions. `commands` are by name; `clock` measures seconds; `stops` ends stopped work.

    `thread_history` returns what people wrote in a thread before a question, except in the messages of these `ts`;
    `reads_threads` is whether it does so in channels that have no setting. `saves_files` is whether answers can be
    saved as files.
    `stages` saves the stages of a question that takes minutes; `cancel_runs` cancels a question's runs at the services
    when it is given up. With `keeps_text` an answer can build on those before it.
    """

    questions: QuestionStore
    provider: Provider
    admins: Admins
    provider_stats: Callable[[], Awaitable[Sequence[ProviderStats]]]
    digests: DigestService
    commands: Mapping[str, Command[Any, Any]]
    database_retry: DatabaseRetry
    stops: StopWatcher
    agent: Agent = DISABLED_AGENT
    model: Provider | None = None
    deepdives: DeepDiveRunner | None = None
    thread_history: Callable[[QuestionRow, Sequence[str]], Awaitable[Thread]] | None = None
    reads_threads: bool = True
    stages: Callable[[QuestionRow], StageStore] = lambda row: NullStageStore()
    can_upload: Callable[[], Awaitable[bool]] = no_uploads
    saves_files: bool = True
    feedback: Callable[[str], Awaitable[Feedback]] = no_feedback
    audit: Callable[[], Awaitable[AuditHealth]] = no_audit
    next_questions: bool = False
    keeps_text: bool = True
    preferences: PreferenceStore | None = None
    budgets: BudgetStore | None = None
    management: Callable[[str, str], Awaitable[Management]] = manages_nothing
    cancel_runs: Callable[[UUID], None] = lambda question_id: None
    clock: Callable[[], float] = monotonic

    def usage_reply(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a message that asks for help, or nothing that can be asked: no listener answers it."""
        if row.surface not in THREAD_SURFACES:
            return None
        message = usage_reply(row.text, self.commands[row.command], THREAD_SURFACES[row.surface])
        return None if message is None else Outcome(messages=(message,), state="answered")

    def late_reply(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a message that is so old that its asker is asked first; None for another question."""
        waited = self._waited(row)
        if row.surface not in THREAD_SURFACES or waited <= ASK_AFTER_SECONDS or row.redeliveries or row.action:
            return None
        asked = self.commands[row.command].parse_question_text(row.text)
        return Outcome(messages=(late_message(asked, waited, question_id=str(row.id)),), state="answered")

    def _waited(self, row: QuestionRow) -> float:
        """Return how many seconds ago a message was written, or another question received."""
        return row.late_seconds + max(0.0, self.clock() - row.received)

    async def refused(self, row: QuestionRow) -> Outcome | None:
        """Return the outcome of a question that its asker may not ask in its channel; None if they may.

        The command of a digest checks its owner itself, who is told by a direct message.
        """
        channel = row.preferences.channel
        if row.surface == "digest" or self.commands[row.command].for_everyone:
            return None
        if may_ask(channel, row.user_id, is_admin=False):
            return None
        is_admin = await self.admins.check_admin(row.user_id)
        if is_admin:
            return None
        sentence, error = (
            (notices.ALLOWED_UNKNOWN, "AskerNotChecked")
            if is_admin is None
            else (notices.NOT_ALLOWED_HERE, "NotAllowedHere")
        )
        log.info("asker.not_allowed", extra=row.ids | {"surface": row.surface})
        told = () if row.surface == "follow_up" else (replace(text_message(sentence), private=True),)
        return Outcome(messages=told, state="failed", error=error)

    def shows_text(self, row: QuestionRow) -> bool:
        """Return whether the text of the question's answer can be shown while it is made."""
        return self.commands[row.command].ending is not None

    def placeholder(self, row: QuestionRow) -> OutgoingMessage:
        """Return the message that the question's answer replaces. Raises UsageError if the text cannot be parsed."""
        command = self.commands[row.command]
        request = command.parse(row.text)
        public = row.surface not in THREAD_SURFACES and command.audience(request) is Audience.CHANNEL
        return pending_message(command, request, question_id=str(row.id), public=public)

    def stopped_message(self, row: QuestionRow) -> OutgoingMessage:
        """Return what is shown of a question that its asker stopped."""
        return question_stopped_message(
            self.commands[row.command].parse_question_text(row.text), question_id=str(row.id)
        )

    async def run(self, row: QuestionRow, progress: Progress, *, live: LiveAnswer | None = None) -> Outcome:
        """Return what becomes of a question, a failure too. Raises `ClaimLost` if another worker has claimed it.

        `live` shows the answer while it is made. What it has shown of one that breaks off stays.
        """
        with recorded(Outgoing()) as outgoing:
            try:
                outcome = await self._run(row, progress, outgoing, live)
            except ClaimLost:
                await self._save_sent(row, outgoing)
                raise
        return replace(outcome, sent=outgoing.take())

    async def _save_sent(self, row: QuestionRow, outgoing: Outgoing) -> None:
        """Save what was sent for a question that gets no answer from here."""
        if (sent := outgoing.take()) is None:
            return
        try:
            await self.questions.record_sent(row.id, sent)
        except DATABASE_UNAVAILABLE as error:
            log.warning("sent.not_saved", extra=row.ids | {"error": type(error).__name__})

    async def _run(
        self,
        row: QuestionRow,
        progress: Progress,
        outgoing: Outgoing,
        live: LiveAnswer | None,
    ) -> Outcome:
        started = self.clock()
        if row.redeliveries > MAX_REDELIVERIES:
            self.cancel_runs(row.id)
            return self._failure(row, failures.INTERRUPTED, error="interrupted", seconds=None)
        try:
            return await self._execute_once_known(row, started, progress, outgoing, live)
        except RequestCancelled:
            raise ClaimLost from None
        except PerplexityError as error:
            tried = error.attempts if isinstance(error, AllProvidersFailed) else ()
            log.warning("question.failed", extra=row.ids | {"error": type(error).__name__})
            if await self._still_ours(row):
                self.cancel_runs(row.id)
            if (shown := await self._broken_off(row, live, error, started=started)) is not None:
                return shown
            sentence, way_on = await run_in_thread(self._explain, row, error)
            failed = self._failure(
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
            self.cancel_runs(row.id)
            if (shown := await self._broken_off(row, live, error, started=started)) is not None:
                return shown
            return self._failure(
                row, failures.INTERNAL_ERROR, error=type(error).__name__, seconds=self.clock() - started
            )

    async def _broken_off(
        self, row: QuestionRow, live: LiveAnswer | None, error: Exception, *, started: float
    ) -> Outcome | None:
        """Return the outcome of an answer that failed after text of it was shown; None if none was.

        The text stays with its sources, and what says below them that the answer broke off.
        """
        command = self.commands[row.command]
        if live is None or command.ending is None or (answer := await live.broken_off()) is None:
            return None
        provider, cost_usd = "", None
        if isinstance(error, PerplexityError):
            tried = error.attempts if isinstance(error, AllProvidersFailed) else ()
            provider, cost_usd = error.provider or (tried[-1].provider if tried else ""), error.cost_usd
        answer = replace(answer, provider=provider, seconds=self.clock() - started)
        request = command.parse(row.text)
        audience = self._audience(row, request)
        reply = await run_in_thread_if_long(len(answer.text), command.render, answer, request, audience)
        refusal = error.sentence if isinstance(error, Refused) else ""
        below = broken_off_blocks(cost_usd=cost_usd, reference=row.reference, question_id=str(row.id), refusal=refusal)
        return Outcome(
            messages=with_actions(reply.messages, below),
            state="failed",
            seconds=answer.seconds,
            error=type(error).__name__,
            cost_usd=cost_usd,
            ending=command.ending(answer, request, audience).followed_by(below),
        )

    def _explain(self, row: QuestionRow, error: PerplexityError) -> tuple[str, FailureAction | None]:
        """Return the sentence for a failure, and the button below it."""
        return self._sentence(row, error), self._way_on(row, error)

    def _sentence(self, row: QuestionRow, error: PerplexityError) -> str:
        command = self.commands[row.command]
        if command.nothing_found is None or not is_empty_result(error):
            return user_message(error)
        return user_message(error, nothing=command.nothing_found(command.parse(row.text)))

    def _way_on(self, row: QuestionRow, error: PerplexityError) -> FailureAction | None:
        """Return the button below a failure: one that may help, or none."""
        wider = self.commands[row.command].past_week
        if wider is not None and is_empty_result(error) and wider(row.text) is not None:
            return "past_week"
        return "retry" if is_retryable(error) else None

    def audience(self, row: QuestionRow) -> Audience:
        """Return who may see it by a response_url: a failure is the asker's alone, an answer goes to its place."""
        if row.outcome != "answered" or row.surface in THREAD_SURFACES:
            return Audience.ASKER
        if row.public is not None:
            return Audience.CHANNEL if row.public else Audience.ASKER
        return self._audience(row, self.commands[row.command].parse(row.text))

    def _audience(self, row: QuestionRow, request: Any) -> Audience:
        """Return who sees an answer: where a message asked, everyone in that conversation."""
        if row.surface in THREAD_SURFACES:
            return Audience.CHANNEL if row.surface in CHANNEL_THREADS else Audience.ASKER
        return self.commands[row.command].audience(request)

    async def _execute_once_known(
        self,
        row: QuestionRow,
        started: float,
        progress: Progress,
        outgoing: Outgoing,
        live: LiveAnswer | None,
    ) -> Outcome:
        """Run the command; again, as soon as the database is back, if that could not say what is left of the budgets.

        The reply has to wait for the database, too. Raises BudgetUnknown if it is unavailable for very long.
        """
        for _ in range(BUDGET_TRIES):
            try:
                return await self._execute(row, started, progress, outgoing, live)
            except BudgetUnknown:
                log.warning("budget.unknown", extra=row.ids)
            with suppress(*DATABASE_UNAVAILABLE):
                await self.database_retry(lambda: self.questions.get(row.id))
        return await self._execute(row, started, progress, outgoing, live)

    async def _execute(
        self,
        row: QuestionRow,
        started: float,
        progress: Progress,
        outgoing: Outgoing,
        live: LiveAnswer | None,
    ) -> Outcome:
        command = self.commands[row.command]
        request = await run_in_thread_if_long(len(row.text), command.parse, row.text)
        if command.prefer is not None:
            settings = preferred(row.preferences)
            # What a button asks below an answer is as private as its text says, whatever was set since.
            request = command.prefer(request, replace(settings, public=None) if row.action else settings)
        if command.add_turns is not None:
            turns = [] if row.conversation in {None, row.id} else await self._earlier_turns(row)
            thread = await self._thread(row, turns)
            if turns or thread.messages:
                request = command.add_turns(request, turns, thread)

        async def on_run(run_id: str) -> None:
            if not await self._record_run(row, run_id, outgoing.take()):
                raise RequestCancelled("another worker holds the question")

        async def check_cancelled() -> None:
            if not await self._still_ours(row):
                raise RequestCancelled("the question was stopped, or is another worker's")

        context = CommandContext(
            provider=self.provider,
            admins=self.admins,
            provider_stats=self.provider_stats,
            digests=self.digests,
            user_id=row.user_id,
            agent=self.agent,
            run_id=row.run_id,
            on_run=on_run,
            check_cancelled=check_cancelled,
            question_id=row.id,
            team_id=row.team_id,
            channel_id=row.channel_id,
            deepdives=self.deepdives,
            stages=self.stages(row),
            progress=progress,
            on_event=None if live is None else live.on_event,
            text_shown=lambda: live is not None and live.has_shown_text,
            can_upload=self.can_upload,
            feedback=self.feedback,
            audit=self.audit,
            preferences=self.preferences,
            budgets=self.budgets,
            management=self.management,
            parent=await self._parent(row),
            action=row.action,
            next_questions=self.next_questions,
            model=self.model,
            channel=row.preferences.channel,
        )
        context = _keep_to_sites(context, row.preferences.channel)
        result = await self.stops.guard(row, command.answer(request, context))
        length = command.result_length(result)
        audience = self._audience(row, request)
        reply = await run_in_thread_if_long(length, command.render, result, request, audience)
        actions = self._actions(row, command, result, request, audience)
        below = (*self._notes(row, command, outgoing), *actions) if reply.messages else ()
        remembered = None
        if command.remember is not None and row.surface in THREAD_SURFACES:
            remembered = await run_in_thread_if_long(length, command.remember, result)
        ending = None if command.ending is None else command.ending(result, request, audience)
        return Outcome(
            messages=with_actions(reply.messages, below),
            state="answered",
            seconds=self.clock() - started,
            remembered=remembered,
            ending=None if ending is None else ending.followed_by(below),
            result=dump_result(result, limits=_limits(command, request, row)) if actions else None,
            public=audience is Audience.CHANNEL if row.surface in COMMAND_SURFACES else None,
            **vars(reply.stats),
        )

    def _notes(self, row: QuestionRow, command: Command[Any, Any], outgoing: Outgoing) -> Iterator[Block]:
        """Yield what is said below an answer about the texts behind it."""
        forgot = not self.keeps_text and command.add_turns is not None and row.conversation not in {None, row.id}
        late = late_note(self._waited(row)) if row.surface in THREAD_SURFACES else ""
        sentences = [late, left_out_text(outgoing.counts), notices.NO_MEMORY if forgot else ""]
        if any(sentences):
            yield context_block(" ".join(filter(None, sentences)))

    async def _parent(self, row: QuestionRow) -> KeptResult | None:
        """Return the answer below which a button asked this question."""
        parent = row.parent
        return None if parent is None else await self.database_retry(lambda: self.questions.result(parent))

    def _actions(
        self, row: QuestionRow, command: Command[Any, Any], result: Any, request: Any, audience: Audience
    ) -> tuple[Block, ...]:
        """Return the buttons below an answer."""
        if command.buttons is None:
            return ()
        private = row.surface not in THREAD_SURFACES and audience is Audience.ASKER
        buttons = command.buttons(result, request)
        return answer_actions(buttons, question_id=row.id, private=private, thumbs=not private, save=self.saves_files)

    async def _earlier_turns(self, row: QuestionRow) -> list[Turn]:
        """Return the turns before a question, each question without its options and without the message it is about."""
        turns = await self.database_retry(lambda: self.questions.turns(row))
        own = self.commands[row.command].parse_question_text(row.text)
        earlier = [
            replace(
                turn, question=command.parse_question_text(turn.question), about=command.parse_about_text(turn.question)
            )
            for turn in turns
            if (command := self.commands.get(turn.command)) is not None
        ]
        # A button that asks the same question again wants another answer.
        return [turn for turn in earlier if not (row.action and turn.question == own)]

    async def _thread(self, row: QuestionRow, turns: Sequence[Turn]) -> Thread:
        """Return what else people wrote in a channel's thread before a question, if its settings allow to read it."""
        history = row.preferences.channel.history
        allowed = self.reads_threads if history is None else history
        if self.thread_history is None or not allowed or row.surface not in CHANNEL_THREADS:
            return NO_THREAD
        thread = await self.thread_history(row, [turn.ts for turn in turns])
        typed = (message._replace(text=unescape_slack(message.text)) for message in thread.messages)
        return replace(thread, messages=tuple(typed))

    async def _record_run(self, row: QuestionRow, run_id: str, sent: str | None) -> bool:
        """Return whether the question is still ours.

        While the database is unavailable, the run goes on but cannot be resumed.
        """
        try:
            return await self.database_retry(lambda: self.questions.record_run(row, run_id, sent=sent))
        except DATABASE_UNAVAILABLE as error:
            log.warning("run.not_recorded", extra=row.ids | {"error": type(error).__name__})
            return True

    async def _still_ours(self, row: QuestionRow) -> bool:
        """Return whether the question is open and this worker's. While the database is unavailable, return True."""
        try:
            found = await self.questions.get(row.id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("question.not_read", extra=row.ids | {"error": type(error).__name__})
            return True
        return found is not None and (found.claim, found.state in OPEN) == (row.claim, True)

    def _failure(
        self,
        row: QuestionRow,
        sentence: str,
        *,
        error: str,
        seconds: float | None,
        tried: tuple[Attempt, ...] = (),
        way_on: FailureAction | None = "retry",
        private: bool = False,
    ) -> Outcome:
        command = self.commands[row.command]
        if command.render_failure is not None:
            message = command.render_failure(command.parse(row.text), sentence, row.reference)
        else:
            seen_by = Audience.CHANNEL if row.surface in CHANNEL_THREADS and not private else Audience.ASKER
            message = failure_message(
                sentence,
                reference=row.reference,
                question_id=str(row.id),
                attempts=tried,
                seconds=seconds,
                action=way_on,
                private=private,
                quote=quote_question(command.parse_question_text(row.text), seen_by),
            )
        return Outcome(messages=(message,), state="failed", seconds=seconds, error=error)


def _limits(command: Command[Any, Any], request: Any, row: QuestionRow) -> list[str]:
    return [] if command.filters is None else in_words(restrict(command.filters(request), row.preferences.channel))


def _keep_to_sites(context: CommandContext, channel: ChannelSettings) -> CommandContext:
    """Return the context with services that keep to a channel's sites, for every command."""
    if not are_restricted(channel):
        return context
    dives = context.deepdives
    if dives is not None:
        dives = replace(
            dives,
            facts=RestrictedProvider(provider=dives.facts, channel=channel),
            synthesis=RestrictedProvider(provider=dives.synthesis, channel=channel),
            posts=None if excludes_posts(channel) else dives.posts,
        )
    return replace(
        context,
        provider=RestrictedProvider(provider=context.provider, channel=channel),
        agent=RestrictedAgent(agent=context.agent, channel=channel),
        deepdives=dives,
    )


MAX_REDELIVERIES_IN_DELIVERY = 2 * MAX_REDELIVERIES
"""After these many the messages themselves are what brings workers down, and the question is given up."""


class AdmissionCheck(Protocol):
    """Says whose questions are answered."""

    @property
    def installed(self) -> str | None:
        """Return the id of the installation; None while it is unknown."""
        ...

    async def refused(self, row: QuestionRow, *, user_team: str) -> Outcome | None:
        """Return the outcome of a question whose asker is refused; None if the asker is answered.

        `user_team` is the workspace that an event has named lately as the asker's, empty if none did.
        """
        ...


class AdmitEveryone:
    """Answers everyone."""

    installed = None

    async def refused(self, row: QuestionRow, *, user_team: str) -> Outcome | None:
        """Return None: no asker is refused."""
        return None


ADMIT_EVERYONE = AdmitEveryone()


async def only_workspace(team_id: str) -> bool:
    """Return True: there is only one workspace."""
    return True


@dataclass(frozen=True, kw_only=True)
class QuestionWorker:
    """Answers questions.

    `admission` decides whose, `runner` runs their commands, `progress_of` shows their progress, `live` their
    text while it is made; `home_changed` shows a person the home tab anew, `new_id` names a claim. `enter` has the task
    act for the workspace of a question; it returns False if the app is not installed there.
    """

    questions: QuestionStore
    runner: CommandRunner
    delivery: Delivery
    status_messages: StatusMessages
    database_retry: DatabaseRetry
    metrics: Metrics
    admission: AdmissionCheck = ADMIT_EVERYONE
    progress_of: Callable[[QuestionRow], Progress] = lambda row: NULL_PROGRESS
    live: LiveAnswers | None = None
    home_changed: Callable[[str, str], None] = lambda team_id, user_id: None
    enter: Callable[[str], Awaitable[bool]] = only_workspace
    new_id: Callable[[], UUID] = uuid4

    async def process(self, question_id: UUID, job: int | None = None) -> bool:
        """Answer one question; return whether its job was removed. A shutdown that cancels this puts the job back.

        Raises `UnknownCommand`, without claiming the question, if only a newer version knows its command.
        """
        claimed = await self._claim(question_id)
        if claimed is None:
            return False
        row = claimed.row
        installed = await self.database_retry(lambda: self.enter(row.team_id))
        if claimed.home_open and installed:
            self.home_changed(row.team_id, row.user_id)
        log.info("question.claimed", extra=row.ids | {"attempt": row.claim, "returns": row.redeliveries})
        asker = Asker(team_id=row.team_id, user_id=row.user_id, channel_id=row.channel_id, question_id=row.id)
        try:
            with working_for(asker):
                if claimed.closed or not installed:
                    log.warning("question.closed", extra=row.ids)
                    await self._settle(row, "stopped", job=job)
                else:
                    await self._answer(claimed, job=job)
        except ClaimLost:
            log.warning("question.superseded", extra=row.ids | {"attempt": row.claim})
            return False
        return True

    async def _claim(self, question_id: UUID) -> Claimed | None:
        """Claim the question; return None if it is already closed, or another worker was faster."""
        claim, commands, installed = self.new_id(), self.runner.commands, self.admission.installed
        claimed = await self.database_retry(
            lambda: self.questions.claim(question_id, claim, commands=commands, installation=installed)
        )
        if claimed is None:
            row = await self.database_retry(lambda: self.questions.get(question_id))
            if row is not None and not row.settled and row.command not in commands:
                log.info("question.unknown_command", extra=row.ids)
                raise UnknownCommand(row.command)
            if row is not None and row.state in GIVEN_UP and (row.streaming or row.shown) and self.live is not None:
                left, live = row, self.live
                await self.database_retry(lambda: live.clear_up(left))
        return claimed

    async def _answer(self, claimed: Claimed, *, job: int | None) -> None:
        """Deliver the answer that is kept, or find one and keep it before the first of its messages is posted."""
        row, first = claimed.row, None
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
                finished = await self._finish(live, outcome)
                row = replace(row, streams=tuple(live.messages) or row.streams)
                if live.uncertain:
                    row = await self._end_streams(row)
                if finished:
                    await self._settle(row, row.outcome or "failed", job=job)
                    return
        else:
            audience = await run_in_thread_if_long(len(row.text), self.runner.audience, row)
        if row.redeliveries > MAX_REDELIVERIES_IN_DELIVERY:
            await self._settle(row, "expired", job=job)
        else:
            await self._deliver(row, audience, first, job=job)

    async def _outcome(self, claimed: Claimed) -> tuple[QuestionRow, Outcome, LiveAnswer | None]:
        """Return the question's outcome, the row with what was posted meanwhile, and what showed the text already.

        An outcome whose text was shown already is saved.
        """
        row, live = claimed.row, None
        outcome = await self.admission.refused(row, user_team=claimed.user_team) or await self.runner.refused(row)
        outcome = outcome or await run_in_thread_if_long(len(row.text), self.runner.usage_reply, row)
        outcome = outcome or await run_in_thread_if_long(len(row.text), self.runner.late_reply, row)
        if outcome is None:
            if row.surface != "slash":  # whose ack said it already
                placeholder = await run_in_thread_if_long(len(row.text), self.runner.placeholder, row)
                row = await self.status_messages.post_pending(row, placeholder)
            progress = self.progress_of(row)
            if self.live is not None and self.runner.shows_text(row):
                live = self.live.answer(row, progress)
                outcome = await self._run_live(row, progress, live, self.live)
                row = replace(row, streams=tuple(live.messages) or row.streams)
                live = live if live.shows_text else None
            else:
                outcome = await self.runner.run(row, progress)
            row = replace(row, response_uses=row.response_uses + progress.response_url_uses)
        return row, outcome, live

    async def _finish(self, live: LiveAnswer, outcome: Outcome) -> bool:
        """Return whether the answer is complete where its text was shown already."""
        try:
            return await live.finish(outcome.ending)
        except ClaimLost:
            if self.live is not None:
                await self.live.leave(live)
            raise

    async def _end_streams(self, row: QuestionRow) -> QuestionRow:
        """End the messages of an answer that may be open, so that they can be replaced."""
        live = self.live
        return row if live is None else await self.database_retry(lambda: live.end(row))

    async def _run_live(self, row: QuestionRow, progress: Progress, live: LiveAnswer, answers: LiveAnswers) -> Outcome:
        """Run the command while its answer is shown; what was shown of one that was stopped stays."""
        try:
            async with live:
                outcome = await self.runner.run(row, progress, live=live)
                if live.shows_text:
                    # Saved at once: a call to Slack that is under way may take seconds, and a worker can die meanwhile.
                    await self._keep(row, outcome, None)
                return outcome
        except ClaimLost:
            await answers.leave(live)
            raise

    async def _keep(self, row: QuestionRow, outcome: Outcome, first: FirstPost | None) -> None:
        uses, unconfirmed = (row.response_uses, 0) if first is None else (first.uses, first.unconfirmed)
        if not await self.database_retry(
            lambda: self.questions.save_messages(row, outcome, uses=uses, unconfirmed=unconfirmed)
        ):
            raise ClaimLost
        extra = row.ids | outcome.figures | {"state": outcome.state, "parts": len(outcome.messages)}
        log.info("answer.kept", extra=extra)

    async def _deliver(self, row: QuestionRow, audience: Audience, first: FirstPost | None, *, job: int | None) -> None:
        delivered = await self.delivery.deliver(row, audience=audience, first=first)
        if delivered and leaves_placeholder(row, audience):
            await self.status_messages.delete_pending(row)
        if delivered and row.surface in CHANNEL_THREADS and any(message.private for message in row.messages or ()):
            await self.status_messages.delete_pending_in_thread(row)
        if delivered and self.live is not None:
            await self.live.delete_leftovers(row)
        await self._settle(row, row.outcome or "failed" if delivered else "expired", job=job)

    async def _settle(self, row: QuestionRow, state: str, *, job: int | None) -> None:
        settled = await self.database_retry(lambda: self.questions.settle(row, state, job=job))
        if settled is None:
            raise ClaimLost
        self.metrics.settled(command=row.command, state=state)
        if settled.home_open:
            self.home_changed(row.team_id, row.user_id)
        extra = row.ids | {"state": state, "parts": len(row.messages or ()), "reference": row.reference}
        log.log(logging.ERROR if state == "expired" else logging.INFO, "question.settled", extra=extra)
