"""Two web and two worker processes, their database, their Slack and their providers: all real but for the last two."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from tests.chaos.gateway import Gateway
from tests.chaos.judge import MARGIN_SECONDS, Interruption
from tests.chaos.load import Load, open_session
from tests.chaos.postgres import Postgres
from tests.fakes.brave import FakeBrave
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET
from tests.fakes.ports import free_port
from tests.fakes.process import Process
from tests.fakes.service import RateWindow
from tests.fakes.slack import BOT_TOKEN, FakeSlack

FASTEST_SECONDS, SLOWEST_SECONDS = 0.3, 1.0
"""How long a provider takes: long enough that something is in flight whenever a fault strikes."""

EVENT_SECONDS = 0.08
"""The pause between two events of a streamed answer, so that direct messages are streamed for a second or two."""

OPEN = """
    SELECT state, count(*) FROM questions
    WHERE state IN ('received', 'working', 'delivering') OR uncleared_since IS NOT NULL GROUP BY 1
"""
"""What is open, and what is closed but not cleared up yet."""
ADMIN = "UADMIN"
"""The person who may pause all spending."""

JOBS = "SELECT count(*) FROM procrastinate_jobs"


@dataclass(kw_only=True)
class Member:
    """One of the four processes, over all its lives."""

    name: str
    arguments: tuple[str, ...]
    settings: dict[str, str]
    port: int = field(default_factory=free_port)
    process: Process | None = None
    past: list[Process] = field(default_factory=list)
    interruptions: list[Interruption] = field(default_factory=list)
    unexpected: int = 0
    module: str = "tests.chaos.faulty_process"

    @property
    def is_web(self) -> bool:
        """Whether it serves requests."""
        return self.arguments[0] == "run"

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        self.process = await Process.start(
            *self.arguments,
            ready="Listening" if self.is_web else "Working",
            port=self.port,
            module=self.module,
            options=("-W", "ignore"),
            PROCESS_NAME=self.name,
            **self.settings,
        )
        self.past.append(self.process)

    async def kill(self) -> None:
        """End it as a power cut does."""
        if self.process is not None:
            process, self.process = self.process, None
            await self._kill(process)

    async def terminate(self) -> None:
        """Ask it to stop, as a host does, and kill it after thirty seconds."""
        if self.process is not None:
            process, self.process = self.process, None
            try:
                await process.terminate()
            except TimeoutError:
                await self._kill(process)

    async def _kill(self, process: Process) -> None:
        began = time.monotonic()
        await process.kill()
        self.interruptions.append(Interruption(process=self.name, began=began, ended=time.monotonic()))

    async def suspend(self, seconds: float) -> None:
        """Suspend it for so long."""
        began = time.monotonic()
        self.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.send(signal.SIGCONT)
        self.interruptions.append(Interruption(process=self.name, began=began, ended=time.monotonic()))

    def send(self, number: int) -> None:
        """Send it a signal."""
        if self.process is not None and self.process.process.returncode is None:
            self.process.process.send_signal(number)

    async def watch(self) -> None:
        """Start it again whenever it ends by itself, as a host does."""
        while True:
            process = self.process
            if process is not None and process.process.returncode is not None:
                self.unexpected += 1
                self.process = None
                await asyncio.sleep(1)
                try:
                    await self.start()
                except AssertionError:
                    self.process = process  # its database is unavailable, say: the next round tries again
            await asyncio.sleep(0.5)


@dataclass(kw_only=True)
class ChaosHarness:
    """Everything around the four processes."""

    slack: FakeSlack
    perplexity: FakePerplexity
    brave: FakeBrave
    postgres: Postgres
    database: str
    gateway: Gateway
    load: Load
    members: list[Member]
    load_over: asyncio.Event = field(default_factory=asyncio.Event)
    lags: list[float] = field(default_factory=lambda: [0.0])
    wrong: list[str] = field(default_factory=list)
    """What a fault itself has seen that must not be."""

    @property
    def webs(self) -> list[Member]:
        """The processes that serve."""
        return [member for member in self.members if member.is_web]

    @property
    def workers(self) -> list[Member]:
        """The processes that work."""
        return [member for member in self.members if not member.is_web]

    @property
    def interruptions(self) -> list[Interruption]:
        """What happened to the processes."""
        margin = MARGIN_SECONDS + max(self.lags)
        return [replace(one, margin=margin) for member in self.members for one in member.interruptions]

    async def query(self, statement: str) -> list[tuple[object, ...]]:
        """Ask the database, past the gateway."""
        return await self.postgres.query(self.database, statement)

    async def wait_until_drained(self, *, seconds: float, quiet: float = 2.0) -> str:
        """Wait until no question is open, for some seconds; return what is left after too long."""
        end, since = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() - since < quiet:
            await asyncio.sleep(0.3)
            if left := await self.query(OPEN):
                since = time.monotonic()
                if since > end:
                    return ", ".join(f"{count} {what}" for what, count in left)
        return ""


@asynccontextmanager
async def open_harness(
    postgres: Postgres,
    *,
    template: str,
    name: str,
    seed: int,
    host: str = "127.0.0.1",
    streams_in_channels: bool = False,
    questions_at_once: int = 100,
    polls: int = 0,
    rate: RateWindow | None = None,
) -> AsyncIterator[ChaosHarness]:
    """Yield a harness whose processes run. Slack and the providers are called by `host`.

    A run in the background is asked for `polls` times before it has ended. With a `rate` the first provider takes no
    more answers, of which no one is told beforehand.
    """
    random = Random(seed)  # noqa: S311 - nothing secret
    delays = Random(seed + 1)  # noqa: S311

    def delay() -> float:
        return delays.uniform(FASTEST_SECONDS, SLOWEST_SECONDS)

    async with AsyncExitStack() as stack:
        await postgres.copy_database(name, template=template)
        gateway = await stack.enter_async_context(Gateway(postgres.socket))
        slack = await stack.enter_async_context(FakeSlack())
        perplexity = await stack.enter_async_context(
            FakePerplexity(key=None, delay=delay, pause=EVENT_SECONDS, polls=polls, rate=rate)
        )
        brave = await stack.enter_async_context(FakeBrave(key=None, delay=delay))
        session = await stack.enter_async_context(open_session())
        settings = {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": slack.api_url.replace("127.0.0.1", host),
            "PERPLEXITY_BASE_URL": perplexity.base_url.replace("127.0.0.1", host),
            "BRAVE_BASE_URL": brave.base_url.replace("127.0.0.1", host),
            "PERPLEXITY_API_KEY": "pplx-chaos",
            "BRAVE_API_KEY": "brave-chaos",
            "PROVIDERS": "perplexity,brave",
            "CHANNEL_QUESTIONS_PER_MINUTE": "1000000",
            "BUDGET_USER_DAY_USD": "100",
            "BUDGET_CHANNEL_DAY_USD": "5000",
            "BUDGET_WORKSPACE_MONTH_USD": "5000",
            "DATABASE_URL": f"postgresql://postgres@127.0.0.1:{gateway.port}/{name}",
            "ADMIN_USER_IDS": ADMIN,
            "QUESTIONS_AT_ONCE": str(questions_at_once),
            "LOG_LEVEL": "INFO",
        }
        if rate is not None:
            settings["PROVIDER_LIMITS"] = ""
        if streams_in_channels:
            settings["CHANNEL_STREAMING"] = "true"
            slack.workspace.scopes.append("channels:history")
        members = [
            Member(name=f"{kind}{number}", arguments=arguments, settings=settings)
            for kind, arguments in (("web", ("run", "--no-worker")), ("worker", ("worker",)))
            for number in (1, 2)
        ]
        load = Load(
            slack=slack,
            session=session,
            webs=[member.url for member in members if member.is_web],
            random=random,
            origin=slack.origin.replace("127.0.0.1", host),
        )
        harness = ChaosHarness(
            slack=slack,
            perplexity=perplexity,
            brave=brave,
            postgres=postgres,
            database=name,
            gateway=gateway,
            load=load,
            members=members,
        )
        watching = [asyncio.create_task(_measure_lag(harness.lags))]
        try:
            await asyncio.gather(*(member.start() for member in members))
            watching += [asyncio.create_task(member.watch()) for member in members]
            yield harness
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            await asyncio.gather(*(_kill(member) for member in members))


async def _kill(member: Member) -> None:
    if member.process is not None:
        member.send(signal.SIGCONT)
        await member.process.kill()


async def _measure_lag(lags: list[float]) -> None:
    """Measure how late this very process is, which it would otherwise blame on the app."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.05)
        lags.append(time.monotonic() - began - 0.05)


@contextmanager
def killed_at_the_end(processes: list[asyncio.subprocess.Process]) -> Iterator[None]:
    """Kill processes when the block ends."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
