"""A digest on a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from bot.features.digests.store import DigestStore
from bot.storage.questions import connection_pool
from tests.fakes.time import WallClock
from tests.features.digests.examples import create_digest, make_spec
from tests.features.digests.harness import DigestHarness


@pytest.fixture
async def testbed(database: str) -> AsyncIterator[DigestHarness]:
    clock = WallClock()
    async with connection_pool(database) as pool:
        digest = await create_digest(DigestStore(pool), uuid4(), make_spec())
        yield DigestHarness(pool=pool, digest=digest, clock=clock)
