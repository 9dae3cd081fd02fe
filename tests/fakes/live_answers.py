"""Answers that are shown live in a Slack in the same process, all by the clock of the event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid4

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.blocks.elements import markdown
from bot.blocks.growing import render_answer_text
from bot.blocks.messages import question_stopped_message
from bot.commands.base import Progress
from bot.delivery.delivery import Delivery, default_routes
from bot.delivery.status_message import ProgressUpdater, StatusMessages
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import OPEN, LeftOver, QuestionRow, StreamEnding
from bot.slack.messages import Chat, PostResult, ResponseUrls, Sent, has_arrived
from bot.slack.streams import Streams
from bot.storage.questions import DatabaseRetry
from bot.storage.streams import (
    APPENDS_PER_MINUTE,
    EDITS_PER_MINUTE,
    RESERVED_SECONDS,
    STARTS_PER_MINUTE,
    STATUS_EDITS_PER_MINUTE,
    WINDOW_SECONDS,
    CallPermit,
    StreamLog,
    fair_pause,
)
from bot.streaming.live import LiveAnswer, LiveAnswers
from bot.worker.clear_up import ClearUp
from fake_slack.limits import SlackError
from fake_slack.web_api import METHODS, Arguments, WebApi
from perplexity.types import SearchQueries, Sources, TextDelta
from tests.fakes.recordings import Recording
from tests.fakes.rows import BEGAN, URL, row
from tests.fakes.slack import FakeSlack

if TYPE_CHECKING:
    from bot.delivery.withdrawal import AnswerWithdrawal
    from bot.storage.questions import Pool, QuestionStore

API_URL = "https://slack.com/api/"


CALL_SECONDS = 0.12
"""How long a call to Slack takes; Slack makes the change after half of it."""

QUERY_SECONDS = 0.005
"""How long a query of the database takes."""


class DirectClient(AsyncWebClient):
    """Slack's client, without a network in between."""

    def __init__(self, slack: FakeSlack) -> None:
        super().__init__(token=slack.token)
        self._slack = slack

    async def api_call(
        self,
        api_method: str,
        *,
        params: dict[str, Any] | None = None,
        json: dict[str, Any] | None = None,
        **_rest: Any,
    ) -> AsyncSlackResponse:
        """Have the Slack answer a call. Raises SlackApiError."""
        await asyncio.sleep(CALL_SECONDS / 2)
        arguments = {**(params or {}), **(json or {})}
        answer, seconds = await self._slack.answer(api_method, arguments, token=self._slack.token)
        await asyncio.sleep(CALL_SECONDS / 2)
        response = AsyncSlackResponse(
            client=self,
            http_verb="POST",
            api_url=api_method,
            req_args={},
            data=answer,
            headers={"Retry-After": str(seconds)} if seconds else {},
            status_code=429 if seconds else 200,
        )
        response.validate()  # type: ignore[no-untyped-call]
        return response


class MemoryQuestions:
    """What `QuestionStore` does with questions in work, without a database; `rows` are they, by id."""

    def __init__(self) -> None:
        self.rows: dict[UUID, QuestionRow] = {}

    @property
    def as_store(self) -> QuestionStore:
        """Return this fake with the type of what it replaces."""
        return cast("QuestionStore", self)

    async def get(self, question_id: UUID) -> QuestionRow | None:
        await asyncio.sleep(QUERY_SECONDS)
        return self.rows.get(question_id)

    async def claims(self, question_ids: Collection[UUID]) -> dict[UUID, int]:
        await asyncio.sleep(QUERY_SECONDS)
        return {row.id: row.claim if row.state in OPEN else -1 for row in self.rows.values() if row.id in question_ids}

    async def record_run(self, row: QuestionRow, run_id: str, *, sent: str | None = None) -> bool:
        await asyncio.sleep(QUERY_SECONDS)
        self.rows[row.id] = replace(self.rows[row.id], run_id=run_id)
        return True

    async def mark_sending(self, row: QuestionRow, part: int, *, uses: int, unconfirmed: int = 0) -> bool:
        await asyncio.sleep(QUERY_SECONDS)
        self.rows[row.id] = replace(self.rows[row.id], part=part, response_uses=uses, unconfirmed=unconfirmed)
        return True

    async def cleared(self, question_id: UUID) -> None:
        await asyncio.sleep(QUERY_SECONDS)

    async def keep_stopped(self, row: QuestionRow, result: dict[str, Any] | None) -> None:
        await asyncio.sleep(QUERY_SECONDS)

    async def stop(self, question_id: UUID, *, user_id: str) -> bool:
        await asyncio.sleep(QUERY_SECONDS)
        row = self.rows[question_id]
        self.rows[question_id] = replace(row, state="stopped", claim=row.claim + 1)
        return row.state in OPEN


class MemoryCallLog(StreamLog):
    """What `StreamLog` does, without a database; `edited` are the answers that are no streams now."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        super().__init__(cast("Pool", None))
        self._clock = clock
        self._times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.no_streams: set[str] = set()
        self.edited: set[UUID] = set()

    async def start(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, datetime | None]:
        await asyncio.sleep(QUERY_SECONDS)
        starts, stops = self._recent(row.team_id, "starts"), self._recent(row.team_id, "stops")
        if row.team_id in self.no_streams or max(len(starts), len(stops)) >= STARTS_PER_MINUTE:
            return CallPermit.USED_UP, None
        self.edited.discard(row.id)
        starts.append(self._clock())
        # The times of stops that are reserved are told apart, as those of the database are.
        stops.append(self._clock() + RESERVED_SECONDS + len(stops) * 1e-6)
        return CallPermit.GRANTED, BEGAN + timedelta(seconds=stops[-1])

    async def started(self, row: QuestionRow, streams: Sequence[str]) -> bool:
        await asyncio.sleep(QUERY_SECONDS)
        return True

    async def append(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        sharing = sum(at > self._clock() for at in self._recent(row.team_id, "stops"))
        return await self._take(row, "appends", APPENDS_PER_MINUTE, sharing)

    async def edit(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        return await self._take(row, "edits", EDITS_PER_MINUTE - len(self.edited), len(self.edited))

    async def edit_status(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        limit = EDITS_PER_MINUTE - len(self.edited)
        return await self._take(row, "edits", limit, len(self.edited), most=min(STATUS_EDITS_PER_MINUTE, limit // 2))

    async def final_edit(self, row: QuestionRow) -> None:
        await asyncio.sleep(QUERY_SECONDS)
        self._recent(row.team_id, "edits").append(self._clock())

    async def ended(self, row: QuestionRow, streams: Sequence[str], *, shown: int, reserved: datetime | None) -> None:
        await asyncio.sleep(QUERY_SECONDS)
        self.edited.add(row.id)
        stops = self._recent(row.team_id, "stops")
        if ahead := [at for at in stops if at > self._clock()]:
            place = max(ahead) if reserved is None else (reserved - BEGAN).total_seconds()
            stops.remove(min(ahead, key=lambda at: abs(at - place)))
        stops.append(self._clock())

    async def unsupported(self, team_id: str) -> None:
        self.no_streams.add(team_id)

    async def known(self, row: QuestionRow) -> set[str]:
        return set()

    async def _take(
        self, row: QuestionRow, kind: str, limit: int, sharing: int, *, most: int | None = None
    ) -> tuple[CallPermit, float]:
        await asyncio.sleep(QUERY_SECONDS)
        taken = self._recent(row.team_id, kind)
        if len(taken) >= (limit if most is None else most):
            return CallPermit.USED_UP, 0.0
        taken.append(self._clock())
        return CallPermit.GRANTED, fair_pause(len(taken), limit, sharing=sharing)

    def _recent(self, team: str, kind: str) -> list[float]:
        times = self._times[team, kind]
        times[:] = [at for at in times if at > self._clock() - WINDOW_SECONDS]
        return times


class DirectUrls(ResponseUrls):
    """Takes posts to a response_url without a network: `posts` are those that arrived, each with its moment.

    `results` are what the next posts come to, `Sent` when there are no more; a post that is in doubt arrives.
    """

    def __init__(self) -> None:
        self.posts: list[tuple[float, OutgoingMessage]] = []
        self.results: list[PostResult] = []
        self.uses = 0

    async def post(self, url: str, message: OutgoingMessage, *, audience: Audience, replace: bool) -> PostResult:
        await asyncio.sleep(CALL_SECONDS / 2)
        result = self.results.pop(0) if self.results else Sent()
        if has_arrived(result) is not False:
            self.uses += 1
            self.posts.append((asyncio.get_running_loop().time(), message))
        await asyncio.sleep(CALL_SECONDS / 2)
        return result

    async def delete_original(self, url: str) -> PostResult:
        self.uses += 1
        await asyncio.sleep(CALL_SECONDS)
        return Sent()


@dataclass
class EditedStatus:
    """A question's status message."""

    chat: Chat
    row: QuestionRow
    editable: bool = True
    milestones_shown: int = 0
    response_url_uses: int = 0

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        return isinstance(await self.chat.update(self.row.channel_id, self.row.message_ts or "", message), Sent)


async def no_runs(question_id: UUID) -> bool:
    """Return True: a question has no runs to cancel."""
    return True


@dataclass(kw_only=True)
class LiveWorkspace:
    """A workspace in which questions are answered live; `slack` counts the calls as Slack does.

    `below` are the blocks that follow the last words of an answer, `cancel_runs` is what cancels a question's runs.
    """

    below: tuple[Block, ...] = ()
    slack: FakeSlack = field(init=False)
    calls: MemoryCallLog = field(init=False)
    client: DirectClient = field(init=False)
    questions: MemoryQuestions = field(default_factory=MemoryQuestions)
    urls: DirectUrls = field(default_factory=DirectUrls)
    cancel_runs: Callable[[UUID], Awaitable[bool]] = no_runs

    def __post_init__(self) -> None:
        clock = asyncio.get_running_loop().time
        began = BEGAN.timestamp()
        self.slack = FakeSlack(clock=lambda: began + clock(), tiers=True)
        self.calls = MemoryCallLog(clock=clock)
        self.client = DirectClient(self.slack)

    @property
    def live(self) -> LiveAnswers:
        """What shows the answers."""
        return LiveAnswers(
            questions=self.questions.as_store,
            streams=Streams(self.client),
            chat=Chat(self.client),
            calls=self.calls,
            stop=lambda row: self.questions.stop(row.id, user_id=row.user_id),
            replace_original=self.status_messages.replace_original,
            clock=asyncio.get_running_loop().time,
        )

    async def answer(
        self,
        recording: Recording,
        *,
        number: int = 1,
        surface: str = "im",
        stopped_at: float | None = None,
        uses: int = 0,
    ) -> QuestionRow:
        """Show an answer as it was recorded, and deliver it unless it is stopped after some seconds.

        Return its question. `uses` is how often its response_url was used before.
        """
        question = replace(await self.ask(number=number, surface=surface), response_uses=uses)
        live = self.live.answer(question, self.progress(question))
        live.question = question.text if surface == "slash" else None
        self.calls.edited.add(question.id)
        with suppress(TimeoutError):
            async with live, asyncio.timeout(stopped_at):
                await _write(live, recording)
        if stopped_at is not None:
            await self.questions.stop(question.id, user_id=question.user_id)
            await self.leave(live)
        elif not await live.finish(StreamEnding(answer=recording.answer, blocks=lambda _cited: self.below)):
            # Of a long one, the first message.
            body = markdown(render_answer_text(recording.answer)[0][:9_000])
            await self.deliver(live, OutgoingMessage(text="An answer", blocks=(body,)))
        self.calls.edited.discard(question.id)
        return question

    @property
    def status_messages(self) -> StatusMessages:
        """What replaces the messages of response_urls."""
        return StatusMessages(
            questions=self.questions.as_store,
            database_retry=DatabaseRetry(seconds=1),
            chat=Chat(self.client),
            response_urls=self.urls,
            slack_api_url=API_URL,
            clock=asyncio.get_running_loop().time,
        )

    async def leave(self, live: LiveAnswer) -> None:
        """Do what a worker does that has lost a question: end what is shown of it, and clear up."""
        noted = await self.live.leave(live)
        clear_up = ClearUp(
            questions=self.questions.as_store,
            live=self.live,
            chat=Chat(self.client),
            status_messages=self.status_messages,
            withdrawal=cast("AnswerWithdrawal", None),
            cancel_runs=self.cancel_runs,
            render_stopped=lambda row: question_stopped_message(row.text, question_id=str(row.id)),
        )
        row = await self.questions.get(live.row.id)
        assert row is not None
        left = LeftOver(row=replace(row, streams=tuple(live.messages)), since=None, seconds=0.0, passed_on=False)
        await clear_up.clear_up(left, noted=noted)

    async def answer_by_helper(self, recording: Recording) -> QuestionRow:
        """Stream an answer with the helper of Slack's SDK, as its documentation does; return its question."""
        clock = asyncio.get_running_loop().time
        question = await self.ask()
        begins = clock()
        stream = await self.client.chat_stream(channel=question.channel_id, thread_ts=question.thread_ts or "")
        for at, text in recording.deltas:
            await asyncio.sleep(max(0.0, begins + at - clock()))
            await stream.append(markdown_text=text)
        await stream.stop()
        return question

    def refuse_after(self, count: int, method: str, error: str) -> None:
        """Have Slack refuse a method after so many calls."""
        serve, served = METHODS[method], itertools.count()

        async def refuse(api: WebApi, arguments: Arguments) -> dict[str, Any]:
            if next(served) >= count:
                raise SlackError(error)
            return await serve(api, arguments)

        self.slack.methods[method] = refuse

    def times(self, method: str, channel: str = "") -> list[float]:
        """Return when Slack had answered the calls of a method, in seconds; they may be those for one channel."""
        calls = [call for call in self.slack.answered if channel in {"", call.arguments["channel"]}]
        return [call.at - BEGAN.timestamp() + CALL_SECONDS / 2 for call in calls if call.method == method]

    def progress(self, question: QuestionRow) -> Progress:
        """Return what shows the progress of a question."""
        if question.thread_ts is not None:
            return EditedStatus(Chat(self.client), question)
        return ProgressUpdater(row=question, shared=self.status_messages)

    async def ask(self, text: str = "why", *, number: int = 1, surface: str = "im") -> QuestionRow:
        """Put a question into a conversation with this number, and its status message; return it.

        One of a slash command has its acknowledgement instead.
        """
        if surface == "slash":
            asked = row(id=uuid4(), text=text, surface=surface, thread_ts=None, messages=None, response_url=URL)
            self.questions.rows[asked.id] = replace(asked, received=asyncio.get_running_loop().time())
            return self.questions.rows[asked.id]
        channel = f"D{number}" if surface == "im" else f"C{number}"
        thread = f"{BEGAN.timestamp() - 9:.6f}"
        asked = row(
            id=uuid4(),
            text=text,
            surface=surface,
            channel_id=channel,
            thread_ts=thread,
            messages=None,
            response_url=None,
        )
        sent = await Chat(self.client).post(
            channel, OutgoingMessage(text="Searching"), question=str(asked.id), part=0, thread_ts=thread
        )
        assert isinstance(sent, Sent)
        self.questions.rows[asked.id] = replace(asked, message_ts=sent.ts)
        return self.questions.rows[asked.id]

    async def deliver(self, live: LiveAnswer, message: OutgoingMessage) -> None:
        """Put an answer in the place of what was shown of it."""
        chat, clock = Chat(self.client), asyncio.get_running_loop().time
        delivery = Delivery(
            questions=self.questions.as_store,
            database_retry=DatabaseRetry(seconds=1),
            routes=default_routes(
                chat,
                Streams(self.client),
                self.urls,
                slack_api_url=API_URL,
                delete_pending=self.status_messages.delete_pending,
            ),
            clock=clock,
        )
        used = live.row.response_uses + live.progress.response_url_uses
        row = replace(live.row, streams=tuple(live.messages), messages=(message,), received=clock(), response_uses=used)
        audience = Audience.ASKER if row.surface == "slash" else Audience.CHANNEL
        assert await delivery.deliver(row, audience=audience)
        await self.live.delete_leftovers(row)


async def _write(live: LiveAnswer, recording: Recording) -> None:
    clock = asyncio.get_running_loop().time
    begins = clock()
    live.on_event(SearchQueries(queries=("why is the sky blue",)))
    await asyncio.sleep(recording.begins / 2)
    live.on_event(Sources(sources=recording.answer.sources))
    for at, text in recording.deltas:
        await asyncio.sleep(max(0.0, begins + at - clock()))
        live.on_event(TextDelta(text=text))
