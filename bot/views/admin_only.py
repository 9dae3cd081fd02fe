"""Checks with Slack that a person is an admin, at each click and each form for admins only."""

from __future__ import annotations

import asyncio
import logging

from bot.listeners.clicks import Click, ClickReply, Handler, text_reply
from bot.listeners.context import ADMIN_SECONDS, ListenerContext
from bot.model.audit import Change
from bot.storage.audit_chain import AuditStore
from bot.views.base import Submission

log = logging.getLogger(__name__)

NOT_ADMIN = "Only admins of this workspace can do this, and Slack says that you are not one. Nothing was changed."


async def submission_refusal(submitted: Submission, what: str, context: ListenerContext, audit: AuditStore) -> str:
    """Return why a person may not submit a form for admins, as `admin_refusal` does, and record the refusal.

    The person has lost the role since the form was opened, or the request was forged.
    """
    refusal = await admin_refusal(submitted.user, context)
    if refusal:
        log.warning("admin.refused", extra={"action": what})
    if refusal == NOT_ADMIN:
        await audit.record(Change(team_id=submitted.team, user_id=submitted.user, what=what, decision="refused"))
    return refusal


async def admin_refusal(user_id: str, context: ListenerContext) -> str:
    """Return why a person may not act as an admin, by Slack's current answer; an empty text if they may."""
    try:
        async with asyncio.timeout(ADMIN_SECONDS):
            is_admin = await context.admins.verify_admin(user_id)
    except TimeoutError:
        is_admin = None
    if is_admin is None:
        return "I couldn’t check with Slack that you are an admin, so nothing was changed. Please click again."
    return "" if is_admin else NOT_ADMIN


def for_admins(handle: Handler) -> Handler:
    """Return what handles a click that only admins may make."""

    async def checked(click: Click, context: ListenerContext) -> ClickReply | None:
        if refusal := await admin_refusal(click.user, context):
            log.warning("admin.refused", extra={"action": click.action_id})
            return text_reply(refusal)
        return await handle(click, context)

    return checked
