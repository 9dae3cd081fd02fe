"""Answers to the app's own offers (buttons and prompts), shared within a workspace for an hour.

Only questions asked of the web alone are shared: without earlier turns, messages of a thread or an earlier answer.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import LiteralString
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from bot.model.membership import current_scope
from bot.model.question import OPEN, QuestionRow
from bot.model.results import dump_result, load_result
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool
from perplexity.steps import Call, Replies, Request
from perplexity.types import Answer, Question

log = logging.getLogger(__name__)

_FIND = """
    SELECT s.answer, s.at, s.question_id, (
        SELECT CASE WHEN q.messages IS NULL THEN q.state ELSE 'answered' END FROM questions q
        WHERE q.id = coalesce(%(awaited)s, s.question_id)) AS state
    FROM shared_answers s WHERE team_id = %(team_id)s AND key = %(key)s AND at > now() - interval '1 hour'
"""
"""Read the answer, and the state of the awaited question, or of the one that is asking for the answer.

An answered question may still be posting.
"""

_LEAD = """
    INSERT INTO shared_answers AS s (team_id, key, question_id, claim) VALUES (%(team_id)s, %(key)s, %(id)s, %(claim)s)
    ON CONFLICT (team_id, key) DO UPDATE
    SET question_id = excluded.question_id, claim = excluded.claim, answer = NULL, at = now()
    WHERE s.at < now() - interval '1 hour' OR s.answer IS NULL AND (
        s.question_id = excluded.question_id OR s.at < now() AND NOT EXISTS (
            SELECT FROM questions q WHERE q.id = s.question_id AND q.attempt = s.claim AND q.messages IS NULL
                AND q.state IN ('working', 'delivering')))
    RETURNING key
"""
"""Make this question ask for the answer, unless there is an answer or another question in work is asking.

The state of a question that said so after this statement began may not be visible yet.
"""

_SAVE = """
    UPDATE shared_answers SET answer = %(answer)s, question_id = NULL, at = now()
    WHERE (team_id, key, question_id, claim) = (%(team_id)s, %(key)s, %(id)s, %(claim)s) RETURNING key
"""
"""Save the answer without its question, if this question was to ask for it."""

LOOK_SECONDS = 0.5
"""The pause between two checks for an answer that another question is getting."""

_NOTHING_TO_SHARE = frozenset({"answered", "failed", "expired"})
"""The states of a question that asked in vain; whoever waited for it then asks, rather than wait as long again."""

_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""The time in a prompt for a model; it does not make a different question."""


@dataclass(frozen=True, kw_only=True)
class SharedAnswers:
    """The step that answers the question `row` with the same question's answer of the last hour, if there is one.

    Two questions are the same only if the provider gets the same options and settings. The same question asked in the
    meantime waits. If the first one fails, each asks by itself; if it is stopped or its process dies, the next one asks
    for all. Pages are not shared. `on_shared` is called with the time of the shared answer.
    """

    pool: Pool
    row: QuestionRow
    on_shared: Callable[[datetime], None]
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Yield the answer of the last hour, which is free, or ask for a new one."""
        # An answer has notes, which are in the language of its asker.
        asked = f"{current_scope().language} {_MINUTE.sub('', repr(request))}"
        key = sha256(asked.encode()).hexdigest()
        may_share = isinstance(request, Question) and request.run_id is None
        if may_share and (shared := await self._shared(key)) is not None:
            yield shared
            return
        async with aclosing(call(request)) as replies:
            async for reply in replies:
                if isinstance(reply, Answer) and _is_best(reply):
                    await self._run(_SAVE, key, answer=Jsonb(dump_result(replace(reply, id=None), limits=())))
                yield reply

    async def _shared(self, key: str) -> Answer | None:
        """Wait for the answer if another question is asking, and return it; None if this question has to ask."""
        awaited: UUID | None = None
        while True:
            found = await self._run(_FIND, key, awaited=awaited) or {}
            if isinstance(answer := load_result(found.get("answer")), Answer):
                self.on_shared(found["at"])
                return replace(answer, usage=replace(answer.usage, cost_usd=0.0))
            state = found.get("state")
            if (awaited and state in _NOTHING_TO_SHARE) or await self._run(_LEAD, key) is not None:
                return None
            if awaited is None or state not in OPEN:
                awaited = found.get("question_id")
            await self.pause(LOOK_SECONDS)

    async def _run(self, query: LiteralString, key: str, **values: object) -> DictRow | None:
        """Return the row; None if there is none or the database is unavailable."""
        values |= {"team_id": self.row.team_id, "id": self.row.id, "claim": self.row.claim, "key": key}
        try:
            return await self.pool.fetch_one(query, values)
        except DATABASE_UNAVAILABLE as error:
            log.warning("shared_answer.away", extra=self.row.ids | {"error": type(error).__name__})
            return None


def _is_best(answer: Answer) -> bool:
    """Return whether another call could not give a better answer."""
    return bool(answer.text.strip()) and not (answer.failed or answer.stand_in or answer.incomplete is not None)
