"""Digests in memory, with the outcomes that are written down beforehand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from bot.model.digest import Added, Digest, Full, Listed, NoSuchDigest, Owner, Verb, WatchReply, Wish


@dataclass
class FakeDigests:
    """Adds what it is asked to; `outcome` is what becomes of everything else, and `asked` what that was."""

    call: str = "/pplx watch"
    digests: list[Digest] = field(default_factory=list)
    outcome: WatchReply = field(default_factory=NoSuchDigest)
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def add(self, wish: Wish, *, id: UUID, owner: Owner, channel_id: str) -> Added | Full:
        """Keep it under the next number."""
        digest = Digest(id=id, number=len(self.digests) + 1, owner=owner, channel_id=channel_id, wish=wish)
        self.digests.append(digest)
        return Added(digest=digest)

    async def listed(self, owner: Owner) -> Listed:
        """Return all of them."""
        return Listed(digests=[one for one in self.digests if one.owner == owner])

    async def change(self, verb: Verb, number: int, *, owner: Owner, by: str) -> WatchReply:
        """Return the outcome."""
        self.asked.append((verb, number, owner, by))
        return self.outcome

    async def press(self, verb: Verb, id: UUID, *, user_id: str, teams: Collection[str], by: str) -> WatchReply:
        """Return the outcome."""
        self.asked.append((verb, id, user_id, by))
        return self.outcome
