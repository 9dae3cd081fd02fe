"""Digests as someone asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time
from uuid import UUID

from bot.features.digests.model import Digest, DigestLimits, DigestSpec, Owner
from bot.features.digests.service import StopNotice, parse_notice
from bot.features.digests.store import DigestStore
from bot.model.schedule import DAILY, Schedule, next_slot
from bot.storage.questions import Pool
from tests.fakes.time import SATURDAY

OWNER = Owner(team_id="T1", user_id="U1")
OTHER_OWNER = Owner(team_id="T1", user_id="U9")


async def read_notices(pool: Pool) -> list[StopNotice]:
    """Return what is said, or is going to be, of digests that cannot be posted."""
    async with pool.connection() as connection:
        query = "SELECT text FROM questions WHERE command = 'digest_notice'"
        return [parse_notice(found["text"]) for found in await (await connection.execute(query)).fetchall()]


def make_spec(
    at: str = "9:00",
    *,
    zone: str = "Europe/Berlin",
    days: Iterable[int] = DAILY,
    topic: str = "databases",
    silence: Iterable[int] = (),
) -> DigestSpec:
    hour, minute = map(int, at.split(":"))
    schedule = Schedule(days=frozenset(days), at=time(hour, minute), zone=zone)
    return DigestSpec(category="technology", topic=topic, schedule=schedule, report_empty_on=frozenset(silence))


async def create_digest(digests: DigestStore, id: UUID, spec: DigestSpec, *, now: datetime = SATURDAY) -> Digest:
    """Keep a digest of the owner in the channel C1, due from `now` on."""
    await digests.create(
        spec,
        id=id,
        owner=OWNER,
        channel_id="C1",
        next_at=next_slot(spec.schedule, now),
        limits=DigestLimits(per_user=100, per_channel=100),
    )
    digest = await digests.get(id, now=now)
    assert digest is not None
    return digest
