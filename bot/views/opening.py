"""Opens a modal for a shortcut, and says to the person why one does not open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks import escaping
from bot.commands.help import text_message
from bot.listeners.admission import MEMBERS_ONLY
from bot.listeners.clicks import Click, ClickReply, text_reply
from bot.listeners.context import ListenerContext
from bot.listeners.slash import ANY_COMMAND, acknowledge, bare_command, respond
from bot.model.membership import team_of
from bot.slack.messages import FAILURES


def person_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the ids of the workspace and of the person of a command, a shortcut, a click or a submission.

    In clicks and submissions of an app of a whole organization, Slack names no workspace; then it is the person's.
    """
    user = body.get("user")
    user_id = user.get("id") if isinstance(user, Mapping) else body.get("user_id")
    return team_of(body), str(user_id or "")


def shortcut(app: AsyncApp, context: ListenerContext, callback_id: str, open_view: Opening) -> None:
    """Listen to a shortcut: refuse outsiders, open the modal, and tell the person if this failed.

    https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
    """

    @app.shortcut(callback_id)
    async def on_shortcut(ack: AsyncAck, body: dict[str, Any]) -> None:
        _, user = person_of(body)
        problem = MEMBERS_ONLY if context.admission.is_known_outsider(body, user) else await open_view(body, context)
        if problem is not None:
            tell(context, user=user, response_url=str(body.get("response_url") or "") or None, text=problem)
        await ack()


def command_alone(app: AsyncApp, context: ListenerContext, names: Collection[str], open_view: Opening) -> None:
    """Listen to commands that open a modal if they have no arguments; the name of `/pplx` is empty."""

    async def is_alone(command: dict[str, Any]) -> bool:
        return bare_command(command, context) in names

    @app.command(ANY_COMMAND, matchers=[is_alone])
    async def on_command(ack: AsyncAck, command: dict[str, Any]) -> None:
        await _open_by_command(ack, command, context, open_view)


async def _open_by_command(
    ack: AsyncAck, payload: dict[str, Any], context: ListenerContext, open_view: Opening
) -> None:
    """Open a modal for a command; if that is not possible, acknowledge it with its help."""
    if context.is_known_outsider(payload, str(payload.get("user_id", ""))):
        await acknowledge(ack, await respond(payload, context))
        return
    problem = await open_view(payload, context)
    if problem is None:
        await ack()
        return
    helped = await respond(payload, context)
    said = escape(problem)
    await acknowledge(ack, replace(helped, text=f"{said}\n{helped.text}", blocks=(section(said), *helped.blocks)))


def tell(context: ListenerContext, *, user: str, response_url: str | None, text: str) -> None:
    """Send the person a private message: in the place of their action, otherwise in the direct message."""
    work = (
        _send_directly(context, user, text)
        if response_url is None
        else context.replies.reply_privately(response_url, text_message(text))
    )
    context.start(_quietly(work))


async def shown_problem(click: Click, context: ListenerContext, problem: str | None) -> ClickReply | None:
    """Return the reply to a click that opened no modal; for a click in a view, it is a direct message."""
    if problem is not None and click.response_url is None:
        tell(context, user=click.user, response_url=None, text=problem)
        return None
    return None if problem is None else text_reply(problem)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Await a call to Slack, and ignore its failure."""
    with suppress(*FAILURES):
        await work


async def _send_directly(context: ListenerContext, user: str, text: str) -> None:
    channel = await context.chat.open_direct_message(user)
    await context.chat.post(channel, escaping.sanitize_message(text_message(text)), question="", part=0)
