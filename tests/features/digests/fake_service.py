"""Digests in memory, with the outcomes that are written down beforehand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from bot.features.digests.model import (
    Created,
    Digest,
    DigestAction,
    DigestList,
    DigestNotFound,
    DigestResult,
    DigestSpec,
    LimitReached,
    Owner,
)


@dataclass
class FakeDigests:
    """Creates digests; every other call returns `outcome` and is kept in `calls`."""

    command_label: str = "/pplx watch"
    digests: list[Digest] = field(default_factory=list)
    outcome: DigestResult = field(default_factory=DigestNotFound)
    calls: list[tuple[object, ...]] = field(default_factory=list)

    async def create(self, wish: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Keep it under the next number."""
        digest = Digest(id=id, number=len(self.digests) + 1, owner=owner, channel_id=channel_id, spec=wish)
        self.digests.append(digest)
        return Created(digest=digest)

    async def list_digests(self, owner: Owner) -> DigestList:
        """Return all of them."""
        return DigestList(digests=[one for one in self.digests if one.owner == owner])

    async def apply(self, verb: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Return the outcome."""
        self.calls.append((verb, number, owner, by))
        return self.outcome

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Return the outcome."""
        self.calls.append((verb, id, user_id, by))
        return self.outcome
