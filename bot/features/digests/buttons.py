"""Digests on the home tab, and the buttons of a digest: its owner's, and an admin's to stop it."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.features.digests.jobs import DigestStopper
from bot.features.digests.model import Digest, DigestAction, DigestNotFound, DigestResult, DigestService, Owner
from bot.features.digests.rendering import (
    ACTION_PREFIX,
    MAX_OF_WORKSPACE,
    STOP_DIGEST,
    digest_result_message,
    home_blocks,
    workspace_blocks,
    workspace_rows,
)
from bot.features.digests.service import StoredDigestService
from bot.listeners.clicks import Click, ClickReply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.views.admin_only import admin_refusal
from bot.views.all_rows import AllRows

log = logging.getLogger(__name__)

_ACTIONS = re.compile(rf"{ACTION_PREFIX}(?:{'|'.join(DigestAction)})")


@dataclass(frozen=True, kw_only=True)
class HomeDigests:
    """The digests on the home tab: a person's own, and everyone's on the page for admins."""

    digests: StoredDigestService

    async def own(self, team_id: str, user_id: str) -> Sequence[Block]:
        """Return a person's digests. Raises database errors."""
        return home_blocks((await self.digests.list_digests(Owner(team_id=team_id, user_id=user_id))).digests)

    async def of_workspace(self, team_id: str, _: str) -> Sequence[Block]:
        """Return the digests of a workspace. Raises database errors."""
        digests = await self.digests.list_all(team_id)
        return [*workspace_blocks(digests), *all_digests(self.digests.list_all).buttons(digests)]


def all_digests(read: Callable[[str], Awaitable[Sequence[Digest]]]) -> AllRows[Digest]:
    """Return the pages of all digests of a workspace."""
    return AllRows(name="digests", title="Everyone’s digests", shown=MAX_OF_WORKSPACE, read=read, blocks=workspace_rows)


def register(
    app: AsyncApp,
    context: ListenerContext,
    *,
    digests: DigestService,
    stopper: DigestStopper,
    all_rows: AllRows[Digest],
) -> None:
    """Listen to the buttons of digests."""
    button(app, context, _ACTIONS, partial(apply_button, digests=digests))
    button(app, context, STOP_DIGEST, partial(stop_digest, stopper=stopper, all_rows=all_rows))
    all_rows.register(app, context)


async def apply_button(click: Click, _: ListenerContext, *, digests: DigestService) -> ClickReply:
    """Apply a digest's button and reply with the result."""
    result = await _apply(click, digests)
    return ClickReply(message=digest_result_message(result, command=digests.command_label, channel=click.channel))


async def _apply(click: Click, digests: DigestService) -> DigestResult:
    if click.id is None:
        return DigestNotFound()
    action = DigestAction(click.action_id.removeprefix(ACTION_PREFIX))
    by = str(click.action.get("action_ts", ""))
    result = await digests.apply_button(action, click.id, user_id=click.user, teams=click.teams, by=by)
    log.info("digest.clicked", extra={"digest": str(click.id), "state": type(result).__name__})
    return result


async def stop_digest(
    click: Click, context: ListenerContext, *, stopper: DigestStopper, all_rows: AllRows[Digest]
) -> ClickReply:
    """Stop another person's digest, for an admin."""
    if refusal := await admin_refusal(click.user, context):
        log.warning("admin.refused", extra={"action": click.action_id})
        return text_reply(refusal)
    digest = await stopper.stop_for_admin(click.id, click.user, click.teams) if click.id is not None else None
    all_rows.show_again(click, context)
    return text_reply(
        "This digest no longer exists." if digest is None else "The digest is stopped, and I’ll tell its owner."
    )
