"""Run a digest: ask for the news since the last run and select the stories that were not posted yet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from bot.commands.base import Command, Reply, Stats
from bot.commands.context import CommandContext
from bot.errors import Refused
from bot.features.digests.jobs import (
    COMMAND,
    OWNER_LEFT,
    OWNER_LEFT_CHANNEL,
    OWNER_MAY_NOT_ASK,
    OWNER_NOT_FOUND,
    DigestStopper,
)
from bot.features.digests.model import Digest, DigestReport, DigestRun, State, Trigger, parse_run, search_window_start
from bot.features.digests.rendering import digest_failed_message, digest_messages
from bot.features.digests.store import DigestStore, PostedHistory, PostedStories, RecordResult
from bot.model.message import Audience, OutgoingMessage
from bot.preferences.precedence import Preferred
from bot.slack.users import Admins, Membership
from bot.storage.database import DatabaseRetry
from perplexity.errors import PerplexityError
from perplexity.filters import Filters
from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.news.summary import MAX_STORIES, news_summary
from perplexity.notes import is_empty_result

log = logging.getLogger(__name__)


_BATCH = 8
"""Fingerprints compared in one step, which takes some milliseconds."""
_PAUSE_SECONDS = 0.01
"""Pause after each step, so that listeners can run."""


class FindUnseen(Protocol):
    """Finds new stories."""

    def __call__(self, stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story]) -> Sequence[Story]:
        """Return the stories that match none of the fingerprints in `seen`; `among` are all stories of the answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class StorySelector:
    """Selects new stories with `find_unseen` and records them as posted.

    Comparing is CPU-bound, so it runs in a thread, for one run at a time, in small steps with pauses: a busy thread
    holds the interpreter lock, while listeners have to acknowledge within three seconds.
    """

    posted: PostedStories
    database_retry: DatabaseRetry
    find_unseen: FindUnseen = unseen
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def select_new(self, report: DigestReport, *, question_id: UUID) -> DigestReport:
        """Return the report with at most eight new stories; the rest stays new for the next run.

        The report is suppressed if the digest was deleted, paused or stopped meanwhile, unless the run is manual.
        """
        stories = report.summary.stories if report.summary else ()
        new, since, cursor = stories, None, 0
        while True:
            history = await self._read_history(report, question_id=question_id, cursor=cursor)
            new = await self._unseen(new, history, among=stories)
            since, cursor = _latest(since, history.at), history.cursor
            selected = new[:MAX_STORIES]
            result = await self._record(report, selected, question_id=question_id, cursor=cursor)
            if result is not RecordResult.CONFLICT:
                return (
                    report.with_stories(selected, since=since)
                    if result is RecordResult.OK
                    else replace(report, suppressed=True)
                )

    async def _unseen(
        self, stories: tuple[Story, ...], seen: PostedHistory, *, among: tuple[Story, ...]
    ) -> tuple[Story, ...]:
        """Return the stories that were not posted before; `among` are all stories of the answer."""
        for start in range(0, len(seen.fingerprints), _BATCH):
            if not stories:
                break
            part = seen.fingerprints[start : start + _BATCH]
            async with self._lock:
                stories = tuple(await asyncio.to_thread(self.find_unseen, stories, part, among=among))
                await asyncio.sleep(_PAUSE_SECONDS)
        return stories

    async def _read_history(self, report: DigestReport, *, question_id: UUID, cursor: int) -> PostedHistory:
        read = partial(self.posted.read, report.digest.id, question_id=question_id, now=report.now, cursor=cursor)
        return await self.database_retry(read)

    async def _record(
        self, report: DigestReport, selected: tuple[Story, ...], *, question_id: UUID, cursor: int
    ) -> RecordResult:
        stories = report.summary.stories if report.summary else ()
        note = partial(
            self.posted.record,
            report.digest.id,
            [fingerprint(story, among=stories) for story in selected],
            question_id=question_id,
            now=report.now,
            cursor=cursor,
            manual=report.trigger is Trigger.MANUAL,
        )
        return await self.database_retry(note)


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(filter(None, (one, other)), default=None)


STOP_REASONS = {
    Membership.DEACTIVATED: OWNER_LEFT,
    Membership.NOT_FOUND: OWNER_NOT_FOUND,
    Membership.NOT_IN_CHANNEL: OWNER_LEFT_CHANNEL,
}
"""The memberships of an owner that stop a digest, and their reason codes."""


OWNER_CHECK_PAUSES = (2.0, 8.0, 20.0)
"""Seconds after which Slack is asked again whether the owner is an admin."""


@dataclass(frozen=True, kw_only=True)
class DigestRunner:
    """Makes digests. `membership` returns whether a person is still in the workspace and in a channel, by their ids.

    `sleep` pauses before Slack is asked again.
    """

    digests: DigestStore
    admins: Admins
    membership: Callable[[str, str], Awaitable[Membership]]
    stopper: DigestStopper
    selector: StorySelector
    database_retry: DatabaseRetry
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def command(self) -> Command[DigestRun, DigestReport | None]:
        """Return the command that a worker runs."""
        return Command(
            name=COMMAND,
            summary="Make a digest",
            usage="",
            has_slash_command=False,
            parse=parse_run,
            audience=lambda _: Audience.CHANNEL,
            answer=self.run,
            render=_render,
            render_failure=_failure_message,
            prefer=_prefer,
            on_closed=self.stopper.on_channel_closed,
        )

    async def run(self, run: DigestRun, context: CommandContext) -> DigestReport | None:
        """Return a report of new stories, None if the digest was deleted. Raises PerplexityError.

        While the app may not post, no provider is asked: the first run after that covers the missed time.
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
        return await self.selector.select_new(
            await self._with_summary(report, context, filters=run.filters), question_id=context.row.id
        )

    async def _can_reach_owner(self, digest: Digest, *, by: UUID) -> bool:
        membership = await self.membership(digest.owner.user_id, digest.channel_id)
        if reason := STOP_REASONS.get(membership):
            await self.stopper.on_owner_barred(digest, reason, by=by)
        if membership is Membership.APP_REMOVED:
            log.warning("digest.not_made", extra={"digest": str(digest.id), "error": "app not let in"})
        return membership is Membership.MEMBER

    async def _owner_may_ask(self, digest: Digest, context: CommandContext) -> bool:
        """Return whether the owner may ask in the digest's channel; if not, stop the digest.

        Raises Refused if Slack cannot be asked, even after some pauses.
        """
        owner, channel = digest.owner.user_id, context.row.preferences.channel
        allowed = await self.admins.may_ask(channel, owner)
        for pause in OWNER_CHECK_PAUSES:
            if allowed is not None:
                break
            await self.sleep(pause)
            allowed = await self.admins.may_ask(channel, owner)
        if allowed is None:
            raise Refused(
                "I couldn’t check with Slack whether you may ask in its channel. "
                "The next digest covers what this one missed."
            )
        if not allowed:
            await self.stopper.on_owner_barred(digest, OWNER_MAY_NOT_ASK, by=context.row.id)
        return allowed

    async def _with_summary(self, report: DigestReport, context: CommandContext, *, filters: Filters) -> DigestReport:
        """Ask for all news since the previous run. An answer without news costs money, too."""
        digest, now = report.digest, report.now
        last_run_at = await self.database_retry(
            lambda: self.digests.posted.last_run_at(digest.id, question_id=context.row.id, now=now)
        )
        since = search_window_start(last_run_at, now=now)
        spec = digest.spec
        try:
            summary = await news_summary(
                context.services.provider,
                category=spec.category,
                topic=spec.topic,
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


def _prefer(run: DigestRun, settings: Preferred) -> DigestRun:
    return replace(run, filters=settings.filters(run.filters, language=True))


def _render(report: DigestReport | None, _: DigestRun, __: Audience) -> Reply:
    if report is None:
        return Reply(messages=())
    provider = report.summary.provider if report.summary is not None else None
    return Reply(messages=digest_messages(report), stats=Stats(provider=provider, cost_usd=report.cost_usd))


def _failure_message(run: DigestRun, sentence: str, reference: str) -> OutgoingMessage:
    return digest_failed_message(subject=run.title, digest_id=run.digest_id, sentence=sentence, reference=reference)
