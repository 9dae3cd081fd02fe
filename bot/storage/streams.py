"""The database's records of streamed answers: their messages, and the calls that a workspace used in this minute.

All streams of a workspace share Slack's limits, whichever process runs them, so the database counts their calls.
https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any, LiteralString

from bot.model.question import QuestionRow
from bot.storage.questions import Pool

STARTS_PER_MINUTE = 20
APPENDS_PER_MINUTE = 100
EDITS_PER_MINUTE = 46
"""The most edits of answers per minute. Slack allows 50; 4 are left for commands that show no text while they work.

For each answer that is shown by edits, one of the edits is reserved for its finished text.
"""

STATUS_EDITS_PER_MINUTE = 20
"""After this many edits in a minute, progress is no longer shown; the remaining edits are for text.

The number is at most half of the edits that are not reserved for finished texts.
"""

WINDOW_SECONDS = 61
"""A minute and one more second, since calls can overtake each other on their way to Slack."""

RESERVED_SECONDS = 330
"""The call that stops a stream is reserved for this long when the stream starts. No stream lives longer."""

UNSUPPORTED_HOURS = 24
"""How long no stream is started in a workspace after Slack said that it does not support streams."""


class CallPermit(Enum):
    """Whether a call may be made now."""

    GRANTED = "granted"
    USED_UP = "used up"
    """The workspace has no such call left in this minute, or does not support streams."""
    LOST = "lost"
    """The question is closed, or another worker has claimed it."""


def _recent(column: LiteralString) -> LiteralString:
    """Return the SQL expression for the times in a column of `slack_calls` that are at most `WINDOW_SECONDS` old."""
    return (
        f"ARRAY(SELECT at FROM unnest(calls.{column}) at "
        f"WHERE at > clock_timestamp() - {WINDOW_SECONDS} * interval '1 second')"
    )


_OURS = """
    UPDATE questions SET shown = %(shown)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING team_id
"""


def _take(column: LiteralString, limit: LiteralString, *, sharing: LiteralString) -> LiteralString:
    """Return the statement that counts one call if `limit` allows it, and saves the number of characters shown so far.

    `sharing` is a query that counts, as `answers`, the answers that share these calls. `limit` is an SQL expression
    that may use `answers`.
    """
    return f"""
        WITH ours AS ({_OURS}),
        sharing AS MATERIALIZED ({sharing}),
        taken AS (
            INSERT INTO slack_calls AS calls (team_id, {column})
            SELECT team_id, ARRAY[clock_timestamp()] FROM ours
            ON CONFLICT (team_id) DO UPDATE SET {column} = {_recent(column)} || clock_timestamp()
            WHERE cardinality({_recent(column)}) < (SELECT {limit} FROM sharing)
            RETURNING cardinality({column}) AS used)
        SELECT EXISTS (SELECT FROM ours) AS ours, (SELECT used FROM taken) AS used, answers AS sharing FROM sharing
    """


OPEN_STREAMS = """
    SELECT count(*) AS answers FROM slack_calls JOIN ours USING (team_id), unnest(stops) at WHERE at > clock_timestamp()
"""

EDITED_ANSWERS = """
    SELECT count(*) AS answers FROM questions JOIN ours USING (team_id)
    WHERE state IN ('working', 'delivering') AND NOT streaming AND thread_ts IS NOT NULL AND message_ts IS NOT NULL
"""

APPEND = _take("appends", f"{APPENDS_PER_MINUTE}", sharing=OPEN_STREAMS)
EDIT = _take("edits", f"{EDITS_PER_MINUTE} - answers", sharing=EDITED_ANSWERS)
EDIT_STATUS = _take(
    "edits", f"least({STATUS_EDITS_PER_MINUTE}, ({EDITS_PER_MINUTE} - answers) / 2)", sharing=EDITED_ANSWERS
)

FINAL_EDIT = f"""
    INSERT INTO slack_calls AS calls (team_id, edits) VALUES (%(team_id)s, ARRAY[clock_timestamp()])
    ON CONFLICT (team_id) DO UPDATE SET edits = {_recent("edits")} || clock_timestamp()
"""

START = f"""
    WITH ours AS (
        SELECT team_id FROM questions
        WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
        FOR UPDATE),
    taken AS (
        INSERT INTO slack_calls AS calls (team_id, starts, stops)
        SELECT team_id, ARRAY[clock_timestamp()], ARRAY[clock_timestamp() + {RESERVED_SECONDS} * interval '1 second']
        FROM ours
        ON CONFLICT (team_id) DO UPDATE SET
            starts = {_recent("starts")} || clock_timestamp(),
            stops = {_recent("stops")} || (clock_timestamp() + {RESERVED_SECONDS} * interval '1 second')
        WHERE cardinality({_recent("starts")}) < {STARTS_PER_MINUTE}
            AND cardinality({_recent("stops")}) < {STARTS_PER_MINUTE}
            AND coalesce(calls.no_streams_until < clock_timestamp(), true)
        RETURNING stops[cardinality(stops)] AS reserved),
    begun AS (
        UPDATE questions SET state = 'delivering', streaming = true, shown = %(shown)s
        WHERE id = %(id)s AND EXISTS (SELECT FROM taken))
    SELECT EXISTS (SELECT FROM ours) AS ours, (SELECT reserved FROM taken) AS reserved
"""
"""Count the start of a stream if the limits allow it, and reserve the call that stops the stream.

Also record that a message with an unknown `ts` may exist from now on.
"""

STARTED = """
    UPDATE questions SET streams = %(streams)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING id
"""

ENDED = """
    WITH ended AS (
        UPDATE questions SET streaming = false, shown = greatest(shown, %(shown)s), streams = %(streams)s
        WHERE id = %(id)s AND (attempt = %(attempt)s OR state IN ('stopped', 'withdrawn'))
        RETURNING id),
    released AS (
        UPDATE slack_calls SET stops = array_append(array_remove(stops, coalesce(
            %(reserved)s::timestamptz,
            (SELECT max(at) FROM unnest(stops) at WHERE at > clock_timestamp()))), clock_timestamp())
        WHERE team_id = %(team_id)s)
    SELECT id FROM ended
"""

UNSUPPORTED = f"""
    INSERT INTO slack_calls (team_id, no_streams_until)
    VALUES (%(team_id)s, clock_timestamp() + {UNSUPPORTED_HOURS} * interval '1 hour')
    ON CONFLICT (team_id) DO UPDATE SET no_streams_until = excluded.no_streams_until
"""

KNOWN = """
    SELECT unnest(streams) AS ts FROM questions
    WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND thread_ts = %(thread_ts)s
"""


class StreamLog:
    """Records streamed messages, and counts the calls that write them against the workspace's limits."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def start(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, datetime | None]:
        """Count the start of a stream, if the limits allow it; return the permit, and until when its stop is reserved.

        The time is None if the start is not granted.
        """
        found = await self._one(START, row, shown=shown)
        if not found.get("ours"):
            return CallPermit.LOST, None
        reserved: datetime | None = found["reserved"]
        return (CallPermit.USED_UP if reserved is None else CallPermit.GRANTED), reserved

    async def started(self, row: QuestionRow, streams: Sequence[str]) -> bool:
        """Record the messages of an answer; return False if the question is closed or another worker has claimed it."""
        return await self._pool.fetch_one(STARTED, self._values(row, streams=list(streams))) is not None

    async def append(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        """Count an append to a stream against the workspace's limit, if the limit allows it.

        Return whether the append may be made, and the seconds to wait before the next append to the same stream. The
        wait leaves some calls for other streams. `shown` is the number of characters that Slack has confirmed.
        """
        return _share(await self._one(APPEND, row, shown=shown), APPENDS_PER_MINUTE)

    async def edit(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        """Count an edit that shows text, if allowed; return the permit, and the seconds before the next one."""
        return _share_of_edits(await self._one(EDIT, row, shown=shown))

    async def edit_status(self, row: QuestionRow, *, shown: int) -> tuple[CallPermit, float]:
        """Count an edit that shows progress, if allowed; return the permit, and the seconds before the next one."""
        return _share_of_edits(await self._one(EDIT_STATUS, row, shown=shown))

    async def edit_progress(self, row: QuestionRow) -> float | None:
        """Count an edit that shows progress, if allowed; return the seconds before the next one, None if refused."""
        permit, pause = await self.edit_status(row, shown=0)
        return pause if permit is CallPermit.GRANTED else None

    async def final_edit(self, row: QuestionRow) -> None:
        """Count the edit that is reserved for the text of the finished answer."""
        await self._pool.execute(FINAL_EDIT, {"team_id": row.team_id}, prepare=True)

    async def ended(self, row: QuestionRow, streams: Sequence[str], *, shown: int, reserved: datetime | None) -> None:
        """Record that an answer's last stream has ended; `reserved` is the time that `start` gave, None if unknown."""
        values = self._values(row, streams=list(streams), shown=shown, reserved=reserved, team_id=row.team_id)
        await self._pool.execute(ENDED, values)

    async def unsupported(self, team_id: str) -> None:
        """Record that a workspace does not support streams."""
        await self._pool.execute(UNSUPPORTED, {"team_id": team_id})

    async def known(self, row: QuestionRow) -> set[str]:
        """Return the `ts` of the streamed messages of all questions in the thread of this question."""
        return {one["ts"] for one in await self._pool.fetch_all(KNOWN, vars(row))}

    async def _one(self, query: LiteralString, row: QuestionRow, *, shown: int) -> dict[str, Any]:
        return await self._pool.fetch_one(query, self._values(row, shown=shown), prepare=True) or {}

    def _values(self, row: QuestionRow, **values: Any) -> dict[str, Any]:
        return {"id": row.id, "attempt": row.claim, **values}


def _share(found: dict[str, Any], limit: int) -> tuple[CallPermit, float]:
    """Return whether a call may be made, and the seconds to wait before the next call for the same answer."""
    if not found.get("ours"):
        return CallPermit.LOST, 0.0
    if found["used"] is None:
        return CallPermit.USED_UP, 0.0
    return CallPermit.GRANTED, fair_pause(found["used"], limit, sharing=found["sharing"])


def _share_of_edits(found: dict[str, Any]) -> tuple[CallPermit, float]:
    return _share(found, EDITS_PER_MINUTE - found.get("sharing", 0))


def fair_pause(used: int, limit: int, *, sharing: int) -> float:
    """Return how many seconds an answer pauses between two calls, so that no answer has to wait for a whole minute.

    When half of the minute's calls are used, the pause gives every answer an equal share. The pause is shorter before
    that, since most answers end soon, and longer after it.
    """
    return sharing * WINDOW_SECONDS / limit * (0.5 + used / limit)
