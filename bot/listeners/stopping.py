"""Stopping a question, in any way that its asker or an admin chooses."""

from __future__ import annotations

import logging

from bot.model.audit import Change
from bot.model.question import QuestionRow
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics

log = logging.getLogger(__name__)


async def record_stop(
    row: QuestionRow,
    *,
    questions: QuestionStore,
    metrics: Metrics,
    change: Change | None = None,
    response_url: str | None = None,
) -> bool:
    """Close a question as stopped, and count it; return False if it is already closed.

    A worker then ends the work on it and clears up. `response_url` is that of the click, if there is one.
    """
    if not await questions.stop(row.id, user_id=row.user_id, change=change, response_url=response_url):
        return False
    metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra=row.ids)
    return True
