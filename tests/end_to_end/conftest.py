"""The whole app, in this process or in others: signed requests in, recorded posts out, fakes around it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.app import compose
from bot.commands.ask import SAME_LANGUAGE
from bot.conversations.next_questions import INSTRUCTION
from bot.feature import Feature
from bot.features import FEATURES
from bot.settings import Settings
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.ports import free_port
from tests.fakes.process import FAST_LIMITS, Process
from tests.fakes.service import Received
from tests.fakes.slack import BOT_TOKEN, FakeSlack

KEY = "pplx-test-key"

UNLIMITED = {
    "USER_QUESTIONS_PER_MINUTE": "0",
    "CHANNEL_QUESTIONS_PER_MINUTE": "0",
}
"""Tests ask faster than people."""

OPEN = "SELECT count(*) FROM questions WHERE state IN ('received', 'working', 'delivering')"

LEFT = """
    SELECT count(*) OVER (ORDER BY left_at RANGE BETWEEN CURRENT ROW AND '0.999999 seconds' FOLLOWING)
    FROM provider_turns WHERE left_at IS NOT NULL
"""
"""For each call that left, how many left in the second that begins with it."""

SETTLE_SECONDS = 90.0
"""How long a test waits for questions that may never come to their end."""


@dataclass(frozen=True, kw_only=True)
class AppHarness:
    """Everything around one running app."""

    person: Person
    slack: FakeSlack
    perplexity: FakePerplexity
    url: str
    session: ClientSession
    database: str = ""

    async def ask(self, text: str, *, trigger: str = "t1") -> dict[str, Any]:
        """Type a command and return what the ack shows."""
        async with await self.person.type_command(text, trigger=trigger) as response:
            assert response.status == 200
            shown: dict[str, Any] = await response.json()
            return shown

    async def mention(self, text: str, /, **more: Any) -> int:
        async with await self.person.mention(text, **more) as response:
            return response.status

    async def send_direct_message(self, text: str, /, **more: Any) -> int:
        async with await self.person.send_direct_message(text, **more) as response:
            return response.status

    async def click_retry(self, question: str, **more: Any) -> int:
        async with await self.person.click("retry", question, **more) as response:
            return response.status

    async def wait_until_settled(self, questions: int) -> None:
        """Wait until so many questions came to their end. Raises TimeoutError."""
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                if await self._settled() >= questions:
                    return
                await asyncio.sleep(0.05)

    async def wait_until_none_is_open(self) -> None:
        """Wait until each question that was received, by any process, came to its end. Raises TimeoutError."""
        async with (
            asyncio.timeout(SETTLE_SECONDS),
            await psycopg.AsyncConnection.connect(self.database, autocommit=True) as connection,
        ):
            while True:
                if await (await connection.execute(OPEN)).fetchone() == (0,):
                    return
                await asyncio.sleep(0.05)

    async def _settled(self) -> float:
        async with self.session.get(f"{self.url}/metrics") as response:
            lines = (await response.text()).splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("questions_settled_total"))


def asked_in(request: Received) -> Any:
    """Return what a request asked: a text, or messages if there are several; without what goes with each question."""
    messages = request.json["input"]
    if isinstance(messages, str):
        return messages
    always = {SAME_LANGUAGE.content, INSTRUCTION.content}
    said = [message for message in messages if message["content"] not in always]
    return said[0]["content"] if len(said) == 1 and said[0]["role"] == "user" else said


async def wait_for_log(caplog: pytest.LogCaptureFixture, event: str) -> None:
    """Wait until the app has logged an event."""
    async with asyncio.timeout(60):
        while True:
            if event in caplog.messages:
                return
            await asyncio.sleep(0.05)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def perplexity() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as fake:
        yield fake


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession() as shared:
        yield shared


@pytest.fixture
def settings(slack: FakeSlack, perplexity: FakePerplexity) -> Settings:
    return Settings(  # type: ignore[call-arg]  # the providers declare their fields
        slack_bot_token=SecretStr(BOT_TOKEN),
        slack_signing_secret=SecretStr(SIGNING_SECRET),
        slack_api_url=slack.api_url,
        perplexity_api_key=SecretStr(KEY),
        perplexity_base_url=perplexity.base_url,
        port=free_port(),
        host="127.0.0.1",
        retry_base_seconds=0.01,
        retry_attempts=2,
        provider_limits=FAST_LIMITS,
        user_questions_per_minute=0,
        channel_questions_per_minute=0,
        send_files=True,
        read_channels=True,
    )


@pytest.fixture
def features() -> Sequence[Feature]:
    """Return the features of the app."""
    return FEATURES


@pytest.fixture
async def harness(
    *,
    settings: Settings,
    features: Sequence[Feature],
    database: str,
    slack: FakeSlack,
    perplexity: FakePerplexity,
    session: ClientSession,
) -> AsyncIterator[AppHarness]:
    url = f"http://127.0.0.1:{settings.port}"
    stop, ready = asyncio.Event(), asyncio.Event()
    async with compose(settings, conninfo=database, http=True, features=features) as app:
        serving = asyncio.create_task(app.serve(stop, work=True, ready=ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        person = Person(session=session, app_url=url, response_url=slack.response_url, slack=slack)
        yield AppHarness(person=person, slack=slack, perplexity=perplexity, url=url, session=session, database=database)
        stop.set()
        await serving


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The services around processes that come and go, which have these `settings` too."""

    slack: FakeSlack
    perplexity: FakePerplexity
    session: ClientSession
    database: str
    settings: dict[str, str] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    async def start(self, *arguments: str, port: int | None = None) -> Process:
        process = await Process.start(
            *(arguments or ("run",)),
            ready="Working" if arguments == ("worker",) else "Listening",
            port=port,
            SLACK_BOT_TOKEN=BOT_TOKEN,
            SLACK_SIGNING_SECRET=SIGNING_SECRET,
            SLACK_API_URL=self.slack.api_url,
            PERPLEXITY_API_KEY=KEY,
            PERPLEXITY_BASE_URL=self.perplexity.base_url,
            DATABASE_URL=self.database,
            LOG_LEVEL="INFO",
            **(UNLIMITED | self.settings),
        )
        self.processes.append(process)
        return process

    def person(self, process: Process, number: int = 0) -> Person:
        """Return one of many people, who each have few questions."""
        user = f"U{number}"
        slack = self.slack
        return Person(
            session=self.session, app_url=process.url, response_url=slack.response_url, user=user, slack=slack
        )

    async def ask(self, process: Process, number: int) -> str:
        """Ask one question and return the text of the ack; the number is the delivery."""
        async with await self.person(process, number).type_command(
            f"/ask question {number}", trigger=f"t{number}"
        ) as response:
            assert response.status == 200
            text: str = (await response.json())["text"]
            return text

    async def most_left(self) -> tuple[int, int]:
        """Return how many calls left, and the most in one second, by the database's clock."""
        async with await psycopg.AsyncConnection.connect(self.database, autocommit=True) as connection:
            rows = await (await connection.execute(LEFT)).fetchall()
        return len(rows), max(count for (count,) in rows)

    def answers_by_trigger(self) -> Counter[str]:
        """Count the answers by the delivery they belong to; what can still be stopped is none."""
        posted = [post for post in self.slack.posts if post.method == "response_url"]
        return Counter(post.payload["token"] for post in posted if '"action_id": "stop"' not in post.shown_text)


@pytest.fixture
async def workspace(
    slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession, database: str
) -> AsyncIterator[Workspace]:
    made = Workspace(slack=slack, perplexity=perplexity, session=session, database=database)
    yield made
    for process in made.processes:
        await process.kill()
