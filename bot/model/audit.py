"""The values of the audit log: entries, each chained by a hash to the entry before it, and signed heads of the log."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.model.question import QuestionRow
from perplexity.sanitize import escape_json
from perplexity.scope import N_, say

BEGINNING = "0" * 64
"""The hash before the first entry."""

APP = ""
"""The user id in an entry about an action of the app itself."""


_PERSON = re.compile(r"\b[UW][A-Z0-9]{7,20}\b")
"""A person's id in any text: https://docs.slack.dev/reference/objects/user-object"""

_SHORT = re.compile(r"[UW][A-Z0-9]{1,20}")
"""A person's id, even a very short one; matched only against words in places that hold ids."""

_ASKERS = re.compile(r'(?<="askers": ")[^"]*')
"""The place for ids in the JSON of a channel's settings: the people who may ask, separated by spaces."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """An action of an admin or the app, to be recorded in the transaction that performs the action.

    `what` is the name of the action, such as `channel.settings`, and `subject` the id of the changed thing. `before`
    and `after` are JSON values without any text that people wrote; ids of people in them are replaced by pseudonyms.
    """

    team_id: str
    user_id: str
    what: str
    channel_id: str = ""
    decision: str = "done"
    subject: str = ""
    before: object = None
    after: object = None


def stop_change(row: QuestionRow, user_id: str) -> Change | None:
    """Return the change to record when a person stops a question; None if that person asked the question."""
    if user_id == row.user_id:
        return None
    return Change(
        team_id=row.team_id,
        user_id=user_id,
        what="question.stop",
        channel_id=row.channel_id,
        subject=str(row.id),
        before=row.state,
        after="stopped",
    )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of the log. `before` and `after` are JSON; they are None in an entry that is not about a change."""

    team_id: str
    number: int
    at: datetime
    who: str
    what: str
    channel_id: str
    cost_microusd: int | None
    decision: str
    subject: str
    before: str | None = None
    after: str | None = None

    def hash(self, previous: str) -> str:
        """Return the entry's hash (SHA-256 in hexadecimal), given the hash of the entry before it."""
        values = vars(self) | {"at": self.at.astimezone(UTC).isoformat(timespec="microseconds")}
        return hashlib.sha256(json.dumps([previous, values], sort_keys=True).encode()).hexdigest()

    def as_json(self, hash: str) -> str:
        """Return the entry as one line of JSON, with its hash."""
        values = vars(self) | {"at": self.at.astimezone(UTC).isoformat(timespec="microseconds"), "hash": hash}
        for name in ("before", "after"):
            values[name] = None if values[name] is None else json.loads(values[name])
        return escape_json(json.dumps(values, ensure_ascii=False))


@dataclass(frozen=True, kw_only=True)
class Head:
    """The number of a workspace's entries, and the hash of the last one."""

    team_id: str
    count: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class SigningKey:
    """The key that signs heads. `stored` is whether the database holds it, which is so if the settings have no key."""

    secret: bytes = field(repr=False)
    stored: bool = False

    @property
    def id(self) -> str:
        """An id that identifies the key without revealing it."""
        return hashlib.sha256(b"audit key:" + self.secret).hexdigest()[:16]

    def sign(self, head: Head) -> str:
        """Return the signature of a head: HMAC-SHA256 in hexadecimal."""
        text = json.dumps([head.team_id, head.count, head.hash])
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def has_signed(self, head: Head, signature: str) -> bool:
        """Return whether a signature of a head was made with this key."""
        return hmac.compare_digest(self.sign(head), signature)


def pseudonym(key: bytes, *, team_id: str, user_id: str) -> str:
    """Return a person's pseudonym in the log: 128 bits of an HMAC-SHA256 with the person's own key."""
    return hmac.new(key, f"{team_id}:{user_id}".encode(), hashlib.sha256).hexdigest()[:32]


def people_in(text: str | None) -> set[str]:
    """Return the ids of the people in a `subject`, or in the JSON text of a `before` or `after`."""
    people: set[str] = set()

    def find(user: str) -> str:
        people.add(user)
        return user

    without_people(text, find)
    return people


def without_people(text: str | None, pseudonym_of: Callable[[str], str]) -> str | None:
    """Return a `subject`, or the JSON text of a `before` or `after`, with each person's id replaced by a pseudonym."""

    def replace(words: str) -> str:
        return " ".join(pseudonym_of(one) if _SHORT.fullmatch(one) else one for one in words.split(" "))

    if text is None:
        return None
    text = _ASKERS.sub(lambda found: replace(found[0]), text) if text.startswith("{") else replace(text)
    return _PERSON.sub(lambda found: pseudonym_of(found[0]), text)


@dataclass(frozen=True, kw_only=True)
class AuditHealth:
    """The state of the log.

    `waiting_seconds` is how long the oldest entry has waited to be chained. `lost_at` is the last time within the past
    day at which an entry was not recorded at all, None if all were recorded. `broken` is whether the state could not
    be read.
    """

    waiting_seconds: float = 0.0
    lost_at: datetime | None = None
    broken: bool = False

    @property
    def ok(self) -> bool:
        """Whether the state could be read, no entry was lost within the past day, and none has waited for a minute."""
        return not self.broken and self.lost_at is None and self.waiting_seconds < MAX_WAIT_SECONDS

    @property
    def problem(self) -> str:
        """A sentence on the problem; empty if there is none."""
        if self.broken:
            return say(N_("The audit log cannot be read."))
        if self.lost_at is not None:
            lost = say(N_("Something was not recorded in the audit log ({at} UTC)."))
            return lost.format(at=f"{self.lost_at:%Y-%m-%d %H:%M}")
        if not self.ok:
            waits = say(N_("The audit log has not been written for {count} min."))
            return waits.format(count=f"{self.waiting_seconds / 60:.0f}")
        return ""


MAX_WAIT_SECONDS = 60.0
"""How long an entry may wait to be chained before the log has a problem; normally, an entry waits about a second."""
