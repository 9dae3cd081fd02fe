"""The whole app, driven from outside: people type and click, and the calls to Slack and the services are recorded.

`Driver` is one running app and a person who uses it; `Processes` are real processes that come and go. The fixtures are
those of every test: `tests/conftest.py` names them.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest
from aiohttp import ClientSession
from psycopg.rows import dict_row
from pydantic import SecretStr

from bot.app import compose
from bot.commands.ask import SAME_LANGUAGE
from bot.commands.conversation import NEXT_INSTRUCTION
from bot.feature import Feature
from bot.features import FEATURES
from bot.process import Application
from bot.settings import Settings
from fake_slack.limits import check_view
from fake_slack.views import View
from tests.fakes.answers import beginning, deltas, end
from tests.fakes.perplexity import FakePerplexity, json_reply, stream_reply
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.ports import free_port
from tests.fakes.process import FAST_LIMITS, Process
from tests.fakes.service import Received
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Post

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

Message = dict[str, Any]
"""A message as it is shown; one without a `ts` is ephemeral."""

TS = "1795255200.000100"
"""When people mention the app, if a test does not say."""

TOLD = ("Answering “", "Looking for more pages on “", "Thinking longer about “", "Trying again.")
"""What a click below a private answer is answered with at once."""


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One running app, the services around it, and the person who uses it."""

    person: Person
    slack: FakeSlack
    perplexity: FakePerplexity
    url: str
    session: ClientSession
    database: str = ""

    def as_user(self, user: str, **changes: Any) -> Driver:
        """Return the same app, used by another person."""
        return replace(self, person=replace(self.person, user=user, **changes))

    async def ask(self, text: str, *, trigger: str = "t1") -> dict[str, Any]:
        """Type a command and return what the ack shows, if anything; the same `trigger` is the same delivery."""
        async with await self.person.type_command(text, trigger=trigger) as response:
            assert response.status == 200
            shown: dict[str, Any] = await response.json() if response.content_length else {}
            return shown

    async def posts_for(self, text: str) -> list[Post]:
        """Type a command, wait until every question came to its end, and return what this one was answered with."""
        before, trigger = len(self.slack.posts), str(uuid4())
        async with await self.person.type_command(text, trigger=trigger) as response:
            assert response.status == 200
        await self.settle()
        return [post for post in self.slack.posts[before:] if post.payload.get("token", trigger) == trigger]

    async def answered(self, text: str) -> Message:
        """Type a command, and return its answer, of however many messages, as one ephemeral message."""
        posts = [post.payload for post in await self.posts_for(text)]
        first = {name: posts[0][name] for name in ("text", "response_type") if posts and name in posts[0]}
        return first | {"blocks": [block for post in posts for block in post["blocks"]]}

    async def mention(self, text: str, /, **more: Any) -> int:
        async with await self.person.mention(text, **more) as response:
            return response.status

    async def answered_mention(self, text: str, *, ts: str = TS, **more: Any) -> Message:
        """Mention the app, and return its answer in the thread."""
        assert await self.mention(text, ts=ts, id=str(uuid4()), **more) == 200
        await self.settle()
        return self.last_in("C1", more.get("thread_ts", ts))

    async def send_direct_message(self, text: str, /, **more: Any) -> int:
        async with await self.person.send_direct_message(text, **more) as response:
            return response.status

    async def event(self, event: dict[str, Any], **more: Any) -> int:
        async with await self.person.event(event, **more) as response:
            return response.status

    async def reply(self, text: str, *, id: str = "Ev2", **event: Any) -> int:
        """Write in a channel without a mention; `event` says in which thread, and when."""
        said = {"type": "message", "channel": "C1", "channel_type": "channel", "text": text}
        return await self.event(said | event, id=id)

    def last_in(self, channel: str, thread_ts: str) -> Message:
        """Return the app's last message in a thread."""
        return self.slack.thread(channel, thread_ts)[-1].payload

    async def click_button(self, action_id: str, value: str, **more: Any) -> list[Post]:
        """Click a button that need not be shown; return what was sent to the address of this click until the ack."""
        token = more.pop("token", None) or str(uuid4())
        async with await self.person.click(action_id, value, token=token, **more) as response:
            assert response.status == 200
        return self.sent_to(token)

    async def click(
        self, message: Mapping[str, Any], action: str, value: object = None, *, channel: str = "C1", token: str = ""
    ) -> list[Post]:
        """Use an element of a message; return what was sent to the address of this click until it was acknowledged."""
        token = token or str(uuid4())
        async with await self.person.choose(message, action, value, token=token, channel=channel) as response:
            assert response.status == 200
        return self.sent_to(token)

    async def told(self, message: Mapping[str, Any], action: str, value: object = None, **more: Any) -> str:
        """Use an element of a message; return what the person is told, empty for nothing.

        The answer to a question that is asked by the click may come before it is told that it will.
        """
        replies = await self.click(message, action, value, **more)
        return "".join(str(post.payload["text"]) for post in [post for post in replies if _is_notice(post)] or replies)

    def sent_to(self, token: str) -> list[Post]:
        """Return what was sent to the response_url of a command or a click."""
        return [post for post in self.slack.posts if post.payload.get("token") == token]

    def last_answer(self) -> Post:
        """Return the last post, except notices that an answer will follow: Slack may take one after the answer."""
        return [post for post in self.slack.posts if not _is_notice(post)][-1]

    def shown_in(self, channel: str) -> list[str]:
        """Return the texts that were posted in a channel, or directly to a person."""
        return [post.shown_text for post in self.slack.posts if post.payload.get("channel") == channel]

    def modal(self) -> View:
        """Return the modal that the person sees. Raises LookupError if there is none."""
        view = self.slack.modal(self.person.user)
        assert check_view(dict(view.content)) == []
        return view

    async def open_by(self, line: str) -> View:
        """Type a command that opens a modal, and return it."""
        async with await self.person.type_command(line, trigger=str(uuid4())) as response:
            assert (response.status, await response.text()) == (200, "")
        return self.modal()

    async def shortcut(self, name: str, message: Mapping[str, Any] | None = None, *, token: str = "") -> View:
        """Use a global shortcut, or one of a message; return the modal that opens."""
        token = token or str(uuid4())
        if message is None:
            sent = self.person.shortcut(name, token=token)
        else:
            sent = self.person.message_shortcut(name, message, token=token)
        async with await sent as response:
            assert response.status == 200
        return self.modal()

    async def press(self, view: View, action: str, value: object = None, **values: Any) -> None:
        """Use an element of a view after these values were entered."""
        async with await self.person.press(view, action, value, values=values, token=str(uuid4())) as response:
            assert response.status == 200

    async def submit_twice(self, **values: Any) -> None:
        """Submit the modal that is open, twice at once."""
        view = self.slack.modal()
        both = [self.person.submit(view, values, token=str(uuid4())) for _ in range(2)]
        for response in await asyncio.gather(*both, return_exceptions=True):
            assert not isinstance(response, BaseException), response
            assert response.status == 200

    async def submit(self, view: View | None = None, /, **values: Any) -> dict[str, str]:
        """Submit a view, by default the modal that the person sees; return what it says below its inputs.

        A block is named by its id, or by its option without the dashes.
        """
        view = view or self.slack.modal(self.person.user)
        blocks = {block.get("block_id") for block in view.blocks}
        named = {f"--{name}" if f"--{name}" in blocks else name: value for name, value in values.items()}
        async with await self.person.submit(view, named, token=str(uuid4())) as response:
            assert response.status == 200
        left = self.slack.views.find(view.id)
        assert left is None or not left.failure
        return {} if left is None else dict(left.errors)

    async def open_home(self, *words: str, without: str = "\0") -> str:
        """Open the home tab, and wait until it shows these words."""
        await self._let_home_change()
        async with await self.person.open_home(id=str(uuid4())) as response:
            assert response.status == 200
        return await self.home(*words, without=without)

    async def home(self, *words: str, without: str = "\0") -> str:
        """Wait until the home tab shows these words, and return all of it."""
        async with asyncio.timeout(60):
            while True:
                text = self.home_now()
                if text and all(word in text for word in words) and without not in text:
                    assert check_view(dict(self.slack.home(self.person.user).content)) == []
                    return text
                await asyncio.sleep(0.05)

    def home_now(self) -> str:
        try:
            return json.dumps(self.slack.home(self.person.user).content, ensure_ascii=False)
        except LookupError:
            return ""

    async def press_home(self, action: str, value: object = None) -> None:
        await self._let_home_change()
        await self.press(self.slack.home(self.person.user), action, value)

    async def _let_home_change(self) -> None:
        """Let the time pass, on the database's clock, after which the app may change a home tab again."""
        await self.execute("UPDATE homes SET shown_at = shown_at - interval '3 seconds'")

    async def open_admin_page(self, *words: str) -> str:
        """Open the page for admins in the home tab, wait until it has these words, and return all of it."""
        if '"Back"' not in await self.open_home("admin_home"):
            await self.press_home("admin_home")
        return await self.home('"Back"', *words)

    async def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return await rows(self.database, query, *values)

    async def records(self, query: str, *values: object) -> list[dict[str, Any]]:
        return await records(self.database, query, *values)

    async def execute(self, statement: str, *values: object) -> None:
        await execute(self.database, statement, *values)

    async def wait_for_rows(self, query: str, expected: list[tuple[Any, ...]]) -> None:
        await wait_for_rows(self.database, query, expected)

    async def questions(self) -> list[tuple[str, str, str]]:
        """Return the asker, the state and the text of each question, in order."""
        found = await self.rows("SELECT user_id, state, text FROM questions ORDER BY received_at")
        return [(str(user), str(state), str(text)) for user, state, text in found]

    async def settle(self) -> None:
        """Wait until every question that was received, by any process, came to its end. Raises TimeoutError."""
        await wait_for_rows(self.database, OPEN, [(0,)], seconds=SETTLE_SECONDS)

    async def wait_until_settled(self, questions: int) -> None:
        """Wait until so many questions came to their end. Raises TimeoutError."""
        async with asyncio.timeout(SETTLE_SECONDS):
            while await self.metric("questions_settled_total") < questions:  # noqa: ASYNC110 - the app tells no one
                await asyncio.sleep(0.05)

    async def wait_until_ready(self) -> dict[str, Any]:
        """Wait until `/readyz` says that the app is ready, and return what it says. Raises TimeoutError.

        A process that stood still for seconds, as on a busy machine, has no fresh heartbeat for a moment.
        """
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                async with self.session.get(f"{self.url}/readyz") as response:
                    if response.status == 200:
                        return cast("dict[str, Any]", await response.json())
                await asyncio.sleep(0.1)

    async def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels."""
        async with self.session.get(f"{self.url}/metrics") as response:
            lines = (await response.text()).splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def script_answer(self, text: str, *, sites: Sequence[str] = ("a.example", "b.example")) -> None:
        """Answer the next question with this text."""
        events = [*beginning(sites=sites), *deltas(text, size=1_000), end(text, sites=sites)]
        self.perplexity.script("/v1/agent", stream_reply(*events))

    def script_pages(self, count: int, *, snippet: str = "What page {} says.") -> None:
        """Find this many pages at the next search."""
        pages = [
            {"title": f"Page {n}", "url": f"https://p{n}.example/", "snippet": snippet.format(n), "date": "2026-11-01"}
            for n in range(1, count + 1)
        ]
        self.perplexity.script("/search", json_reply({"id": "1", "results": pages}))

    @asynccontextmanager
    async def beside(self, settings: Settings, *, database: str = "", work: bool = True) -> AsyncIterator[Driver]:
        """Yield one more process's worth of the app, on a port of its own, over the same database or another."""
        other = settings.model_copy(update={"port": free_port()})
        url, database = f"http://127.0.0.1:{other.port}", database or self.database
        async with serving(other, database, work=work):
            yield replace(self, url=url, database=database, person=replace(self.person, app_url=url))


def _is_notice(post: Post) -> bool:
    return str(post.payload["text"]).startswith(TOLD)


def actions(message: Mapping[str, Any]) -> list[str]:
    """Return the ids of a message's buttons."""
    elements = [element for block in message.get("blocks", ()) for element in block.get("elements", ())]
    return [str(element["action_id"]) for element in elements if "action_id" in element]


def stop_button(payload: Mapping[str, Any]) -> str:
    """Return the question that the message's only button would stop."""
    (row,) = [block for block in payload["blocks"] if block["type"] == "actions"]
    ((label, action, value),) = [(one["text"]["text"], one["action_id"], one["value"]) for one in row["elements"]]
    assert (label, action) == ("Stop", "stop")
    return str(value)


def asked_in(request: Received) -> Any:
    """Return what a request asked: a text, or messages if there are several; without what goes with each question."""
    messages = request.json["input"]
    if isinstance(messages, str):
        return messages
    always = {SAME_LANGUAGE.content, NEXT_INSTRUCTION.content}
    said = [message for message in messages if message["content"] not in always]
    return said[0]["content"] if len(said) == 1 and said[0]["role"] == "user" else said


async def rows(database: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        return await (await connection.execute(query.encode(), values or None)).fetchall()


async def records(database: str, query: str, *values: object) -> list[dict[str, Any]]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True, row_factory=dict_row) as connection:
        return await (await connection.execute(query.encode(), values or None)).fetchall()


async def execute(database: str, statement: str, *values: object) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(statement.encode(), values or None)


async def wait_for_rows(
    database: str, query: str, expected: list[tuple[Any, ...]], *values: object, seconds: float = 60
) -> None:
    """Wait until a query finds this. Raises TimeoutError."""
    async with (
        asyncio.timeout(seconds),
        await psycopg.AsyncConnection.connect(database, autocommit=True) as connection,
    ):
        while await (await connection.execute(query.encode(), values or None)).fetchall() != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def wait_for_log(caplog: pytest.LogCaptureFixture, event: str) -> None:
    """Wait until the app has logged an event."""
    async with asyncio.timeout(60):
        while event not in caplog.messages:  # noqa: ASYNC110 - a log record tells no one that it came
            await asyncio.sleep(0.05)


@asynccontextmanager
async def serving(
    settings: Settings, database: str, *, work: bool = True, features: Sequence[Feature] = FEATURES
) -> AsyncIterator[Application]:
    """Run one process's worth of the app."""
    stop, ready = asyncio.Event(), asyncio.Event()
    async with compose(settings, conninfo=database, http=True, features=features) as app:
        running = asyncio.create_task(app.serve(stop, work=work, ready=ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield app
        finally:
            stop.set()
            await running


@dataclass(frozen=True, kw_only=True)
class Processes:
    """The services around processes that come and go, which have these `settings` too."""

    slack: FakeSlack
    perplexity: FakePerplexity
    session: ClientSession
    database: str
    settings: dict[str, str] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    async def start(self, *arguments: str, port: int | None = None, **more: Any) -> Process:
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
            **(UNLIMITED | self.settings | more),
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
        found = await rows(self.database, LEFT)
        return len(found), max(count for (count,) in found)

    def answers_by_trigger(self) -> Counter[str]:
        """Count the answers by the delivery they belong to; what can still be stopped is none."""
        posted = [post for post in self.slack.posts if post.method == "response_url"]
        return Counter(post.payload["token"] for post in posted if '"action_id": "stop"' not in post.shown_text)


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
def settings(request: pytest.FixtureRequest, slack: FakeSlack, perplexity: FakePerplexity) -> Settings:
    """Return the settings of the app; a test changes some by `@pytest.mark.settings(name=value)`, the closest wins."""
    changes = [mark.kwargs for mark in request.node.iter_markers("settings")]
    return settings_of(slack, perplexity).model_copy(
        update={name: value for one in reversed(changes) for name, value in one.items()}
    )


def settings_of(slack: FakeSlack, perplexity: FakePerplexity) -> Settings:
    """Return settings with which the app calls these services."""
    fakes = {"slack_api_url": slack.api_url, "perplexity_base_url": perplexity.base_url, "port": free_port()}
    return _settings().model_copy(update=fakes)


@cache
def _settings() -> Settings:
    """Return what is the same in every test: to read settings takes a tenth of a test."""
    return Settings(  # type: ignore[call-arg]  # the providers declare their fields
        slack_bot_token=SecretStr(BOT_TOKEN),
        slack_signing_secret=SecretStr(SIGNING_SECRET),
        perplexity_api_key=SecretStr(KEY),
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
) -> AsyncIterator[Driver]:
    url = f"http://127.0.0.1:{settings.port}"
    async with serving(settings, database, features=features):
        person = Person(session=session, app_url=url, response_url=slack.response_url, slack=slack)
        yield Driver(person=person, slack=slack, perplexity=perplexity, url=url, session=session, database=database)


@pytest.fixture
async def workspace(
    slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession, database: str
) -> AsyncIterator[Processes]:
    made = Processes(slack=slack, perplexity=perplexity, session=session, database=database)
    yield made
    for process in made.processes:
        await process.kill()
