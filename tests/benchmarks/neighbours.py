"""How much longer a workspace waits for answers while another one asks without end: one process, a slow provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from aiohttp import ClientSession

from tests.benchmarks.measure import Figure
from tests.benchmarks.question import TakingSlack, open_postgres, start_app
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.process import Process

RATIO = 1.2
"""The bar."""

PROVIDER_SECONDS = 1.0
QUIET = 8
"""Questions that the quiet workspace asks in a round, one after the other."""
OPEN = 150
"""Questions that the noisy one has open all the time, each by another person; one process works on 100."""


async def figures(rounds: int) -> list[Figure]:
    """Measure one process of the app, in turns with and without a neighbour."""
    with open_postgres() as conninfo:
        async with _app(conninfo) as app:
            await app.ask("TQUIET")
            alone, noisy = [], []
            for _ in range(rounds):
                alone += [await app.ask("TQUIET") for _ in range(QUIET)]
                async with app.noise():
                    noisy += [await app.ask("TQUIET") for _ in range(QUIET)]
    return [
        Figure(
            name="noisy workspace",
            measured=median(noisy) / median(alone),
            bar=RATIO,
            unit="",
            detail=f"another's median: {median(noisy):.2f} s next to {OPEN} open ones, {median(alone):.2f} s alone",
        )
    ]


@dataclass(kw_only=True)
class _App:
    process: Process
    slack: TakingSlack
    session: ClientSession
    numbers: count[int] = field(default_factory=count)

    async def ask(self, team: str) -> float:
        """Ask one question by a person of a workspace, and return the seconds until its answer is posted."""
        number = next(self.numbers)
        post: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.slack.posts[f"t{number}"] = post
        person = Person(
            session=self.session,
            app_url=self.process.url,
            response_url=self.slack.response_url,
            user=f"U{team}{number % OPEN}",
            sent={"team_id": team, "enterprise_id": "E1"},
        )
        began = time.perf_counter()
        # A person who asks the same again while it is open is answered once.
        text = f"/ask what is new about wheels, part {number}"
        async with await person.type_command(text, trigger=f"t{number}") as response:
            assert response.status == 200
        async with asyncio.timeout(60):
            return await post - began

    @asynccontextmanager
    async def noise(self) -> AsyncIterator[None]:
        """Have a workspace ask a new question whenever one of its many is answered."""

        over = asyncio.Event()

        async def again_and_again() -> None:
            while not over.is_set():
                await self.ask("TNOISY")

        asking = [asyncio.create_task(again_and_again()) for _ in range(OPEN)]
        # By then each slot has had an answer, so that the slots become free one by one.
        await asyncio.sleep(3 * PROVIDER_SECONDS)
        yield
        over.set()
        await asyncio.gather(*asking)


@asynccontextmanager
async def _app(conninfo: str) -> AsyncIterator[_App]:
    async with AsyncExitStack() as stack:
        slack = TakingSlack(enterprise="E1")
        await stack.enter_async_context(slack.serve())
        provider = await stack.enter_async_context(FakePerplexity(key=None, delay=PROVIDER_SECONDS))
        session = await stack.enter_async_context(ClientSession())
        process = await start_app(
            conninfo,
            slack,
            provider.base_url,
            WORKSPACE_QUESTIONS_AT_ONCE="80",
            USER_QUESTIONS_PER_MINUTE="0",
            CHANNEL_QUESTIONS_PER_MINUTE="0",
        )
        try:
            yield _App(process=process, slack=slack, session=session)
            await process.terminate()
        finally:
            await process.kill()
