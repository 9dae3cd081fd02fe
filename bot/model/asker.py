"""For whom the current task works: set around a question or a form, and inherited by the tasks that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A person in a conversation of a workspace; `question_id` is None while a form asks for something.

    `claim` is that of the worker that answers the question.
    """

    team_id: str
    user_id: str
    channel_id: str
    question_id: UUID | None = None
    claim: int | None = None


_current: ContextVar[Asker | None] = ContextVar("asker", default=None)


def current_asker() -> Asker | None:
    """Return for whom the current task works; None for the app's own work."""
    return _current.get()


@contextmanager
def working_for(asker: Asker) -> Iterator[None]:
    """Name the asker to everything that is called within, and to the tasks that are started there."""
    token = _current.set(asker)
    try:
        yield
    finally:
        _current.reset(token)
