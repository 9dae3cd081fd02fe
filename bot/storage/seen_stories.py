"""The table of the stories that digests have posted: read without a lock, added to under one, nothing compared here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from bot.digests.base import State
from bot.storage import digest_queries as sql
from bot.storage.questions import Pool, storable

SEEN_DAYS = 30
MOST_SEEN = 500
"""Of so many stories it is remembered that they were posted."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What other runs of a digest have posted, the latest first; `at` is when they last did, None where nothing is.

    `place` is how far the table was read.
    """

    fingerprints: Sequence[str] = ()
    at: datetime | None = None
    place: int = 0


class Noted(Enum):
    """What became of the wish to note what a run posts."""

    DONE = "done"
    OUTDATED = "outdated"
    """Another run has posted something meanwhile, which the stories are to be compared with first."""
    UNWANTED = "unwanted"
    """The digest is deleted, paused or stopped."""


class SeenStories:
    """The table's operations, each one short transaction that may be done again after a failure."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def by_others(self, id: UUID, *, question_id: UUID, now: datetime, place: int = 0) -> Seen:
        """Read what other runs of a digest than this question's have posted since the table was read up to a place."""
        values = {"id": id, "question_id": question_id, "now": now, "days": SEEN_DAYS, "place": place}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(sql.SEEN, values | {"most": MOST_SEEN})).fetchall()
        return Seen(
            fingerprints=[row["fingerprint"] for row in rows],
            at=rows[0]["at"] if rows else None,
            place=max((row["place"] for row in rows), default=place),
        )

    async def note(
        self, id: UUID, fingerprints: Sequence[str], *, question_id: UUID, now: datetime, place: int, asked: bool
    ) -> Noted:
        """Note which stories a run posts, and that it has looked; `place` is how far the table was read for that.

        Two runs of one digest do so one after the other. A run that is interrupted may do it again. Nothing is noted
        for a digest that is deleted meanwhile, or that is paused or stopped, unless the run was `asked` for.
        """
        values = {"id": id, "question_id": question_id, "now": now, "days": SEEN_DAYS, "place": place, "most": 1}
        async with self._pool.connection() as connection:
            digest = await (await connection.execute(sql.LOCK, values)).fetchone()
            await connection.execute(sql.UNSEE, values)
            if digest is None or not (asked or digest["state"] == State.ACTIVE):
                return Noted.UNWANTED
            if await (await connection.execute(sql.SEEN, values)).fetchone():
                return Noted.OUTDATED
            await connection.execute(sql.SEE, values | {"fingerprints": list(map(storable, fingerprints))})
            await connection.execute(sql.LOOKED, values)
        return Noted.DONE

    async def last_look(self, id: UUID, *, question_id: UUID, now: datetime) -> datetime | None:
        """Return for which moment up to now another run than this question's last looked for news; None: none did."""
        values = {"id": id, "question_id": question_id, "now": now}
        async with self._pool.connection() as connection:
            row = await (await connection.execute(sql.LAST_LOOK, values)).fetchone()
        return row["slot"] if row else None
