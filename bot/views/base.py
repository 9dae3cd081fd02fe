"""The shared parts of the views: shortcuts that open a modal, opening it in time, and its submission.

https://docs.slack.dev/surfaces/modals
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks import escaping
from bot.blocks.elements import plain
from bot.clock import in_time
from bot.commands.help import text_message
from bot.listeners.clicks import (
    DATABASE_SECONDS,
    TEXT_DELETED,
    Click,
    ClickReply,
    Interaction,
    TextDeleted,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.listeners.intake import MEMBERS_ONLY
from bot.listeners.slash import Opening
from bot.model.membership import team_of, user_of
from bot.model.message import Block, OutgoingMessage
from bot.slack.messages import FAILURES
from bot.slack.views import NotOpened, Opened, View, ViewResult
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_
from bot.translation import gettext as _

TOO_LATE = N_("Slack didn’t open the window in time. Please click again.")
NOT_UPDATED = N_("Slack couldn’t update this window. Please choose again.")
NOT_OPENED = N_("Slack couldn’t open the window. Please try again in a minute.")

log = logging.getLogger(__name__)

OPEN_SECONDS = 1.0
"""How long Slack may take to open a view, so that the click is acknowledged in time."""

CHANGED_SINCE = "hash_conflict"
"""Slack's error for a modal that has changed since the named version."""

_LATE = NotOpened(error="TimeoutError")
_LATE_ERRORS = frozenset({"expired_trigger_id", "exchanged_trigger_id", _LATE.error})

MAX_TITLE = 24


def modal(
    callback_id: str,
    title: str,
    blocks: list[Block],
    *,
    submit: str | None = None,
    close: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> View:
    """Return a modal; without `submit`, it cannot be submitted. Slack returns `metadata` with each action in it."""
    view: View = {
        "type": "modal",
        "callback_id": callback_id,
        "title": plain(title),
        "close": plain(close or _("Close")),
        "blocks": blocks,
    }
    if submit is not None:
        view["submit"] = plain(submit)
    if metadata:
        view["private_metadata"] = json.dumps(metadata, separators=(",", ":"))
    return view


async def open_modal(context: ListenerContext, trigger_id: str, view: View, *, on_top: bool = False) -> str | None:
    """Open a modal, with `on_top` above the clicked modal; return a sentence for the person if this failed."""
    opened = await show_modal(context, trigger_id, view, on_top=on_top)
    return opened if isinstance(opened, str) else None


async def open_for_click(
    click: Click, context: ListenerContext, view: View, *, on_top: bool = False
) -> ClickReply | None:
    """Open a modal for a click; return a reply only if this failed."""
    problem = await open_modal(context, click.trigger_id, view, on_top=on_top)
    return None if problem is None else text_reply(problem)


async def show_modal(context: ListenerContext, trigger_id: str, view: View, *, on_top: bool = False) -> Opened | str:
    """Open a modal; return the opened view, or a sentence for the person if this failed."""
    opening = (context.views.push if on_top else context.views.open)(trigger_id, view)
    result = await in_time(opening, OPEN_SECONDS) or _LATE
    if isinstance(result, Opened):
        return result
    log.warning("view.not_opened", extra={"error": result.error, "view": view.get("callback_id", "")})
    return _(TOO_LATE if result.error in _LATE_ERRORS else NOT_OPENED)


async def update_modal(context: ListenerContext, view_id: str, view: View, *, hash: str) -> str | None:
    """Show another version of a modal after a choice in it; return a sentence for the person if this failed.

    If the modal has changed since its version `hash`, it is replaced nevertheless: the last choice to arrive counts.
    """
    result = await in_time(_update(context, view_id, view, hash=hash), OPEN_SECONDS) or _LATE
    if isinstance(result, Opened):
        return None
    log.warning("view.not_updated", extra={"error": result.error, "view": view.get("callback_id", "")})
    return _(NOT_UPDATED)


async def _update(context: ListenerContext, view_id: str, view: View, *, hash: str) -> ViewResult:
    result: ViewResult = await context.views.update(view_id, view, hash=hash)
    if isinstance(result, NotOpened) and result.error == CHANGED_SINCE:
        result = await context.views.update(view_id, view)
    return result


@dataclass(frozen=True, kw_only=True)
class Submission(Interaction):
    """A modal that a person submitted or changed."""

    def value(self, block_id: str) -> Any:
        """Return the value of an input block: a text, an id, a date, a choice, or a list of choices; None if empty."""
        values = (self.view.get("state") or {}).get("values") or {}
        element = next(iter((values.get(block_id) or {}).values()), None) or {}
        for name in (
            "value",
            "selected_user",
            "selected_users",
            "selected_conversation",
            "selected_date",
            "selected_time",
        ):
            if element.get(name) is not None:
                return element[name]
        if (option := element.get("selected_option")) is not None:
            return option.get("value")
        if (options := element.get("selected_options")) is not None:
            return [option.get("value") for option in options]
        return None


Response = Mapping[str, Any]
"""Slack's next step with the modal, such as `errors(…)` or `shows(…)`; None closes it."""


def errors(**by_block: str) -> Response:
    """Return the response that shows a sentence below each of these input blocks."""
    return {"response_action": "errors", "errors": by_block}


def shows(view: View) -> Response:
    """Return the response that replaces the modal by another view."""
    return {"response_action": "update", "view": view}


CLOSES_ALL: Response = {"response_action": "clear"}
"""The response that closes every modal on the stack."""

SubmissionHandler = Callable[[Submission, ListenerContext], Coroutine[Any, Any, Response | None]]


def submission(
    app: AsyncApp, context: ListenerContext, callback_id: str, handle: SubmissionHandler, *, first_input: str
) -> None:
    """Listen to a modal's submission: refuse outsiders, handle it in time, and respond.

    A problem that belongs to no particular input is shown below the input block with the id `first_input`.
    """

    @app.view(callback_id)
    async def on_submit(ack: AsyncAck, body: dict[str, Any]) -> None:
        submitted = Submission(body=body)
        if context.admission.is_known_outsider(body, submitted.user):
            response: Response | None = errors(**{first_input: _(MEMBERS_ONLY)})
        else:
            try:
                response = await context.intake.within_ack_deadline(
                    handle(submitted, context), seconds=DATABASE_SECONDS + OPEN_SECONDS
                )
            except TextDeleted:
                response = errors(**{first_input: _(TEXT_DELETED)})
            except DATABASE_UNAVAILABLE:
                problem = _("I can’t reach my database just now. Please submit again in a minute.")
                response = errors(**{first_input: problem})
        await ack(**(response or {}))


def changes(
    app: AsyncApp,
    context: ListenerContext,
    inputs: Iterable[str],
    handle: Callable[[Submission, ListenerContext], Coroutine[Any, Any, None]],
) -> None:
    """Listen to choices in inputs of a modal, and ignore those of outsiders.

    Each of `inputs` is the id of an input and of the block that contains it.
    """

    async def on_change(ack: AsyncAck, body: dict[str, Any]) -> None:
        changed = Submission(body=body)
        if not context.admission.is_known_outsider(body, changed.user):
            await handle(changed, context)
        await ack()

    for name in inputs:
        app.action({"block_id": name, "action_id": name})(on_change)


def person_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the ids of the workspace and the person from a command, a shortcut, a click or a submission.

    The workspace is the one that `team_of` returns.
    """
    return team_of(body), user_of(body)


def shortcut(app: AsyncApp, context: ListenerContext, callback_id: str, open_view: Opening) -> None:
    """Listen to a shortcut: refuse outsiders, open the modal, and tell the person if this failed.

    https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
    """

    @app.shortcut(callback_id)
    async def on_shortcut(ack: AsyncAck, body: dict[str, Any]) -> None:
        user = person_of(body)[1]
        problem = _(MEMBERS_ONLY) if context.admission.is_known_outsider(body, user) else await open_view(body, context)
        if problem is not None:
            tell(context, user=user, response_url=str(body.get("response_url") or "") or None, text=problem)
        await ack()


def tell(context: ListenerContext, *, user: str, response_url: str | None, text: str) -> None:
    """Send the person a private message: to the `response_url` of the action, or without one as a direct message."""
    context.start(_send(context, user, response_url, text_message(text)))


async def _send(context: ListenerContext, user: str, response_url: str | None, message: OutgoingMessage) -> None:
    with suppress(*FAILURES):
        if response_url is not None:
            await context.replies.reply_privately(response_url, message)
        else:
            channel = await context.chat.open_direct_message(user)
            await context.chat.post(channel, escaping.sanitize_message(message), question="", part=0)


async def shown_problem(click: Click, context: ListenerContext, problem: str | None) -> ClickReply | None:
    """Return the reply with the problem of a click that opened no modal; None without a problem.

    A click in a view has no reply, so its problem is sent as a direct message.
    """
    if problem is not None and click.response_url is None:
        tell(context, user=click.user, response_url=None, text=problem)
        return None
    return None if problem is None else text_reply(problem)
