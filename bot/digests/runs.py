"""One run of a digest as a question's text, which is all that a job leads to; and when it is due again. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from bot.digests.base import Digest, Why
from bot.digests.slots import latest_slot, next_slot
from bot.storage.digests import Planned
from bot.storage.questions import NewQuestion

COMMAND = "digest"
"""What a question of a digest asks; nobody can type it."""

SURFACE = "digest"

LATE_AFTER = timedelta(minutes=15)
"""A run that begins so long after its slot says that it is late."""

_TEXT = re.compile(r"(?P<id>\S+) (?P<why>\S+) (?P<first>\S+) (?P<slot>\S+) (?P<title>.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: which digest's, why, for which moment. `title` is what the digest is about.

    `first` is the earliest slot that it stands for: before `slot` where that and others were missed.
    """

    digest_id: UUID
    why: Why
    first: datetime
    slot: datetime
    title: str

    def why_at(self, now: datetime) -> Why:
        """Return why it runs, when it does so only now: what was due may be late by then."""
        return Why.LATE if self.why is Why.DUE and now - self.slot > LATE_AFTER else self.why

    @property
    def text(self) -> str:
        """Return it as a question's text, which `read` reads."""
        return f"{self.digest_id} {self.why} {self.first.isoformat()} {self.slot.isoformat()} {self.title}"


def read(text: str) -> Run:
    """Read what `Run.text` gave. Raises ValueError for anything else."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError("this is no run of a digest")
    return Run(
        digest_id=UUID(match["id"]),
        why=Why(match["why"]),
        first=datetime.fromisoformat(match["first"]),
        slot=datetime.fromisoformat(match["slot"]),
        title=match["title"],
    )


def plan(digest: Digest, *, now: datetime, new_id: Callable[[], UUID]) -> Planned:
    """Return the run of a digest that is due: the last slot that has come, whatever was missed before it."""
    schedule = digest.wish.schedule
    first = digest.next_at or now
    slot = latest_slot(schedule, first=first, now=now)
    run = Run(digest_id=digest.id, why=Why.DUE, first=first, slot=slot, title=digest.title)
    question = question_of(run, digest, id=new_id(), key=slot.isoformat())
    return Planned(slot=slot, question=question, next_at=next_slot(schedule, now))


def question_of(run: Run, digest: Digest, *, id: UUID, key: str) -> NewQuestion:
    """Return the question that makes a run; `key` tells apart what may run twice."""
    return NewQuestion(
        id=id,
        delivery_key=f"{SURFACE}:{digest.id}:{key}",
        surface=SURFACE,
        command=COMMAND,
        text=run.text,
        team_id=digest.owner.team_id,
        channel_id=digest.channel_id,
        user_id=digest.owner.user_id,
    )
