"""The data sent for one question: its requests, and the redactions in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bot.privacy.redaction import LABELS, OWN, Redaction, Redactor
from bot.translation import N_, listing, ngettext
from bot.translation import gettext as _
from perplexity import scope
from perplexity.scope import RequestLog, SentRequest
from perplexity.steps import Call, Replies, Request
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Query, Question

MAX_SAVED = 400_000
"""About how many characters of a question's requests are saved.

There is a limit because an agent repeats the whole conversation in each request.
"""


@dataclass(kw_only=True)
class SentLog(RequestLog):
    """Holds the requests of one question until `take` returns them for saving, and the redactions in the requests.

    `kept` are the requests that were saved before they were sent, each with its id in the table `sent_requests`.
    """

    left_out: list[Redaction] = field(default_factory=list)
    kept: list[tuple[SentRequest, UUID]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """The number of different redactions by kind."""
        return count_left_out(self.left_out)

    def is_kept(self, request: SentRequest) -> bool:
        """Return whether a request was saved before it was sent."""
        return any(one is request for one, _ in self.kept)

    def line(self, request: SentRequest) -> str:
        """Return one request as a line of JSON like those of `take`, to be saved before it is sent."""
        return _line(vars(request) | {"left_out": self.counts})

    def take(self) -> str | None:
        """Remove the new requests from the log, and return them as lines of JSON to save; None if there are none.

        If the new requests are too long in total, some in the middle are left out. The line before the gap says how
        many.
        """
        new = [request for request in self.requests if not self.is_kept(request)]
        self.requests = [request for request in self.requests if self.is_kept(request)]
        if not new:
            return None
        first, last = _not_saved(new)
        lines = [vars(request) for request in new[:first] + new[last:]]
        if first < last:
            lines[first - 1] = lines[first - 1] | {"not_kept": last - first}
        lines[-1] = lines[-1] | {"left_out": self.counts}
        return "".join(map(_line, lines))

    def take_all(self) -> tuple[str | None, list[UUID]]:
        """Take the requests to save when the question ends, as `take` does; return them, and ids of rows to delete.

        Saved requests that were not sent after all are to be deleted. If the saved requests are too long together, all
        of them are to be deleted; the returned text then includes those that were sent, shortened as in `take`.
        """
        if sum(len(request.body) for request, _ in self.kept) > MAX_SAVED:
            replaced, self.kept = [saved_as for _, saved_as in self.kept], []
        else:
            left = self.requests
            replaced = [saved_as for request, saved_as in self.kept if not any(one is request for one in left)]
        return self.take(), replaced


def _line(fields: Mapping[str, Any]) -> str:
    return f"{json.dumps(fields, ensure_ascii=False)}\n"


def _not_saved(requests: Sequence[SentRequest]) -> tuple[int, int]:
    """Return the start and the end of the slice of requests that are not saved, but only counted.

    The first and the last request are always saved. Others are saved in turn from the end and from the start, until
    the next one would bring the total above `MAX_SAVED` characters.
    """
    first, last, left = 1, len(requests), MAX_SAVED - len(requests[0].body)
    from_end = True
    while first < last:
        one = requests[last - 1] if from_end else requests[first]
        left -= len(one.body)
        if left < 0 and last < len(requests):
            break
        first, last = (first, last - 1) if from_end else (first + 1, last)
        from_end = not from_end
    return first, last


def current_sent_log() -> SentLog | None:
    """Return the log of the question that the current task works on; None if nothing is recorded."""
    log = scope.current().log
    return log if isinstance(log, SentLog) else None


@dataclass(frozen=True, kw_only=True)
class SentRequests:
    """The requests sent for a question, in order, and the number of redactions of each kind in them.

    `not_kept` maps a request's number, counted from 1, to the number of requests after it that were not saved, since
    all requests together were too long.
    """

    requests: tuple[SentRequest, ...] = ()
    not_kept: Mapping[int, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def load_sent(saved: str) -> SentRequests:
    """Parse the saved texts of `SentLog.take` and `SentLog.line`, in any order.

    Equal lines count once: a request was saved twice if the connection broke after the database had saved it.
    """
    lines: list[dict[str, Any]] = [json.loads(line) for line in dict.fromkeys(saved.split("\n")) if line]
    lines.sort(key=lambda line: line["at"])
    left_out: dict[str, int] = {}
    not_kept: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        # Each saved text counts its redactions, and several may count the same ones, so the highest count is taken.
        left_out |= {kind: max(count, left_out.get(kind, 0)) for kind, count in line.pop("left_out", {}).items()}
        if count := line.pop("not_kept", 0):
            not_kept[number] = count
    return SentRequests(requests=tuple(SentRequest(**line) for line in lines), not_kept=not_kept, left_out=left_out)


def note_left_out(left_out: Sequence[Redaction]) -> None:
    """Record redactions for the question that the current task works on."""
    if left_out and (sent_log := current_sent_log()) is not None:
        sent_log.left_out.extend(left_out)


@dataclass(frozen=True, kw_only=True)
class Redacting:
    """The step that redacts requests, and records the redactions."""

    redactor: Redactor

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Make the call with a redacted request. Raises InvalidRequest as `Redactor.filters` does."""
        redacted, left_out = await run_in_thread_if_long(_length(request), self.redactor.request, request)
        note_left_out(left_out)
        async with aclosing(call(redacted)) as replies:
            async for reply in replies:
                yield reply


def _length(request: Query | Question) -> int:
    if isinstance(request, Query):
        return len(request.text)
    return sum(len(message.content) for message in request.messages) + len(request.standalone)


def count_left_out(left_out: Iterable[Redaction]) -> dict[str, int]:
    """Return the number of different redactions by kind."""
    different = set(left_out)
    return {name: count for name in LABELS if (count := sum(one.kind == name for one in different))}


_COUNTED: Mapping[str, Callable[[int], str]] = {
    "key": lambda count: ngettext("{count} key", "{count} keys", count),
    "email": lambda count: ngettext("{count} e-mail address", "{count} e-mail addresses", count),
    "card": lambda count: ngettext("{count} card number", "{count} card numbers", count),
    "iban": lambda count: ngettext("{count} bank account", "{count} bank accounts", count),
    "phone": lambda count: ngettext("{count} phone number", "{count} phone numbers", count),
    OWN: lambda count: ngettext("{count} private term", "{count} private terms", count),
}
"""Functions that put a number of redactions into words, by kind."""


def left_out_text(counts: Mapping[str, int]) -> str:
    """Return a sentence that says how many redactions of each kind were made; empty if there are none."""
    counted = [_COUNTED[name](count) for name, count in counts.items() if name in _COUNTED and count]
    if not counted:
        return ""
    one = N_("{what} was left out of what I sent to search services.")
    many = N_("{what} were left out of what I sent to search services.")
    return _(one if sum(counts.values()) == 1 else many).format(what=listing(counted))
