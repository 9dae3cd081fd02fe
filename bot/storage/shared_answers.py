"""Answers to the app's own offers (buttons and prompts), shared within a workspace for an hour.

An answer is shared only if it comes from the web alone: no earlier turns, messages of a thread or earlier answers were
sent with the question.
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
from bot.model.question import OPEN, QuestionRow, dump_result, load_result
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
"""Read the shared answer, and the state of the question `awaited`.

If `awaited` is null, read the state of the question that is getting the answer. The state is 'answered' as soon as the
messages of the question are saved, although they may not be posted yet.
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
"""Make this question the one that gets the answer, unless there is an answer or another question is getting it.

A row that another question wrote after this statement began is left alone: the statement may not see the new state of
that question, and would take the question for one that is not being answered.
"""

_SAVE = """
    UPDATE shared_answers SET answer = %(answer)s, question_id = NULL, at = now()
    WHERE (team_id, key, question_id, claim) = (%(team_id)s, %(key)s, %(id)s, %(claim)s) RETURNING key
"""
"""Save the answer and clear `question_id`, if this question is still the one that gets the answer."""

LOOK_SECONDS = 0.5
"""The pause between two checks for an answer that another question is getting."""

_NOTHING_TO_SHARE = frozenset({"answered", "failed", "expired"})
"""The states in which an awaited question will not share an answer any more.

The waiting question then asks the provider itself, instead of waiting for yet another question.
"""

_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""The date and time in a prompt for a model. Questions that differ only in these count as the same."""


@dataclass(frozen=True, kw_only=True)
class SharedAnswers:
    """The step that answers the question `row` with an answer that the same question got in the last hour, if any.

    Two questions are the same only if the provider gets the same options and settings. While one question is getting
    the answer, questions that are the same wait for it. If the question that gets the answer fails, each waiting
    question asks by itself. If that question is stopped or its process dies, one of the waiting questions asks for all
    of them. Search results are not shared. `on_shared` is called with the time of the shared answer.
    """

    pool: Pool
    row: QuestionRow
    on_shared: Callable[[datetime], None]
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Yield the shared answer of the last hour, at no cost, or else the replies of `call`."""
        # The language is part of the key, since an answer contains notes in the language of its asker.
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
        """Return the shared answer, waiting if another question is getting it; None if this question has to ask."""
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
        """Return the row of a query; None if it has no row or the database is unavailable."""
        values |= {"team_id": self.row.team_id, "id": self.row.id, "claim": self.row.claim, "key": key}
        try:
            return await self.pool.fetch_one(query, values)
        except DATABASE_UNAVAILABLE as error:
            log.warning("shared_answer.away", extra=self.row.ids | {"error": type(error).__name__})
            return None


def _is_best(answer: Answer) -> bool:
    """Return whether an answer is complete and from the intended provider, so that another call is of no use."""
    return bool(answer.text.strip()) and not (answer.failed or answer.stand_in or answer.incomplete is not None)
