"""Creates, changes and starts digests; workers run its two commands, one for a run and one for a stop notice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

from bot.clock import utc_now
from bot.commands.base import Command, CommandContext, Reply, Stats
from bot.delivery.delivery import DIGEST_SURFACE
from bot.errors import Refused
from bot.features.digests.model import (
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestLimits,
    DigestList,
    DigestNotFound,
    DigestReport,
    DigestResult,
    DigestRun,
    DigestSpec,
    LimitReached,
    NotOwner,
    Owner,
    State,
    Trigger,
    Updated,
    parse_run,
)
from bot.features.digests.rendering import (
    digest_failed_message,
    digest_messages,
    digest_stopped_message,
    not_posted_message,
    owner_gone_message,
    undeliverable_message,
)
from bot.features.digests.store import DigestStore, PostedHistory, RecordResult
from bot.model.admin import Problem
from bot.model.audit import Change
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import NewQuestion, QuestionRow
from bot.model.schedule import latest_slot, next_slot, zone_of
from bot.slack.users import AUTH_ERRORS, Admins, Membership
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry
from bot.translation import N_, ngettext, speaking
from bot.translation import gettext as _
from perplexity.errors import PerplexityError
from perplexity.filters import Filters
from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.news.summary import MAX_STORIES, news_summary
from perplexity.notes import is_empty_result

log = logging.getLogger(__name__)

MINUTE = 60.0
DAY, MONTH = timedelta(days=1), timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class DigestService:
    """Creates, lists and changes the digests in the database. Every method raises database errors.

    `command_label` is what people type for the command. `timezone` returns a person's time zone, None if it is unknown.
    `now` returns the current time.
    """

    command_label: str
    digests: DigestStore
    timezone: Callable[[str], Awaitable[str | None]]
    limits: DigestLimits
    now: Callable[[], datetime] = utc_now

    async def create(self, spec: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Create a digest that posts to a channel. If `spec` names no time zone, use the owner's.

        A second call with the same `id` creates no other digest.
        """
        named = spec.schedule.zone or await self.timezone(owner.user_id)
        zone = zone_of(named or "").key
        spec = replace(spec, schedule=replace(spec.schedule, zone=zone))
        next_at = next_slot(spec.schedule, self.now())
        full = await self.digests.create(
            spec, id=id, owner=owner, channel_id=channel_id, next_at=next_at, limits=self.limits
        )
        digest = await self.digests.get(id, now=self.now())
        if full is not None or digest is None:
            return full or LimitReached(limit=self.limits.per_user, channel=False)
        return Created(digest=digest, zone_known=zone == named)

    async def list_digests(self, owner: Owner) -> DigestList:
        """Return the digests of an owner; while digests are disabled, `next_at` is None in each."""
        digests = await self.digests.of_owner(owner, now=self.now())
        return DigestList(digests=[replace(one, next_at=None) for one in digests] if self.limits.disabled else digests)

    async def list_all(self, team_id: str) -> Sequence[Digest]:
        """Return the digests of a workspace, the most expensive first. Raises database errors."""
        return await self.digests.of_team(team_id, now=self.now())

    async def problems(self, team_id: str) -> Sequence[Problem]:
        """Return a problem if the last runs of several active digests failed. Raises database errors."""
        failed = sum(one.failed and one.state is State.ACTIVE for one in await self.list_all(team_id))
        text = ngettext("{count} digest failed at its last run.", "{count} digests failed at their last run.", failed)
        told = Problem(text=text, fix=_("Their owners were told why."))
        return [told] if failed > 1 else []

    async def apply(self, action: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Apply an action to the owner's digest with this number; `by` identifies the request."""
        digests = await self.digests.of_owner(owner, now=self.now())
        digest = next((one for one in digests if one.number == number), None)
        if digest is None:
            return DigestNotFound(number=number, numbers=[one.number for one in digests])
        return await self._apply(action, digest, by=by)

    async def apply_button(
        self, action: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Apply the action of a button to its digest. Only the owner may do so, in the owner's workspace."""
        digest = await self.digests.get(id, now=self.now())
        if digest is None:
            return DigestNotFound()
        owners = digest.owner.user_id == user_id and digest.owner.team_id in teams
        return await self._apply(action, digest, by=by) if owners else NotOwner()

    async def _apply(self, action: DigestAction, digest: Digest, *, by: str) -> DigestResult:
        now = self.now()
        match action:
            case DigestAction.RUN | DigestAction.RESUME if self.limits.disabled:
                return LimitReached(limit=0, channel=False)
            case DigestAction.RUN:
                asked = Trigger.MANUAL
                run = DigestRun(digest_id=digest.id, trigger=asked, earliest_slot=now, slot=now, title=digest.title)
                question = run_question(run, digest, id=uuid4(), key=by)
                if not await self.digests.start_manual(digest.id, question, now=now):
                    return AlreadyRunning(digest=digest)
            case DigestAction.DELETE:
                await self.digests.delete(digest.id)
            case DigestAction.PAUSE:
                digest = await self._set_state(digest, State.PAUSED, None)
            case DigestAction.RESUME if digest.state is not State.ACTIVE:
                digest = await self._set_state(digest, State.ACTIVE, next_slot(digest.spec.schedule, now))
        return Updated(action=action, digest=digest)

    async def _set_state(self, digest: Digest, state: State, next_at: datetime | None) -> Digest:
        await self.digests.set_state(digest.id, state, next_at=next_at)
        return replace(digest, state=state, next_at=next_at)


@dataclass(frozen=True, kw_only=True)
class DigestScheduler:
    """Checks for due digests at the start of each minute.

    `installed` returns the id of the installation that the process works for, None while unknown.

    If the database is unavailable, the next check starts the digests that are due by then. If `disabled`, no run
    starts.
    """

    digests: DigestStore
    disabled: bool = False
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    installed: Callable[[], str | None] = lambda: None

    async def run(self) -> None:
        """Check every minute until cancelled."""
        while True:
            try:
                await self.run_once()
            except DATABASE_UNAVAILABLE as error:
                log.warning("tick.skipped", extra={"error": type(error).__name__})
            await self.sleep(seconds_to_next_minute(self.now()))

    async def run_once(self) -> int:
        """Start every run that is due; return the number of due digests that this process handled."""
        if self.disabled:
            return 0
        now = self.now()
        while (digest := await self.digests.reschedule_stray(now=now)) is not None:
            log.warning("digest.set_right", extra={"digest": str(digest)})
        begun, plan = 0, partial(plan_run, now=now)
        while (digest := await self.digests.start_due(plan, now=now, installation=self.installed())) is not None:
            log.info("digest.due", extra={"digest": str(digest)})
            begun += 1
        return begun


def seconds_to_next_minute(now: datetime) -> float:
    """Return the seconds until the next full minute."""
    return MINUTE - now.second - now.microsecond / 1e6


NOT_A_MEMBER = N_("I’m not in its channel, so I can’t post there. Add me with `/invite` first.")
FOREIGN_DIRECT_MESSAGE = N_(
    "I can’t post in a direct message that I’m not part of. Set it up in the one with me, or in a channel."
)
NOT_ALLOWED = N_("The settings of this workspace don’t let me post in its channel. An admin can change that.")

COMMAND = "digest"
"""The command of a run's question; it cannot be typed."""


def plan_run(digest: Digest, *, now: datetime) -> tuple[datetime, NewQuestion, datetime]:
    """Plan the run of a digest that is due: return its slot, its question, and when the digest is due next.

    There is one run, for the latest slot, even if earlier slots were missed.
    """
    schedule = digest.spec.schedule
    first = digest.next_at or now
    slot = latest_slot(schedule, first=first, now=now)
    run = DigestRun(digest_id=digest.id, trigger=Trigger.SCHEDULED, earliest_slot=first, slot=slot, title=digest.title)
    return slot, run_question(run, digest, id=uuid4(), key=slot.isoformat()), next_slot(schedule, now)


def run_question(run: DigestRun, digest: Digest, *, id: UUID, key: str) -> NewQuestion:
    """Return the question of a run; a second question of the digest with the same `key` starts no other run."""
    key = f"{digest.id}:{key}"
    return _question(COMMAND, run.text, id=id, key=key, owner=digest.owner, channel_id=digest.channel_id)


def _question(command: str, text: str, *, id: UUID, key: str, owner: Owner, channel_id: str) -> NewQuestion:
    return NewQuestion(
        id=id,
        delivery_key=f"{DIGEST_SURFACE}:{key}",
        surface=DIGEST_SURFACE,
        command=command,
        text=text,
        channel_id=channel_id,
        **vars(owner),
    )


NOTICE_COMMAND = "digest_notice"
"""The command of a stop notice's question; it cannot be typed."""

OWNER_LEFT = "owner_left"
OWNER_LEFT_CHANNEL = "owner_left_channel"
OWNER_NOT_FOUND = "owner_not_found"
OWNER_MAY_NOT_ASK = "owner_may_not_ask"
STOPPED_BY_ADMIN = "stopped_by_admin"
REASONS = {
    OWNER_LEFT_CHANNEL: N_("You’re no longer in its channel. Join it again first."),
    OWNER_NOT_FOUND: N_("Slack didn’t find your account in this workspace."),
    OWNER_MAY_NOT_ASK: N_(
        "In its channel only some people may ask me, and you’re not one of them. "
        "Ask the channel’s creator to change that."
    ),
    STOPPED_BY_ADMIN: N_("An admin of this workspace stopped it."),
    "not_in_channel": NOT_A_MEMBER,
    "channel_not_found": NOT_A_MEMBER,
    "is_archived": N_("Its channel is archived."),
    "no_permission": NOT_ALLOWED,
    "ekm_access_denied": NOT_ALLOWED,
    "restricted_action": NOT_ALLOWED,
    "restricted_action_read_only_channel": NOT_ALLOWED,
    "restricted_action_thread_only_channel": NOT_ALLOWED,
    "restricted_action_non_threadable_channel": NOT_ALLOWED,
}
"""Sentences that tell the owner why a digest cannot be posted, by the app's reason code or Slack's error.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""


@dataclass(frozen=True, kw_only=True)
class StopNotice:
    """Says why a digest was stopped or deleted, or could not be posted in its channel.

    `reason_code` is Slack's error, or the app's own code, such as `OWNER_LEFT`. `title` is the category and topic of
    the digest if it is deleted, otherwise empty.
    """

    digest_id: UUID
    reason_code: str
    title: str = ""

    @property
    def text(self) -> str:
        """Return the notice as a question's text, which `parse_notice` reads."""
        return " ".join(filter(None, (str(self.digest_id), self.reason_code, self.title)))

    def reason(self, channel_id: str = "") -> str:
        """Return the reason as a sentence for the owner."""
        if self.reason_code == "channel_not_found" and channel_id.startswith("D"):
            return _(FOREIGN_DIRECT_MESSAGE)
        unknown = _("Slack doesn’t let me post there, and calls the reason “{reason}”.")
        return _(REASONS.get(self.reason_code, "")) or unknown.format(reason=self.reason_code)


def parse_notice(text: str) -> StopNotice:
    """Parse the text of a notice. Raises ValueError."""
    digest_id, word, *title = text.split(" ", maxsplit=2)
    return StopNotice(digest_id=UUID(digest_id), reason_code=word, title="".join(title))


def notice_question(notice: StopNotice, *, by: UUID, owner: Owner, channel_id: str) -> NewQuestion:
    """Return the question of a notice.

    `by` is the id of the notice's cause, such as the question of a run. A digest has one notice for each cause: a
    second question for the same cause has the same key, and is not inserted.
    """
    key = f"{notice.digest_id}:notice:{by}"
    return _question(NOTICE_COMMAND, notice.text, id=uuid4(), key=key, owner=owner, channel_id=channel_id)


@dataclass(frozen=True, kw_only=True)
class StopNotices:
    """Stops digests that cannot be posted, and tells the owner, or the channel if the owner has left.

    `command_label` is the command to type. `language` returns the language of a person.
    """

    digests: DigestStore
    database_retry: DatabaseRetry
    command_label: str
    language: Callable[[str], Awaitable[str]]

    def command(self) -> Command[StopNotice, tuple[OutgoingMessage, ...]]:
        """Return the command that a worker runs."""
        return Command(
            name=NOTICE_COMMAND,
            summary="Say that a digest cannot be posted",
            usage="",
            has_slash_command=False,
            parse=parse_notice,
            audience=lambda notice: Audience.CHANNEL if notice.reason_code == OWNER_LEFT else Audience.ASKER,
            answer=self.answer,
            render=lambda messages, notice, audience: Reply(messages=messages),
            render_failure=lambda notice, sentence, reference: undeliverable_message(
                reason=notice.reason(), reference=reference
            ),
        )

    async def answer(self, notice: StopNotice, context: CommandContext) -> tuple[OutgoingMessage, ...]:
        """Return the notice in the language of its reader. Raises database errors.

        If the digest no longer exists, return no notice, unless it was deleted because its owner has left.
        """
        if notice.reason_code == OWNER_LEFT:
            return (owner_gone_message(notice.title, command=self.command_label),)
        digest = await self.database_retry(lambda: self.digests.get(notice.digest_id, now=utc_now()))
        if digest is None:
            return ()
        with speaking(await self.language(context.row.user_id)):
            reason = notice.reason(digest.channel_id)
            if digest.state is State.STOPPED:
                return (digest_stopped_message(digest, reason=reason, command=self.command_label),)
            skipped = notice.reason_code in {OWNER_LEFT_CHANNEL, OWNER_MAY_NOT_ASK, OWNER_NOT_FOUND}
            return (not_posted_message(digest, reason=reason, skipped=skipped),)

    async def on_channel_closed(self, row: QuestionRow, error: str) -> None:
        """Stop the digest of a run, since Slack does not let the app post in its channel; `error` is Slack's error.

        If Slack refuses every call of the app (`AUTH_ERRORS`), do not stop the digest: its runs then cost nothing.
        """
        if error in AUTH_ERRORS:
            return
        notice = StopNotice(digest_id=parse_run(row.text).digest_id, reason_code=error)
        owner = Owner(team_id=row.team_id, user_id=row.user_id)
        await self._end(notice, by=row.id, owner=owner, channel_id=row.channel_id)

    async def on_owner_barred(self, digest: Digest, reason_code: str, *, by: UUID) -> None:
        """Stop a digest because of its owner; delete it if the owner's account is closed.

        `reason_code` says whether the account is closed, the owner was not found, has left the channel of the digest,
        or may not ask there; `by` is the id of the run's question.
        """
        title = digest.title if reason_code == OWNER_LEFT else ""
        notice = StopNotice(digest_id=digest.id, reason_code=reason_code, title=title)
        await self._end(notice, by=by, owner=digest.owner, channel_id=digest.channel_id)

    async def stop_for_admin(self, digest_id: UUID, user_id: str, teams: Collection[str]) -> Digest | None:
        """Stop a digest of one of these workspaces for an admin, tell its owner, and record it in the audit log.

        Return the digest as it was, None if there is none. An inactive digest stays as it is, and nothing is recorded.
        Raises database errors.
        """
        digest = await self.digests.get(digest_id, now=utc_now())
        if digest is None or digest.owner.team_id not in teams:
            return None
        notice = StopNotice(digest_id=digest.id, reason_code=STOPPED_BY_ADMIN)
        question = notice_question(notice, by=uuid4(), owner=digest.owner, channel_id=digest.channel_id)
        change = Change(
            team_id=digest.owner.team_id,
            user_id=user_id,
            what="digest.stop",
            channel_id=digest.channel_id,
            subject=str(digest.id),
            before=str(digest.state),
            after=str(State.STOPPED),
        )
        await self.digests.stop(digest.id, question, by_admin=change)
        return digest

    async def _end(self, notice: StopNotice, *, by: UUID, owner: Owner, channel_id: str) -> None:
        question = notice_question(notice, by=by, owner=owner, channel_id=channel_id)
        # Without an owner, a digest could not be deleted by anyone, and would count towards the limit of its channel.
        deleted = notice.reason_code == OWNER_LEFT
        end = self.digests.delete if deleted else self.digests.stop
        if await self.database_retry(lambda: end(notice.digest_id, question)):
            extra = {"digest": str(notice.digest_id), "error": notice.reason_code}
            log.warning("digest.deleted" if deleted else "digest.stopped", extra=extra)


_BATCH = 8
"""How many fingerprints are compared in one step, which takes some milliseconds."""
_PAUSE_SECONDS = 0.01
"""The pause after each step, in which listeners can run."""


STOP_REASONS = {
    Membership.DEACTIVATED: OWNER_LEFT,
    Membership.NOT_FOUND: OWNER_NOT_FOUND,
    Membership.NOT_IN_CHANNEL: OWNER_LEFT_CHANNEL,
}
"""The memberships of an owner that stop a digest, and their reason codes."""


_OWNER_NOT_CHECKED = N_(
    "I couldn’t check with Slack whether you may ask in its channel. The next digest covers what this one missed."
)

OWNER_CHECK_PAUSES = (2.0, 8.0, 20.0)
"""The pauses in seconds before Slack is asked again whether the owner may ask in the channel."""


@dataclass(frozen=True, kw_only=True)
class DigestRunner:
    """Makes digests.

    `membership` takes the ids of a person and a channel, and returns whether the person is still in the workspace and
    in the channel. `sleep` pauses before Slack is asked again. Comparing stories with `find_unseen` is CPU-bound, so it
    is done in a thread, for one run at a time, in small steps with pauses: a busy thread holds the interpreter lock,
    while listeners have to acknowledge within three seconds.
    """

    digests: DigestStore
    admins: Admins
    membership: Callable[[str, str], Awaitable[Membership]]
    notices: StopNotices
    database_retry: DatabaseRetry
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    find_unseen: Callable[..., Sequence[Story]] = unseen
    _comparing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def command(self) -> Command[DigestRun, DigestReport | None]:
        """Return the command that a worker runs."""
        return Command(
            name=COMMAND,
            summary="Make a digest",
            usage="",
            has_slash_command=False,
            parse=parse_run,
            audience=lambda run: Audience.CHANNEL,
            answer=self.run,
            render=_render,
            render_failure=lambda run, sentence, reference: digest_failed_message(
                subject=run.title, digest_id=run.digest_id, sentence=_(sentence), reference=reference
            ),
            prefer=lambda run, settings: replace(run, filters=settings.filters(run.filters, language=True)),
            on_closed=self.notices.on_channel_closed,
        )

    async def run(self, run: DigestRun, context: CommandContext) -> DigestReport | None:
        """Return a report of new stories, None if the digest was deleted. Raises PerplexityError.

        While Slack refuses every call of the app, no provider is asked. The first run after that covers the missed
        time.
        """
        now = datetime.fromtimestamp(context.now(), UTC)
        digest = await self.database_retry(lambda: self.digests.get(run.digest_id, now=now))
        if digest is None:
            return None
        report = DigestReport(
            digest=digest, trigger=run.trigger_at(now), earliest_slot=run.earliest_slot, slot=run.slot, now=now
        )
        should_run = digest.state is State.ACTIVE or run.trigger is Trigger.MANUAL
        if not (
            should_run
            and await self._can_reach_owner(digest, by=context.row.id)
            and await self._owner_may_ask(digest, context)
        ):
            return replace(report, suppressed=True, cost_usd=0.0)
        return await self.select_new(
            await self._with_summary(report, context, filters=run.filters), question_id=context.row.id
        )

    async def _can_reach_owner(self, digest: Digest, *, by: UUID) -> bool:
        membership = await self.membership(digest.owner.user_id, digest.channel_id)
        if reason := STOP_REASONS.get(membership):
            await self.notices.on_owner_barred(digest, reason, by=by)
        if membership is Membership.APP_REMOVED:
            log.warning("digest.not_made", extra={"digest": str(digest.id), "error": "app not let in"})
        return membership is Membership.MEMBER

    async def _owner_may_ask(self, digest: Digest, context: CommandContext) -> bool:
        """Return whether the owner may ask in the digest's channel; if not, stop the digest.

        Raises Refused if Slack cannot be asked, even after some pauses.
        """
        owner, channel = digest.owner.user_id, context.row.preferences.channel
        pauses = iter(OWNER_CHECK_PAUSES)
        while (allowed := await self.admins.may_ask(channel, owner)) is None:
            if (pause := next(pauses, None)) is None:
                raise Refused(_OWNER_NOT_CHECKED)
            await self.sleep(pause)
        if not allowed:
            await self.notices.on_owner_barred(digest, OWNER_MAY_NOT_ASK, by=context.row.id)
        return allowed

    async def _with_summary(self, report: DigestReport, context: CommandContext, *, filters: Filters) -> DigestReport:
        """Return the report with all news since the previous run, and the cost; if no news was found, only the cost."""
        digest, now = report.digest, report.now
        last_run_at = await self.database_retry(
            lambda: self.digests.last_run_at(digest.id, question_id=context.row.id, now=now)
        )
        # At least a day, because the previous run may have posted only some of its stories, and at most a month.
        since = min(max(last_run_at or now, now - MONTH), now - DAY)
        try:
            summary = await news_summary(
                context.services.provider,
                category=digest.spec.category,
                topic=digest.spec.topic,
                filters=filters,
                since=since,
                now=now,
                max_stories=None,
            )
        except PerplexityError as error:
            if not is_empty_result(error):
                raise
            return replace(report, cost_usd=error.cost_usd)
        return replace(report, summary=summary, cost_usd=summary.cost_usd)

    async def select_new(self, report: DigestReport, *, question_id: UUID) -> DigestReport:
        """Return the report with at most eight new stories; the rest stays new for the next run.

        The report is suppressed if the digest was deleted meanwhile. Unless the run is manual, the report is also
        suppressed if the digest was paused or stopped.
        """
        stories = report.summary.stories if report.summary else ()
        new, since, cursor = stories, None, 0
        while True:
            read = partial(
                self.digests.posted, report.digest.id, question_id=question_id, now=report.now, cursor=cursor
            )
            history = await self.database_retry(read)
            new = await self._unseen(new, history, among=stories)
            since, cursor = max(filter(None, (since, history.at)), default=None), history.cursor
            selected = new[:MAX_STORIES]
            record = partial(
                self.digests.record_posted,
                report.digest.id,
                [fingerprint(story, among=stories) for story in selected],
                question_id=question_id,
                now=report.now,
                cursor=cursor,
                manual=report.trigger is Trigger.MANUAL,
            )
            result = await self.database_retry(record)
            if result is not RecordResult.CONFLICT:
                kept = result is RecordResult.OK
                return replace(report, stories=selected, since=since) if kept else replace(report, suppressed=True)

    async def _unseen(
        self, stories: tuple[Story, ...], seen: PostedHistory, *, among: tuple[Story, ...]
    ) -> tuple[Story, ...]:
        """Return the stories that were not posted before; `among` are all stories of the answer."""
        for start in range(0, len(seen.fingerprints), _BATCH):
            if not stories:
                break
            part = seen.fingerprints[start : start + _BATCH]
            async with self._comparing:
                stories = tuple(await asyncio.to_thread(self.find_unseen, stories, part, among=among))
                await asyncio.sleep(_PAUSE_SECONDS)
        return stories


def _render(report: DigestReport | None, _: DigestRun, __: Audience) -> Reply:
    if report is None:
        return Reply(messages=())
    provider = report.summary.provider if report.summary is not None else None
    return Reply(messages=digest_messages(report), stats=Stats(provider=provider, cost_usd=report.cost_usd))
