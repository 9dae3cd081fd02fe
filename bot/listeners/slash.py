"""Slash commands: parsed, submitted and acknowledged; the name of a command may have any prefix."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks import escaping
from bot.blocks.elements import section, spoken
from bot.blocks.examples import greeting_message
from bot.commands.base import ONE_MOMENT, AtOnce, Command
from bot.commands.help import (
    help_message,
    help_overview,
    text_message,
    usage_message,
)
from bot.commands.routing import RoutedCommand, is_talk, mention_line, route_slash_command, small_talk_kind
from bot.delivery.queue_place import place_sentence, waits_long
from bot.errors import UsageError
from bot.listeners.context import ListenerContext
from bot.listeners.intake import MEMBERS_ONLY
from bot.model.membership import team_of
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import NewQuestion, Received
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)

NOT_SAVED = N_(
    "I can’t reach my database just now, so your question may not have been saved. "
    "If you have no answer within a minute, please ask again."
)
ADMIN_NOT_CHECKED = N_(
    "I couldn’t check with Slack that you are an admin, so nothing was changed. Please send the command again."
)

ANY_COMMAND = re.compile(r"^/\S+$")

Opening = Callable[[Mapping[str, Any], ListenerContext], Coroutine[Any, Any, str | None]]
"""Opens a modal for a request of Slack; returns a sentence for the person if this failed, otherwise None."""


def register(app: AsyncApp, context: ListenerContext, *, forms: Mapping[str | None, Opening]) -> None:
    """Listen to every slash command; `route_slash_command` finds the app's command by the typed name.

    `forms` has the functions that open forms, by the name of the command; a form opens if its command is typed without
    arguments. If the form cannot be opened, the reply says why, and then is as for a command without a form.
    """

    @app.command(ANY_COMMAND)
    async def slash(ack: AsyncAck, command: dict[str, Any]) -> None:
        open_form = forms.get(bare_command(command, context))
        if open_form is None or context.admission.is_known_outsider(command, str(command.get("user_id", ""))):
            await acknowledge(ack, await respond(command, context))
        elif (problem := await open_form(command, context)) is None:
            await ack()
        else:
            helped, said = await respond(command, context), escaping.escape(problem)
            shown = spoken(section(said), *helped.blocks)
            await acknowledge(ack, shown)


async def acknowledge(ack: AsyncAck, message: OutgoingMessage) -> None:
    """Acknowledge a command with a message that only the person sees."""
    message = escaping.sanitize_message(message)
    await ack(
        text=message.text,
        blocks=list(message.blocks),
        response_type="ephemeral",
        unfurl_links=False,
        unfurl_media=False,
    )


def bare_command(payload: Mapping[str, Any], context: ListenerContext) -> str | None:
    """Return the name of a command that was typed without arguments, empty for `/pplx` itself; otherwise None."""
    text = str(payload.get("text", "")).strip().casefold()
    command = route_slash_command(str(payload.get("command", "")), "", context.commands).command
    if command is not None:
        return None if text else command.name
    return text if not text or text in {one.name for one in context.commands} else None


async def respond(payload: dict[str, Any], context: ListenerContext) -> OutgoingMessage:
    """Return the acknowledgement: a placeholder for the answer, help, or the reason why there is no answer."""
    user, channel = (str(payload.get(name, "")) for name in ("user_id", "channel_id"))
    if await context.admission.refuses(payload, user, channel, context.intake):
        return text_message(_(MEMBERS_ONLY))
    route = route_slash_command(str(payload.get("command", "")), str(payload.get("text", "")), context.commands)
    command = route.command
    if command is None:
        admin = await is_known_admin(user, context)
        return help_overview(
            context.commands, slash=route.slash, admin=admin, unknown=route.unknown, closest=route.closest
        )
    if route.help:
        return help_message(command, slash=route.slash, in_thread=mention_line(command))
    try:
        request = command.parse(route.rest)
    except UsageError as error:
        return usage_message(command, error, slash=route.slash)
    if command.at_once is not None:
        return await _do_at_once(command.at_once, command.refusal, payload, route, context)
    return (
        greeting_message(small_talk_kind(route.rest))
        if is_talk(command.name, route.rest)
        else await _enqueue(payload, route, command, request, context)
    )


async def is_known_admin(user: str, context: ListenerContext) -> bool:
    """Return whether a user is an admin; False if Slack does not say so in time."""
    with suppress(TimeoutError):
        return await context.is_admin_in_time(user)
    return False


async def _do_at_once(
    act: AtOnce, refusal: str, payload: dict[str, Any], route: RoutedCommand, context: ListenerContext
) -> OutgoingMessage:
    """Call `act`, which cannot wait in the queue, and return its reply.

    If `act` takes too long for the acknowledgement, return `ONE_MOMENT`, and send the reply to the response_url later.
    """
    late = asyncio.Event()

    async def reply() -> str:
        text = await _do_for_admin(act, refusal, payload, route, context)
        if late.is_set():
            await context.replies.reply_privately(str(payload.get("response_url", "")), text_message(text))
        return text

    try:
        return text_message(await context.intake.within_ack_deadline(reply()))
    except TimeoutError:
        late.set()
        return text_message(_(ONE_MOMENT))


async def _do_for_admin(
    act: AtOnce, refusal: str, payload: dict[str, Any], route: RoutedCommand, context: ListenerContext
) -> str:
    user = str(payload.get("user_id", ""))
    is_admin = await context.admins.verify_admin(user)
    if not is_admin:
        log.warning("admin.refused", extra={"action": route.slash.rpartition(" ")[2]})
        return _(ADMIN_NOT_CHECKED if is_admin is None else refusal)
    try:
        return await act(team_of(payload), user, route.slash.partition(" ")[0])
    except DATABASE_UNAVAILABLE as error:
        log.error("spending.not_switched", extra={"error": type(error).__name__})
        return _("I can’t reach my database just now, so this may not have been done. Please send the command again.")


async def _enqueue(
    payload: dict[str, Any], route: RoutedCommand, command: Command[Any, Any], request: Any, context: ListenerContext
) -> OutgoingMessage:
    question = _build_question(payload, route, command)
    place = await context.intake.submit(question)
    refused = await context.intake.refusal(place.received, question, not_saved=NOT_SAVED)
    if refused is not None:
        return refused
    public = command.audience(request) is Audience.CHANNEL
    pending = partial(command.pending_message, request, question_id=str(question.id), public=public)
    if place.received is not Received.NEW:
        return pending()
    context.intake.show_place(question, place, lambda ahead: pending(ahead=ahead))
    return pending(ahead=place_sentence(place)) if waits_long(place) else pending()


def _build_question(payload: dict[str, Any], route: RoutedCommand, command: Command[Any, Any]) -> NewQuestion:
    team = team_of(payload)
    return NewQuestion(
        delivery_key=f"{team}:{payload.get('command', '')}:{payload.get('trigger_id', '')}",
        surface="slash",
        command=command.name,
        text=route.rest,
        team_id=team,
        channel_id=str(payload.get("channel_id", "")),
        user_id=str(payload.get("user_id", "")),
        response_url=str(payload.get("response_url", "")) or None,
        limited=not command.free,
    )
