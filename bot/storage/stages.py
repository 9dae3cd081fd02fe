"""The stages table: the finished stages and background runs of a question that is answered in stages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from bot.model.question import QuestionRow
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry, Pool
from perplexity.deepdive.types import BackgroundRun
from perplexity.errors import RequestCancelled
from perplexity.types import JSON

log = logging.getLogger(__name__)

RUN_SECONDS = 20.0
"""How long to try to record a run if the database is unavailable. The time limit of the stage passes meanwhile."""

_GET = """
    SELECT run_id, result, extract(epoch FROM clock_timestamp() - begun_at)::float8 AS age
    FROM stages WHERE question_id = %(id)s AND stage = %(stage)s
"""
_PUT = """
    INSERT INTO stages (question_id, stage, result, seconds, cost_usd)
    SELECT id, %(stage)s, %(result)s, %(seconds)s, %(cost_usd)s FROM questions
    WHERE id = %(id)s AND attempt = %(attempt)s
    ON CONFLICT (question_id, stage) DO UPDATE
    SET result = excluded.result, seconds = excluded.seconds, cost_usd = excluded.cost_usd
    RETURNING stage
"""
_PUT_RUN = """
    WITH closed AS (
        UPDATE questions SET uncleared_since = now()
        WHERE id = %(id)s AND attempt <> %(attempt)s AND state IN ('stopped', 'withdrawn')
        RETURNING id),
    kept AS (
        INSERT INTO stages (question_id, stage, run_id, begun_at)
        SELECT id, %(stage)s, %(run_id)s, clock_timestamp() - %(age)s * interval '1 second' FROM questions
        WHERE id = %(id)s AND (attempt = %(attempt)s OR id IN (SELECT id FROM closed))
        ON CONFLICT (question_id, stage) DO UPDATE SET run_id = excluded.run_id, begun_at = excluded.begun_at
        RETURNING question_id)
    SELECT question_id FROM kept WHERE NOT EXISTS (SELECT FROM closed)
"""
"""Save the run of a stage. If the question was closed while the run began, the clear-up cancels the run."""

_RUNS = "SELECT run_id FROM stages WHERE question_id = %(id)s AND run_id IS NOT NULL AND result IS NULL"


@dataclass(frozen=True)
class StageStore:
    """Reads the stages table."""

    pool: Pool

    async def get(self, question_id: UUID, stage: str) -> dict[str, Any] | None:
        """Return a stage's `run_id`, the `age` of this run in seconds and its `result`; None if it has not begun."""
        return await self.pool.fetch_one(_GET, {"id": question_id, "stage": stage})

    async def runs(self, question_id: UUID) -> list[str]:
        """Return the ids of the runs that were started and, as far as is known, have not finished."""
        rows = await self.pool.fetch_all(_RUNS, {"id": question_id})
        return [str(row["run_id"]) for row in rows]


@dataclass(frozen=True, kw_only=True)
class QuestionStages:
    """The stages of one question for the worker that claimed it (`perplexity.deepdive` has the protocol).

    If the worker has lost its claim on the question, saving raises RequestCancelled. Then nothing is saved, except the
    run of a question that was closed meanwhile: the clear-up cancels this run.
    """

    stages: StageStore
    row: QuestionRow
    database_retry: DatabaseRetry

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        """Return the result of a finished stage; None if the stage has not finished."""
        kept = await self.database_retry(lambda: self.stages.get(self.row.id, stage))
        return kept["result"] if kept else None

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        """Save the result of a stage."""
        saved = Jsonb(dict(result))
        await self._save(_PUT, self.database_retry, stage=stage, result=saved, seconds=seconds, cost_usd=cost_usd)

    async def get_run(self, stage: str) -> BackgroundRun | None:
        """Return the background run of a stage, None if there is none."""
        kept = await self.database_retry(lambda: self.stages.get(self.row.id, stage))
        return BackgroundRun(id=kept["run_id"], age=kept["age"]) if kept and kept["run_id"] else None

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        """Save a run, so that it can be resumed. If the database is unavailable, only log that."""
        retry = replace(self.database_retry, seconds=RUN_SECONDS)
        try:
            await self._save(_PUT_RUN, retry, stage=stage, run_id=run.id, age=run.age)
        except DATABASE_UNAVAILABLE as error:
            log.warning("run.not_recorded", extra={"question": str(self.row.id), "error": type(error).__name__})

    async def _save(self, query: LiteralString, retry: DatabaseRetry, **values: Any) -> None:
        values |= {"id": self.row.id, "attempt": self.row.claim}
        if await retry(lambda: self.stages.pool.fetch_one(query, values)) is None:
            raise RequestCancelled("another worker has claimed the question, or it was stopped")
