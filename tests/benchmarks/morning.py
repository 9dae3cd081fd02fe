"""The hour after everyone was told: many people ask one key at once, two processes, a service that counts its calls.

Every question is a private `/ask` in a channel of its own. The service takes so many calls a second and a minute and
refuses the others; a stand-in is configured and at hand. How long an answer takes at least is computed from the same
arrivals.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from statistics import quantiles
from uuid import uuid4

from aiohttp import ClientSession, web
from psycopg import AsyncConnection

from bot.clock import utc_now
from bot.features import COMMANDS
from bot.storage.migrate import migrate
from tests.benchmarks.measure import Figure
from tests.benchmarks.question import TakingSlack, open_postgres, start_app
from tests.fakes.openrouter import KEY as OPENROUTER_KEY
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity, RateWindow
from tests.fakes.person import Person
from tests.fakes.process import Process

ANSWER_SECONDS = 3.0
"""How long the service takes for an answer."""

TOLD_AFTER_SECONDS = 10.0
"""Who waits longer for a turn must have been told."""

REFUSED, TIMES, MORE_SECONDS = 0.05, 1.15, 3.0
"""The bars: refused calls, and the 95th percentile, so many times the least possible one and so many seconds more."""

SEED = 9

DIGESTS = 20 if any(command.name == "watch" for command in COMMANDS) else 0
"""How many are due in the longest morning, if this copy of the project has digests."""

PLAN_DIGEST = """
    INSERT INTO digests (id, team_id, user_id, number, channel_id, category, topic, days, at, zone, silence, next_at)
    VALUES (%(id)s, 'T1', 'U1', %(number)s, 'CDIGEST' || %(number)s, 'technology', 'wheel ' || %(number)s,
            '{0,1,2,3,4,5,6}', %(at)s, 'UTC', '{}', %(due)s)
"""


@dataclass(frozen=True, kw_only=True)
class Morning:
    """Questions at moments, each by a person, against a service with a limit; `digests` are due after a minute."""

    name: str
    per_second: int
    per_minute: int
    arrivals: Sequence[tuple[float, str]]
    digests: int = 0


def mornings() -> list[Morning]:
    """Return the three mornings."""
    random = Random(SEED)  # noqa: S311 - moments, no secrets

    def spread(people: int, begin: float, end: float, name: str) -> list[tuple[float, str]]:
        return [(random.uniform(begin, end), f"U{name}{number}") for number in range(people)]

    return [
        Morning(name="60 in a minute", per_second=1, per_minute=50, arrivals=sorted(spread(60, 0, 60, "A"))),
        Morning(
            name="600 in ten minutes",
            per_second=3,
            per_minute=150,
            arrivals=sorted([*spread(300, 0, 90, "B"), *spread(300, 90, 600, "C")]),
            digests=DIGESTS,
        ),
        Morning(
            name="30 beside one",
            per_second=3,
            per_minute=150,
            arrivals=sorted([*[(number / 100, "UGREEDY") for number in range(50)], *spread(30, 1, 2, "D")]),
        ),
    ]


async def figures(rounds: int) -> list[Figure]:
    """Measure each morning once, whatever the `rounds`: the longest takes ten minutes."""
    found: list[Figure] = []
    for morning in mornings():
        found += await _measured(morning)
    return found


@dataclass(kw_only=True)
class _Asked:
    """One question: when it was asked and answered, and when its asker was first told how long it takes."""

    user: str
    began: float
    answered: asyncio.Future[float]
    told: bool = False


@dataclass(kw_only=True)
class _Slack(TakingSlack):
    """A Slack that notes when an answer is complete, and whether its asker was told of those ahead."""

    asked: dict[str, _Asked] = field(default_factory=dict)
    digests: int = 0
    """How many are to be posted yet."""

    digests_posted: asyncio.Event = field(default_factory=asyncio.Event)

    async def _take(self, request: web.Request) -> web.Response:
        self.note(request.match_info["token"], await request.text())
        return web.Response(text="ok")

    async def _answer(self, request: web.Request) -> web.Response:
        if request.match_info["method"] == "chat.postMessage":
            await request.read()
            self.digests -= 1
            if self.digests <= 0:
                self.digests_posted.set()
            return web.json_response({"ok": True, "channel": "C1", "ts": f"{time.time():.6f}"})
        return await super()._answer(request)

    def note(self, token: str, posted: str) -> None:
        """Take what was shown for a question."""
        asked = self.asked[token]
        asked.told = asked.told or " ahead of y" in posted
        actions = {
            element["action_id"]
            for block in json.loads(posted).get("blocks", [])
            for element in block.get("elements", [])
            if "action_id" in element
        }
        if "sources" in actions and not asked.answered.done():
            asked.answered.set_result(time.monotonic())


async def _measured(morning: Morning) -> list[Figure]:
    with open_postgres() as conninfo:
        async with _world(conninfo, morning) as world:
            await world.ask_all()
            seconds = [asked.answered.result() - asked.began for asked in world.slack.asked.values()]
            calls = len(world.provider.requests)
            untold = [
                asked
                for asked, taken in zip(world.slack.asked.values(), seconds, strict=True)
                if taken - ANSWER_SECONDS > TOLD_AFTER_SECONDS and not asked.told
            ]
            stood_in = sum(one.method == "POST" for one in world.stand_in.requests)
            refused = world.rate.refused
    least = _percentile(least_possible(morning))
    return [
        Figure(
            name=f"{morning.name}: p95",
            measured=_percentile(seconds),
            bar=round(TIMES * least + MORE_SECONDS, 2),
            unit="s",
            detail=f"least possible {least:.1f} s; slowest of {len(seconds)}: {max(seconds):.1f} s",
        ),
        Figure(name="  refused calls", measured=refused / (calls + refused), bar=REFUSED, unit="", detail=f"{refused}"),
        Figure(name="  by a stand-in", measured=stood_in, bar=0, unit="calls"),
        Figure(name="  waited, not told", measured=len(untold), bar=0, unit=""),
    ]


def least_possible(morning: Morning) -> list[float]:
    """Return the seconds that each answer takes if every call leaves at the first moment that the limit allows."""
    left: list[float] = []
    for at, _ in morning.arrivals:
        start = at
        for most, seconds in ((morning.per_second, 1.0), (morning.per_minute, 60.0)):
            if len(left) >= most:
                start = max(start, left[-most] + seconds)
        left.append(start)
    return [start - at + ANSWER_SECONDS for start, (at, _) in zip(left, morning.arrivals, strict=True)]


def _percentile(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20, method="inclusive")[-1]


@dataclass(kw_only=True)
class _World:
    morning: Morning
    processes: Sequence[Process]
    slack: _Slack
    provider: FakePerplexity
    stand_in: FakeOpenRouter
    rate: RateWindow
    session: ClientSession

    async def ask_all(self) -> None:
        """Ask every question at its moment, and wait for all answers."""
        began = time.monotonic()
        asking = []
        for number, (at, user) in enumerate(self.morning.arrivals):
            await asyncio.sleep(max(0.0, began + at - time.monotonic()))
            asking.append(asyncio.create_task(self._ask(number, user)))
        await asyncio.gather(*asking)
        async with asyncio.timeout(600):
            await asyncio.gather(*(asked.answered for asked in self.slack.asked.values()))
            if self.morning.digests:
                await self.slack.digests_posted.wait()

    async def _ask(self, number: int, user: str) -> None:
        token = f"t{number}"
        answered: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.slack.asked[token] = _Asked(user=user, began=time.monotonic(), answered=answered)
        person = Person(
            session=self.session,
            app_url=self.processes[number % len(self.processes)].url,
            response_url=self.slack.response_url,
            user=user,
            sent={"channel_id": f"C{user}"},
        )
        async with await person.type_command(f"/ask what is new about wheel {number}", trigger=token) as response:
            assert response.status == 200
            self.slack.note(token, await response.text() or "{}")


@asynccontextmanager
async def _world(conninfo: str, morning: Morning) -> AsyncIterator[_World]:
    async with AsyncExitStack() as stack:
        slack = _Slack(digests=morning.digests)
        await stack.enter_async_context(slack.serve())
        rate = RateWindow(per_second=morning.per_second, per_minute=morning.per_minute)
        provider = await stack.enter_async_context(FakePerplexity(key=None, delay=ANSWER_SECONDS, rate=rate))
        stand_in = await stack.enter_async_context(FakeOpenRouter())
        session = await stack.enter_async_context(ClientSession())
        if morning.digests:
            await migrate(conninfo)
            await _plan_digests(conninfo, morning.digests)
        processes = []
        for _ in range(2):
            process = await start_app(
                conninfo,
                slack,
                provider.base_url,
                OPENROUTER_API_KEY=OPENROUTER_KEY,
                OPENROUTER_BASE_URL=stand_in.base_url,
                USER_QUESTIONS_PER_MINUTE="0",
                OPEN_QUESTIONS_PER_USER="0",
                PROVIDER_LIMITS="",  # as an app begins
            )
            stack.push_async_callback(process.kill)
            processes.append(process)
        yield _World(
            morning=morning,
            processes=processes,
            slack=slack,
            provider=provider,
            stand_in=stand_in,
            rate=rate,
            session=session,
        )


async def _plan_digests(conninfo: str, count: int) -> None:
    """Have digests due in a minute, each in a channel of its own."""
    due = utc_now() + timedelta(minutes=1)
    async with await AsyncConnection.connect(conninfo) as connection:
        for number in range(count):
            values = {"id": uuid4(), "number": number, "due": due, "at": f"{due:%H:%M}"}
            await connection.execute(PLAN_DIGEST, values)
