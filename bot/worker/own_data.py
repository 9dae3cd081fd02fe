"""What a person may ask of their own data in Slack: a file with it, and its erasure."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile

from psycopg import Error

from bot.errors import NotClearedUp
from bot.model.message import MarkdownFile
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.personal_data import PersonalDataStore
from bot.worker.background import FileUploader

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
CLEAR_UP_LOOKS = 120
"""How often it is looked whether a worker has removed what is shown of the open questions, before they are erased:
the questions of a dead worker come back after fifteen seconds, and Slack may be busy then."""

IN_MEMORY = 1_000_000
"""A larger file is written to a disk until it is sent."""


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """Works in the background. `tell` updates a home tab with a notice, even if it is not known to be open.

    `cancel_runs` starts cancelling runs at the services. `exporting` are the people whose files are on their way.
    """

    store: PersonalDataStore
    files: FileUploader
    cancel_runs: Callable[[Sequence[str]], None]
    tell: Callable[[str, str, str], Awaitable[None]]
    exporting: set[tuple[str, str]] = field(default_factory=set)

    async def export(self, team_id: str, user_id: str) -> None:
        """Send a person what is kept of them, as JSON lines, unless that is under way; raise nothing."""
        if (team_id, user_id) in self.exporting:
            return
        self.exporting.add((team_id, user_id))
        try:
            with SpooledTemporaryFile(max_size=IN_MEMORY) as content:
                await self._export(team_id, user_id, content)
        finally:
            self.exporting.discard((team_id, user_id))

    async def _export(self, team_id: str, user_id: str, content: SpooledTemporaryFile[bytes]) -> None:
        no_file = "I couldn’t send you the file. Please ask an admin for it."

        async def tell(text: str) -> None:
            await self.tell(team_id, user_id, text)

        try:
            async for table, row in self.store.export(user_id, team_id=team_id):
                content.write(f"{json.dumps({'table': table, 'row': row}, ensure_ascii=False)}\n".encode())
        except (*DATABASE_UNAVAILABLE, Error) as error:
            log.warning("export.failed", extra={"error": type(error).__name__})
            await tell(no_file)
            return
        content.seek(0)
        await self.files.send(
            MarkdownFile(name="my-data.jsonl", title="What I keep about you", data=content),
            user_id,
            on_failure=lambda: tell(no_file),
            on_refusal=lambda: tell("Only members of this workspace can get this file."),
        )

    async def _erase(self, team_id: str, user_id: str) -> dict[str, int]:
        for _ in range(CLEAR_UP_LOOKS):
            # Each time: of what is asked meanwhile nothing would be known once it is erased, not even its run.
            runs = await self.store.stop_work(user_id, team_id=team_id)
            self.cancel_runs(runs.get(team_id, []))
            if await self.store.is_cleared(user_id, team_id=team_id):
                with suppress(NotClearedUp):
                    return await self.store.erase(user_id, team_id=team_id, own=True, cleared=True)
            await asyncio.sleep(LOOK_SECONDS)
        return await self.store.erase(user_id, team_id=team_id, own=True)

    async def erase(self, team_id: str, user_id: str) -> None:
        """Stop what is open and erase everything of a person in a workspace; raise nothing."""
        try:
            erased = await self._erase(team_id, user_id)
        except (*DATABASE_UNAVAILABLE, Error) as error:
            log.warning("erasure.failed", extra={"error": type(error).__name__})
            await self.tell(team_id, user_id, "I couldn’t erase your data just now. Please try again in a minute.")
            return
        log.info("person.erased", extra={"count": sum(erased.values())})
        await self.tell(
            team_id,
            user_id,
            "I’ve erased everything that I kept about you in this workspace. What you spent this week still counts "
            "until Monday, without your name, and a budget that an admin set for you stays.",
        )
