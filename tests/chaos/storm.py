"""A storm: people ask, edit, delete, stop, click and erase, while Slack refuses calls and processes come and go."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from aiohttp import ClientConnectorError, ClientError, ClientResponse

from fake_slack.views import View
from tests.chaos.evidence import BOOKINGS, ID, bookings, calling_process, shows, visible_text
from tests.chaos.harness import ChaosHarness
from tests.chaos.judge import Call, Charge, Figures, Run, Shows, audit_ledger, left_running
from tests.fakes.person import NotSubmitted, Person
from tests.fakes.service import Served
from tests.fakes.slack import Fault as SlackFault

PEOPLE = 60
REFUSED = 0.2
"""The share of calls that Slack refuses."""

RETRIES_AFTER = (0.0, 2.0, 8.0)
"""When Slack delivers an event again that was not acknowledged, in seconds: a hundredth of its last pause."""

SURFACES = ("search", "ask", "public", "deep", "mention", "mention", "im", "im", "deep im")
LINES = {
    "search": "/search",
    "ask": "/ask",
    "public": "/ask --public",
    "deep": "/ask --model high",
    "next": "/tomorrow",
}
CLICKS = {"retry": None, "more": "go_deeper", "more_results": None}
"""What is clicked below an answer, with the choice in a menu."""
REFUSALS = (
    SlackFault(status=429, body='{"ok": false, "error": "ratelimited"}', headers={"Retry-After": "1"}),
    SlackFault(status=500),
    SlackFault(status=503),
)


STATES = "SELECT text, state, command FROM questions WHERE text IS NOT NULL"
REFUSED_MESSAGES = "SELECT split_part(delivery_key, ':', 3) FROM refused_deliveries"
"""The `ts` of messages that were too many, or too fast. That their askers are told so is tried once."""

KEPT_RUNS = "SELECT run_id FROM questions WHERE run_id IS NOT NULL UNION SELECT run_id FROM stages"
UPSTREAM_SECONDS = 30.0
"""How long something may be left of a question that the database has no more: its worker clears up, then it is done."""


@dataclass(kw_only=True)
class AskedQuestion:
    """Something that a person has asked: the ids in its versions, and what was done to it.

    `ts` is that of its message, `trigger` that of its command. `acked` is what the command was answered with. It is not
    left `alone` once a person has tried to change it, also if the app has not acknowledged that: it may have done it.
    """

    ids: list[str]
    surface: str
    channel: str
    ts: str = ""
    trigger: str = ""
    acked: str = ""
    taken: bool = False
    alone: bool = True
    edited: bool = False
    deleted: bool = False
    stopped: bool = False
    clicked: bool = False

    @property
    def is_message(self) -> bool:
        """Whether a message asked."""
        return bool(self.ts)


@dataclass(kw_only=True)
class Walker:
    """One of the people: asks, and changes his mind."""

    storm: Storm
    user: str
    random: Random
    asked: list[AskedQuestion] = field(default_factory=list)
    erased: bool = False
    number: int = 0

    @property
    def direct(self) -> str:
        """The channel of the direct messages with the app."""
        return f"D{self.user}"

    async def walk(self, *, end: float) -> None:
        """Do one thing after another until the storm is over."""
        await asyncio.sleep(self.random.uniform(0, 3))
        while time.monotonic() < end:
            action = self.random.choices(
                (self._ask, self._edit, self._delete, self._stop, self._click, self._erase), (40, 15, 12, 20, 10, 3)
            )[0]
            await action()
            await asyncio.sleep(self.random.expovariate(1 / 2.0))

    async def _ask(self) -> None:
        surface = self.random.choice(SURFACES)
        if self.storm.has_next_build and self.random.random() < 0.2:
            surface = "next"
        asked = AskedQuestion(ids=[self.storm.next_id()], surface=surface, channel="C1")
        self.asked.append(asked)
        if surface in LINES:
            asked.trigger = asked.ids[0]
            line = f"{LINES[surface]} {self._text(asked)}"
            answered = await self._deliver(lambda person: person.type_command(line, trigger=asked.trigger))
            asked.acked = answered or ""
            asked.taken = "Searching the " in asked.acked or "One moment" in asked.acked
            return
        asked.ts, asked.channel = self.storm.next_ts(), "C1" if surface == "mention" else self.direct
        asked.taken = await self._report(self._message_event(asked), name=asked.ids[0])

    def _text(self, asked: AskedQuestion) -> str:
        deep = "--model high " if asked.surface == "deep im" else ""
        return f"{deep}what is example {asked.ids[-1]}"

    def _message_event(self, asked: AskedQuestion) -> dict[str, Any]:
        if asked.surface == "mention":
            text = f"<@U0APP> {self._text(asked)}"
            return {"type": "app_mention", "channel": "C1", "channel_type": "channel", "text": text, "ts": asked.ts}
        return {
            "type": "message", "channel": asked.channel, "channel_type": "im", "text": self._text(asked),
            "ts": asked.ts,
        }  # fmt: skip

    def _change_event(self, asked: AskedQuestion, subtype: str, **change: Any) -> dict[str, Any]:
        kind = "channel" if asked.surface == "mention" else "im"
        before = {"type": "message", "user": self.user, "text": self._message_event(asked)["text"], "ts": asked.ts}
        return {
            "type": "message", "subtype": subtype, "channel": asked.channel, "channel_type": kind, "hidden": True,
            "ts": self.storm.next_ts(), "previous_message": before, **change,
        }  # fmt: skip

    def _pick(self, fits: Callable[[AskedQuestion], bool]) -> AskedQuestion | None:
        """Return one of the last things asked that fits."""
        return next((asked for asked in reversed(self.asked[-3:]) if fits(asked)), None)

    async def _edit(self) -> None:
        asked = self._pick(lambda one: one.is_message and not one.deleted and not one.clicked)
        if asked is None:
            return
        asked.edited, asked.alone = True, False
        before = self._message_event(asked)["text"]
        asked.ids.append(self.storm.next_id())
        now = {"type": "message", "user": self.user, "text": self._message_event(asked)["text"], "ts": asked.ts}
        changed = now | {"edited": {"user": self.user, "ts": self.storm.next_ts()}}
        event = self._change_event(asked, "message_changed", message=changed)
        event["previous_message"]["text"] = before
        await self._report(event, name=asked.ids[-1])

    async def _delete(self) -> None:
        asked = self._pick(lambda one: one.is_message and not one.deleted and not one.clicked)
        if asked is None:
            return
        event = self._change_event(asked, "message_deleted", deleted_ts=asked.ts)
        asked.alone = False
        # Of what was erased the app knows no more which messages it was.
        asked.deleted = not self.erased and await self._report(event, name=f"del-{asked.ids[-1]}")

    async def _stop(self) -> None:
        asked = self._pick(lambda one: not one.stopped and not one.deleted)
        if asked is None:
            return
        slack = self.storm.harness.slack
        if asked.is_message and self.random.random() < 0.3:
            asked.alone = False
            event = slack.press_stop(asked.channel, asked.ts, user=self.user)
            asked.stopped = await self._report(event, name=f"stop-{asked.ids[-1]}")
            return
        shown = [asked.acked, *(json.dumps(message) for message in self.storm.thread(asked))]
        question = next((found for found in map(_stop_value, shown) if found), None)
        if question is not None:
            asked.alone = False
            token = f"{asked.ids[0]}-stop{len(shown)}"
            answered = await self._deliver(lambda person: person.click("stop", question, token=token))
            asked.stopped = answered is not None

    async def _click(self) -> None:
        asked = self._pick(lambda one: one.is_message and not one.edited and not one.deleted)
        if asked is None:
            return
        shown = next((one for one in self.storm.thread(asked) if _clicks(one)), None)
        if shown is not None:
            asked.clicked = True
            action = self.random.choice(sorted(_clicks(shown)))
            token, choice = f"{asked.ids[0]}-{action}", CLICKS[action]
            await self._deliver(lambda person: person.choose(shown, action, choice, token=token, channel=asked.channel))

    async def _erase(self) -> None:
        slack = self.storm.harness.slack
        self.number += 1
        await self._deliver(lambda person: person.open_home(id=f"Ev-home-{self.user}-{self.number}"))
        await asyncio.sleep(1)
        home = slack.views.home(self.user)
        if home is None or not _has_action(home, "erase_own_data"):
            return
        self.erased = True
        await self._deliver(
            lambda person: person.press(home, "erase_own_data", token=f"erase-{self.user}-{self.number}")
        )

    async def _report(self, event: dict[str, Any], *, name: str) -> bool:
        """Have Slack deliver an event until it is acknowledged or given up; return whether it was."""
        began = time.monotonic()
        for retry, after in enumerate((None, *RETRIES_AFTER)):
            if after is not None:
                await asyncio.sleep(max(0.0, began + after - time.monotonic()))
            headers = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_error"} if retry else None
            if await self._deliver(partial(_send_event, event=event, id=f"Ev{name}", headers=headers)) is not None:
                return True
        return False

    async def _deliver(self, send: Callable[[Person], Awaitable[ClientResponse]]) -> str | None:
        """Send to a process; one that refuses the connection is passed over. Return the answer, None for a failure."""
        webs = self.storm.harness.webs
        first = self.random.randrange(len(webs))
        for at in range(len(webs)):
            person = Person(
                session=self.storm.harness.load.session,
                app_url=webs[(first + at) % len(webs)].url,
                response_url=self.storm.harness.slack.response_url,
                user=self.user,
                slack=self.storm.harness.slack,
            )
            try:
                async with await send(person) as response:
                    text = await response.text()
                    return text if response.status == 200 else None
            except ClientConnectorError:
                continue
            except (ClientError, TimeoutError, OSError, NotSubmitted, LookupError, AssertionError):
                return None
        return None


@dataclass(kw_only=True)
class Storm:
    """The people of a storm and what goes wrong around them. `seed` decides everything that is up to chance."""

    harness: ChaosHarness
    seed: int
    walkers: list[Walker] = field(default_factory=list)
    has_next_build: bool = False
    questions: int = 0
    messages: int = 0

    def __post_init__(self) -> None:
        self.walkers = [
            Walker(storm=self, user=f"UZP{number:02}", random=Random(f"{self.seed}-{number}"))  # noqa: S311
            for number in range(PEOPLE)
        ]

    def next_id(self) -> str:
        """Return an id that the text of one version of a question holds."""
        self.questions += 1
        return f"zq{self.questions:05}"

    def next_ts(self) -> str:
        """Return the `ts` of a new message of a person, which is before that of every reply."""
        self.messages += 1
        return f"{time.time() - 1:.0f}.{100_000 + self.messages:06}"

    def thread(self, asked: AskedQuestion) -> list[dict[str, Any]]:
        """Return what the app shows below a message now."""
        return [
            message
            for (channel, _), message in self.harness.slack.shown.items()
            if channel == asked.channel and message.get("thread_ts") == asked.ts
        ]

    async def rage(self, *, seconds: float) -> None:
        """Let the people act for some seconds, Slack refuse, and processes be killed and replaced."""
        end = time.monotonic() + seconds
        chance = Random(f"{self.seed}-slack")  # noqa: S311
        self.harness.slack.odds = lambda _: chance.choice(REFUSALS) if chance.random() < REFUSED else None
        async with asyncio.TaskGroup() as group:
            group.create_task(self._replace_processes(end=end))
            for walker in self.walkers:
                group.create_task(walker.walk(end=end))
        self.harness.slack.odds = None

    async def _replace_processes(self, *, end: float) -> None:
        """Kill or stop one process after another; from the middle on, what is started is the next build."""
        chance = Random(f"{self.seed}-processes")  # noqa: S311
        middle = (time.monotonic() + end) / 2
        while time.monotonic() < end:
            await asyncio.sleep(chance.uniform(1.5, 4.0))
            member = chance.choice(self.harness.members)
            if time.monotonic() > middle:
                member.module = "tests.chaos.next_build"
            await (member.kill() if chance.random() < 0.6 else member.terminate())
            await asyncio.sleep(chance.uniform(0.0, 1.0))
            await member.start()
            self.has_next_build |= member.is_web and time.monotonic() > middle
        # What only the next build can do must be done in the end.
        await self._update_a_worker()

    async def _update_a_worker(self) -> None:
        worker = self.harness.workers[0]
        worker.module = "tests.chaos.next_build"
        await worker.terminate()
        await worker.start()

    async def judge(self, figures: Figures) -> list[str]:
        """Return what is wrong at the end, in words; `figures` get the invoice and the ledger."""
        left = await self._left()
        await self._audit(figures)
        states = {str(text): f"{state}, {command}" for text, state, command in await self.harness.query(STATES)}
        refused = {str(ts) for (ts,) in await self.harness.query(REFUSED_MESSAGES)}
        lost = [
            f"{words}: {[state for text, state in states.items() if words[-7:] in text]}"
            for words in self._lost(refused)
        ]
        return [*left, *lost, *(await self._wrong_bookings(figures))]

    async def _left(self) -> list[str]:
        """Return what goes on, or seems to, and should not, once that had time to end."""
        end = time.monotonic() + UPSTREAM_SECONDS
        while True:
            left = [*self._left_in_slack(), *(await self._left_upstream())]
            if not left or time.monotonic() > end:
                return left
            await asyncio.sleep(0.5)

    async def _wrong_bookings(self, figures: Figures) -> list[str]:
        rows = list(bookings(await self.harness.query(BOOKINGS)))
        served = [*self.harness.perplexity.served, *self.harness.brave.served]
        return [
            f"{question}: charged {[one.amount for one in _charges(served) if one.question == question]},"
            f" booked {[(one.amount, one.cut) for one in rows if one.question == question]}"
            for question in figures.wrong_bookings
        ]

    def _left_in_slack(self) -> Iterator[str]:
        slack = self.harness.slack
        for put in (event.message for event in slack.timeline.since(0)):
            if put is not None and put.stream is not None and put.stream.ending is None:
                yield f"an open stream in {put.channel}, {put.ts}"
        deleted = {one for walker in self.walkers for asked in walker.asked if asked.deleted for one in asked.ids}
        for (channel, ts), message in slack.shown.items():
            seen = visible_text(message)
            if shows(message) is Shows.WAITING or "stop" in _actions(message):
                yield f"a search that seems to go on in {channel}, {ts}: {seen[:150]}"
            if gone := deleted & {*ID.findall(seen)}:
                yield f"the text of a deleted question in {channel}, {ts}: {min(gone)}"
        for token, payload in self._by_response_url().items():
            if shows(payload) is Shows.WAITING:
                yield f"a search that seems to go on for {token}: {visible_text(payload)[:150]}"

    def _by_response_url(self) -> Mapping[str, dict[str, Any]]:
        """Return what is where each command was acknowledged; a click on Stop replaces that, too."""
        asked = [one for walker in self.walkers for one in walker.asked if one.trigger and one.taken]
        shown = {one.trigger: json.loads(one.acked) for one in asked}
        for post in self.harness.slack.posts:
            if post.method == "response_url" and post.payload.get("replace_original"):
                shown[post.payload["token"].partition("-stop")[0]] = post.payload
        gone = {token.partition("-stop")[0] for token in self.harness.slack.deleted}
        return {token: payload for token, payload in shown.items() if token not in gone}

    def _lost(self, refused: Collection[str]) -> Iterator[str]:
        """Say what was taken, was left alone, and has no end that anyone can see; these messages were `refused`."""
        told = {*ID.findall(" ".join(visible_text(message) for message in self.harness.slack.shown.values()))}
        told |= {post.payload["token"] for post in self.harness.slack.posts if post.method == "response_url"}
        for asked in (one for walker in self.walkers if not walker.erased for one in walker.asked):
            if not (asked.taken and asked.alone) or asked.ts in refused:
                continue
            if asked.trigger and asked.trigger not in told:
                yield f"lost: {asked.surface} {asked.ids[0]}"
            if asked.is_message:
                outcomes = [one for one in self.thread(asked) if shows(one) in {Shows.ANSWER, Shows.FAILURE}]
                if not outcomes:
                    yield f"lost: {asked.surface} {asked.ids[0]}"
                elif len(outcomes) > 1 and not asked.clicked and not any("part" in str(one) for one in outcomes):
                    yield f"doubled: {asked.surface} {asked.ids[0]}"

    async def _left_upstream(self) -> list[str]:
        """Say which runs go on for no one."""
        kept = {run_id for (run_id,) in await self.harness.query(KEPT_RUNS)}
        runs = [self._run(run_id, kept=run_id in kept) for run_id in self.harness.perplexity.runs]
        left = left_running(runs, self.harness.interruptions)
        return [f"a run that no one waits for: {run.id}, {run.begun.question}" for run in left]

    def _run(self, run_id: str, *, kept: bool) -> Run:
        perplexity = self.harness.perplexity
        served = perplexity.begun[run_id]
        begun = Call(
            question=ID.findall(served.content)[-1],
            provider="perplexity",
            process=calling_process(served),
            began=served.began,
            ended=served.ended or served.began,
        )
        over = len(perplexity.runs[run_id]) == 1 or run_id in perplexity.cancelled
        return Run(id=run_id, begun=begun, over=over, kept=kept)

    async def _audit(self, figures: Figures) -> None:
        """Compare the ledger with the invoices, but for people who had their data erased: it names them no more."""
        erased = {one for walker in self.walkers if walker.erased for asked in walker.asked for one in asked.ids}
        served = [*self.harness.perplexity.served, *self.harness.brave.served]
        rows = list(bookings(await self.harness.query(BOOKINGS)))
        audit_ledger(
            figures,
            [one for one in _charges(served) if one.question not in erased],
            [one for one in rows if one.question and one.question not in erased],
        )


async def _send_event(person: Person, **event: Any) -> ClientResponse:
    return await person.event(event.pop("event"), **event)


def _charges(served: Iterable[Served]) -> Iterator[Charge]:
    """Yield what is charged for questions; a follow-up sends the turns before it, and its own text last."""
    for one in served:
        if one.charged and (ids := ID.findall(one.content)):
            yield Charge(question=ids[-1], amount=one.charged)


def _clicks(message: Mapping[str, Any]) -> set[str]:
    """Return what of `CLICKS` a message offers."""
    return {action for action in CLICKS.keys() & {*_actions(message)} if (CLICKS[action] or "") in json.dumps(message)}


def _actions(message: Mapping[str, Any]) -> list[str]:
    elements = [one for block in message.get("blocks") or [] for one in block.get("elements") or []]
    return [one["action_id"] for one in elements if isinstance(one, dict) and "action_id" in one]


def _stop_value(text: str) -> str | None:
    """Return which question the Stop button in a message would stop."""
    try:
        blocks = json.loads(text).get("blocks") or []
    except (ValueError, AttributeError):
        return None
    elements = [one for block in blocks for one in block.get("elements") or [] if isinstance(one, dict)]
    return next((one["value"] for one in elements if one.get("action_id") == "stop"), None)


def _has_action(view: View, action: str) -> bool:
    return f'"{action}"' in json.dumps(replace(view).content)
