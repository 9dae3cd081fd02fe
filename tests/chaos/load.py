"""People who ask, and a Slack that delivers: signed, doubled, again where it was not acknowledged."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aiohttp import ClientConnectorError, ClientError, ClientSession, ClientTimeout, TCPConnector

from tests.chaos.judge import ACK_SECONDS, EVENTS, Delivery, NoticeKind, QuestionRecord
from tests.fakes.person import Person
from tests.fakes.slack import FakeSlack

SURFACES = ("search", "ask", "public", "mention", "im")
DOUBLED = 0.3
PATIENCE_SECONDS = 4.0
"""Slack gives up after three; what comes in the second after that is measured."""

RETRIES_AFTER = (0.0, 6.0, 30.0)
"""A tenth of what Slack waits (at once, a minute, five), so that they fall into a fault of half a minute."""


@dataclass(kw_only=True)
class Question:
    """One question as it is asked, and its deliveries so far. `ts` is that of the message that asks."""

    id: str
    surface: str
    ts: str
    doubled: str = ""
    again: bool = False
    late: float = 0.0
    deliveries: list[Delivery] = field(default_factory=list)

    @property
    def user(self) -> str:
        """The person: everyone asks once."""
        return f"U{self.id.upper()}"

    @property
    def asked(self) -> QuestionRecord:
        """What the judge wants to know."""
        return QuestionRecord(
            id=self.id, surface=self.surface, deliveries=tuple(self.deliveries), again=self.again, late=self.late
        )


@dataclass(kw_only=True)
class Load:
    """All questions of one fault. `webs` are the addresses of the web processes."""

    slack: FakeSlack
    session: ClientSession
    webs: Sequence[str]
    random: Random
    origin: str
    questions: list[Question] = field(default_factory=list)

    def question(self, *, surface: str | None = None, again: bool = False) -> Question:
        """Make up the next question."""
        number = len(self.questions)
        doubled = "" if again or self.random.random() >= DOUBLED else self.random.choice(("same", "other"))
        made = Question(
            id=f"zq{number:05}",
            surface=surface or SURFACES[number % len(SURFACES)],
            ts=f"{int(time.time())}.{number:06}",
            doubled=doubled,
            again=again,
        )
        self.questions.append(made)
        return made

    async def run(self, count: int, *, seconds: float) -> None:
        """Ask so many questions, spread over the seconds, and wait until Slack has done with each."""
        moments = sorted(self.random.uniform(0, seconds) for _ in range(count))
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for moment in moments:
                await asyncio.sleep(max(0.0, began + moment - time.monotonic()))
                group.create_task(self.ask(self.question()))

    async def ask(self, question: Question) -> None:
        """Have Slack deliver a question until it is acknowledged, or given up."""
        first = self.random.randrange(len(self.webs))
        second = (first + 1) % len(self.webs) if question.doubled == "other" else first
        deliveries = [self._deliver_until_taken(question, first)]
        if question.doubled:
            deliveries.append(self._deliver_until_taken(question, second))
        await asyncio.gather(*deliveries)

    async def probe(self, web: int) -> Question:
        """Ask one process once, and return the question."""
        question = self.question(surface="ask", again=True)
        await self._deliver(question, web, retry=0)
        return question

    async def command(self, line: str, *, user: str) -> str:
        """Have a person type a command until a process acknowledges it; return what that says."""
        for web in itertools.cycle(self.webs):
            person = Person(session=self.session, app_url=web, response_url=self._response_url, user=user)
            try:
                async with await person.type_command(line, trigger=f"{line} {time.monotonic()}") as response:
                    return str((await response.json())["text"])
            except (ClientError, TimeoutError, OSError):
                await asyncio.sleep(0.1)
        raise AssertionError("there is no process")

    async def _deliver_until_taken(self, question: Question, web: int) -> None:
        if await self._deliver(question, web, retry=0) or question.surface not in EVENTS:
            return  # Slack delivers a slash command once
        began = time.monotonic()
        for retry, after in enumerate(RETRIES_AFTER, 1):
            await asyncio.sleep(max(0.0, began + after - time.monotonic()))
            if await self._deliver(question, (web + retry) % len(self.webs), retry=retry):
                return

    async def _deliver(self, question: Question, web: int, *, retry: int) -> bool:
        """Deliver once; a process that refuses the connection is passed over, as by the proxy before it."""
        began = time.monotonic()
        notice = NoticeKind.NOTHING
        for at in (web, (web + 1) % len(self.webs)):
            try:
                notice = await self._send(question, self.webs[at], retry=retry)
            except ClientConnectorError:
                continue
            except (ClientError, TimeoutError, OSError):
                pass
            break
        seconds = time.monotonic() - began
        question.deliveries.append(Delivery(at=began, seconds=seconds, notice=notice))
        return notice is NoticeKind.TAKEN and seconds <= ACK_SECONDS

    async def _send(self, question: Question, url: str, *, retry: int) -> NoticeKind:
        person = Person(session=self.session, app_url=url, response_url=self._response_url, user=question.user)
        if question.surface in EVENTS:
            response = await person.event(
                _event_of(question), id=f"Ev{question.id}", headers=_retry_headers(retry) if retry else None
            )
            async with response:
                return NoticeKind.TAKEN if response.status == 200 else NoticeKind.REFUSED
        async with await person.type_command(_command_line(question), trigger=question.id) as response:
            if response.status != 200:
                return NoticeKind.NOTHING
            return read_notice(str((await response.json()).get("text", "")))

    def _response_url(self, token: str) -> str:
        return f"{self.origin}/response/{token}"


def open_session() -> ClientSession:
    """Return a session in which each delivery has a connection of its own."""
    return ClientSession(connector=TCPConnector(limit=0, force_close=True), timeout=ClientTimeout(PATIENCE_SECONDS))


def read_notice(text: str) -> NoticeKind:
    """Return what the words of a slash command's acknowledgement say."""
    if "Searching the " in text or "One moment…" in text:
        return NoticeKind.TAKEN
    return NoticeKind.MAYBE if " may " in text else NoticeKind.REFUSED


def _command_line(question: Question) -> str:
    command = {"search": "/search", "ask": "/ask", "public": "/ask --public"}[question.surface]
    return f"{command} what is example {question.id}"


def _event_of(question: Question) -> dict[str, Any]:
    text = f"what is example {question.id}"
    if question.surface == "im":
        channel = f"D{question.user}"
        return {"type": "message", "channel": channel, "channel_type": "im", "text": text, "ts": question.ts}
    return {"type": "app_mention", "channel": "C1", "text": f"<@U0APP> {text}", "ts": question.ts}


def _retry_headers(number: int) -> dict[str, str]:
    return {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": "http_error"}
