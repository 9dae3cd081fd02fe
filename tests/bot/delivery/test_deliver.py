"""Delivery: which way each part goes, what is said before it goes, and when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from bot.blocks.base import Audience, OutgoingMessage
from bot.delivery.deliver import Delivery, Superseded
from bot.delivery.direct_message import DirectMessages
from bot.delivery.posting import Posting, Refused, Sent, TryLater, WayClosed
from bot.delivery.response_url import ResponseUrls
from bot.storage.patience import Patience
from bot.storage.questions import QuestionRow, Questions

BEGAN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
URL = "https://hooks.slack.com/commands/1"


def message(number: int) -> OutgoingMessage:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": f"words {number}"}}
    return OutgoingMessage(text=f"part {number}", blocks=(section,))


def row(**changes: Any) -> QuestionRow:
    base = QuestionRow(
        id=UUID(int=7),
        surface="slash",
        command="ask",
        text="why",
        team_id="T1",
        channel_id="C1",
        user_id="U1",
        response_url=URL,
        response_uses=0,
        state="delivering",
        attempt=1,
        returns=0,
        messages=(message(1),),
        outcome="answered",
        part=0,
        run_id=None,
        received_at=BEGAN,
    )
    return replace(base, **changes)


@dataclass
class Ways:
    """Both ways out, the row and the clock, scripted: what each post comes to, and all that happened, in order."""

    url: list[Posting] = field(default_factory=list)
    direct: list[Posting] = field(default_factory=list)
    found: str | None = None
    zombie_at: int | None = None
    happened: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: datetime = BEGAN

    async def post(self, target: str, sent: OutgoingMessage, **how: Any) -> Posting:
        if "question" in how:
            self.happened.append(f"direct {how['part']} {target}")
            return self.direct.pop(0) if self.direct else Sent()
        form = "" if sent.blocks else " as text"
        self.happened.append(f"url {how['audience'].name.lower()}{' replace' if how['replace'] else ''}{form}")
        return self.url.pop(0) if self.url else Sent()

    async def delete_original(self, url: str) -> Posting:
        self.happened.append("delete")
        return Sent()

    async def find(self, user: str, *, question: str, part: int) -> str | None:
        self.happened.append(f"look {part}")
        return self.found

    async def begin_part(self, which: QuestionRow, part: int, *, uses: int) -> bool:
        self.happened.append(f"begin {part} uses {uses}")
        return self.zombie_at is None or part < self.zombie_at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)

    def delivery(self) -> Delivery:
        return Delivery(
            questions=cast("Questions", self),
            patience=Patience(seconds=1),
            response_urls=cast("ResponseUrls", self),
            direct_messages=cast("DirectMessages", self),
            slack_api_url="https://slack.com/api/",
            now=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda low, high: high,
        )


async def deliver(ways: Ways, which: QuestionRow, audience: Audience = Audience.ASKER) -> bool:
    return await ways.delivery().deliver(which, audience=audience)


async def test_a_private_answer_replaces_the_searching_line() -> None:
    ways = Ways()

    assert await deliver(ways, row())
    assert ways.happened == ["begin 0 uses 1", "url asker replace"]


async def test_a_public_answer_is_a_message_of_its_own() -> None:
    ways = Ways()

    assert await deliver(ways, row(), Audience.CHANNEL)
    assert ways.happened == ["begin 0 uses 1", "url channel"]


async def test_what_does_not_fit_five_uses_goes_to_the_asker_directly() -> None:
    ways = Ways()

    assert await deliver(ways, row(messages=tuple(message(n) for n in range(7)), response_uses=1))
    assert [h for h in ways.happened if not h.startswith("begin")] == [
        "url asker replace",
        "url asker",
        "url asker",
        "url asker",
        "direct 4 U1",
        "direct 5 U1",
        "direct 6 U1",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"response_url": None},
        {"response_url": "https://evil.example/x"},
        {"response_url": "http://hooks.slack.com/x"},
        {"response_url": "https://hooks.slack.com.evil.example/x"},
        {"response_uses": 5},
        {"received_at": BEGAN - timedelta(minutes=30)},
    ],
)
async def test_without_an_open_response_url__directly(changes: dict[str, Any]) -> None:
    ways = Ways()

    assert await deliver(ways, row(**changes))
    assert ways.happened == ["begin 0 uses 0", "direct 0 U1"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the ways say, one after another, and what then happens."""

    url: list[Posting]
    direct: list[Posting] = field(default_factory=list)
    happened: list[str]
    delivered: bool = True


CASES: dict[str, Case] = {
    "used up, so directly": Case(
        url=[WayClosed(error="used_url")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 0", "direct 0 U1"],
    ),
    "blocks refused, so once as text": Case(
        url=[Refused(error="invalid_blocks")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 1", "url asker replace as text"],
    ),
    "text refused too, so directly": Case(
        url=[Refused(error="invalid_blocks"), Refused(error="no_text")],
        happened=[
            "begin 0 uses 1",
            "url asker replace",
            "begin 0 uses 1",
            "url asker replace as text",
            "begin 0 uses 0",
            "direct 0 U1",
        ],
    ),
    "an ambiguous time-out is sent again": Case(
        url=[TryLater(error="timeout", ambiguous=True)],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 1", "url asker replace"],
    ),
    "after an ambiguous direct message it is looked for": Case(
        url=[WayClosed(error="expired_url")],
        direct=[TryLater(error="timeout", ambiguous=True)],
        happened=[
            "begin 0 uses 1",
            "url asker replace",
            "begin 0 uses 0",
            "direct 0 U1",
            "begin 0 uses 0",
            "look 0",
            "direct 0 U1",
        ],
    ),
    "nobody there to write to": Case(
        url=[WayClosed(error="expired_url")],
        direct=[WayClosed(error="account_inactive")],
        happened=["begin 0 uses 1", "url asker replace", "begin 0 uses 0", "direct 0 U1"],
        delivered=False,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_what_slack_says_decides_what_is_done(case: Case) -> None:
    ways = Ways(url=list(case.url), direct=list(case.direct))

    assert await deliver(ways, row()) == case.delivered
    assert ways.happened == case.happened


async def test_a_pause_that_slack_asks_for_is_kept() -> None:
    ways = Ways(url=[TryLater(error="ratelimited", seconds=7)])

    assert await deliver(ways, row())
    assert ways.slept == [7]


async def test_slack_is_away_for_hours__the_question_expires() -> None:
    away: Callable[[], list[Posting]] = lambda: [TryLater(error="http_503", ambiguous=True)] * 1000  # noqa: E731
    ways = Ways(url=away(), direct=away())

    assert not await deliver(ways, row())
    assert ways.now - BEGAN < timedelta(minutes=36)
    assert max(ways.slept) <= 15


async def test_a_zombie_posts_nothing() -> None:
    ways = Ways(zombie_at=0)

    with pytest.raises(Superseded):
        await deliver(ways, row())
    assert ways.happened == ["begin 0 uses 1"]


async def test_superseded_between_two_parts__the_second_is_not_posted() -> None:
    ways = Ways(zombie_at=1)

    with pytest.raises(Superseded):
        await deliver(ways, row(messages=(message(1), message(2))))
    assert ways.happened == ["begin 0 uses 1", "url asker replace", "begin 1 uses 1"]


async def test_after_a_crash_a_direct_message_in_doubt_is_looked_for_first() -> None:
    ways = Ways(found="1.2")

    assert await deliver(ways, row(response_url=None, returns=1, part=1, messages=(message(1), message(2), message(3))))
    assert ways.happened == ["begin 1 uses 0", "look 1", "begin 2 uses 0", "direct 2 U1"]


async def test_after_a_crash_a_response_url_post_in_doubt_is_sent_again() -> None:
    ways = Ways()

    assert await deliver(ways, row(returns=1, part=1, response_uses=2, messages=(message(1), message(2))))
    assert ways.happened == ["begin 1 uses 1", "url asker"]


async def test_a_click_is_answered_at_once_in_the_message_s_place() -> None:
    ways = Ways()

    await ways.delivery().announce(row(surface="click"), message(1))

    assert ways.happened == ["begin 0 uses 1", "url asker replace"]


async def test_a_click_without_an_open_way_is_not_announced() -> None:
    ways = Ways()

    await ways.delivery().announce(row(surface="click", response_url=None), message(1))
    await ways.delivery().tidy(row(surface="click", response_url=None))

    assert ways.happened == []
