"""The questions table: rows in, frozen values out, each change one short transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from bot.blocks.base import OutgoingMessage
from bot.storage import queries

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
Defer = Callable[[AsyncConnection[DictRow], UUID], Awaitable[None]]
"""Enqueues the job of a question on a connection, in that connection's transaction."""

OPEN = frozenset({"received", "working", "delivering"})


@dataclass(frozen=True, kw_only=True)
class NewQuestion:
    """What a listener knows about a question when it writes it down.

    `thread_ts` is the thread to answer in; `message_ts` the app's message there whose place the answer takes.
    `again` is the earlier question that this one asks once more.
    """

    id: UUID
    delivery_key: str
    surface: str
    command: str
    text: str
    team_id: str
    channel_id: str
    user_id: str
    response_url: str | None = None
    thread_ts: str | None = None
    message_ts: str | None = None
    again: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """One question as the database holds it; `messages` is None until its answer was rendered."""

    id: UUID
    surface: str
    command: str
    text: str
    team_id: str
    channel_id: str
    user_id: str
    response_url: str | None
    response_uses: int
    message_ts: str | None
    thread_ts: str | None
    state: str
    attempt: int
    returns: int
    messages: tuple[OutgoingMessage, ...] | None
    outcome: str | None
    part: int
    run_id: str | None
    received_at: datetime

    @property
    def reference(self) -> str:
        """The short id that the asker is shown and the log holds: `a7f3-19c2`."""
        return reference(self.id)

    @property
    def ids(self) -> dict[str, object]:
        """What a line of the log says of a question: which one, and to which command."""
        return {"question": str(self.id), "command": self.command}

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.state not in OPEN

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> QuestionRow:
        """Read a row of the table."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        messages = row["messages"]
        if messages is not None:
            values["messages"] = tuple(OutgoingMessage(text=m["text"], blocks=tuple(m["blocks"])) for m in messages)
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a question: its messages, and the figures that the row keeps of it."""

    messages: Sequence[OutgoingMessage]
    state: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    error: str | None = None


def reference(question_id: UUID) -> str:
    """Shorten a question's id to what a person can read out: eight digits in two groups."""
    return f"{question_id.hex[:4]}-{question_id.hex[4:8]}"


def storable(text: str) -> str:
    """Return the text without NUL, which Postgres refuses, and with U+FFFD for half a surrogate pair."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Questions:
    """The table's operations. `defer` puts a question's job into the transaction that writes the question."""

    def __init__(self, pool: Pool, defer: Defer) -> None:
        self._pool = pool
        self._defer = defer

    async def receive(self, question: NewQuestion) -> bool:
        """Write a question and its job in one transaction; False when it was delivered before.

        The earlier question that it asks again is closed, should it be open still: its answer may not cover the new
        one's. Of the text is kept what Postgres and UTF-8 can hold.
        """
        values = vars(question) | {"text": storable(question.text)}
        async with self._pool.connection() as connection:
            cursor = await connection.execute(queries.RECEIVE, values)
            if await cursor.fetchone() is None:
                return False
            if question.again is not None:
                await connection.execute(queries.WITHDRAW, {"id": question.again})
            await self._defer(connection, question.id)
        return True

    async def claim(self, question_id: UUID) -> QuestionRow | None:
        """Take a question to work on it; None when it is settled or gone."""
        return await self._row(queries.CLAIM, {"id": question_id})

    async def get(self, question_id: UUID) -> QuestionRow | None:
        """Read a question without taking it."""
        return await self._row(queries.GET, {"id": question_id})

    async def record_run(self, row: QuestionRow, run_id: str) -> bool:
        """Keep the id of a background run that has just begun to cost money."""
        return await self._changed(queries.RECORD_RUN, row, run_id=run_id)

    async def record_message(self, row: QuestionRow, message_ts: str) -> bool:
        """Keep the `ts` of the message that says that the search is on."""
        return await self._changed(queries.RECORD_MESSAGE, row, message_ts=message_ts)

    async def keep_messages(self, row: QuestionRow, outcome: Outcome) -> bool:
        """Keep what is to be posted, and its figures."""
        figures = {k: v for k, v in vars(outcome).items() if k not in {"messages", "state"}}
        messages = Jsonb([{"text": m.text, "blocks": list(m.blocks)} for m in outcome.messages])
        return await self._changed(queries.KEEP_MESSAGES, row, messages=messages, outcome=outcome.state, **figures)

    async def begin_part(self, row: QuestionRow, part: int, *, uses: int) -> bool:
        """Announce the post of a part, which uses up `uses` of the response_url; False means: do not post."""
        return await self._changed(queries.BEGIN_PART, row, part=part, uses=uses)

    async def settle(self, row: QuestionRow, state: str) -> bool:
        """Close a question as answered, failed or expired."""
        return await self._changed(queries.SETTLE, row, state=state)

    async def stop(self, question_id: UUID, *, user_id: str) -> bool:
        """Close a question as stopped, for its asker only; False when there is nothing to stop any more."""
        return await self._row(queries.STOP, {"id": question_id, "user_id": user_id}) is not None

    async def rescue_orphans(self) -> int:
        """Enqueue the open questions that have no job any more; returns how many there were."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(queries.ORPHANS)).fetchall()
            for row in rows:
                await self._defer(connection, row["id"])
        return len(rows)

    async def workers_alive(self, *, seconds: float) -> int:
        """Count the workers whose heartbeat is younger than `seconds`."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(queries.WORKERS_ALIVE, {"seconds": seconds})).fetchone()
        return int(row["count"]) if row else 0

    async def _row(self, query: LiteralString, values: Mapping[str, Any]) -> QuestionRow | None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(query, values)).fetchone()
        return QuestionRow.of(row) if row else None

    async def _changed(self, query: LiteralString, row: QuestionRow, **values: Any) -> bool:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query, {"id": row.id, "attempt": row.attempt, **values})
            return await cursor.fetchone() is not None


_SILENCE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""A server that vanished is noticed within 25 seconds, instead of a quarter of an hour.

https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TCP-USER-TIMEOUT
"""


def connection_pool(conninfo: str, *, size: int = 5) -> Pool:
    """Build the one pool of this process, not opened yet.

    Small hosted databases allow about twenty connections, so it holds at most `size`. A connection is waited for one
    second and no longer: an ack has three.
    """
    return AsyncConnectionPool(
        conninfo,
        kwargs={"row_factory": dict_row, "connect_timeout": 5} | _SILENCE,
        connection_class=AsyncConnection[DictRow],
        min_size=1,
        max_size=size,
        timeout=1.0,
        reconnect_timeout=60.0,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
