"""What owners do with their digests, on a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from bot.features.digests.model import (
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestLimits,
    DigestNotFound,
    DigestRun,
    LimitReached,
    NotOwner,
    Owner,
    State,
    Trigger,
    Updated,
    parse_run,
)
from bot.features.digests.service import DigestService, run_question
from bot.features.digests.store import DigestStore
from bot.storage.questions import Pool, connection_pool
from tests.fakes.time import SATURDAY, WallClock
from tests.features.digests.examples import OTHER_OWNER, OWNER, make_spec

NEXT = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)


async def zone(user: str) -> str | None:
    return {"U1": "Europe/Berlin", "U3": "Mars/Olympus_Mons"}.get(user)


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as pool:
        yield pool


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def digest_service(pool: Pool, clock: WallClock) -> DigestService:
    limits = DigestLimits(per_user=3, per_channel=6)
    return DigestService(
        command_label="/pplx watch", digests=DigestStore(pool), timezone=zone, limits=limits, now=clock
    )


async def added(
    digest_service: DigestService, *, owner: Owner = OWNER, channel: str = "C1", id: UUID | None = None
) -> Digest:
    reply = await digest_service.create(make_spec(zone=""), id=id or uuid4(), owner=owner, channel_id=channel)
    assert isinstance(reply, Created)
    return reply.digest


async def runs_of(pool: Pool) -> list[str]:
    async with pool.connection() as connection:
        return [row["text"] for row in await (await connection.execute("SELECT text FROM questions")).fetchall()]


@pytest.mark.parametrize(
    ("user", "known", "next_at"),
    [("U1", "Europe/Berlin", NEXT), ("U2", "UTC", NEXT.replace(hour=9)), ("U3", "UTC", NEXT.replace(hour=9))],
)
async def test_a_digest_goes_by_its_owner_s_clock(
    digest_service: DigestService, user: str, known: str, next_at: datetime
) -> None:
    digest = await added(digest_service, owner=Owner(team_id="T1", user_id=user))

    assert (digest.spec.schedule.zone, digest.next_at, digest.number) == (known, next_at, 1)
    assert (digest.state, digest.title, digest.channel_id) == (State.ACTIVE, "Technology: databases", "C1")


@pytest.mark.parametrize(("user", "known"), [("U1", True), ("U2", False), ("U3", False)])
async def test_an_unknown_time_zone_is_reported(digest_service: DigestService, user: str, known: bool) -> None:
    reply = await digest_service.create(
        make_spec(zone=""), id=uuid4(), owner=Owner(team_id="T1", user_id=user), channel_id="C1"
    )

    assert isinstance(reply, Created)
    assert reply.zone_known is known


async def test_asking_again_for_the_same_one_is_no_second_digest(digest_service: DigestService) -> None:
    asked = uuid4()

    assert await added(digest_service, id=asked) == await added(digest_service, id=asked)
    assert len((await digest_service.list_digests(OWNER)).digests) == 1


async def test_a_number_that_is_free_is_given_again_and_numbers_are_each_owner_s_own(
    digest_service: DigestService,
) -> None:
    numbers = [(await added(digest_service)).number for _ in range(3)]
    await digest_service.apply(DigestAction.DELETE, 2, owner=OWNER, by="x")

    assert numbers == [1, 2, 3]
    assert (await added(digest_service)).number == 2
    assert (await added(digest_service, owner=OTHER_OWNER)).number == 1


async def test_concurrent_requests_do_not_exceed_the_limit_of_a_person(digest_service: DigestService) -> None:
    asked = (digest_service.create(make_spec(), id=uuid4(), owner=OWNER, channel_id=f"C{n}") for n in range(8))
    replies = await asyncio.gather(*asked)

    assert [type(reply) for reply in replies].count(Created) == 3
    assert {reply for reply in replies if isinstance(reply, LimitReached)} == {LimitReached(limit=3, channel=False)}


async def test_no_channel_has_more_than_the_limit(digest_service: DigestService) -> None:
    for number in range(6):
        await added(digest_service, owner=Owner(team_id="T1", user_id=f"U{number}"))

    assert await digest_service.create(make_spec(), id=uuid4(), owner=OTHER_OWNER, channel_id="C1") == LimitReached(
        limit=6, channel=True
    )
    assert (await added(digest_service, owner=OTHER_OWNER, channel="C2")).number == 1
    assert (await added(digest_service, owner=Owner(team_id="T2", user_id="U1"))).number == 1


@pytest.mark.parametrize(("per_channel", "share"), [(10, 5), (9, 5), (3, 2), (2, 1), (1, 1)])
async def test_concurrent_requests_leave_a_person_at_most_half_of_a_channel_s_digests(
    digest_service: DigestService, per_channel: int, share: int
) -> None:
    digest_service = replace(digest_service, limits=DigestLimits(per_user=100, per_channel=per_channel))
    asked = (
        digest_service.create(make_spec(), id=uuid4(), owner=OWNER, channel_id="C1") for _ in range(per_channel + 2)
    )
    replies = await asyncio.gather(*asked)

    assert [type(reply) for reply in replies].count(Created) == share
    full = LimitReached(limit=share, channel=True, share=per_channel > 1)
    assert {reply for reply in replies if isinstance(reply, LimitReached)} == {full}
    others = [
        await digest_service.create(make_spec(), id=uuid4(), owner=OTHER_OWNER, channel_id="C1")
        for _ in range(per_channel - share)
    ]
    assert [type(reply) for reply in others] == [Created] * (per_channel - share)
    assert await digest_service.create(make_spec(), id=uuid4(), owner=OTHER_OWNER, channel_id="C1") == LimitReached(
        limit=per_channel, channel=True
    )


async def test_a_direct_message_is_one_person_s_alone(digest_service: DigestService) -> None:
    digest_service = replace(digest_service, limits=DigestLimits(per_user=100, per_channel=4))
    replies = [await digest_service.create(make_spec(), id=uuid4(), owner=OWNER, channel_id="D1") for _ in range(5)]

    assert [type(reply) for reply in replies[:4]] == [Created] * 4
    assert replies[4] == LimitReached(limit=4, channel=True)


async def test_a_paused_digest_is_never_due_and_goes_on_with_the_next_slot(
    digest_service: DigestService, clock: WallClock
) -> None:
    digest = await added(digest_service)
    paused = await digest_service.apply(DigestAction.PAUSE, 1, owner=OWNER, by="x")
    clock.now += timedelta(days=10)
    resumed = await digest_service.apply(DigestAction.RESUME, 1, owner=OWNER, by="y")

    assert isinstance(paused, Updated)
    assert (paused.digest.state, paused.digest.next_at) == (State.PAUSED, None)
    assert isinstance(resumed, Updated)
    assert (resumed.digest.state, resumed.digest.next_at) == (State.ACTIVE, NEXT + timedelta(days=10))
    assert await digest_service.apply(DigestAction.RESUME, 1, owner=OWNER, by="z") == resumed
    assert resumed.digest.id == digest.id


async def test_what_is_not_there_or_not_one_s_own_cannot_be_changed(digest_service: DigestService) -> None:
    digest = await added(digest_service)

    assert await digest_service.apply(DigestAction.PAUSE, 7, owner=OWNER, by="x") == DigestNotFound(
        number=7, numbers=[1]
    )
    assert await digest_service.apply(DigestAction.DELETE, 1, owner=OTHER_OWNER, by="x") == DigestNotFound(
        number=1, numbers=[]
    )
    assert (
        await digest_service.apply_button(DigestAction.DELETE, digest.id, user_id="U9", teams=["T1"], by="x")
        == NotOwner()
    )
    assert (
        await digest_service.apply_button(DigestAction.DELETE, uuid4(), user_id="U1", teams=["T1"], by="x")
        == DigestNotFound()
    )
    assert (await digest_service.list_digests(OWNER)).digests == (digest,)


async def test_a_run_now_is_a_question_and_one_at_a_time(
    digest_service: DigestService, pool: Pool, clock: WallClock
) -> None:
    digest = await added(digest_service)
    first = await digest_service.apply_button(DigestAction.RUN, digest.id, user_id="U1", teams=["T1"], by="click 1")
    clock.now += timedelta(seconds=1)
    second = await digest_service.apply(DigestAction.RUN, 1, owner=OWNER, by="click 2")

    assert first == Updated(action=DigestAction.RUN, digest=digest)
    assert second == AlreadyRunning(digest=replace(digest, runs=1))
    (text,) = await runs_of(pool)
    run = parse_run(text)
    assert (run.digest_id, run.trigger, run.slot, run.title) == (
        digest.id,
        Trigger.MANUAL,
        SATURDAY,
        "Technology: databases",
    )


@pytest.mark.parametrize("state", ["received", "answered"])
async def test_a_run_now_that_is_done_again_is_the_same_run(
    digest_service: DigestService, pool: Pool, clock: WallClock, state: str
) -> None:
    await added(digest_service)
    await digest_service.apply(DigestAction.RUN, 1, owner=OWNER, by="x")
    async with pool.connection() as connection:
        await connection.execute("UPDATE questions SET state = %s", [state])
    clock.now += timedelta(seconds=30)

    assert isinstance(await digest_service.apply(DigestAction.RUN, 1, owner=OWNER, by="x"), Updated)
    assert len(await runs_of(pool)) == 1
    assert [digest.runs for digest in (await digest_service.list_digests(OWNER)).digests] == [1]


async def test_a_paused_digest_can_be_run_and_stays_paused(digest_service: DigestService, pool: Pool) -> None:
    digest = await added(digest_service)
    await digest_service.apply(DigestAction.PAUSE, 1, owner=OWNER, by="x")
    await digest_service.apply(DigestAction.RUN, 1, owner=OWNER, by="y")

    assert len(await runs_of(pool)) == 1
    now = await digest_service.digests.get(digest.id, now=SATURDAY)
    assert now is not None
    assert now.state is State.PAUSED


@pytest.mark.parametrize("limits", [DigestLimits(per_user=0, per_channel=4), DigestLimits(per_user=3, per_channel=0)])
async def test_where_digests_are_switched_off_none_is_run_or_resumed_and_each_can_be_deleted(
    digest_service: DigestService, pool: Pool, limits: DigestLimits
) -> None:
    await added(digest_service)
    off = replace(digest_service, limits=limits)

    assert [digest.next_at for digest in (await off.list_digests(OWNER)).digests] == [None]
    for action in (DigestAction.RUN, DigestAction.RESUME):
        assert await off.apply(action, 1, owner=OWNER, by="x") == LimitReached(limit=0, channel=False)
    assert await runs_of(pool) == []
    assert isinstance(await off.apply(DigestAction.DELETE, 1, owner=OWNER, by="x"), Updated)


async def test_a_digest_that_was_deleted_just_now_cannot_be_run(digest_service: DigestService, pool: Pool) -> None:
    digest = await added(digest_service)
    await digest_service.digests.delete(digest.id)

    run = DigestRun(
        digest_id=digest.id, trigger=Trigger.MANUAL, earliest_slot=SATURDAY, slot=SATURDAY, title=digest.title
    )
    question = run_question(run, digest, id=uuid4(), key="x")
    assert await digest_service.digests.start_manual(digest.id, question, now=SATURDAY) is False
    assert await runs_of(pool) == []
