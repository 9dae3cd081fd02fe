"""The pool of connections to the database, the lanes of services, the limits on questions, and the questions table.

Each change of a question is a short transaction. Questions are passed in and returned as frozen dataclasses.

A pooler in transaction mode may give each transaction another connection to the server, so that prepared statements and
LISTEN do not work. https://www.pgbouncer.org/features.html
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from time import monotonic
from typing import Any, LiteralString, TypeVar, cast
from uuid import UUID

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.abc import Params
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg.sql import Composed
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from bot.model.audit import Change
from bot.model.membership import Asker
from bot.model.message import OutgoingMessage
from bot.model.question import (
    Claimed,
    Insertion,
    KeptResult,
    LeftOver,
    NewQuestion,
    OpenQuestion,
    Outcome,
    Place,
    Preferences,
    QuestionRow,
    RateWait,
    Received,
    Settled,
    SharedFile,
    Turn,
    load_result,
    message_ts,
)
from bot.preferences import load_channel, load_person, load_workspace
from bot.privacy.sent_requests import SentRequests, load_sent
from bot.settings import Settings
from bot.storage import queries
from bot.storage.audit import record_change
from bot.storage.database import DATABASE_UNAVAILABLE
from perplexity import scope
from perplexity.limiter import DEFAULT_LIMITS, WAIT_SECONDS, CallKind, Limits
from perplexity.wire.json import as_texts

log = logging.getLogger(__name__)

T = TypeVar("T")


class Pool(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """A pool of connections on which each statement is a transaction, except within `transaction`.

    A connection that the server has closed is replaced before it is handed out. psycopg_pool's own check is not used:
    it sends a query before each use, and pauses for a second after the second dead connection. Requests that arrive
    right after the database has cut several connections would then fail
    (https://www.psycopg.org/psycopg3/docs/api/pool.html).
    """

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        """Yield a connection whose statements are committed together at the end. Raises PoolTimeout."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def execute(
        self, query: LiteralString | Composed, values: Params | None = None, *, prepare: bool | None = None
    ) -> None:
        """Execute one statement."""
        async with self.connection() as connection:
            await connection.execute(query, values, prepare=prepare)

    async def fetch_one(
        self, query: LiteralString | Composed, values: Params | None = None, *, prepare: bool | None = None
    ) -> DictRow | None:
        """Return the first row of a query; None if it has none."""
        async with self.connection() as connection:
            return await (await connection.execute(query, values, prepare=prepare)).fetchone()

    async def fetch_all(
        self, query: LiteralString | Composed, values: Params | None = None, *, prepare: bool | None = None
    ) -> list[DictRow]:
        """Return all rows of a query."""
        async with self.connection() as connection:
            return await (await connection.execute(query, values, prepare=prepare)).fetchall()

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[DictRow]:  # noqa: ASYNC109 - overrides
        """Return a working connection; dead ones are replaced. Raises PoolTimeout."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        failed = 0
        while True:
            connection = await super().getconn(deadline - monotonic())
            if not _may_be_dead(connection):
                return connection
            try:
                await self.check_connection(connection)
            except Error:
                await self.putconn(connection)
            except BaseException:
                await self.putconn(connection)
                raise
            else:
                return connection
            failed += 1
            if failed > self.max_size:
                # More connections were dead than the pool can have, so the server is closing new ones, too.
                await asyncio.sleep(CLOSED_AGAIN_SECONDS)


def _may_be_dead(connection: AsyncConnection[DictRow]) -> bool:
    """Return whether an idle connection is closed, or has data to read, as when the server closes it. Sends nothing."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


_SILENCE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Connection options with which a vanished server is noticed within 25 seconds, not only after a quarter of an hour.

https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TCP-USER-TIMEOUT
"""


CLOSED_AGAIN_SECONDS = 0.1
"""The pause between two attempts to connect while the server closes each new connection."""

ONLY_ON_REQUEST = 2**31
"""A `prepare_threshold` so high that psycopg prepares a statement only if `prepare=True` requests it."""

IDLE_SECONDS = 10
"""The longest pause between two queries of one transaction; after it, the server ends the transaction."""

RECONNECT_SECONDS = 0.5
"""After this time, a pool stops trying to connect and starts again at the next request.

With a longer time, the pool would double its pauses up to a minute, and notice late that the database is back
(https://www.psycopg.org/psycopg3/docs/advanced/pool.html#connection-quality).
"""


async def _configure(connection: AsyncConnection[DictRow]) -> None:
    """Set up a new connection: it commits each statement, and prepares those that are executed with `prepare=True`.

    If this process is suspended or cut off within a transaction, the server ends the transaction, since others wait for
    its locks. Through a pooler, nothing is prepared or set, since its connections also serve other clients.
    """
    await connection.set_autocommit(True)
    if not await is_pooled(connection):
        connection.prepare_threshold = ONLY_ON_REQUEST
        await connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")


def connection_pool(conninfo: str, *, size: int = 5, seconds: float = 1.0) -> Pool:
    """Build a pool of at most `size` connections, not opened yet.

    Small hosted databases allow about twenty connections altogether. A caller waits at most `seconds` for a connection.
    """
    return Pool(
        conninfo,
        kwargs={"row_factory": dict_row, "connect_timeout": 5, "prepare_threshold": None} | _SILENCE,
        connection_class=AsyncConnection[DictRow],
        min_size=1,
        max_size=size,
        timeout=seconds,
        reconnect_timeout=RECONNECT_SECONDS,
        configure=_configure,
        open=False,
    )


async def is_pooled(connection: AsyncConnection[Any]) -> bool:
    """Return whether the connection leads to a pooler instead of the server itself.

    In every mode, a pooler announces an invented process id, which differs from the id of the process that answers.
    """
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute("SELECT pg_backend_pid()")
        return await cursor.fetchone() != (connection.info.backend_pid,)


MAX_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class DatabaseRetry:
    """Repeats an operation while the database is unavailable, for at most `seconds`.

    The first pause takes `first_pause` seconds, each next pause twice as long, up to one second. After `seconds`, the
    last error is raised.
    """

    seconds: float
    first_pause: float = 0.1
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return the operation's result as soon as it succeeds."""
        end, pause, known = self.clock() + self.seconds, self.first_pause, False
        while True:
            try:
                return await operation()
            except DATABASE_UNAVAILABLE as error:
                if self.clock() + pause > end:
                    raise
                if not known:
                    log.warning("database.away", extra={"error": type(error).__name__})
                known = True
            await self.sleep(pause)
            pause = min(MAX_PAUSE_SECONDS, pause * 2)


_ADD_LANE = """
    INSERT INTO provider_limits AS l (lane, per_second, per_minute, source, stands_in)
    VALUES (%(lane)s, %(per_second)s, %(per_minute)s, %(source)s, %(stands_in)s)
    ON CONFLICT (lane) DO UPDATE
    SET per_second = excluded.per_second, per_minute = excluded.per_minute, source = excluded.source,
        stands_in = excluded.stands_in
    WHERE l.stands_in <> excluded.stands_in
        OR 'set' IN (l.source, excluded.source) AND (l.per_second, l.per_minute, l.source)
            IS DISTINCT FROM (excluded.per_second, excluded.per_minute, excluded.source)
"""


def lane_name(provider: str, kind: CallKind, key: str) -> str:
    """Return the name of the lane for calls of a kind with a key; the name does not reveal the key."""
    return f"{provider.lower()}.{kind}:{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def default_limits(provider: str, kind: CallKind) -> Limits:
    """Return the limits of a service until a setting or a reply names others."""
    return DEFAULT_LIMITS.get((provider.lower(), kind), Limits())


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """The lanes in which calls wait: a lane is a row of `provider_limits`, for a kind of call to a service with a key.

    `keys` are the configured API keys, and `addresses` the addresses of the services, both by the service's display
    name; calls to services without a key are not limited. `limits` are the configured limits. `stand_ins` are the
    services whose answers another service can write instead.
    """

    keys: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, str]
    limits: Mapping[tuple[str, CallKind], Limits] = field(default_factory=dict)
    stand_ins: Sequence[str] = ()
    _added: set[str] = field(default_factory=set)

    def lane(self, provider: str, kind: CallKind) -> str | None:
        """Return the name of the lane for a call by the current task; None if there is no key for the service."""
        own, key = scope.current().keys, self.keys.get(provider)
        if own is not None:
            key = own.keys.get(self.addresses.get(provider, "").rstrip("/"), key)
        return None if key is None else lane_name(provider, kind, key)

    async def add(self, pool: Pool, lane: str) -> None:
        """Save a lane with its configured limits, or else the defaults. Configured limits apply to all processes."""
        if lane in self._added:
            return
        name, kind = lane.partition(":")[0].split(".", 1)
        configured = self.limits.get((name, cast("CallKind", kind)))
        limits = configured or default_limits(name, cast("CallKind", kind))
        values = vars(limits) | {
            "lane": lane,
            "source": "set" if configured else "tier",
            "stands_in": kind != "search" and name in {one.lower() for one in self.stand_ins},
        }
        await pool.execute(_ADD_LANE, values)
        self._added.add(lane)


SPENDS_PAUSED = -2

USER_TEAM_SECONDS = 600.0
"""How long the app relies on an event that named the workspace of a person."""


CONTINUES_MINUTES = 10
"""A direct message outside a thread continues the last conversation for this many minutes after its last question."""

LISTED_TURNS = 50
"""The most earlier turns of a conversation that are read."""


@dataclass(frozen=True, kw_only=True)
class FairShare:
    """The limits on the questions of a person, a thread, a channel and a workspace; 0 means no limit.

    `open_per_person` limits the unanswered questions of a person, and `thread_per_minute` the questions per minute in a
    thread. `user_per_minute` and `channel_per_minute` limit the questions per minute of a person and in a channel: that
    many may come at once, and the next ones at an even rate. At most `per_workspace` questions of a workspace and
    `queued_per_person` questions of a person are in the queue or being answered; the others wait without a job. A
    workspace's admins may set other limits; if `bounded` is true, only lower ones.
    """

    open_per_person: int = 5
    thread_per_minute: int = 6
    queued_per_person: int = 20
    per_workspace: int = 0
    user_per_minute: int = 0
    channel_per_minute: int = 0
    bounded: bool = False


NO_LIMITS = FairShare(open_per_person=0, thread_per_minute=0, queued_per_person=0)

WORKSPACE_PART = 0.8
"""The share of a process's simultaneous questions that one workspace may use if the app may serve several."""


def fair_share(settings: Settings) -> FairShare:
    """Return the limits in the settings."""
    per_workspace = settings.workspace_questions_at_once
    if per_workspace is None:
        per_workspace = ceil(WORKSPACE_PART * settings.questions_at_once) if settings.oauth_configured else 0
    return FairShare(
        open_per_person=settings.open_questions_per_user,
        thread_per_minute=settings.thread_answers_per_minute,
        per_workspace=per_workspace,
        user_per_minute=settings.user_questions_per_minute,
        channel_per_minute=settings.channel_questions_per_minute,
        bounded=settings.oauth_configured,
    )


def _kept(message: OutgoingMessage) -> dict[str, Any]:
    """Return a message as JSON; `private` is included only if it is true."""
    kept = {"text": message.text, "blocks": list(message.blocks)}
    return kept | {"private": True} if message.private else kept


def _message(kept: Mapping[str, Any]) -> OutgoingMessage:
    return OutgoingMessage(text=kept["text"], blocks=tuple(kept["blocks"]), private=kept.get("private") is True)


_COLUMNS = {"claim": "attempt", "redeliveries": "returns"}
"""Maps the fields of `QuestionRow` to their columns, where the names differ."""


def _row_of(row: Mapping[str, Any], *, now: float) -> QuestionRow:
    """Build a `QuestionRow` from a row of the table; `now` is the time of the monotonic clock."""
    names = QuestionRow.__dataclass_fields__.keys() - {"received", "preferences"}
    values = {name: row[_COLUMNS.get(name, name)] for name in names}
    values["received"] = now - row["age"]
    values["streams"] = tuple(row["streams"])
    values["files"] = tuple(SharedFile(**one) for one in row["files"])
    messages = row["messages"]
    if messages is not None:
        values["messages"] = tuple(_message(m) for m in messages)
    return QuestionRow(**values)


def storable(text: str) -> str:
    """Return the text without NUL, which Postgres refuses, and with U+FFFD for half a surrogate pair."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@asynccontextmanager
async def _pipeline(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Send statements together; raise CancelledError if the task is cancelled meanwhile.

    If the task is cancelled while it awaits the results, psycopg raises an `OperationalError` instead ("cannot exit
    pipeline mode while busy"). The retry for an unavailable database would then continue despite the cancellation.
    """
    try:
        async with connection.pipeline():
            yield
    except OperationalError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from error
        raise


class QuestionStore:
    """Reads and writes the questions table.

    `share` has the limits on questions. `keeps_text` says whether texts stay when a question is settled. With `many`,
    this process works for many installations. `clock` is monotonic. `lane` returns the name of the lane in which a
    question's first call waits, None if the question asks no service, and `lanes` saves the lane. A question that would
    wait longer than `wait_seconds` for its turn is answered by another service, if one can stand in.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        share: FairShare | None = None,
        keeps_text: bool = True,
        many: bool = False,
        clock: Callable[[], float] = monotonic,
        lane: Callable[[NewQuestion], str | None] = lambda question: None,
        lanes: Lanes | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._pool = pool
        self._lane, self._lanes, self._wait_seconds = lane, lanes, wait_seconds
        self._settle_query = queries.SETTLE if keeps_text else queries.SETTLE_WITHOUT_TEXT
        self._share = share or FairShare()
        self._many = many
        self._clock = clock

    async def insert(self, question: NewQuestion) -> Insertion:
        """Write a question and its job in one transaction, if it is new and within the limits.

        An earlier question that this one asks `again` is closed if it is still open, since its answer may not cover the
        new question. An open question of an earlier version of the same message is closed, too. A version that arrives
        after a later version, after the deletion of the message, or after the answer is a duplicate.
        Characters that Postgres or UTF-8 cannot store are removed or replaced. People are served in turns: each
        question that a person has in the queue lowers the priority of the person's next question by one.
        """
        share = self._share if question.limited else NO_LIMITS
        question = await self.in_lane(question)
        values = vars(question) | {"text": storable(question.text)} | vars(share)
        values |= {"continues_minutes": CONTINUES_MINUTES, "wait_seconds": self._wait_seconds}
        async with self._pool.connection() as connection:
            async with _pipeline(connection):  # One transaction, and one wait for the server.
                await connection.execute(queries.LOCK, values, prepare=True)
                receiving = await connection.execute(queries.RECEIVE, values, prepare=True)
                if question.late_seconds:
                    await connection.execute(queries.DELIVERED_LATE, values)
                if question.files:
                    files = Jsonb([one._asdict() for one in question.files])
                    await connection.execute(queries.HAS_FILES, {"id": question.id, "files": files})
            row = await receiving.fetchone()
        if row is None:
            return Insertion(received=Received.DUPLICATE)
        received, jobs = Received(row["received"]), row.pop("jobs")
        return Insertion(**row | {"received": received, "waiting": received is Received.NEW and not jobs})

    async def in_lane(self, question: NewQuestion) -> NewQuestion:
        """Return a copy of a question with its lane as its `queue`; if it has no lane, return the question itself."""
        lane = self._lane(question)
        if lane is None or self._lanes is None:
            return question
        await self._lanes.add(self._pool, lane)
        return replace(question, queue=lane)

    async def twin_place(self, question: NewQuestion) -> Place | None:
        """Return the queue place of the asker's identical question, if one is already waiting; otherwise None."""
        values = vars(question) | {"text": storable(question.text)}
        row = await self._pool.fetch_one(queries.TWIN, values)
        return (await self.places([row["id"]])).get(row["id"]) if row and row["id"] else None

    async def places(self, question_ids: Sequence[UUID]) -> dict[UUID, Place]:
        """Return the places of questions in the queue; deleted questions are missing."""
        rows = await self._pool.fetch_all(queries.PLACES, {"ids": question_ids, "wait_seconds": self._wait_seconds})
        return {row.pop("id"): Place(**row) for row in rows}

    async def take_response_use(self, question_id: UUID) -> bool:
        """Count one use of a question's response_url; return False if the question has been begun or closed."""
        return await self._pool.fetch_one(queries.TAKE_RESPONSE_USE, {"id": question_id}) is not None

    async def take_turn(self, asker: Asker) -> bool:
        """Count a request that is not a question against the rate limits; return False if a limit is reached."""
        row = await self._pool.fetch_one(queries.TAKE_TURN, vars(asker) | vars(self._share))
        return row is not None and row["taken"]

    async def rate_wait(self, question: NewQuestion | Asker) -> RateWait | None:
        """Return how long a question that came too fast has to wait, and the kind of limit that delays it.

        The seconds are negative if the wait is over. None if no recent question counts against a limit.
        """
        row = await self._pool.fetch_one(queries.RATE_WAIT, vars(question) | vars(self._share))
        return RateWait(**row) if row and row["seconds"] else None

    async def open_questions(self, *, team_id: str, user_id: str, most: int = 10) -> list[OpenQuestion]:
        """Return a person's open questions, the oldest first."""
        values = {"team_id": team_id, "user_id": user_id, "most": most}
        rows = await self._pool.fetch_all(queries.OPEN, values)
        return [OpenQuestion(**row) for row in rows]

    async def takes_follow_up(
        self, *, team_id: str, channel_id: str, thread_ts: str, user_id: str, default: bool
    ) -> bool:
        """Return whether a reply in a thread counts as a question.

        It does if the app has answered in the thread, and the settings of the channel and of the person allow it.
        `default` applies in a channel without a setting.
        """
        place = {"team_id": team_id, "channel_id": channel_id, "thread_ts": thread_ts}
        values = {**place, "user_id": user_id, "follow_ups": default}
        return await self._pool.fetch_one(queries.ANSWERED_IN_THREAD, values, prepare=True) is not None

    async def take_delivery(self, delivery_key: str) -> bool:
        """Record a delivery that is not a question; return False if any process has recorded its key before."""
        return await self._pool.fetch_one(queries.TAKE_DELIVERY, (delivery_key,)) is not None

    async def record_full_thread(self, *, team_id: str, channel_id: str, thread_ts: str) -> bool:
        """Record that a thread is told about its limit; return False if any process did so in the last minute."""
        values = {"team_id": team_id, "channel_id": channel_id, "thread_ts": thread_ts}
        return await self._pool.fetch_one(queries.NOTICE, values) is not None

    async def claim(
        self, question_id: UUID, claim: UUID, *, commands: Collection[str], installation: str | None = None
    ) -> Claimed | None:
        """Claim a question to work on it.

        Return None if the question is closed, if its command is not in `commands`, if it belongs to another
        installation, or if another claim was faster. `installation` is the id of the installation that the process
        works for, None while unknown. A caller that lost the reply may repeat the call with the same `claim`, which
        returns the same question.
        """
        values = {
            "id": question_id,
            "claim": claim,
            "commands": list(commands),
            "installation": installation,
            "many": self._many,
            "seconds": USER_TEAM_SECONDS,
        }
        row = await self._pool.fetch_one(queries.CLAIM, values, prepare=True)
        if row is None:
            return None
        preferences = Preferences(
            person=load_person(row["person_settings"]),
            channel=load_channel(row["channel_settings"]),
            workspace=load_workspace(row["workspace_settings"]),
        )
        taken = replace(_row_of(row, now=self._clock()), preferences=preferences)
        return Claimed(row=taken, home_open=row["home_open"], closed=row["closed"], user_team=row["user_team"])

    async def hand_over(self, row: QuestionRow) -> bool:
        """Pass a claimed question that this process cannot answer to another process."""
        return await self._changed(queries.HAND_OVER, row)

    async def is_own(self, team_id: str, *, installation: str | None) -> bool:
        """Return whether this process works on a workspace's questions."""
        values = {"team_id": team_id, "installation": installation, "many": self._many}
        row = await self._pool.fetch_one(queries.IS_OWN, values)
        return bool(row and row["own"])

    async def get(self, question_id: UUID) -> QuestionRow | None:
        """Read a question without claiming it."""
        return await self._row(queries.GET, {"id": question_id})

    async def claims(self, question_ids: Collection[UUID]) -> dict[UUID, int]:
        """Return the number of the claim on each of these questions; deleted questions are missing.

        The number is -1 for a closed question, and `SPENDS_PAUSED` for a question that makes a paid call although an
        admin has paused all spending.
        """
        rows = await self._pool.fetch_all(queries.CLAIMS, {"ids": list(question_ids)}, prepare=True)
        return {row["id"]: row["claim"] for row in rows}

    async def turns(self, row: QuestionRow) -> list[Turn]:
        """Return the answered questions before this one in its conversation, oldest first."""
        rows = await self._pool.fetch_all(queries.TURNS, vars(row) | {"most": LISTED_TURNS})
        return [Turn(ts=message_ts(row.pop("delivery_key"), row.pop("received_at")), **row) for row in rows]

    async def asked_directly(self, *, team_id: str, channel_id: str, user_id: str, most: int) -> list[tuple[str, str]]:
        """Return the command and the text of a person's answered direct messages, the newest first."""
        values = {"team_id": team_id, "channel_id": channel_id, "user_id": user_id, "most": most}
        rows = await self._pool.fetch_all(queries.ASKED_DIRECTLY, values)
        return [(row["command"], row["text"]) for row in rows]

    async def record_run(self, row: QuestionRow, run_id: str, *, sent: str | None = None) -> bool:
        """Save the id of a background run that has just begun to cost money, and the requests `sent` for it.

        Return False if the question is closed or another worker has claimed it.
        """
        values = {"id": row.id, "attempt": row.claim, "run_id": run_id, "sent": sent}
        kept = await self._pool.fetch_one(queries.RECORD_RUN, values, prepare=True)
        return kept is not None and bool(kept["ours"])

    async def record_sent(self, question_id: UUID, sent: str | None, replaced: Sequence[UUID] = ()) -> None:
        """Save the requests `sent` for a question without an answer; delete the saved requests that they replace."""
        values = {"id": question_id, "sent": sent, "replaced": list(replaced)}
        async with self._pool.transaction() as connection:
            await connection.execute(queries.REPLACE_SENT, values)
            await connection.execute(queries.RECORD_SENT, values)

    async def sent(self, question_id: UUID) -> SentRequests | None:
        """Return the requests sent to search services for a question; None if none are saved."""
        row = await self._pool.fetch_one(queries.SENT, {"id": question_id})
        return load_sent(row["sent"]) if row is not None and row["sent"] else None

    async def save_placeholder(self, row: QuestionRow, message_ts: str) -> bool:
        """Save the `ts` of the message that announces the search."""
        return await self._changed(queries.RECORD_MESSAGE, row, message_ts=message_ts)

    async def save_messages(self, row: QuestionRow, outcome: Outcome, *, uses: int, unconfirmed: int = 0) -> bool:
        """Save an outcome's messages and figures; return False if the claim is lost.

        `uses` and `unconfirmed` are as in `mark_sending`, for the post of the first message. If nothing is posted, pass
        their current values.
        """
        values = vars(outcome) | {
            "messages": Jsonb([_kept(message) for message in outcome.messages]),
            "outcome": outcome.state,
            "remembered": None if outcome.remembered is None else storable(outcome.remembered),
            "result": None if outcome.result is None else Jsonb(outcome.result),
            "replaced": list(outcome.replaced),
        }
        return await self._changed(queries.KEEP_MESSAGES, row, uses=uses, unconfirmed=unconfirmed, **values)

    async def keep_stopped(self, row: QuestionRow, result: dict[str, Any] | None) -> None:
        """Save the written part of a stopped answer."""
        await self._pool.execute(queries.KEEP_STOPPED, {"id": row.id, "result": Jsonb(result)})

    async def result(self, question_id: UUID) -> KeptResult | None:
        """Return the answer or the search results of a question; None if the question is unknown or has neither."""
        row = await self._pool.fetch_one(queries.RESULT, {"id": question_id})
        result = load_result(row["result"]) if row else None
        if row is None or result is None:
            return None
        return KeptResult(**row | {"result": result, "limits": as_texts(row["result"].get("limits"))})

    async def mark_sending(self, row: QuestionRow, part: int, *, uses: int, unconfirmed: int = 0) -> bool:
        """Record that a part of the answer is about to be posted; return False if it must not be posted.

        `uses` counts the uses of the response_url, and `unconfirmed` the posts of this part without a clear reply; both
        include the coming post. The same values may be recorded again.
        """
        return await self._changed(queries.BEGIN_PART, row, part=part, uses=uses, unconfirmed=unconfirmed)

    async def settle(self, row: QuestionRow, state: str, *, job: int | None) -> Settled | None:
        """Close a question in a state such as "answered", remove its job, and give its place to a waiting question.

        Return None if another worker has claimed the question, or if it is already closed in another state.
        """
        values = {"id": row.id, "attempt": row.claim, "state": state, "job": job}
        closed = await self._pool.fetch_one(self._settle_query, values | self._next_limits, prepare=True)
        return None if closed is None else Settled(home_open=closed["home_open"])

    async def withdraw_answer(self, question_id: UUID) -> None:
        """Record that the answer to a question was withdrawn."""
        await self._pool.execute(queries.WITHDRAW_ANSWER, {"id": question_id})

    async def left_over(self, question_id: UUID, *, again: bool = False) -> LeftOver | None:
        """Return a question if it is closed and may have left something in Slack or at a service; None otherwise.

        With `again`, also return a stopped or withdrawn question that was already cleared up, since its worker may have
        left something after the clear-up.
        """
        values = {"id": question_id, "again": again}
        row = await self._pool.fetch_one(queries.LEFT_OVER, values)
        if row is None:
            return None
        left = _row_of(row, now=self._clock())
        return LeftOver(
            row=left, since=row["uncleared_since"], seconds=row["uncleared"] or 0.0, passed_on=row["passed_on"]
        )

    async def cleared(self, left: LeftOver) -> None:
        """Record that nothing of a closed question is left to clear up, unless its message was deleted meanwhile."""
        await self._pool.execute(queries.CLEARED, {"id": left.row.id, "since": left.since})

    async def delete(self, question_id: UUID) -> None:
        """Delete a closed question, with its rows in other tables."""
        await self._pool.execute(queries.DELETE, {"id": question_id})

    async def question_of_streams(self, channel_id: str, streams: Sequence[str], *, team_id: str) -> QuestionRow | None:
        """Return the open question whose answer is being written in one of these messages; None if there is none."""
        values = {"channel_id": channel_id, "streams": list(streams), "team_id": team_id}
        return await self._row(queries.OF_STREAMS, values)

    async def withdraw(
        self, delivery_key: str, *, team_id: str, channel_id: str, thread_ts: str, user_id: str, seconds: float
    ) -> list[UUID]:
        """Close a deleted message's open question if it is at most `seconds` old; return the ids of closed questions.

        If the question was already answered or stopped, mark it, so that a worker deletes the answer or the note that
        it was stopped. Later deliveries of the message or of its edits are duplicates.
        """
        message = {"delivery_key": delivery_key, "team_id": team_id, "channel_id": channel_id, "thread_ts": thread_ts}
        values = {**message, "user_id": user_id, "seconds": seconds, **self._next_limits}
        async with self._pool.transaction() as connection:
            await connection.execute(queries.LOCK, values, prepare=True)
            closed = await (await connection.execute(queries.WITHDRAW, values)).fetchall()
            await connection.execute(queries.UNWANTED, values)
        return [row["id"] for row in closed]

    async def stop(
        self, question_id: UUID, *, user_id: str, change: Change | None = None, response_url: str | None = None
    ) -> bool:
        """Close a question of this asker as stopped; return False if it can no longer be stopped.

        `response_url` comes from the click, if there is one, and serves to replace the clicked message. `change` is
        recorded in the audit log; it is set if an admin stops another person's question.
        """
        values = {"id": question_id, "user_id": user_id, "response_url": response_url} | self._next_limits
        async with self._pool.transaction() as connection:
            stopped = await (await connection.execute(queries.STOP, values)).fetchone() is not None
            if stopped and change is not None:
                await record_change(connection, change)
        return stopped

    async def enqueue_forgotten(self, connection: AsyncConnection[DictRow]) -> int:
        """Enqueue questions that are open or must be cleared up, have no job and need not wait; return their number.

        Before that, release the waiting questions that the limits now allow, and move questions that would wait too
        long to `OVERFLOW`. Must run in the transaction that holds the lock of `queries.SWEEPING`.
        """
        await connection.execute(queries.RELEASE, vars(self._share))
        await connection.execute(queries.OVERFLOWING, {"wait_seconds": self._wait_seconds})
        await connection.execute(queries.FORGET_RATES)
        return len(await (await connection.execute(queries.ORPHANS)).fetchall())

    async def workers_alive(self, *, seconds: float) -> int:
        """Count the workers whose heartbeat is younger than `seconds`."""
        row = await self._pool.fetch_one(queries.WORKERS_ALIVE, {"seconds": seconds})
        return int(row["count"]) if row else 0

    async def _row(self, query: LiteralString, values: Mapping[str, Any]) -> QuestionRow | None:
        row = await self._pool.fetch_one(query, values)
        return _row_of(row, now=self._clock()) if row else None

    @property
    def _next_limits(self) -> dict[str, int]:
        """Return the parameters of a statement that gives the place of a closed question to a waiting question.

        `behind` is subtracted from the waiting question's priority: the person may have as many others in the queue.
        """
        return vars(self._share) | {"behind": max(0, self._share.queued_per_person - 1)}

    async def _changed(self, query: LiteralString, row: QuestionRow, **values: Any) -> bool:
        values |= {"id": row.id, "attempt": row.claim}
        return await self._pool.fetch_one(query, values, prepare=True) is not None
