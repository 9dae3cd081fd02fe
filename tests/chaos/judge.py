"""What the stand-ins saw, turned into figures: how many questions were lost, doubled, paid twice, told an untruth.

Pure. All moments are seconds on one clock that only goes forward.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TypeVar

ACK_SECONDS = 3.0
"""What Slack waits for an acknowledgement."""

MARGIN_SECONDS = 1.0
"""A process that dies this soon after an answer, or a post, came back may not have been able to write it down; on a
machine that is busy with other things, as much later as it makes everyone wait."""

MOST_POSTS = 2
"""How often an answer is posted by a response_url without being sure; then it goes as a direct message."""

MOST_COPIES = MOST_POSTS + 1

EVENTS = frozenset({"mention", "im"})
"""The surfaces whose questions Slack delivers again where they are refused."""

LATE_SECONDS = 300.0
"""From here on a direct message has to say how late it is."""

HOW_LATE = re.compile(r"\b\d+\s*(?:h|hours?|min|minutes?)\b|\ban hour\b", re.IGNORECASE)
SAID_TO_BE_DIRECT = re.compile(r"direct(?:ly| message)|here instead", re.IGNORECASE)


class NoticeKind(Enum):
    """What a delivery was answered with."""

    TAKEN = "taken"
    REFUSED = "refused"
    """Told that it was not taken."""
    MAYBE = "maybe"
    """Told that it may have been taken."""
    NOTHING = "nothing"
    """No answer: refused connection, cut connection, silence."""


class Shows(Enum):
    """What a message is to its reader."""

    ANSWER = "answer"
    FAILURE = "failure"
    WAITING = "waiting"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One delivery of a question: when, what it was answered with, after how many seconds."""

    at: float
    seconds: float
    notice: NoticeKind


@dataclass(frozen=True, kw_only=True)
class QuestionRecord:
    """One question. `again` marks one that only looks whether the app is back; `late` is how old it is made to be."""

    id: str
    surface: str
    deliveries: Sequence[Delivery]
    again: bool = False
    late: float = 0.0

    @property
    def taken(self) -> bool:
        """Whether it was acknowledged as taken at least once."""
        return any(delivery.notice is NoticeKind.TAKEN for delivery in self.deliveries)

    @property
    def refused(self) -> bool:
        """Whether it was never acknowledged as taken, and not even as perhaps taken."""
        return not any(delivery.notice in {NoticeKind.TAKEN, NoticeKind.MAYBE} for delivery in self.deliveries)

    @property
    def refused_in_words(self) -> bool:
        """Whether the person was told in words that it was not taken; what is said of an event is said to Slack."""
        was_told = any(delivery.notice is NoticeKind.REFUSED for delivery in self.deliveries)
        return self.refused and was_told and self.surface not in EVENTS


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One message that is there at the end, or was posted by a response_url: what it shows, where, since when.

    `acknowledged`: its sender was told that it was taken. `direct`: it went to the asker as a direct message.
    """

    question: str
    shows: Shows
    at: float
    by_response_url: bool = False
    acknowledged: bool = True
    direct: bool = False
    words: str = ""

    @property
    def is_outcome(self) -> bool:
        """Whether it is the answer, or says that there is none."""
        return self.shows in {Shows.ANSWER, Shows.FAILURE}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a provider for a question. `failed`: the provider itself did not give what was asked for."""

    question: str
    provider: str
    process: str
    began: float
    ended: float
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run in the background of a provider, and the call that began it.

    `over`: someone has asked for it until its end, or cancelled it. `kept`: its id is in the database.
    """

    id: str
    begun: Call
    over: bool = False
    kept: bool = False


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What a provider charges for a call, in micro-dollars."""

    question: str
    amount: int


@dataclass(frozen=True, kw_only=True)
class Booking:
    """A row of the app's ledger: the provider's own figure, or what is reserved for a call that was cut off."""

    question: str
    amount: int
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Interruption:
    """A process that was killed or suspended, from one moment to another.

    What a process that is killed has sent before may be seen a little later; it has `ended` when it is gone. What was
    answered less than `margin` seconds before, it may not have written down.
    """

    process: str
    began: float
    ended: float
    margin: float = MARGIN_SECONDS


@dataclass(kw_only=True)
class Figures:
    """What one fault came to."""

    n: int = 0
    taken: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    """Questions with a copy too many that nothing excuses."""
    doubled_excused: list[str] = field(default_factory=list)
    copies: int = 0
    paid_twice: list[str] = field(default_factory=list)
    paid_twice_excused: list[str] = field(default_factory=list)
    refused: int = 0
    false_refusals: list[str] = field(default_factory=list)
    late_acks: int = 0
    slowest_ack: float = 0.0
    direct: int = 0
    direct_unsaid: list[str] = field(default_factory=list)
    late_direct: int = 0
    late_unsaid: list[str] = field(default_factory=list)
    failures: int = 0
    waiting: int = 0
    """Messages that say at the end that the search is on."""
    invoice: int = 0
    """What the providers charge, in micro-dollars, but for calls that were cut off."""
    booked: int = 0
    """What the ledger says that they charge, in micro-dollars, but for calls that were cut off."""
    cut: int = 0
    """Calls that were cut off, which the ledger has at their ceilings."""
    wrong_bookings: list[str] = field(default_factory=list)
    """Questions for which the ledger does not say what the providers do."""

    @property
    def untrue_acks(self) -> int:
        """Acknowledgements that said what was not so."""
        return len(self.lost) + len(self.false_refusals)


Item = TypeVar("Item", Copy, Call)


def judge(
    asked: Iterable[QuestionRecord],
    copies: Iterable[Copy],
    calls: Iterable[Call],
    interruptions: Sequence[Interruption] = (),
) -> Figures:
    """Return the figures of one fault. Each question is looked at by itself."""
    figures = Figures()
    shown, paid = _by_question(copies), _by_question(calls)
    for question in asked:
        mine = shown.get(question.id, [])
        outcomes = [copy for copy in mine if copy.is_outcome]
        _count_acks(figures, question, outcomes=outcomes)
        _count_copies(figures, question, outcomes, interruptions)
        _count_direct(figures, question, mine)
        _count_calls(figures, question, paid.get(question.id, []), interruptions)
        figures.waiting += sum(copy.shows is Shows.WAITING and not copy.by_response_url for copy in mine)
    return figures


def faults(figures: Figures, *, may_refuse: bool = True, may_be_late: bool = False) -> list[str]:
    """Return which bars the figures do not reach, in words; `may_be_late`: acks of processes that were killed."""
    reached = {
        f"{len(figures.lost)} lost": not figures.lost,
        f"{len(figures.doubled)} doubled": not figures.doubled,
        f"{figures.copies} copies": figures.copies <= MOST_COPIES,
        f"{len(figures.paid_twice)} paid twice": not figures.paid_twice,
        f"{len(figures.false_refusals)} refused but answered": not figures.false_refusals,
        f"{figures.late_acks} acks late or missing": may_be_late or not figures.late_acks,
        f"slowest ack {figures.slowest_ack:.1f} s": figures.slowest_ack <= ACK_SECONDS,
        f"{figures.refused} refused": may_refuse or not figures.refused,
        f"{len(figures.direct_unsaid)} direct messages do not say why": not figures.direct_unsaid,
        f"{len(figures.late_unsaid)} do not say how late": not figures.late_unsaid,
        f"{len(figures.wrong_bookings)} booked otherwise than charged": not figures.wrong_bookings,
        f"{figures.booked} booked, {figures.invoice} charged": figures.booked == figures.invoice,
    }
    return [words for words, holds in reached.items() if not holds]


def left_running(runs: Iterable[Run], interruptions: Sequence[Interruption]) -> list[Run]:
    """Return the runs that go on for no one.

    Of one no one can know: the process that began it was killed before it could keep the id, which died with it.
    """
    return [run for run in runs if not run.over and (run.kept or not _died_with(run.begun, interruptions))]


def audit_ledger(figures: Figures, charges: Iterable[Charge], bookings: Iterable[Booking]) -> None:
    """Compare the ledger with the invoices, question by question.

    Of a question none of whose calls was cut off, both say the same. Of another, the calls that were cut off are
    charged for at most what is reserved for them; how much that is, no one knows but the provider.
    """
    charged, booked = defaultdict[str, int](int), defaultdict[str, list[Booking]](list)
    for charge in charges:
        charged[charge.question] += charge.amount
    for booking in bookings:
        booked[booking.question].append(booking)
    for question in sorted({*charged, *booked}):
        known = sum(one.amount for one in booked[question] if not one.cut)
        cut = [one.amount for one in booked[question] if one.cut]
        if not known <= charged[question] <= known + sum(cut):
            figures.wrong_bookings.append(question)
        figures.cut += len(cut)
        figures.booked += known
        figures.invoice += known if cut else charged[question]


def _by_question(items: Iterable[Item]) -> dict[str, list[Item]]:
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        found[item.question].append(item)
    return found


def _count_acks(figures: Figures, question: QuestionRecord, *, outcomes: Sequence[Copy]) -> None:
    acked = [one.seconds for one in question.deliveries if one.notice is not NoticeKind.NOTHING]
    figures.slowest_ack = max([figures.slowest_ack, *acked])
    figures.late_acks += sum(one.seconds > ACK_SECONDS for one in question.deliveries)
    figures.taken += question.taken
    if question.taken and not outcomes:
        figures.lost.append(question.id)
    if question.refused_in_words and outcomes:
        figures.false_refusals.append(question.id)
    if not question.again:
        figures.n += 1
        # An event that was taken and not acknowledged is no refusal where its answer is there.
        figures.refused += question.refused and not (outcomes and question.surface in EVENTS)
    figures.failures += any(copy.shows is Shows.FAILURE for copy in outcomes)


def _count_copies(
    figures: Figures, question: QuestionRecord, outcomes: Sequence[Copy], interruptions: Sequence[Interruption]
) -> None:
    figures.copies = max(figures.copies, len(outcomes))
    if len(outcomes) < 2:
        return
    ordered = sorted(outcomes, key=lambda copy: copy.at)
    excused = sum(copy.by_response_url for copy in ordered) <= MOST_POSTS and all(
        copy.by_response_url and _cut(copy, again, interruptions) for copy, again in pairwise(ordered)
    )
    (figures.doubled_excused if excused else figures.doubled).append(question.id)


def _cut(copy: Copy, again: Copy, interruptions: Sequence[Interruption]) -> bool:
    """Return whether no one may know that the post was taken: its reply was lost, or a process died before it was read.

    Who posts by a response_url does not say who it is, so any process counts.
    """
    return not copy.acknowledged or any(
        _struck(interruption, copy.at, copy.at, before=again.at) for interruption in interruptions
    )


def _count_direct(figures: Figures, question: QuestionRecord, copies: Sequence[Copy]) -> None:
    """Count the answers that were to come otherwise and came as a direct message, and what these do not say."""
    for copy in copies:
        if not copy.direct or copy.shows is not Shows.ANSWER or question.surface == "im":
            continue
        figures.direct += 1
        quoted = question.id in copy.words
        if not (quoted and SAID_TO_BE_DIRECT.search(copy.words)):
            figures.direct_unsaid.append(question.id)
        if question.late >= LATE_SECONDS:
            figures.late_direct += 1
            if not HOW_LATE.search(copy.words.replace(question.id, "")):
                figures.late_unsaid.append(question.id)


def _count_calls(
    figures: Figures, question: QuestionRecord, calls: Sequence[Call], interruptions: Sequence[Interruption]
) -> None:
    by_provider: defaultdict[str, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.began):
        if not call.failed:
            by_provider[call.provider].append(call)
    again = [pair for paid in by_provider.values() for pair in pairwise(paid)]
    if again:
        excused = all(_died_with(call, interruptions, before=following.began) for call, following in again)
        (figures.paid_twice_excused if excused else figures.paid_twice).append(question.id)


def _died_with(call: Call, interruptions: Sequence[Interruption], *, before: float = math.inf) -> bool:
    """Return whether the process that made a call was killed or suspended with it in flight, before it was made again.

    Two processes that live, and both ask, are not excused by one of them dying later.
    """
    mine = [interruption for interruption in interruptions if interruption.process == call.process]
    return any(_struck(interruption, call.began, call.ended, before=before) for interruption in mine)


def _struck(interruption: Interruption, began: float, ended: float, *, before: float) -> bool:
    """Return whether an interruption was between two moments, or just after them, and before a third."""
    return began <= interruption.ended and interruption.began <= min(ended + interruption.margin, before)


def recovered(moments: Iterable[float], *, since: float) -> float:
    """Return the seconds from a moment until the first of the others that is not before it; infinity for none."""
    return min((moment - since for moment in moments if moment >= since), default=math.inf)
