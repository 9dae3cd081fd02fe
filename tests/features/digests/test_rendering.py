"""A digest as it is posted, and what its owner is told: the words, the buttons, Slack's limits."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blocks import escaping
from bot.features.digests.model import (
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestList,
    DigestNotFound,
    DigestReport,
    DigestResult,
    LimitReached,
    NotOwner,
    State,
    Trigger,
    Updated,
    format_since,
)
from bot.features.digests.rendering import (
    digest_failed_message,
    digest_messages,
    digest_result_message,
    digest_stopped_message,
)
from bot.model.message import OutgoingMessage
from bot.model.schedule import Schedule, next_slot, zone_of
from fake_slack.limits import check_message
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.types import Source
from tests.fakes.hostile_text import wild
from tests.fakes.renderer import mentions
from tests.fakes.time import SATURDAY
from tests.features.digests.examples import OWNER, make_spec

SOURCE = Source(number=1, title="T", url="https://site.example/1")
STORY = Story(headline="Parliament passes the budget", source=SOURCE, sentence="It is so.")
DIGEST = Digest(
    id=UUID(int=5),
    number=2,
    owner=OWNER,
    channel_id="C1",
    spec=make_spec(),
    next_at=datetime(2026, 11, 23, 8, 0, tzinfo=UTC),
)
PLAN, NEXT = "every day at 9:00 (Europe/Berlin)", "next on Monday, 23 November at 9:00"


def summary(*stories: Story) -> NewsSummary:
    return NewsSummary(
        stories=stories, provider="Perplexity", made_at=SATURDAY, category="technology", cost_usd=0.0025, seconds=3.4
    )


def report(
    *stories: Story, why: Trigger = Trigger.SCHEDULED, since: datetime | None = None, silence: tuple[int, ...] = ()
) -> DigestReport:
    digest = replace(DIGEST, spec=replace(DIGEST.spec, report_empty_on=frozenset(silence)))
    return DigestReport(
        digest=digest,
        trigger=why,
        earliest_slot=SATURDAY,
        slot=SATURDAY,
        now=SATURDAY,
        summary=summary(*stories),
        stories=stories,
        since=since,
    )


def words(*messages: OutgoingMessage) -> str:
    return json.dumps([message.blocks for message in messages], ensure_ascii=False)


def test_a_post_has_what_is_new_and_its_buttons() -> None:
    (message,) = digest_messages(report(STORY, since=SATURDAY - timedelta(days=4)))

    said = words(message)
    assert message.blocks[0]["elements"][0]["text"] == "*Technology: databases* · 1 new story since Tuesday"
    assert "<https://site.example/1|Parliament passes the budget>" in said
    *buttons, menu = message.blocks[-1]["elements"]
    assert [button["action_id"] for button in buttons] == ["digest_run", "digest_pause"]
    assert (menu["type"], menu["action_id"], menu["confirm"]["confirm"]["text"]) == (
        "overflow",
        "digest_delete",
        "Delete",
    )
    assert {one["value"] for one in (*buttons, *menu["options"])} == {str(DIGEST.id)}
    assert "late" not in said


def test_the_first_post_does_not_say_since_when_things_are_new() -> None:
    (message,) = digest_messages(report(STORY, STORY))

    assert message.blocks[0]["elements"][0]["text"] == "*Technology: databases* · 2 new stories"


def test_a_late_post_says_so() -> None:
    said = words(*digest_messages(report(STORY, why=Trigger.LATE)))

    assert "This is late: it was due on Saturday, 21 November at 13:00 (Europe/Berlin)." in said


@pytest.mark.parametrize(
    ("quiet", "line"),
    [
        (report(), None),
        (report(silence=(4, 6)), None),
        (report(silence=(5,)), "Nothing new."),
        (report(silence=(5,), since=SATURDAY - timedelta(days=4)), "Nothing new since Tuesday."),
        (report(why=Trigger.MANUAL, since=SATURDAY - timedelta(days=1)), "Nothing new since yesterday."),
        (replace(report(why=Trigger.MANUAL), summary=None), "Nothing new."),
    ],
)
def test_an_empty_digest_is_posted_only_on_the_set_days(quiet: DigestReport, line: str | None) -> None:
    messages = digest_messages(quiet)

    assert [f"*Technology: databases* · {line}" in words(message) for message in messages] == ([True] if line else [])


@pytest.mark.parametrize(
    ("hours", "set_day", "speaks"),
    [
        (0, 5, True),
        (0, 6, False),
        (20, 6, True),
        (19, 6, False),
        (49, 5, True),
        (49, 6, True),
        (49, 0, True),
        (49, 1, False),
    ],
)
def test_a_run_that_waited_covers_each_slot_since(hours: int, set_day: int, speaks: bool) -> None:
    waited = replace(report(silence=(set_day,)), now=SATURDAY + timedelta(hours=hours))

    assert bool(digest_messages(waited)) is speaks


@pytest.mark.parametrize(("set_day", "speaks"), [(5, True), (6, False)])
def test_a_slot_moved_past_midnight_covers_its_own_day(set_day: int, speaks: bool) -> None:
    # In Nuuk the clocks jump from 23:00 on Saturday to midnight, so 23:30 is made up for on Sunday.
    schedule = Schedule(days=frozenset({5, 6}), at=time(23, 30), zone="America/Nuuk")
    slot = next_slot(schedule, datetime(2027, 3, 27, 12, tzinfo=UTC))
    quiet = report(silence=(set_day,))
    digest = replace(quiet.digest, spec=replace(quiet.digest.spec, schedule=schedule))

    assert bool(digest_messages(replace(quiet, digest=digest, earliest_slot=slot, slot=slot, now=slot))) is speaks


@pytest.mark.parametrize(("set_day", "speaks"), [(2, False), (3, True), (4, True), (5, True), (6, False)])
def test_a_run_for_missed_slots_covers_each_of_them(set_day: int, speaks: bool) -> None:
    assert (
        bool(digest_messages(replace(report(silence=(set_day,)), earliest_slot=SATURDAY - timedelta(days=2)))) is speaks
    )


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (1, "since 12:00 today (Europe/Berlin)"),
        (13, "since 0:00 today (Europe/Berlin)"),
        (14, "since yesterday"),
        (38, "since Thursday"),
        (6 * 24, "since Sunday"),
        (7 * 24, "since 14 November"),
    ],
)
def test_times_are_in_the_owner_s_time_zone(hours: int, said: str) -> None:
    berlin = zone_of("Europe/Berlin")

    assert format_since(SATURDAY - timedelta(hours=hours), now=SATURDAY, tz=berlin) == said


PAUSED = replace(DIGEST, state=State.PAUSED, next_at=None)
RAN = replace(DIGEST, number=3, runs=12, cost_usd=0.06, channel_id="C2")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Created(digest=DIGEST), f"is set up.*\\nI’ll post it here {PLAN}, only when something is new: {NEXT}."),
        (Created(digest=DIGEST, zone_known=False), "I couldn’t find your time zone, so the time may not be yours. Set"),
        (
            Created(digest=replace(DIGEST, spec=make_spec(silence=(0, 4)))),
            ". When nothing is new, I’ll say so (Monday, Friday).",
        ),
        (DigestList(digests=()), "You have no digests yet."),
        (DigestList(digests=(DIGEST, RAN)), f"*2*  Technology: databases\\n{PLAN} · {NEXT} · posted here"),
        (DigestList(digests=(RAN,)), f"{PLAN} · {NEXT} · posted elsewhere · 12 runs in 30 days · $0.06"),
        (
            DigestList(digests=(replace(RAN, unpriced=12, cost_usd=None),)),
            "elsewhere · 12 runs in 30 days · cost unknown",
        ),
        (DigestList(digests=(replace(RAN, unpriced=2),)), "12 runs in 30 days · $0.06 · 2 of unknown cost"),
        (DigestList(digests=(replace(RAN, cost_usd=0.0),)), "12 runs in 30 days · free"),
        (DigestList(digests=(replace(RAN, runs=1, cost_usd=None),)), '· 1 run in 30 days"'),
        (DigestList(digests=(PAUSED,)), "(Europe/Berlin) · paused · posted here"),
        (DigestList(digests=(replace(PAUSED, state=State.STOPPED),)), "(Europe/Berlin) · stopped · posted here"),
        (Updated(action=DigestAction.PAUSE, digest=PAUSED), "Digest 2 (Technology: databases) is paused."),
        (Updated(action=DigestAction.PAUSE, digest=PAUSED), "`/pplx watch resume 2` resumes it."),
        (
            Updated(action=DigestAction.RESUME, digest=DIGEST),
            f"is active again, {PLAN}: {NEXT}.",
        ),
        (Updated(action=DigestAction.DELETE, digest=DIGEST), "Digest 2 (Technology: databases) is deleted."),
        (Updated(action=DigestAction.RUN, digest=DIGEST), "is running now. I’ll post it in its usual place."),
        (LimitReached(limit=10, channel=False), "You have 10 digests already, the most you can have."),
        (LimitReached(limit=1, channel=True), "This channel has 1 digest already, the most it can have."),
        (DigestList(digests=[replace(DIGEST, next_at=None)]), "every day at 9:00 (Europe/Berlin) · switched off here"),
        (LimitReached(limit=5, channel=True, share=True), "You have 5 digests in this channel already, the most one"),
        (
            LimitReached(limit=5, channel=True, share=True),
            "Delete one of yours first, or set this one up in a direct message",
        ),
        (LimitReached(limit=0, channel=False), "Digests are switched off here."),
        (AlreadyRunning(digest=DIGEST), "is already running."),
        (DigestNotFound(number=7, numbers=(1, 2, 5)), "You have no digest 7. Yours are 1, 2 and 5."),
        (DigestNotFound(number=7, numbers=(1,)), "You have no digest 7. Yours is number 1."),
        (DigestNotFound(number=7), "You have no digest 7. You have none."),
        (DigestNotFound(), "This digest was deleted."),
        (NotOwner(), "Only the person who set up this digest can change it."),
    ],
)
def test_each_result_has_a_message(reply: DigestResult, said: str) -> None:
    assert said in words(digest_result_message(reply, command="/pplx watch", channel="C1"))


def test_a_channel_needs_an_invitation_and_a_direct_message_the_app_itself() -> None:
    said = [
        words(
            digest_result_message(
                Created(digest=replace(DIGEST, channel_id=channel)), command="/pplx watch", channel=channel
            )
        )
        for channel in ("C1", "G1", "D1")
    ]

    assert ["/invite" in one for one in said] == [True, True, False]
    assert ["only if it is the one with me" in one for one in said] == [False, False, True]


def test_in_the_direct_message_with_the_app_no_place_needs_a_condition() -> None:
    created = Created(digest=replace(DIGEST, channel_id="D1"))
    said = words(digest_result_message(created, command="/pplx watch", channel="D1", with_app=True))

    assert ("only if" in said, "`/pplx watch list` shows your digests." in said) == (False, True)


@given(wild, st.integers(1, 8), st.sampled_from(Trigger))
def test_any_news_is_accepted_by_slack_and_mentions_no_one(text: str, count: int, why: Trigger) -> None:
    digest = replace(DIGEST, spec=make_spec(topic=text, silence=range(7)))
    story = replace(STORY, headline=text, sentence=text)
    spoken = replace(report(*([story] * count), why=why), digest=digest)
    messages = [
        *digest_messages(spoken),
        *digest_messages(replace(spoken, stories=())),
        digest_failed_message(subject=text, digest_id=DIGEST.id, sentence=text, reference="abcd-1234"),
        digest_stopped_message(digest, reason=text, command="/pplx watch"),
        digest_result_message(DigestList(digests=[digest] * 10), command="/pplx watch", channel="C1"),
        digest_result_message(Created(digest=digest), command="/pplx watch", channel="C1"),
    ]

    for message in map(escaping.sanitize_message, messages):
        payload = {"text": message.text, "blocks": list(message.blocks)}
        assert check_message(payload) == []
        assert mentions(payload) == []
