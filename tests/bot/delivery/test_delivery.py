"""Delivery of parts by route, the pending message before them, and the end of delivery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import pytest
from psycopg import OperationalError

from bot.delivery.delivery import (
    SLACK_ERROR_PAUSE_SECONDS,
    UNVERIFIABLE_PAUSE_SECONDS,
    ClaimLost,
    Delivery,
    default_routes,
)
from bot.delivery.status_message import StatusMessages
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import (
    Chat,
    Found,
    LookupForbidden,
    LookupResult,
    NotFound,
    PostResult,
    Rejected,
    ResponseUrls,
    Retryable,
    RouteClosed,
    Sent,
)
from bot.slack.streams import Streams
from bot.storage.questions import DatabaseRetry, QuestionStore
from tests.fakes.rows import message, row


@dataclass
class ScriptedSlack:
    """A scripted Slack, row and clock: the results of each call, and a record of the calls in order."""

    url: list[PostResult] = field(default_factory=list)
    direct: list[PostResult] = field(default_factory=list)
    thread: list[PostResult] = field(default_factory=list)
    change: list[PostResult] = field(default_factory=list)
    lookups: list[LookupResult] = field(default_factory=list)
    taken: str | None = None
    row: QuestionRow | None = None
    away: bool = False
    claim_lost_at: int | None = None
    happened: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 0.0
    recorded: list[int] = field(default_factory=list)
    sent: list[OutgoingMessage] = field(default_factory=list)

    async def post(self, target: str, sent: OutgoingMessage, **how: Any) -> PostResult:
        if how.get("thread_ts"):
            self.happened.append(f"thread {how['part']} {target} {how['thread_ts']}")
            return self.thread.pop(0) if self.thread else Sent(ts="1.3")
        if "question" in how:
            self.happened.append(f"direct {how['part']} {target}")
            self.sent.append(sent)
            return self.direct.pop(0) if self.direct else Sent()
        form = "" if sent.blocks else " as text"
        self.happened.append(f"url {how['audience'].name.lower()}{' replace' if how['replace'] else ''}{form}")
        return self.url.pop(0) if self.url else Sent()

    async def delete_original(self, url: str) -> PostResult:
        self.happened.append("delete")
        return Sent()

    async def open_direct_message(self, user: str) -> str:
        return f"D{user}"

    async def update(self, channel: str, ts: str, sent: OutgoingMessage) -> PostResult:
        self.happened.append(f"change {channel} {ts}{'' if sent.blocks else ' as text'}")
        return self.change.pop(0) if self.change else Sent(ts=ts)

    async def delete(self, channel: str, ts: str) -> None:
        self.happened.append(f"remove {channel} {ts}")

    async def find(
        self, channel: str, *, question: str, part: int, since: datetime, thread_ts: str | None = None
    ) -> LookupResult:
        self.happened.append(f"look {part}{f' in {thread_ts}' if thread_ts else ''}")
        return self.lookups.pop(0) if self.lookups else NotFound()

    async def get(self, question_id: UUID) -> QuestionRow:
        if self.away:
            raise OperationalError("away")
        return self.row or in_thread(message_ts=self.taken)

    async def save_placeholder(self, which: QuestionRow, message_ts: str) -> bool:
        self.happened.append(f"record {message_ts}")
        return self.claim_lost_at is None

    async def mark_sending(self, which: QuestionRow, part: int, *, uses: int, unconfirmed: int = 0) -> bool:
        self.recorded.append(unconfirmed)
        self.happened.append(f"begin {part} uses {uses}")
        return self.claim_lost_at is None or part < self.claim_lost_at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def delivery(self) -> Delivery:
        return Delivery(
            questions=cast("QuestionStore", self),
            database_retry=DatabaseRetry(seconds=1),
            routes=default_routes(
                cast("Chat", self),
                cast("Streams", self),
                cast("ResponseUrls", self),
                slack_api_url="https://slack.com/api/",
                delete_pending=self.status_messages().delete_pending,
            ),
            clock=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda low, high: high,
        )

    def status_messages(self) -> StatusMessages:
        return StatusMessages(
            questions=cast("QuestionStore", self),
            database_retry=DatabaseRetry(seconds=1),
            chat=cast("Chat", self),
            response_urls=cast("ResponseUrls", self),
            slack_api_url="https://slack.com/api/",
            clock=lambda: self.now,
            sleep=self.sleep,
        )


async def deliver(slack: ScriptedSlack, which: QuestionRow, audience: Audience = Audience.ASKER) -> bool:
    return await slack.delivery().deliver(which, audience=audience)


async def test_a_private_answer_replaces_the_pending_message() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row())
    assert slack.happened == ["begin 0 uses 1", "url asker replace"]


async def test_a_first_post_that_was_recorded_with_the_answer_is_not_recorded_again() -> None:
    slack = ScriptedSlack(url=[Retryable(error="ratelimited", seconds=1)])
    delivery, which = slack.delivery(), row(messages=(message(1), message(2)))
    first = delivery.first_post(which, audience=Audience.ASKER)

    assert first is not None
    assert (first.route.name, first.uses, first.unconfirmed) == ("response_url", 1, 1)
    assert await delivery.deliver(which, audience=Audience.ASKER, first=first)
    assert slack.happened == [
        "url asker replace",
        "begin 0 uses 1",
        "url asker replace",
        "begin 1 uses 2",
        "url asker",
    ]


def test_without_a_message_or_a_route_there_is_no_first_post() -> None:
    delivery = Delivery(questions=cast("QuestionStore", None), database_retry=DatabaseRetry(seconds=1), routes=())

    assert delivery.first_post(row(), audience=Audience.ASKER) is None
    assert delivery.first_post(row(messages=()), audience=Audience.ASKER) is None


async def test_a_public_answer_is_a_message_of_its_own() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(), Audience.CHANNEL)
    assert slack.happened == ["begin 0 uses 1", "url channel"]


async def test_after_five_uses_of_the_response_url_the_rest_is_a_direct_message() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(messages=tuple(message(n) for n in range(7)), response_uses=1))
    assert [h for h in slack.happened if not h.startswith("begin")] == [
        "url asker replace",
        "url asker",
        "url asker",
        "url asker",
        "direct 4 DU1",
        "direct 5 DU1",
        "direct 6 DU1",
    ]


async def test_the_rest_of_a_public_answer_stays_in_the_channel_if_the_app_is_a_member() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(messages=tuple(message(n) for n in range(3)), response_uses=4), Audience.CHANNEL)
    assert posts(slack) == ["url channel", "direct 1 C1", "direct 2 C1"]


async def test_the_rest_of_a_public_answer_goes_to_the_asker_if_the_app_is_not_a_member() -> None:
    slack = ScriptedSlack(direct=[RouteClosed(error="not_in_channel")])

    assert await deliver(slack, row(messages=(message(0), message(1)), response_uses=4), Audience.CHANNEL)
    assert posts(slack) == ["url channel", "direct 1 C1", "direct 1 DU1"]


def posts(slack: ScriptedSlack) -> list[str]:
    return [what for what in slack.happened if not what.startswith("begin")]


@pytest.mark.parametrize(
    "changes",
    [
        {"response_url": None},
        {"response_url": "https://evil.example/x"},
        {"response_url": "http://hooks.slack.com/x"},
        {"response_url": "https://hooks.slack.com.evil.example/x"},
        {"response_uses": 5},
        {"received": -30 * 60.0},
    ],
)
async def test_without_a_usable_response_url_the_answer_is_a_direct_message(changes: dict[str, Any]) -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(**changes))
    assert slack.happened == [f"begin 0 uses {changes.get('response_uses', 0)}", "direct 0 DU1"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Slack's replies in order, and the expected calls."""

    url: list[PostResult]
    direct: list[PostResult] = field(default_factory=list)
    happened: list[str]
    delivered: bool = True


CASES: dict[str, Case] = {
    "used up, so directly": Case(
        url=[RouteClosed(error="used_url")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 1", "direct 0 DU1"],
    ),
    "blocks refused, so once as text": Case(
        url=[Rejected(error="invalid_blocks")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 2", "url asker replace as text"],
    ),
    "text refused too, so directly": Case(
        url=[Rejected(error="invalid_blocks"), Rejected(error="no_text")],
        happened=[
            "begin 0 uses 1",
            "url asker replace",
            "begin 0 uses 2",
            "url asker replace as text",
            "begin 0 uses 2",
            "direct 0 DU1",
        ],
    ),
    "an ambiguous time-out is sent again": Case(
        url=[Retryable(error="timeout", maybe_posted=True, unverifiable=True)],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 2", "url asker replace"],
    ),
    "after an unconfirmed direct message it is looked up": Case(
        url=[RouteClosed(error="expired_url")],
        direct=[Retryable(error="timeout", maybe_posted=True)],
        happened=[
            "begin 0 uses 1",
            "url asker replace",
            "begin 0 uses 1",
            "direct 0 DU1",
            "begin 0 uses 1",
            "look 0",
            "direct 0 DU1",
        ],
    ),
    "no account to write to": Case(
        url=[RouteClosed(error="expired_url")],
        direct=[RouteClosed(error="account_inactive")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 1", "direct 0 DU1"],
        delivered=False,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_slack_s_replies_decide_the_next_attempt(case: Case) -> None:
    slack = ScriptedSlack(url=list(case.url), direct=list(case.direct))

    assert await deliver(slack, row()) == case.delivered
    assert slack.happened == case.happened


async def test_a_pause_that_slack_asks_for_is_kept() -> None:
    slack = ScriptedSlack(url=[Retryable(error="ratelimited", seconds=7)])

    assert await deliver(slack, row())
    assert slack.slept == [7]


async def test_delivery_ends_after_slack_is_unavailable_for_hours() -> None:
    away: Callable[[], list[PostResult]] = lambda: [Retryable(error="http_503", maybe_posted=True)] * 1000  # noqa: E731
    slack = ScriptedSlack(url=away(), direct=away())

    assert not await deliver(slack, row())
    assert slack.now < 36 * 60
    assert max(slack.slept) <= 45


async def test_a_stale_worker_posts_nothing() -> None:
    slack = ScriptedSlack(claim_lost_at=0)

    with pytest.raises(ClaimLost):
        await deliver(slack, row())
    assert slack.happened == ["begin 0 uses 1"]


async def test_a_worker_that_loses_its_claim_between_parts_does_not_post_the_second() -> None:
    slack = ScriptedSlack(claim_lost_at=1)

    with pytest.raises(ClaimLost):
        await deliver(slack, row(messages=(message(1), message(2))))
    assert slack.happened == ["begin 0 uses 1", "url asker replace", "begin 1 uses 2"]


async def test_after_a_crash_a_direct_message_is_looked_up_before_it_is_posted_again() -> None:
    slack = ScriptedSlack(lookups=[Found(ts="1.2")])

    assert await deliver(
        slack, row(response_url=None, redeliveries=1, part=1, messages=(message(1), message(2), message(3)))
    )
    assert slack.happened == ["begin 1 uses 0", "look 1", "begin 2 uses 0", "direct 2 DU1"]


async def test_after_a_crash_a_response_url_post_is_sent_again() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(redeliveries=1, part=1, response_uses=2, messages=(message(1), message(2))))
    assert slack.happened == ["begin 1 uses 3", "url asker"]


async def test_after_a_click_the_pending_message_replaces_the_clicked_one() -> None:
    slack = ScriptedSlack()

    updated = await slack.status_messages().post_pending(row(surface="click"), message(1))

    assert updated.response_uses == 1
    assert slack.happened == ["begin 0 uses 1", "url asker replace"]


async def test_a_click_without_a_usable_response_url_gets_no_pending_message() -> None:
    slack = ScriptedSlack()

    await slack.status_messages().post_pending(row(surface="click", response_url=None), message(1))
    await slack.status_messages().delete_pending(row(surface="click", response_url=None))

    assert slack.happened == []


def in_thread(**changes: Any) -> QuestionRow:
    return row(**{"surface": "mention", "response_url": None, "thread_ts": "1.1", "message_ts": "1.2"} | changes)


THREADS: dict[str, tuple[ScriptedSlack, QuestionRow, list[str]]] = {
    "the answer takes the line's place, its parts follow": (
        ScriptedSlack(),
        in_thread(messages=(message(1), message(2))),
        ["begin 0 uses 0", "change C1 1.2", "begin 1 uses 0", "thread 1 C1 1.1"],
    ),
    "after a crash the line is changed again": (
        ScriptedSlack(),
        in_thread(redeliveries=1),
        ["begin 0 uses 0", "change C1 1.2"],
    ),
    "after a crash a later part is looked up": (
        ScriptedSlack(lookups=[Found(ts="1.9")]),
        in_thread(redeliveries=1, part=1, messages=(message(1), message(2))),
        ["begin 1 uses 0", "look 1 in 1.1", "change C1 1.9"],
    ),
    "the pending message is unknown, so it is looked up": (
        ScriptedSlack(lookups=[Found(ts="1.8")]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "look 0 in 1.1", "change C1 1.8"],
    ),
    "there is no line": (
        ScriptedSlack(),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "look 0 in 1.1", "thread 0 C1 1.1"],
    ),
    "a line that cannot be changed goes": (
        ScriptedSlack(change=[RouteClosed(error="cant_update_message")]),
        in_thread(),
        ["begin 0 uses 0", "change C1 1.2", "remove C1 1.2", "begin 0 uses 0", "thread 0 C1 1.1"],
    ),
    "text too long for a change is a new message": (
        ScriptedSlack(change=[Rejected(error="invalid_blocks"), Rejected(error="msg_too_long")]),
        in_thread(),
        [
            "begin 0 uses 0",
            "change C1 1.2",
            "begin 0 uses 0",
            "change C1 1.2 as text",
            "remove C1 1.2",
            "begin 0 uses 0",
            "thread 0 C1 1.1",
        ],
    ),
    "a closed thread, so directly": (
        ScriptedSlack(thread=[RouteClosed(error="not_in_channel")]),
        in_thread(message_ts=None, redeliveries=1),
        ["begin 0 uses 0", "look 0 in 1.1", "thread 0 C1 1.1", "begin 0 uses 0", "look 0", "direct 0 DU1"],
    ),
    "a found line that cannot be changed goes, and the answer stays in the thread": (
        ScriptedSlack(lookups=[Found(ts="1.8")], change=[RouteClosed(error="edit_window_closed")]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "look 0 in 1.1", "change C1 1.8", "remove C1 1.8", "thread 0 C1 1.1"],
    ),
    "a thread that cannot be read just now is lookups at again": (
        ScriptedSlack(lookups=[Retryable(error="http_503")]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "look 0 in 1.1", "begin 0 uses 0", "look 0 in 1.1", "thread 0 C1 1.1"],
    ),
    "it cannot be looked up, so a few copies at most, then a direct message": (
        ScriptedSlack(
            thread=[Retryable(error="http_503", maybe_posted=True)] * 9,
            lookups=[LookupForbidden(), LookupForbidden(), NotFound()],
        ),
        in_thread(part=1, messages=(message(1), message(2))),
        [
            "begin 1 uses 0",
            "thread 1 C1 1.1",
            *["begin 1 uses 0", "look 1 in 1.1", "thread 1 C1 1.1"] * 2,
            "begin 1 uses 0",
            "look 1",
            "direct 1 DU1",
        ],
    ),
    "Slack fails at the blocks again and again, so once as text": (
        ScriptedSlack(change=[Retryable(error="internal_error", maybe_posted=True)] * 3),
        in_thread(),
        [*["begin 0 uses 0", "change C1 1.2"] * 3, "begin 0 uses 0", "change C1 1.2 as text"],
    ),
    "an unconfirmed post in a thread is looked up": (
        ScriptedSlack(thread=[Retryable(error="http_503", maybe_posted=True)]),
        in_thread(part=1, messages=(message(1), message(2))),
        ["begin 1 uses 0", "thread 1 C1 1.1", "begin 1 uses 0", "look 1 in 1.1", "thread 1 C1 1.1"],
    ),
}


@pytest.mark.parametrize(("slack", "which", "happened"), THREADS.values(), ids=THREADS.keys())
async def test_an_answer_in_a_thread(slack: ScriptedSlack, which: QuestionRow, happened: list[str]) -> None:
    assert await deliver(slack, which, Audience.CHANNEL)
    assert slack.happened == happened


LINES: dict[str, tuple[ScriptedSlack, QuestionRow, list[str], str | None]] = {
    "posted once and recorded": (
        ScriptedSlack(),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "thread 0 C1 1.1", "record 1.3"],
        "1.3",
    ),
    "a reply that got lost": (
        ScriptedSlack(thread=[Retryable(error="timeout", maybe_posted=True)], lookups=[Found(ts="1.7")]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "thread 0 C1 1.1", "look 0 in 1.1", "record 1.7"],
        "1.7",
    ),
    "a worker died after the post": (
        ScriptedSlack(lookups=[Found(ts="1.7")]),
        in_thread(message_ts=None, redeliveries=1),
        ["look 0 in 1.1", "record 1.7"],
        "1.7",
    ),
    "Slack is unavailable": (
        ScriptedSlack(thread=[Retryable(error="http_503", maybe_posted=True)] * 9),
        in_thread(message_ts=None),
        [
            "begin 0 uses 0",
            "thread 0 C1 1.1",
            *["look 0 in 1.1", "begin 0 uses 0", "thread 0 C1 1.1"] * 2,
            "look 0 in 1.1",
        ],
        None,
    ),
    "Slack asks for a long pause": (
        ScriptedSlack(thread=[Retryable(error="ratelimited", seconds=30)]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "thread 0 C1 1.1"],
        None,
    ),
    "the app is no member": (
        ScriptedSlack(thread=[RouteClosed(error="not_in_channel")]),
        in_thread(message_ts=None),
        ["begin 0 uses 0", "thread 0 C1 1.1"],
        None,
    ),
    "a click in a thread": (ScriptedSlack(), in_thread(), ["begin 0 uses 0", "change C1 1.2"], "1.2"),
    "a pending message that exists already": (ScriptedSlack(), in_thread(redeliveries=1), [], "1.2"),
}


@pytest.mark.parametrize(("slack", "which", "happened", "ts"), LINES.values(), ids=LINES.keys())
async def test_the_pending_message_in_a_thread(
    slack: ScriptedSlack, which: QuestionRow, happened: list[str], ts: str | None
) -> None:
    updated = await slack.status_messages().post_pending(which, message(1))

    assert (slack.happened, updated.message_ts) == (happened, ts)
    assert sum(slack.slept) <= 6


async def test_a_pending_message_that_cannot_be_looked_up_is_not_posted_again() -> None:
    slack = ScriptedSlack(thread=[Retryable(error="timeout", maybe_posted=True)], lookups=[LookupForbidden()])

    updated = await slack.status_messages().post_pending(in_thread(message_ts=None), message(1))

    assert updated.message_ts is None
    assert slack.happened == ["begin 0 uses 0", "thread 0 C1 1.1", "look 0 in 1.1"]


@pytest.mark.parametrize(("taken", "cleared"), [(None, True), ("1.2", True), ("1.3", False)])
async def test_a_stale_worker_deletes_its_pending_message_unless_the_other_uses_it(
    taken: str | None, *, cleared: bool
) -> None:
    slack = ScriptedSlack(claim_lost_at=1, taken=taken)

    with pytest.raises(ClaimLost):
        await slack.status_messages().post_pending(in_thread(message_ts=None), message(1))
    assert ("remove C1 1.3" in slack.happened) == cleared


async def test_the_answer_to_an_old_question_is_delivered() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, in_thread(received=-5 * 3600.0))
    assert slack.happened == ["begin 0 uses 0", "change C1 1.2"]


async def test_after_a_click_the_answer_has_the_remaining_uses() -> None:
    slack = ScriptedSlack()
    parts = tuple(message(n) for n in range(5))

    assert await deliver(slack, row(surface="click", response_uses=1, messages=parts), Audience.CHANNEL)
    assert posts(slack) == [*["url channel"] * 4, "direct 4 C1"]


@pytest.mark.parametrize(
    ("changes", "happened"),
    [
        ({"response_uses": 4}, ["delete"]),
        ({"response_uses": 5}, []),
        ({"received": -30 * 60.0}, []),
        ({"response_url": None}, []),
        ({"response_url": "https://evil.example/x"}, []),
    ],
)
async def test_a_pending_message_is_deleted_if_the_answer_left_a_use_for_it(
    changes: dict[str, Any], happened: list[str]
) -> None:
    slack = ScriptedSlack(row=row(**changes))

    await slack.status_messages().delete_pending(row(response_uses=0))

    assert slack.happened == happened


async def test_if_the_database_is_unavailable_the_pending_message_stays() -> None:
    slack = ScriptedSlack(row=row(), away=True)

    await slack.status_messages().delete_pending(row())

    assert slack.happened == []


BUSY: list[PostResult] = [Retryable(error="ratelimited", seconds=1)]
UNCLEAR: list[PostResult] = [Retryable(error="timeout", maybe_posted=True, unverifiable=True)]


async def test_a_post_that_slack_did_not_accept_takes_no_use() -> None:
    slack = ScriptedSlack(url=[*BUSY * 20, Retryable(error="ClientConnectorError"), Sent()])

    assert await deliver(slack, row())
    assert slack.happened == ["begin 0 uses 1", "url asker replace"] * 22
    assert slack.recorded == [1] * 22


async def test_after_two_posts_without_a_clear_reply_comes_a_direct_message() -> None:
    slack = ScriptedSlack(url=UNCLEAR * 9, row=row(response_uses=2))

    assert await deliver(slack, row())
    assert posts(slack) == ["url asker replace"] * 2 + ["look 0", "direct 0 DU1", "delete"]
    assert slack.slept[0] == UNVERIFIABLE_PAUSE_SECONDS > 40


async def test_posts_without_a_clear_reply_are_counted_across_a_crash() -> None:
    once, twice = ScriptedSlack(), ScriptedSlack()

    assert await deliver(once, row(redeliveries=1, response_uses=1, unconfirmed=1))
    assert await deliver(twice, row(redeliveries=2, response_uses=2, unconfirmed=2))
    assert (posts(once), posts(twice)) == (["url asker replace"], ["look 0", "direct 0 DU1"])


async def test_rejected_blocks_are_a_clear_reply() -> None:
    slack = ScriptedSlack(url=[Rejected(error="invalid_blocks"), *UNCLEAR, Sent()])

    assert await deliver(slack, row())
    assert slack.recorded == [1, 1, 2]


async def test_a_pause_of_hours_is_skipped_by_the_next_route() -> None:
    slack = ScriptedSlack(url=[Retryable(error="ratelimited", seconds=7_200)])

    assert await deliver(slack, row())
    assert (posts(slack), slack.slept) == (["url asker replace", "direct 0 DU1"], [])


async def test_if_every_route_asks_for_hours_they_are_retried_now_and_then() -> None:
    hours: list[PostResult] = [Retryable(error="ratelimited", seconds=7_200)]
    slack = ScriptedSlack(url=list(hours), direct=list(hours))

    assert await deliver(slack, row())
    assert posts(slack) == ["url asker replace", "direct 0 DU1", "url asker replace"]
    assert slack.slept == [300]


async def test_a_direct_message_quotes_the_question_and_says_how_late_it_is() -> None:
    slack = ScriptedSlack()

    assert await deliver(slack, row(text="--n 5 why is <the> sky blue", received=-2 * 3600.0))
    (sent,) = slack.sent
    assert sent.text.startswith("You asked “--n 5 why is &lt;the&gt; sky blue” 2 hours ago.")
    assert "as a direct message" in sent.text
    assert sent.blocks[0]["type"] == "context"


async def test_after_a_server_error_slack_has_time_to_recover_and_nothing_becomes_a_direct_message() -> None:
    slack = ScriptedSlack(url=[Retryable(error="http_502", maybe_posted=True, unverifiable=True), Sent()])

    assert await deliver(slack, row())
    assert (posts(slack), slack.slept) == (["url asker replace"] * 2, [SLACK_ERROR_PAUSE_SECONDS])
    assert 20 < SLACK_ERROR_PAUSE_SECONDS < UNVERIFIABLE_PAUSE_SECONDS
