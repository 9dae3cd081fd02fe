"""Data requests: a person's data is sent to them or erased, from the home tab or by an operator."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile

from psycopg import Error
from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import button as button_block
from bot.blocks.elements import confirmation
from bot.errors import NotClearedUp
from bot.feature import Core, Feature, Running
from bot.features.data_requests.commands import ERASE, EXPORT
from bot.listeners.clicks import Click, ClickReply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block, HomeSection, MarkdownFile, always
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.personal_data import PersonalDataStore
from bot.translation import gettext as _
from bot.views.base import person_of
from bot.worker.background import FileUploader

log = logging.getLogger(__name__)

EXPORT_OWN, ERASE_OWN = "export_own_data", "erase_own_data"

LOOK_SECONDS = 0.5
CLEAR_UP_LOOKS = 120
"""How many times to check, before an erasure, whether workers have removed the messages of open questions.

The checks take up to a minute: if a worker has died, another one takes over its questions after fifteen seconds, and
Slack may be busy then.
"""

IN_MEMORY = 1_000_000
"""The most bytes of a file that are kept in memory; a larger file is kept on disk until it is sent."""


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """Exports and erases the data of people, in the background.

    `tell` updates a home tab with a notice, even if it is not known to be open.

    `cancel_runs` starts cancelling runs at the services. `exporting` has the workspace and id of each person
    whose file is being made.
    """

    store: PersonalDataStore
    files: FileUploader
    cancel_runs: Callable[[Sequence[str]], None]
    tell: Callable[[str, str, str], Awaitable[None]]
    exporting: set[tuple[str, str]] = field(default_factory=set)

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the buttons."""
        button(app, context, EXPORT_OWN, self.export_for_click)
        button(app, context, ERASE_OWN, self.erase_for_click)

    async def export_for_click(self, click: Click, context: ListenerContext) -> ClickReply:
        """Start sending a person their data."""
        context.start(self.export(*person_of(click.body)))
        return text_reply(
            _("I’ll send it to our messages: a file with everything that I keep about you in this workspace.")
        )

    async def erase_for_click(self, click: Click, context: ListenerContext) -> None:
        """Start erasing the data of a person who has confirmed this."""
        context.start(self.erase(*person_of(click.body)))

    async def export(self, team_id: str, user_id: str) -> None:
        """Send a person their data as JSON lines, unless this is already in progress. Raises nothing."""
        if (team_id, user_id) in self.exporting:
            return
        self.exporting.add((team_id, user_id))
        try:
            with SpooledTemporaryFile(max_size=IN_MEMORY) as content:
                await self._export(team_id, user_id, content)
        finally:
            self.exporting.discard((team_id, user_id))

    async def _export(self, team_id: str, user_id: str, content: SpooledTemporaryFile[bytes]) -> None:
        no_file = _("I couldn’t send you the file. Please ask an admin for it.")

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
            MarkdownFile(name="my-data.jsonl", title=_("What I keep about you"), data=content),
            user_id,
            on_failure=lambda: tell(no_file),
            on_refusal=lambda: tell(_("Only members of this workspace can get this file.")),
        )

    async def _erase(self, team_id: str, user_id: str) -> dict[str, int]:
        for _look in range(CLEAR_UP_LOOKS):
            # Repeated for questions asked in the meantime: once a question is erased, its run cannot be cancelled.
            runs = await self.store.stop_work(user_id, team_id=team_id)
            self.cancel_runs(runs.get(team_id, []))
            if await self.store.is_cleared(user_id, team_id=team_id):
                with suppress(NotClearedUp):
                    return await self.store.erase(user_id, team_id=team_id, own=True, cleared=True)
            await asyncio.sleep(LOOK_SECONDS)
        return await self.store.erase(user_id, team_id=team_id, own=True)

    async def erase(self, team_id: str, user_id: str) -> None:
        """Stop a person's open work and erase all of the person's data in a workspace. Raises nothing."""
        try:
            erased = await self._erase(team_id, user_id)
        except (*DATABASE_UNAVAILABLE, Error) as error:
            log.warning("erasure.failed", extra={"error": type(error).__name__})
            await self.tell(team_id, user_id, _("I couldn’t erase your data just now. Please try again in a minute."))
            return
        log.info("person.erased", extra={"count": sum(erased.values())})
        await self.tell(
            team_id,
            user_id,
            _(
                "I’ve erased everything that I kept about you in this workspace. What you spent this week still counts "
                "until Monday, without your name, and a budget that an admin set for you stays."
            ),
        )


def home_buttons() -> tuple[Block, Block]:
    """Return the buttons for a person's data."""
    confirm = confirmation(
        _("Erase my data?"),
        _(
            "This erases your questions with their answers, your digests, settings and ratings in this workspace for "
            "good, and stops what is being answered. Messages in Slack stay; an admin can delete those that you "
            "shared. This week’s spending still counts until Monday."
        ),
        _("Erase"),
    )
    erase = button_block(_("Erase my data"), ERASE_OWN, "home") | {"style": "danger", "confirm": confirm}
    return button_block(_("Send me my data"), EXPORT_OWN, "home"), erase


def start(core: Core) -> Running:
    """Connect the buttons at the end of the home tab."""
    personal = OwnData(
        store=PersonalDataStore(core.work),
        files=core.files,
        cancel_runs=core.cancel_runs,
        tell=core.home.tell,
    )
    return Running(
        listeners=(personal.register,),
        home_sections=(HomeSection(place="end", blocks=always(home_buttons)),),
    )


FEATURE = Feature(name="data_requests", start=start, cli=(EXPORT, ERASE))
