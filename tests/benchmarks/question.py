"""What one question costs the app: a real process and database, a provider and a Slack on loopback that answer at once.

Every question is a slash command; its answer is a sentence with two sources, in one post to its `response_url`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import psutil
import psycopg
from aiohttp import ClientSession, web
from psycopg.conninfo import conninfo_to_dict

from bot.storage.embedded import embedded_server
from bot.storage.migrate import migrate
from tests.benchmarks.loopback import serve
from tests.benchmarks.measure import Figure
from tests.fakes.perplexity import fixture
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.process import Process

TRANSACTIONS, CPU_MS, POST_MS, A_SECOND = 8.0, 12.5, 25.0, 80.0
"""The bars."""

TOKEN = "xoxb-benchmark"
ONE_BY_ONE = 20
"""Questions of a round that are asked alone, for the time until the answer is posted."""
TOGETHER, AT_ONCE = 200, 32
"""Questions of a round that are asked as fast as they are answered, and how many are open at a time."""
PEOPLE = 40
"""Who ask in turns; the app reads their profiles once."""
PAUSE_SECONDS = 0.03
"""Between questions that are asked alone: the app still writes when its post has arrived."""
COUNTED = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s"


async def figures(rounds: int) -> list[Figure]:
    """Measure one process of the app."""
    with open_postgres() as conninfo:
        async with _world(conninfo) as world:
            return await _measured(world, rounds)


async def _measured(world: _World, rounds: int) -> list[Figure]:
    posts, cpu, rates = [], [], []
    async with world.app("busy") as app:
        await app.warm_up()
        began, before = time.monotonic(), app.asked
        for _ in range(rounds):
            posts += [await app.ask(pause=PAUSE_SECONDS) for _ in range(ONE_BY_ONE)]
            used, started = app.cpu_seconds(), time.perf_counter()
            await app.ask_together()
            rates.append(TOGETHER / (time.perf_counter() - started))
            await asyncio.sleep(PAUSE_SECONDS)
            cpu.append((app.cpu_seconds() - used) / TOGETHER)
        seconds, asked = time.monotonic() - began, app.asked - before
    async with world.app("idle") as app:
        await app.warm_up()
        await asyncio.sleep(seconds)
    # What a process does without questions, for as long, does not count.
    transactions = (await world.transactions("busy") - await world.transactions("idle")) / asked
    return [
        Figure(name="question transactions", measured=transactions, bar=TRANSACTIONS, unit="", detail="a question"),
        Figure(name="question CPU", measured=median(cpu) * 1000, bar=CPU_MS, unit="ms", detail="a question"),
        Figure(
            name="question to post",
            measured=median(posts) * 1000,
            bar=POST_MS,
            unit="ms",
            detail=f"from delivery to post; slowest of {len(posts)}: {max(posts) * 1000:.0f} ms",
        ),
        Figure(
            name="question rate",
            measured=median(rates),
            bar=A_SECOND,
            unit="/s",
            at_least=True,
            detail=f"answers a second of one process, {AT_ONCE} open at a time",
        ),
    ]


@dataclass(kw_only=True)
class TakingSlack:
    """A Slack that takes everything. `posts` are the answers that are waited for, by their address.

    The app is installed in one workspace, or in all those of an `enterprise`.
    """

    posts: dict[str, asyncio.Future[float]] = field(default_factory=dict)
    origin: str = ""
    enterprise: str = ""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        application = web.Application()
        application.add_routes(
            [web.post("/response/{token}", self._take), web.route("*", "/api/{method}", self._answer)]
        )
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()

    def response_url(self, token: str) -> str:
        return f"{self.origin}/response/{token}"

    async def _take(self, request: web.Request) -> web.Response:
        arrived = time.perf_counter()
        body, post = await request.read(), self.posts[request.match_info["token"]]
        # A busy app also posts who is ahead; the answer alone has its sources.
        if b'"sources"' in body and not post.done():
            post.set_result(arrived)
        return web.Response(text="ok")

    async def _answer(self, request: web.Request) -> web.Response:
        told: dict[str, Any] = {"ok": True}
        if request.match_info["method"] == "auth.test":
            told |= {"team_id": "T1", "team": "Example", "user_id": "U0APP", "user": "app", "bot_id": "B0APP"}
            if self.enterprise:
                told |= {"enterprise_id": self.enterprise, "is_enterprise_install": True}
        if request.match_info["method"] == "users.info":
            told["user"] = {"id": request.query["user"], "team_id": "T1", "deleted": False, "is_bot": False}
            if self.enterprise:
                told["user"]["enterprise_user"] = {"enterprise_id": self.enterprise}
        return web.json_response(told)


@dataclass(kw_only=True)
class _App:
    """A process of the app. `asked` counts the questions that it answered."""

    process: Process
    slack: TakingSlack
    session: ClientSession
    asked: int = 0
    numbers: count[int] = field(default_factory=count)

    async def warm_up(self) -> None:
        """Ask until everything is opened and read that is needed but once."""
        for _ in range(PEOPLE):
            await self.ask()

    async def ask(self, *, pause: float = 0.0) -> float:
        """Ask one question and return the seconds from its delivery to its post."""
        number = next(self.numbers)
        token, user = f"t{number}", f"U{number % PEOPLE}"
        post: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.slack.posts[token] = post
        person = Person(session=self.session, app_url=self.process.url, response_url=self.slack.response_url, user=user)
        began = time.perf_counter()
        async with await person.type_command(
            f"/ask what is new about wheels, part {number}", trigger=token
        ) as response:
            assert response.status == 200
            async with asyncio.timeout(30):
                seconds = await post - began
        self.asked += 1
        await asyncio.sleep(pause)
        return seconds

    async def ask_together(self) -> None:
        """Ask many questions, a new one whenever one is answered."""
        left = iter(range(TOGETHER))

        async def several() -> None:
            for _ in left:
                await self.ask()

        await asyncio.gather(*(several() for _ in range(AT_ONCE)))

    def cpu_seconds(self) -> float:
        """Return the processor's time that the process has used."""
        used = psutil.Process(self.process.process.pid).cpu_times()
        return float(used.user + used.system)


@dataclass(frozen=True, kw_only=True)
class _World:
    """The database server, the stand-ins, and the apps that are started between them."""

    conninfo: str
    provider: int
    slack: TakingSlack
    session: ClientSession

    @asynccontextmanager
    async def app(self, database: str) -> AsyncIterator[_App]:
        """Start the app over a new database; end it as a host does, so that all its transactions are counted."""
        async with await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True) as connection:
            await connection.execute(f"CREATE DATABASE {database}".encode())
        process = await start_app(
            self.conninfo,
            self.slack,
            f"http://127.0.0.1:{self.provider}",
            database=database,
            USER_QUESTIONS_PER_MINUTE="1000000",
            CHANNEL_QUESTIONS_PER_MINUTE="1000000",
        )
        try:
            yield _App(process=process, slack=self.slack, session=self.session)
            await process.terminate()
        finally:
            await process.kill()

    async def transactions(self, database: str) -> int:
        """Return how many transactions a database has seen. Its connections must be closed: only then they report."""
        async with await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True) as connection:
            row = await (await connection.execute(COUNTED, [database])).fetchone()
            assert row is not None
            return int(row[0])


@asynccontextmanager
async def _world(conninfo: str) -> AsyncIterator[_World]:
    async with AsyncExitStack() as stack:
        slack = TakingSlack()
        await stack.enter_async_context(slack.serve())
        sentence = serve(answer=fixture("agent.200.json"), stream=fixture("agent.stream.completed.sse"))
        provider = await stack.enter_async_context(sentence)
        session = await stack.enter_async_context(ClientSession())
        yield _World(conninfo=conninfo, provider=provider, slack=slack, session=session)


@contextmanager
def open_postgres() -> Iterator[str]:
    """Yield the address of an embedded server as the tests have it: one that need not survive a power cut."""
    with TemporaryDirectory(prefix="data-") as folder, embedded_server(Path(folder)) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield conninfo


async def start_app(
    conninfo: str, slack: TakingSlack, provider: str, *, database: str | None = None, **settings: str
) -> Process:
    """Start a process of the app over a database of the server, with Perplexity at an address and no budget."""
    parts = conninfo_to_dict(conninfo) | ({"dbname": database} if database else {})
    own = f"postgresql:///?{urlencode(parts)}"
    await migrate(own)
    return await Process.start(
        "run",
        port=None,
        options=(),
        SLACK_BOT_TOKEN=TOKEN,
        SLACK_SIGNING_SECRET=SIGNING_SECRET,
        SLACK_API_URL=f"{slack.origin}/api/",
        PERPLEXITY_API_KEY="pplx-benchmark",
        PERPLEXITY_BASE_URL=provider,
        DATABASE_URL=own,
        BUDGET_USER_DAY_USD="none",
        **settings,
    )
