"""A digest on a real Postgres, and everything that a worker needs to make it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from bot.commands.base import CommandContext
from bot.features.digests.model import Digest, DigestReport, DigestRun, Trigger
from bot.features.digests.service import DigestRunner, StopNotices, run_question
from bot.features.digests.store import DigestStore
from bot.slack.users import Admins, Membership
from bot.storage.questions import DatabaseRetry, Pool
from perplexity.news.stories import Story, unseen
from perplexity.types import Answer, Question, Source, Usage
from tests.fakes.commands import NO_ADMINS, command_context
from tests.fakes.listeners import returning
from tests.fakes.provider import FakeProvider
from tests.fakes.rows import row
from tests.fakes.time import WallClock


class NewsProvider(FakeProvider):
    """Tells these headlines, or fails."""

    def __init__(self) -> None:
        super().__init__("Perplexity")
        self.headlines: Sequence[str] = ()
        self.error: Exception | None = None
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def answer(self, question: Question) -> Answer:
        """Tell them, after what happens meanwhile."""
        self.questions.append(question)
        if self.meanwhile:
            await self.meanwhile()
        if self.error:
            raise self.error
        sources = tuple(
            Source(number=n, title=headline, url=f"https://site.example/{len(self.questions)}/{n}")
            for n, headline in enumerate(self.headlines, 1)
        )
        text = "\n".join(f"{one} | 2026-11-21 | It is so. [{n}]" for n, one in enumerate(self.headlines, 1))
        return Answer(text=text, sources=sources, provider=self.name, usage=Usage(cost_usd=0.01))


@dataclass
class DigestHarness:
    """A digest, everything it needs, and a clock; `presence` is its owner's.

    `compare` finds what is new.
    """

    pool: Pool
    digest: Digest
    clock: WallClock
    news_provider: NewsProvider = field(default_factory=NewsProvider)
    presence: Membership = Membership.MEMBER
    compare: Callable[..., Sequence[Story]] = unseen
    admins: Admins = NO_ADMINS

    @property
    def digests(self) -> DigestStore:
        return DigestStore(self.pool)

    @property
    def searched_since(self) -> datetime:
        """Since when the last question asks for news."""
        found = re.search(r" since (\S+ \S+) and ", self.news_provider.questions[-1].messages[0].content)
        assert found is not None
        return datetime.strptime(f"{found[1]} +0000", "%Y-%m-%d %H:%M %z")

    async def begin(self, *, why: Trigger = Trigger.SCHEDULED) -> UUID:
        """Begin a run a second later, when all others are over, and return its question."""
        self.clock.now += timedelta(seconds=1)
        question_id = uuid4()
        run = DigestRun(
            digest_id=self.digest.id, trigger=why, earliest_slot=self.clock.now, slot=self.clock.now, title="x"
        )
        question = run_question(run, self.digest, id=question_id, key=str(question_id))
        await self.close_open_questions()
        assert await self.digests.start_manual(self.digest.id, question, now=self.clock.now)
        return question_id

    async def report(
        self, question_id: UUID, *headlines: str, why: Trigger = Trigger.SCHEDULED, slot: datetime | None = None
    ) -> DigestReport | None:
        """Work on a run, with these stories in the news."""
        self.news_provider.headlines = headlines or self.news_provider.headlines
        slot = slot or self.clock.now
        run = DigestRun(digest_id=self.digest.id, trigger=why, earliest_slot=slot, slot=slot, title="x")
        return await self.runner().run(run, self.work(question_id))

    def work(self, question_id: UUID) -> CommandContext:
        """Return what a worker has for a question."""
        return command_context(self.news_provider, now=self.clock.now.timestamp, row=row(id=question_id))

    async def new_headlines(self, *headlines: str, why: Trigger = Trigger.SCHEDULED) -> list[str]:
        """Make the digest again and return the headlines of what is new."""
        report = await self.report(await self.begin(why=why), *headlines, why=why)
        assert report is not None
        return [story.headline for story in report.stories]

    async def close_open_questions(self, state: str = "answered") -> None:
        """Bring every open question to its end."""
        open_ones = "UPDATE questions SET state = %s WHERE state IN ('received', 'working', 'delivering')"
        async with self.pool.connection() as connection:
            await connection.execute(open_ones, (state,))

    def runner(self) -> DigestRunner:
        async def presence(_: str, __: str) -> Membership:
            return self.presence

        return DigestRunner(
            digests=self.digests,
            admins=self.admins,
            membership=presence,
            notices=self.notices(),
            database_retry=DatabaseRetry(seconds=10),
            find_unseen=self.compare,
        )

    def notices(self) -> StopNotices:
        return StopNotices(
            digests=self.digests, database_retry=DatabaseRetry(seconds=10), command_label="", language=returning("en")
        )
