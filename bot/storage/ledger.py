"""The ledger: every call of a paid service, reserved before it is made and settled after it, exactly once.

Calls that begin while others are being booked are booked together, in one transaction. The cost of a finished call is
booked with the next calls, or after a tenth of a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, cast
from uuid import UUID

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from bot.model.spending import (
    NO_BUDGETS,
    BudgetNotice,
    Budgets,
    Ended,
    Erased,
    Granted,
    OverBudget,
    Paused,
    RequestText,
    Reservation,
    Scope,
    TakenOver,
    Verdict,
)
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool

log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.1
"""How long the end of a call waits to be booked together with the beginning of another call."""

TOGETHER_SECONDS = 0.025
"""The shortest time between two bookings of beginning calls.

Under load, the calls of several questions share one transaction; a single question does not wait.
"""

AGAIN_SECONDS = 0.5
"""The pause before failed bookings of ended calls are repeated."""

FINAL_SECONDS = 3.0
"""How long a stopping process tries to book what waits; the host soon kills the process."""

MOST_AT_ONCE = 100

_BOOK = """
    SELECT asked, verdict, held, amount, exceeded, allowed, remaining,
        resets + CASE WHEN exceeded LIKE '%%week' THEN 6 * 86400 ELSE 0 END AS resets
    FROM ledger_book_v4(%(ended)s, (
            SELECT coalesce(jsonb_agg(one ORDER BY place), '[]')
            FROM jsonb_array_elements(%(wanted)s) WITH ORDINALITY AS w(one, place)
            WHERE NOT EXISTS (
                SELECT FROM questions q
                WHERE q.id = (one ->> 'question_id')::uuid AND q.attempt <> (one ->> 'claim')::integer)),
        %(leaving)s, %(user)s, %(channel)s, %(workspace)s)
"""
"""Book the ends and the beginnings of calls.

A call is left out if its worker has lost its claim on the question. Otherwise a suspended worker that wakes up late
would pay for the question again. For a weekly budget, `ledger_book_v4` returns the seconds until the end of the week's
Monday as `resets`, so six days are added.
"""

_FITTING = """
    SELECT e.effort FROM unnest(%(efforts)s::text[], %(ceilings)s::bigint[]) AS e (effort, ceiling)
    LEFT JOIN call_costs c ON c.provider = %(provider)s AND c.effort = e.effort
    WHERE CASE WHEN c.calls >= 20 THEN c.highest + c.highest / 4 ELSE greatest(e.ceiling, c.highest) END <= (
        SELECT min(budget_of_v1(%(team_id)s, k.scope, k.subject, CASE k.scope
            WHEN 'user' THEN %(user)s WHEN 'channel' THEN %(channel)s ELSE %(workspace)s END::bigint)
            - coalesce(u.reserved + u.spent, 0))
        FROM budget_keys_v1(%(user_id)s, %(channel_id)s, now()) AS k
        LEFT JOIN budget_use u ON u.team_id = %(team_id)s
            AND (u.scope, u.subject, u.period) = (k.scope, k.subject, k.period))
"""
"""Select the efforts for which a call would be granted, by the rules of `ledger_book_v1`."""

_LAST_OF_RUN = """
    SELECT id, state = 'settled' AS paid FROM ledger
    WHERE team_id = %(team_id)s AND at > now() - interval '1 day' AND question_id = %(question_id)s
        AND provider = %(provider)s AND effort = %(effort)s AND state <> 'released'
    ORDER BY paid, at DESC LIMIT 1
"""
"""Select the call of a resumed run: the last call that is not settled yet, otherwise the last settled call."""

ABANDONED_CALLS = """
    SELECT l.id FROM ledger l
    WHERE l.state = 'reserved' AND l.held_at < now() - %(seconds)s * interval '1 second'
        AND (l.held_at < now() - interval '1 hour'
            OR l.question_id IS NULL AND l.held_at < now() - interval '15 minutes'
            OR l.question_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM questions q
                WHERE q.id = l.question_id AND q.state IN ('received', 'working', 'delivering')
                    AND q.claimed_at <= l.held_at))
    LIMIT 1000
"""
"""Select the calls, reserved more than `seconds` ago, whose process is taken for dead.

It is taken for dead if the call's question was closed or deleted, or was claimed again after the call was reserved. A
call without a question is selected after a quarter of an hour, and every call after an hour.
"""

ABANDONED_SECONDS = 30.0

_CURRENT = "u.period IN (budget_period_v1(u.scope, now()), budget_period_v1(u.scope, now() - interval '1 day'))"
"""The SQL condition for the periods of today and yesterday, since a call may be settled after midnight."""

_NOTICE = f"""
    UPDATE budget_use u SET noticed = crossed.percent FROM (
        SELECT b.team_id, b.scope, b.subject, b.period,
            CASE WHEN b.spent >= b.amount THEN 100 WHEN b.spent >= b.amount * 0.95 THEN 95
                WHEN b.spent >= b.amount * 0.75 THEN 75 ELSE 0 END AS percent
        FROM (
            SELECT u.team_id, u.scope, u.subject, u.period, u.spent, CASE
                WHEN own.team_id IS NOT NULL THEN own.amount
                WHEN shared.team_id IS NOT NULL THEN shared.amount
                WHEN u.scope = 'user' THEN %(user)s::bigint
                WHEN u.scope = 'channel' THEN %(channel)s::bigint
                WHEN u.scope = 'workspace' THEN %(workspace)s::bigint END AS amount
            FROM budget_use u
            LEFT JOIN budgets own ON (own.team_id, own.scope, own.subject) = (u.team_id, u.scope, u.subject)
            LEFT JOIN budgets shared ON (shared.team_id, shared.scope, shared.subject) = (u.team_id, u.scope, '')
            WHERE {_CURRENT} AND u.spent > 0 AND u.noticed < 100) AS b
        WHERE b.amount > 0) AS crossed
    WHERE u.team_id = crossed.team_id AND u.scope = crossed.scope AND u.subject = crossed.subject
        AND u.period = crossed.period AND u.noticed < crossed.percent
"""
"""Record the highest percentage (75, 95 or 100) that the spending of each budget has reached.

Every process runs this query every few seconds, so it joins the budgets instead of calling `budget_of_v1` per row.
"""

TELLING_SECONDS = 300.0
"""After this time, a process that has not confirmed a notice is taken for dead, and another process sends it."""

MOST_NOTICES = 20
"""The most notices that a process takes at once. It must send them within `TELLING_SECONDS`."""

_TELL = f"""
    UPDATE budget_use u SET telling_since = now()
    WHERE ctid = ANY(ARRAY(
        SELECT d.ctid FROM budget_use d
        WHERE d.noticed > d.told AND {_CURRENT.replace("u.", "d.")}
            AND (d.telling_since IS NULL OR d.telling_since < now() - %(seconds)s * interval '1 second')
        LIMIT %(most)s FOR UPDATE SKIP LOCKED))
    RETURNING u.team_id, u.scope, u.subject, u.period, u.noticed AS percent, u.spent,
        coalesce(budget_of_v1(u.team_id, u.scope, u.subject, CASE u.scope
            WHEN 'user' THEN %(user)s WHEN 'channel' THEN %(channel)s ELSE %(workspace)s END::bigint), 0) AS allowed
"""
_TOLD = """
    UPDATE budget_use SET told = greatest(told, %(told)s), telling_since = NULL
    WHERE team_id = %(team_id)s AND scope = %(scope)s AND subject = %(subject)s AND period = %(period)s
"""


_LOCK = "LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE"


async def lock_bookings(connection: AsyncConnection[Any]) -> None:
    """Wait until no call is being booked, and prevent bookings until the end of the transaction."""
    await connection.execute(_LOCK)


class LedgerAway(ConnectionError):
    """The database is unavailable, so a call cannot be reserved, and must not be made."""


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """An item to book: a call (`wanted`), perhaps with the request that it sends (`leaving`), or only a request.

    The result of `decided` is the verdict on the call; None if there is only a request.
    """

    wanted: Reservation | None
    leaving: RequestText | None
    decided: asyncio.Future[Verdict | None]


class Ledger:
    """Books the calls of one process. `budgets` apply unless admins have set others.

    If the end of a call was never booked, any process later books the call as `cut`, at the reserved amount.
    """

    def __init__(self, pool: Pool, *, budgets: Budgets = NO_BUDGETS) -> None:
        self._pool = pool
        self._budgets = {"user": budgets.user, "channel": budgets.channel, "workspace": budgets.workspace}
        self._waiting: list[_Waiting] = []
        self._ended: dict[UUID, Ended] = {}
        self._booking: asyncio.Task[None] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._together: asyncio.TimerHandle | None = None
        self._began = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(FINAL_SECONDS):
                while self._ended or self._booking is not None:
                    await self.flush()
                    if self._ended:
                        await asyncio.sleep(SETTLE_SECONDS)
        if self._later is not None:
            self._later.cancel()

    async def reserve(self, wanted: Reservation, leaving: RequestText | None = None) -> Verdict:
        """Return the verdict on a call. If the call is granted, `leaving` is saved, and the caller must `end` the call.

        A resumed run that is already paid for is granted at once, and nothing is booked or saved: an earlier worker may
        have received the answer and failed to save it. Raises LedgerAway.
        """
        if wanted.resumes and (last := await self._last_of_run(wanted)) is not None and last["paid"]:
            return Granted(id=last["id"])
        verdict = await self._booked(wanted, leaving)
        assert verdict is not None  # noqa: S101 - every call has a verdict
        return verdict

    async def _last_of_run(self, wanted: Reservation) -> DictRow | None:
        try:
            return await self._pool.fetch_one(_LAST_OF_RUN, vars(wanted))
        except DATABASE_UNAVAILABLE:
            raise LedgerAway from None

    async def fitting(self, wanted: Reservation, efforts: Mapping[str, int]) -> frozenset[str]:
        """Return the efforts that the budgets still allow; `efforts` maps each to its ceiling. Raises LedgerAway."""
        values = vars(wanted) | self._budgets | {"efforts": list(efforts), "ceilings": list(efforts.values())}
        try:
            rows = await self._pool.fetch_all(_FITTING, values)
        except DATABASE_UNAVAILABLE:
            raise LedgerAway from None
        return frozenset(row["effort"] for row in rows)

    async def keep(self, leaving: RequestText) -> None:
        """Save a request that is about to be sent without a call of its own. Raises LedgerAway."""
        await self._booked(None, leaving)

    async def _booked(self, wanted: Reservation | None, leaving: RequestText | None) -> Verdict | None:
        decided: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(wanted=wanted, leaving=leaving, decided=decided))
        pause = self._began + TOGETHER_SECONDS - asyncio.get_running_loop().time()
        if pause <= 0:
            self._book_soon()
        elif self._together is None:
            self._together = asyncio.get_running_loop().call_later(pause, self._book_soon)
        return await decided

    def end(self, ended: Ended) -> None:
        """Queue the end of a call for booking. Returns at once."""
        self._ended[ended.id] = ended
        self._end_later(SETTLE_SECONDS)

    async def flush(self) -> None:
        """Book everything that waits."""
        if self._booking is not None:
            await asyncio.wait({self._booking})
        self._book_soon()
        if self._booking is not None:
            await asyncio.wait({self._booking})

    async def cut_abandoned(self) -> int:
        """Book the calls of dead processes as ended, at the reserved amounts; return the number of calls."""
        rows = await self._pool.fetch_all(ABANDONED_CALLS, {"seconds": ABANDONED_SECONDS})
        if rows:
            await self._book([Ended(id=row["id"], state="cut") for row in rows], [])
        return len(rows)

    async def notices(self) -> list[BudgetNotice]:
        """Return the notices that no process has sent or is sending; the caller must call `told` for each of them.

        A notice for which `told` was not called is returned again after `TELLING_SECONDS`, to any process. A budget of
        zero has no notices.
        """
        values = self._budgets | {"seconds": TELLING_SECONDS, "most": MOST_NOTICES}
        async with self._pool.transaction() as connection:
            await connection.execute(_NOTICE, self._budgets)
            rows = await (await connection.execute(_TELL, values)).fetchall()
            for row in rows:
                if not row["allowed"]:
                    await connection.execute(_TOLD, row | {"told": row["percent"]})
        return [BudgetNotice(**row) for row in rows if row["allowed"]]

    async def told(self, notice: BudgetNotice, *, reached: bool = True) -> None:
        """Record that a notice was sent; if `reached` is false, no admin got the notice, and it must be sent again."""
        await self._pool.execute(_TOLD, vars(notice) | {"told": notice.percent if reached else 0})

    def _end_later(self, seconds: float) -> None:
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(seconds, self._book_soon)

    def _book_soon(self) -> None:
        for timer in (self._later, self._together):
            if timer is not None:
                timer.cancel()
        self._later = self._together = None
        if self._booking is None and (self._waiting or self._ended):
            self._booking = asyncio.create_task(self._book_all())

    async def _book_all(self) -> None:
        """Book batches until no call waits to begin; calls that end meanwhile are booked a little later."""
        pause = SETTLE_SECONDS
        try:
            while await self._book_next():
                pass
        except (*DATABASE_UNAVAILABLE, Error):
            pause = AGAIN_SECONDS
        finally:
            self._booking = None
            if self._ended or self._waiting:
                self._end_later(pause)

    async def _book_next(self) -> bool:
        """Book one batch; return whether more items wait. Raises database errors after informing waiting callers."""
        waiting = [one for one in self._waiting[:MOST_AT_ONCE] if not one.decided.done()]
        if waiting:
            self._began = asyncio.get_running_loop().time()
        del self._waiting[:MOST_AT_ONCE]
        ended, self._ended = self._ended, {}
        try:
            verdicts = await self._book(list(ended.values()), waiting)
        except BaseException as error:
            log.warning("ledger.away", extra={"error": type(error).__name__})
            self._ended = ended | self._ended
            for one in waiting:
                if one.wanted is not None and not one.wanted.resumes:
                    # The call is not made. It may be booked already, if only the reply was lost, so release its amount.
                    self.end(Ended(id=one.wanted.id, state="released"))
                if not one.decided.done():
                    one.decided.set_exception(LedgerAway())
            raise
        for one in waiting:
            verdict = None if one.wanted is None else verdicts.get(one.wanted.id, TakenOver())
            if not one.decided.done():
                one.decided.set_result(verdict)
            elif one.wanted is not None and isinstance(verdict, Granted):
                # The caller was cancelled in the meantime, and does not make the call.
                self.end(Ended(id=verdict.id, state="cut" if one.wanted.resumes else "released"))
        return bool(self._waiting)

    async def _book(self, ended: Sequence[Ended], waiting: Sequence[_Waiting]) -> dict[UUID, Verdict]:
        values: dict[str, Any] = {
            "ended": Jsonb([_json(one) for one in ended]),
            "wanted": Jsonb([_json(one.wanted) for one in waiting if one.wanted is not None]),
            "leaving": Jsonb([_json(one.leaving) for one in waiting if one.leaving is not None]),
            **self._budgets,
        }
        rows = await self._pool.fetch_all(_BOOK, values, prepare=True)
        return {row["asked"]: _verdict(row) for row in rows}


def _json(value: Ended | Reservation | RequestText) -> Mapping[str, Any]:
    return {name: str(item) if isinstance(item, UUID) else item for name, item in vars(value).items()}


def _verdict(row: DictRow) -> Verdict:
    if row["verdict"] == "granted":
        return Granted(id=row["held"])
    if row["verdict"] == "paused":
        return Paused()
    if row["verdict"] == "gone":
        return Erased()
    names = ("amount", "allowed", "remaining", "resets")
    return OverBudget(scope=cast("Scope", row["exceeded"]), **{name: row[name] for name in names})
