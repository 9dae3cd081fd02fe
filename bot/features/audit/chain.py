"""The check of a workspace's entries: each must follow the previous one, and the head must name the last."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.model.audit import BEGINNING, Entry, Head, pseudonym

MAX_PROBLEMS = 20
"""How many problems of a workspace are listed."""


@dataclass(frozen=True, kw_only=True)
class Used:
    """A workspace's known time of use, from `since` to `until`, for which it must have a log."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(kw_only=True)
class ChainCheck:
    """Checks the entries of one workspace, passed in by number, and then its head.

    `problems` are sentences. An entry that does not fit is reported once: the next entry is compared with its hash.
    `used` is the workspace's use according to other tables, None if there is none. `known` are hashes, by number, that
    the entries must have.
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
        """Check the next entry, also against a known hash."""
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
        """Check that a pseudonym belongs to this person; no key can be found that makes it another person's."""
        if pseudonym(key, team_id=self.team_id, user_id=user_id) != who:
            self._report(f"The pseudonym {who} is not that of the person it is listed for.")

    def end(self, head: Head | None, *, signed: bool) -> None:
        """Check the head; None means that the workspace has none. `signed` is whether its signature is valid."""
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
