"""The audit log as values: entries, the hash that chains each to the one before it, the signed head, and its check."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.model.question import QuestionRow
from perplexity.terminal import escape_json

BEGINNING = "0" * 64
"""The hash before the first entry."""

APP = ""
"""Who did what no person did."""

MAX_PROBLEMS = 20
"""How many problems of a workspace are listed."""

_PERSON = re.compile(r"\b[UW][A-Z0-9]{7,20}\b")
"""A person's id in any text: https://docs.slack.dev/reference/objects/user-object"""

_SHORT = re.compile(r"[UW][A-Z0-9]{1,20}")
"""A person's id of any length, in a place for ids."""

_ASKERS = re.compile(r'(?<="askers": ")[^"]*')
"""Such a place: whom the settings of a channel list, with spaces between them."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that an admin or the app did, to be recorded in the transaction that does it.

    `what` is such as `channel.settings`, `subject` the id of what it is about, `before` and `after` are JSON values
    without any text that people wrote. Ids of people in them are replaced by their pseudonyms.
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
    """Return what is recorded when a person stops a question; None for its asker."""
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
    """One entry of the log. `before` and `after` are JSON, None if the entry is not about a change."""

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
        """Return the hash of the entry after one with the hash `previous`: SHA-256 in hexadecimal."""
        values = vars(self) | {"at": self.at.astimezone(UTC).isoformat(timespec="microseconds")}
        return hashlib.sha256(json.dumps([previous, values], sort_keys=True).encode()).hexdigest()

    def as_json(self, hash: str) -> str:
        """Return the entry as one line of JSON, with its hash."""
        values = vars(self) | {"at": self.at.astimezone(UTC).isoformat(timespec="microseconds"), "hash": hash}
        values |= {name: None if text is None else json.loads(text) for name, text in self._change}
        return escape_json(json.dumps(values, ensure_ascii=False))

    @property
    def _change(self) -> tuple[tuple[str, str | None], ...]:
        return ("before", self.before), ("after", self.after)


@dataclass(frozen=True, kw_only=True)
class Head:
    """How many entries a workspace has, and the hash of the last one."""

    team_id: str
    count: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class SigningKey:
    """The key that signs heads. It is `stored` in the database if the settings have none."""

    secret: bytes = field(repr=False)
    stored: bool = False

    @property
    def id(self) -> str:
        """What names the key without revealing it."""
        return hashlib.sha256(b"audit key:" + self.secret).hexdigest()[:16]

    def sign(self, head: Head) -> str:
        """Return the signature of a head: HMAC-SHA256 in hexadecimal."""
        text = json.dumps([head.team_id, head.count, head.hash])
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def has_signed(self, head: Head, signature: str) -> bool:
        """Return whether a signature is this key's."""
        return hmac.compare_digest(self.sign(head), signature)


def pseudonym(key: bytes, *, team_id: str, user_id: str) -> str:
    """Return a person's pseudonym in the log: 128 bits of an HMAC-SHA256 with the person's own key."""
    return hmac.new(key, f"{team_id}:{user_id}".encode(), hashlib.sha256).hexdigest()[:32]


def people_in(text: str | None) -> set[str]:
    """Return the ids of people in a subject, or in the JSON text of what was before or is after a change."""
    people: set[str] = set()

    def find(user: str) -> str:
        people.add(user)
        return user

    without_people(text, find)
    return people


def without_people(text: str | None, pseudonym_of: Callable[[str], str]) -> str | None:
    """Return such a text in which each id of a person is replaced by the person's pseudonym."""

    def replace(words: str) -> str:
        return " ".join(pseudonym_of(one) if _SHORT.fullmatch(one) else one for one in words.split(" "))

    if text is None:
        return None
    text = _ASKERS.sub(lambda found: replace(found[0]), text) if text.startswith("{") else replace(text)
    return _PERSON.sub(lambda found: pseudonym_of(found[0]), text)


@dataclass(frozen=True, kw_only=True)
class Used:
    """That a workspace was used, so that it must have a log: from `since` to `until`, as far as is known."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(kw_only=True)
class ChainCheck:
    """Checks the entries of one workspace, which are handed in by number, and then its head.

    `problems` are sentences. An entry that does not fit is a problem once: the next one is compared with its hash.
    `used` is what other tables say of the workspace, None if nothing.
    """

    team_id: str
    count: int = 0
    problems: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)
    used: Used | None = None
    _first: datetime | None = None
    _latest: datetime | None = None
    _last: int = 0
    _hash: str = BEGINNING

    def add(self, entry: Entry, hash: str) -> None:
        """Check the next entry. `known` heads, hashes by number, are checked as well."""
        if entry.number != self._last + 1:
            self._misplaced(entry.number)
        if entry.hash(self._hash) != hash:
            self._report(
                f"Entry {entry.number} was changed, is not this workspace’s, or does not follow the one before it."
            )
        if entry.number in self.known and self.known.pop(entry.number) != hash:
            self._report(f"Entry {entry.number} is not the one whose hash you named.")
        self.count += 1
        self._first, self._latest = min(entry.at, self._first or entry.at), max(entry.at, self._latest or entry.at)
        self._last, self._hash = entry.number, hash

    def add_person(self, user_id: str, *, key: bytes, who: str) -> None:
        """Check that a pseudonym is this person's. A key that makes it of another id cannot be found."""
        if pseudonym(key, team_id=self.team_id, user_id=user_id) != who:
            self._report(f"The pseudonym {who} is not that of the person it is listed for.")

    def end(self, head: Head | None, *, signed: bool) -> None:
        """Check the head, which is None if the workspace has none; `signed` is whether its signature is right."""
        for number in self.known:
            self._report(f"Entry {number}, whose hash you named, is missing.")
        if self.used is not None:
            self._compare_with(self.used)
        if head is None:
            if self.count:
                self._report("The head is missing, and entries at the end may be missing, too.")
            return
        if not signed:
            self._report("The head is not signed with the key in use: it was changed, or AUDIT_KEY was.")
        if self._last < head.count:
            self._report(f"The last entries are missing: only {self._last} of {head.count} are there.")
        elif (self._last, self._hash) != (head.count, head.hash):
            self._report(f"The head names entry {head.count}, but the last entry is {self._last}.")

    def _compare_with(self, used: Used) -> None:
        if self._first is None or self._latest is None:
            self._report("There are no entries, although people of this workspace have asked questions.")
            return
        if used.since is not None and self._first > used.since:
            self._report(
                "The first entries are missing: this workspace has questions or settings from before the first one."
            )
        if used.until is not None and self._latest < used.until:
            self._report(
                "The last entries are missing: this workspace has questions or settings from after the last one."
            )

    def _misplaced(self, number: int) -> None:
        if number <= self._last:
            self._report(f"Entry {number} appears twice.")
        else:
            self._report(
                f"Entry {self._last + 1} is missing."
                if (self._last + 1) == (number - 1)
                else f"The entries {self._last + 1} to {number - 1} are missing."
            )

    def _report(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True, kw_only=True)
class AuditHealth:
    """Whether the log is written: how long the first entry has waited to be chained, in seconds, and what was lost.

    `lost_at` is when something was last not recorded at all, in the last day; `broken` if that cannot be read.
    """

    waiting_seconds: float = 0.0
    lost_at: datetime | None = None
    broken: bool = False

    @property
    def ok(self) -> bool:
        """Whether everything is recorded within a minute."""
        return not self.broken and self.lost_at is None and self.waiting_seconds < MAX_WAIT_SECONDS

    @property
    def problem(self) -> str:
        """What is wrong, as a sentence; empty if nothing is."""
        if self.broken:
            return "The audit log cannot be read."
        if self.lost_at is not None:
            return f"Something was not recorded in the audit log ({self.lost_at:%Y-%m-%d %H:%M} UTC)."
        if not self.ok:
            return f"The audit log has not been written for {self.waiting_seconds / 60:.0f} min."
        return ""


MAX_WAIT_SECONDS = 60.0
"""An entry is chained about a second after what it records."""
