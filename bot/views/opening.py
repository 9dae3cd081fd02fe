"""What opens a modal besides a button: a shortcut, and a slash command without arguments."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks import escaping
from bot.blocks.elements import section
from bot.blocks.escaping import escape
from bot.commands.help import text_message
from bot.listeners.admission import MEMBERS_ONLY
from bot.listeners.clicks import Click, ClickReply, text_reply
from bot.listeners.context import ListenerContext
from bot.listeners.slash import acknowledge, respond
from bot.model.membership import team_of
from bot.slack.messages import FAILURES

Opening = Callable[[Mapping[str, Any], ListenerContext], Coroutine[Any, Any, str | None]]
"""Opens a modal for a request of Slack; returns a problem for the person, None without one."""


def person_of(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the ids of the workspace and of the person of a command, a shortcut, a click or a submission.

    Slack names no workspace in the clicks and submissions of an app of a whole organization: then it is the person's.
    """
    user = body.get("user")
    user_id = user.get("id") if isinstance(user, Mapping) else body.get("user_id")
    return team_of(body), str(user_id or "")


def shortcut(app: AsyncApp, context: ListenerContext, callback_id: str, open_view: Opening) -> None:
    """Listen to a shortcut: refuse outsiders, open the modal, and say so if that failed.

    https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
    """

    @app.shortcut(callback_id)
    async def on_shortcut(ack: AsyncAck, body: dict[str, Any]) -> None:
        _, user = person_of(body)
        problem = MEMBERS_ONLY if context.is_known_outsider(body, user) else await open_view(body, context)
        if problem is not None:
            tell(context, user=user, response_url=str(body.get("response_url") or "") or None, text=problem)
        await ack()


async def open_by_command(ack: AsyncAck, payload: dict[str, Any], context: ListenerContext, open_view: Opening) -> None:
    """Open a modal for a slash command without arguments; if that is not possible, acknowledge it with its help."""
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
    """Say something to the person alone: where they did something, otherwise in the direct message."""
    work = (
        _send_directly(context, user, text)
        if response_url is None
        else context.replies.reply_privately(response_url, text_message(text))
    )
    context.start(_quietly(work))


async def shown_problem(click: Click, context: ListenerContext, problem: str | None) -> ClickReply | None:
    """Return the reply to a click that opened no modal; in a view it is a direct message."""
    if problem is not None and click.response_url is None:
        tell(context, user=click.user, response_url=None, text=problem)
        return None
    return None if problem is None else text_reply(problem)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Await work for Slack, which raises what calls raise."""
    with suppress(*FAILURES):
        await work


async def _send_directly(context: ListenerContext, user: str, text: str) -> None:
    channel = await context.chat.open_direct_message(user)
    await context.chat.post(channel, escaping.sanitize_message(text_message(text)), question="", part=0)
